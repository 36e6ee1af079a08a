//! A search over losses finds the defects without knowing them, and finds none in the hardened protocol.
//!
//! First, every pattern of losses among the first 13 frames on a short wire in both directions: 8192 patterns
//! of ordered and 8192 of unordered frames. The prototype fails 4591 and 8064 of them. Then 1000 random links
//! with outages, late frames and restarts; the prototype fails 491.

use std::collections::BTreeMap;

use wiremend_testkit::{Fate, FrameKind, LinkCommand, Random, Side};
use wiremend_units::Span;

use super::guarantee::check_delivery;
use super::profile::{DELAY, link_over};
use super::{
    CheckResult, Hardened, LEN, Link, LinkParams, PATIENCE, Profile, Prototype, SHORT, Violation, link,
    outage,
};

/// All subsets of this many frames.
const PREFIX: u32 = 13;
const LINKS: u64 = 1000;
/// With this loss both protocols send two copies.
const TWO_COPIES_PPM: u64 = 1000;

/// Violations by the kinds of lost frames, in the order of [`FrameKind`].
type Found = BTreeMap<(Violation, Vec<FrameKind>), u64>;

#[test]
fn every_pattern_of_first_losses() {
    for ordered in [true, false] {
        assert_eq!(check_all_patterns::<Hardened>(ordered), Found::new());
    }
    let (ordered, unordered) =
        (check_all_patterns::<Prototype>(true), check_all_patterns::<Prototype>(false));
    for found in [&ordered, &unordered] {
        let lost = |kinds: Vec<FrameKind>| found.contains_key(&(Violation::Lost, kinds));
        assert!(lost(vec![FrameKind::Data, FrameKind::Notification]), "a notification is sent once");
        assert!(
            lost(vec![FrameKind::Data; 6]) && !lost(vec![FrameKind::Data; 5]),
            "there are five slots for a gap"
        );
        println!("{} of {} patterns", found.values().sum::<u64>(), 1 << PREFIX);
    }
    let twice = (Violation::Duplicated, vec![FrameKind::Data]);
    assert!(unordered.contains_key(&twice) && !ordered.contains_key(&twice), "both copies are delivered");
}

#[test]
fn random_links() {
    assert_eq!(check_random_links::<Hardened>(), BTreeMap::new());
    let found = check_random_links::<Prototype>();
    println!("{found:?} of {LINKS} links");
    for violation in [Violation::Lost, Violation::Duplicated, Violation::Late, Violation::Leftover] {
        assert!(found.contains_key(&violation), "{violation:?}");
    }
}

fn check_all_patterns<P: Profile>(ordered: bool) -> Found {
    // A wire so short that notifications and copies are among the first frames.
    let mut start = link_over::<P>(Span::from_ns(100), &params());
    start.send(Side::A, 12, LEN, ordered);
    let (before, _) = start.passed();
    let mut found = Found::new();
    for pattern in 0_u64..1 << PREFIX {
        let (mut link, mut lost) = (start.clone(), Vec::new());
        let ending = link.run(|sent| {
            let nth = sent.nth - before;
            let is_lost = nth < PREFIX.into() && pattern >> nth & 1 == 1;
            lost.extend(is_lost.then(|| sent.kind()));
            is_lost
        });
        if let Err(violation) = check_delivery(&link, ending, PATIENCE) {
            lost.sort_unstable();
            *found.entry((violation, lost)).or_default() += 1;
        }
    }
    assert!(found.keys().all(|(_, lost)| !lost.is_empty()), "no violation without losses");
    found
}

fn check_random_links<P: Profile>() -> BTreeMap<Violation, u64> {
    let mut found = BTreeMap::new();
    for seed in 0..LINKS {
        if let Err(violation) = one_link::<P>(&mut Random::new(seed)) {
            *found.entry(violation).or_default() += 1;
        }
    }
    found
}

/// Traffic with a fault, then traffic without: all recoverable frames must arrive.
fn one_link<P: Profile>(random: &mut Random) -> CheckResult {
    let mut link = link::<P>(&params());
    send::<P>(&mut link, random);
    let hit = link.passed().0 + random.below(100);
    let ending = match random.below(4) {
        0 => {
            let ending = link.run(|_| false);
            link.apply(random.pick(&[Side::A, Side::B]), LinkCommand::Restart);
            ending
        }
        1 => {
            let by = Span::from_ns(random.below(DELAY.as_ns()));
            link.run(|sent| if sent.nth == hit { Fate::Delayed(by) } else { Fate::Arrives })
        }
        _ => {
            let lasting = Span::from_ns(random.below(DELAY.as_ns()));
            link.run(outage(lasting, |sent| sent.nth >= hit))
        }
    };
    check_delivery(&link, ending, PATIENCE)?;
    send::<P>(&mut link, random);
    let ending = link.run(|_| false);
    check_delivery(&link, ending, PATIENCE)
}

/// Sends some frames, all ordered or all unordered.
fn send<P: Profile>(link: &mut Link<P>, random: &mut Random) {
    let ordered = random.below(2) == 0;
    for _ in 0..=random.below(100) {
        link.send(Side::A, 1, random.pick(&[SHORT, LEN]), ordered);
    }
}

fn params() -> LinkParams {
    LinkParams { loss_ppm: TWO_COPIES_PPM, ..LinkParams::default() }
}
