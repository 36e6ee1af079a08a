//! An end starts, restarts, or ends.

use wiremend_testkit::{Ending, LinkEnd, Linked, Order, Side};
use wiremend_units::Span;

use super::verdict::{expect, flawless};
use super::{Broken, LEN, Link, PATIENCE, Profile, Terms, Verdict, link, outage};

/// The prototype's new receiver sees a hole of everything before, and waits for each.
pub(super) fn a_receiver_may_restart<P: Profile>() -> Verdict {
    let mut link = used_link::<P>();
    link.order(Side::B, Order::Restart);
    end(link)
}

/// The prototype's new sender starts at 0, and all it sends is taken for old.
pub(super) fn a_sender_may_restart<P: Profile>() -> Verdict {
    let mut link = used_link::<P>();
    link.order(Side::A, Order::Restart);
    end(link)
}

/// The ends of the prototype do not agree on where to begin.
pub(super) fn a_start_after_a_reset_waits_for_nothing<P: Profile>() -> Verdict {
    let mut link = used_link::<P>();
    link.order(Side::A, Order::Deactivate);
    expect(link.run(|_| false) == Ending::Idle, Broken::Restless)?;
    link.order(Side::B, Order::Restart);
    link.order(Side::A, Order::Activate);
    end(link)
}

/// No ACK of the last frames comes, and protection ends: in the prototype their copies turn for ever.
pub(super) fn an_end_leaves_nothing_behind<P: Profile>() -> Verdict {
    let mut link = used_link::<P>();
    link.send(Side::A, 3, LEN, true);
    link.order_after(Span::from_us(1), Side::A, Order::Deactivate);
    let ending = link.run(outage(Span::from_us(20), |passing| passing.from == Side::B));
    flawless(&link, ending, PATIENCE)
}

/// Numbers are far from where they start.
fn used_link<P: Profile>() -> Link<P> {
    let mut link = link::<P>(&Terms::default());
    for _ in 0..30 {
        link.send(Side::A, 100, LEN, true);
        assert_eq!(link.run(|_| false), Ending::Idle);
    }
    link
}

fn end<E: LinkEnd>(mut link: Linked<E>) -> Verdict {
    link.send(Side::A, 100, LEN, true);
    let ending = link.run(|_| false);
    flawless(&link, ending, PATIENCE)
}
