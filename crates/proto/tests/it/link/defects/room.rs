//! Buffers are full.

use wiremend_testkit::Side;

use super::verdict::{expect, flawless_but};
use super::{Broken, LEN, PATIENCE, Profile, Terms, Verdict, link};

/// A copy that finds no room cannot be sent again. The prototype has no register that would say how often that is.
pub(super) fn what_finds_no_room_is_counted<P: Profile>() -> Verdict {
    let room_for_five = Terms { tx_bytes: 5 * u64::from(LEN), ..Terms::default() };
    let mut link = link::<P>(&room_for_five);
    link.send(Side::A, 40, LEN, true);
    let doomed = 30;
    let ending = link.run(|passing| passing.frame == Some(doomed));
    flawless_but(&link, ending, PATIENCE, &[doomed])?;
    let (sender, receiver) = (link.counters(Side::A), link.counters(Side::B));
    assert!(sender.tx_bytes_max <= room_for_five.tx_bytes && receiver.lost == 1);
    expect(sender.unkept > 0 && sender.refused > 0, Broken::Uncounted)
}
