//! What the published prototype cannot do, and the hardened protocol can: each defect is one story, told of both.
//!
//! A story is a promise: what is sent over a link, what becomes of it on the wire, and what must have come of it in the end. It is kept
//! by [`Hardened`] and broken by [`Paper`], in the way that the table says. Both have the same link, frames, losses and clock.

mod feedback;
mod holes;
mod kinds;
mod numbers;
mod profile;
mod room;
mod search;
mod starts;
mod verdict;
mod weather;

use profile::{Hardened, Link, Paper, Profile, Terms, link};
use verdict::{Broken, Verdict};
use wiremend_testkit::Passing;
use wiremend_units::Span;

/// Of the frames of most stories.
const LEN: u32 = 1000;
/// Of frames where many are needed: 9.6 ns on the wire.
const SHORT: u32 = 100;
/// Longer than a recovery takes, or two; far shorter than any transport's time-out.
const PATIENCE: Span = Span::from_us(60);

/// The number of a limit, the promise that shows it, and how the prototype breaks the promise.
macro_rules! defects {
    ($($limit:literal $module:ident::$story:ident $broken:ident;)*) => {
        /// The limits that have a story here.
        const TOLD: &[u8] = &[$($limit),*];

        $(
            #[test]
            fn $story() {
                assert_eq!($module::$story::<Hardened>(), Ok(()));
                assert_eq!($module::$story::<Paper>(), Err(Broken::$broken));
            }
        )*
    };
}

// Limits of the prototype:
//  1  the links of a switch share its loop           7  its ends do not know when the other starts, restarts or ends
//  2  it has five places for a hole                  8  without order nobody removes duplicates
//  3  its eras and numbers go astray                 9  a TX buffer that is full says nothing
//  4  requests outlive what they were for           10  its numbers are fixed when it is built
//  5  the last ACK is taken for the latest          11  it takes all frames for IPv4
//  6  notifications and pauses are said once
defects! {
     2 holes::a_hole_over_five_is_filled                        Lost;
     2 holes::a_hole_over_255_is_filled                         Lost;
     2 holes::what_cannot_come_is_waited_for_once               Late;
     3 numbers::a_timeout_at_the_wrap_costs_nobody_else         Lost;
     3 numbers::a_switch_to_order_waits_for_nothing             Late;
     3 numbers::a_switch_to_order_in_another_era_loses_nothing  Lost;
     4 numbers::a_request_ends_with_its_frame                   Twice;
     5 feedback::a_late_ack_keeps_nothing                       LeftOver;
     6 feedback::a_lost_notification_is_made_good               Lost;
     6 feedback::a_lost_pause_is_made_good                      Overflowed;
     6 feedback::a_lost_resume_is_made_good                     Late;
     6 feedback::both_directions_may_corrupt                    Lost;
     7 starts::a_receiver_may_restart                           Late;
     7 starts::a_sender_may_restart                             Lost;
     7 starts::a_start_after_a_reset_waits_for_nothing          Late;
     7 starts::an_end_leaves_nothing_behind                     LeftOver;
     8 kinds::without_order_a_frame_comes_once                  Twice;
     8 kinds::both_kinds_share_a_link                           Late;
     9 room::what_finds_no_room_is_counted                      Uncounted;
    10 weather::times_follow_the_link                           Lost;
    10 weather::copies_follow_the_loss                          Unmoved;
    10 weather::too_much_loss_stops_nothing                     Late;
    11 kinds::every_protocol_survives                           Damaged;
}

/// The limits whose stories take a switch with several ports, and so the simulator.
const TOLD_ELSEWHERE: &[(u8, &str, &str)] = &[(
    1,
    "fn a_second_protected_link_costs_the_first_nothing",
    include_str!("../../../../../sim/tests/it/neighbours.rs"),
)];

#[test]
fn every_limit_has_a_story() {
    for limit in 1..=11 {
        let elsewhere = TOLD_ELSEWHERE.iter().find(|(number, ..)| *number == limit);
        let is_told = elsewhere.map_or(TOLD.contains(&limit), |(_, name, file)| file.contains(name));
        assert!(is_told, "limit {limit}");
    }
}

/// Everything in one direction for a while, from the first moment that `begins` on.
fn outage<S>(lasting: Span, begins: impl Fn(&Passing<S>) -> bool) -> impl FnMut(&Passing<S>) -> bool {
    let mut began = None;
    move |passing| {
        if began.is_none() && begins(passing) {
            began = Some((passing.at, passing.from));
        }
        began.is_some_and(|(at, from)| passing.from == from && passing.at.since(at) < lasting)
    }
}
