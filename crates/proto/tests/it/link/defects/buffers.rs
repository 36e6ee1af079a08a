//! Full buffers.

use wiremend_testkit::Side;

use super::guarantee::{check_delivery_except, expect};
use super::{CheckResult, LEN, LinkParams, PATIENCE, Profile, Violation, link};

/// A copy that finds no room cannot be retransmitted. The prototype has no counter for it.
pub(super) fn full_tx_buffer_is_counted<P: Profile>() -> CheckResult {
    let room_for_five = LinkParams { tx_bytes: 5 * u64::from(LEN), ..LinkParams::default() };
    let mut link = link::<P>(&room_for_five);
    link.send(Side::A, 40, LEN, true);
    let unrecoverable = 30;
    let ending = link.run(|sent| sent.frame == Some(unrecoverable));
    check_delivery_except(&link, ending, PATIENCE, &[unrecoverable])?;
    let (sender, receiver) = (link.counters(Side::A), link.counters(Side::B));
    assert!(sender.tx_bytes_max <= room_for_five.tx_bytes && receiver.lost == 1);
    expect(sender.unbuffered > 0 && sender.refused > 0, Violation::Uncounted)
}
