//! Nobody says where the defects are: a search over losses finds them by itself, and on the hardened protocol finds none.
//!
//! First every pattern of losses among the first 13 frames on a short wire, in both directions: 8192 patterns with order and 8192
//! without. The prototype fails 4591 and 8064 of them. Then 1000 links by chance, with outages, late frames and restarts; the
//! prototype fails 491.

use std::collections::BTreeMap;

use wiremend_testkit::{Dice, Fate, Kind, Order, Side};
use wiremend_units::Span;

use super::profile::{DELAY, link_over};
use super::verdict::flawless;
use super::{Broken, Hardened, LEN, Link, PATIENCE, Paper, Profile, SHORT, Terms, Verdict, link, outage};

/// All subsets of this many.
const PREFIX: u32 = 13;
const LINKS: u64 = 1000;
/// With this loss both profiles send two copies.
const TWO_COPIES_PPM: u64 = 1000;

/// What came of it, and what was lost, in the order of [`Kind`].
type Found = BTreeMap<(Broken, Vec<Kind>), u64>;

#[test]
fn every_pattern_of_first_losses() {
    for ordered in [true, false] {
        assert_eq!(try_all::<Hardened>(ordered), Found::new());
    }
    let (ordered, unordered) = (try_all::<Paper>(true), try_all::<Paper>(false));
    for found in [&ordered, &unordered] {
        let lost = |kinds: Vec<Kind>| found.contains_key(&(Broken::Lost, kinds));
        assert!(lost(vec![Kind::Data, Kind::Notification]), "a notification is said once");
        assert!(lost(vec![Kind::Data; 6]) && !lost(vec![Kind::Data; 5]), "there are five places for a hole");
        println!("{} of {} patterns", found.values().sum::<u64>(), 1 << PREFIX);
    }
    let twice = (Broken::Twice, vec![Kind::Data]);
    assert!(unordered.contains_key(&twice) && !ordered.contains_key(&twice), "both copies come");
}

#[test]
fn links_by_chance() {
    assert_eq!(try_some::<Hardened>(), BTreeMap::new());
    let found = try_some::<Paper>();
    println!("{found:?} of {LINKS} links");
    for broken in [Broken::Lost, Broken::Twice, Broken::Late, Broken::LeftOver] {
        assert!(found.contains_key(&broken), "{broken:?}");
    }
}

fn try_all<P: Profile>(ordered: bool) -> Found {
    // So short a wire that notifications and copies are among the first frames.
    let mut start = link_over::<P>(Span::from_ns(100), &terms());
    start.send(Side::A, 12, LEN, ordered);
    let (before, _) = start.passed();
    let mut found = Found::new();
    for pattern in 0_u64..1 << PREFIX {
        let (mut link, mut lost) = (start.clone(), Vec::new());
        let ending = link.run(|passing| {
            let nth = passing.nth - before;
            let is_lost = nth < PREFIX.into() && pattern >> nth & 1 == 1;
            lost.extend(is_lost.then(|| passing.kind()));
            is_lost
        });
        if let Err(broken) = flawless(&link, ending, PATIENCE) {
            lost.sort_unstable();
            *found.entry((broken, lost)).or_default() += 1;
        }
    }
    assert!(found.keys().all(|(_, lost)| !lost.is_empty()), "without losses nothing is wrong");
    found
}

fn try_some<P: Profile>() -> BTreeMap<Broken, u64> {
    let mut found = BTreeMap::new();
    for seed in 0..LINKS {
        if let Err(broken) = one_link::<P>(&mut Dice::new(seed)) {
            *found.entry(broken).or_default() += 1;
        }
    }
    found
}

/// Traffic with a mishap, and traffic without: what can be saved must be.
fn one_link<P: Profile>(dice: &mut Dice) -> Verdict {
    let mut link = link::<P>(&terms());
    send::<P>(&mut link, dice);
    let hit = link.passed().0 + dice.below(100);
    let ending = match dice.below(4) {
        0 => {
            let ending = link.run(|_| false);
            link.order(dice.pick(&[Side::A, Side::B]), Order::Restart);
            ending
        }
        1 => {
            let by = Span::from_ns(dice.below(DELAY.as_ns()));
            link.run(|passing| if passing.nth == hit { Fate::Late(by) } else { Fate::Arrives })
        }
        _ => {
            let lasting = Span::from_ns(dice.below(DELAY.as_ns()));
            link.run(outage(lasting, |passing| passing.nth >= hit))
        }
    };
    flawless(&link, ending, PATIENCE)?;
    send::<P>(&mut link, dice);
    let ending = link.run(|_| false);
    flawless(&link, ending, PATIENCE)
}

/// Some frames, all with order or all without.
fn send<P: Profile>(link: &mut Link<P>, dice: &mut Dice) {
    let ordered = dice.below(2) == 0;
    for _ in 0..=dice.below(100) {
        link.send(Side::A, 1, dice.pick(&[SHORT, LEN]), ordered);
    }
}

fn terms() -> Terms {
    Terms { loss_ppm: TWO_COPIES_PPM, ..Terms::default() }
}
