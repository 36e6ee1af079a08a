//! A link is not what it was taken for.

use wiremend_testkit::{Dice, Ending, Kind, LinkEnd, Linked, Side};
use wiremend_units::Span;

use super::profile::link_over;
use super::verdict::{expect, flawless, punctual};
use super::{Broken, LEN, PATIENCE, Profile, SHORT, Terms, Verdict, link};

/// A round trip of 40 µs: the prototype gives up after 7 µs, whatever the link.
pub(super) fn times_follow_the_link<P: Profile>() -> Verdict {
    let mut link = link_over::<P>(Span::from_us(20), &Terms::default());
    link.send(Side::A, 60, LEN, true);
    let ending = link.run(|passing| passing.kind() == Kind::Data && passing.frame == Some(7));
    flawless(&link, ending, Span::from_us(100))
}

/// LG Eq. 2: where a hundred times as much is lost, one copy does not do. That of the prototype is fixed when protection is installed.
pub(super) fn copies_follow_the_loss<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    let before = copies_per_loss(&mut link, 100, 40_000);
    assert!(before < 1.5, "both begin with one: {before}");
    copies_per_loss(&mut link, 10_000, 5000);
    let after = copies_per_loss(&mut link, 10_000, 20_000);
    expect(after > before + 1.0, Broken::Unmoved)
}

/// Three of ten frames are lost, and so are three of ten copies. What the prototype does not recover stops all that is behind it.
pub(super) fn too_much_loss_stops_nothing<P: Profile>() -> Verdict {
    let mut link = link::<P>(&Terms::default());
    copies_per_loss(&mut link, 300_000, 40_000);
    let settled = link.frames().len();
    copies_per_loss(&mut link, 300_000, 2000);
    punctual(&link.frames()[settled..], PATIENCE)
}

/// Copies that leave for each frame that is lost.
fn copies_per_loss<E: LinkEnd>(link: &mut Linked<E>, loss_ppm: u32, frames: usize) -> f64 {
    let mut dice = Dice::new(u64::from(loss_ppm));
    let (mut copies, missed) = (0, link.counters(Side::B).missed);
    for _ in 0..frames / 100 {
        link.send(Side::A, 100, SHORT, true);
        let ending = link.run(|passing| {
            copies += u32::from(passing.kind() == Kind::Copy);
            passing.from == Side::A && dice.chance_ppm(loss_ppm)
        });
        assert_eq!(ending, Ending::Idle);
    }
    f64::from(copies) / (link.counters(Side::B).missed - missed).max(1) as f64
}
