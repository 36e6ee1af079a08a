//! Starts, restarts and ends.

use wiremend_testkit::{EndpointPair, LinkCommand, LinkEnd, RunEnd, Side};
use wiremend_units::Span;

use super::guarantee::{check_delivery, expect};
use super::{CheckResult, LEN, Link, LinkParams, PATIENCE, Profile, Violation, link, outage};

/// The prototype's restarted receiver sees a gap of all earlier numbers, and waits for each.
pub(super) fn receiver_may_restart<P: Profile>() -> CheckResult {
    let mut link = used_link::<P>();
    link.apply(Side::B, LinkCommand::Restart);
    end(link)
}

/// The prototype's restarted sender begins at 0, and all its frames are taken for old.
pub(super) fn sender_may_restart<P: Profile>() -> CheckResult {
    let mut link = used_link::<P>();
    link.apply(Side::A, LinkCommand::Restart);
    end(link)
}

/// The ends of the prototype do not agree on the first number.
pub(super) fn start_after_a_reset_does_not_wait<P: Profile>() -> CheckResult {
    let mut link = used_link::<P>();
    link.apply(Side::A, LinkCommand::Deactivate);
    expect(link.run(|_| false) == RunEnd::Idle, Violation::NotIdle)?;
    link.apply(Side::B, LinkCommand::Restart);
    link.apply(Side::A, LinkCommand::Activate);
    end(link)
}

/// Protection ends without an ACK of the last frames: in the prototype their copies stay in the loop for
/// ever.
pub(super) fn end_of_protection_leaves_no_copies<P: Profile>() -> CheckResult {
    let mut link = used_link::<P>();
    link.send(Side::A, 3, LEN, true);
    link.apply_after(Span::from_us(1), Side::A, LinkCommand::Deactivate);
    let ending = link.run(outage(Span::from_us(20), |sent| sent.from == Side::B));
    check_delivery(&link, ending, PATIENCE)
}

/// A link whose numbers are far from their start.
fn used_link<P: Profile>() -> Link<P> {
    let mut link = link::<P>(&LinkParams::default());
    for _ in 0..30 {
        link.send(Side::A, 100, LEN, true);
        assert_eq!(link.run(|_| false), RunEnd::Idle);
    }
    link
}

fn end<E: LinkEnd>(mut link: EndpointPair<E>) -> CheckResult {
    link.send(Side::A, 100, LEN, true);
    let ending = link.run(|_| false);
    check_delivery(&link, ending, PATIENCE)
}
