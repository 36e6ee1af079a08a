//! Defects of the published prototype that the hardened protocol does not have. Each is one test, run with
//! both.
//!
//! A test sends frames over a link, decides on losses, and checks the result. [`Hardened`] passes it, and
//! [`Prototype`] fails with the violation in the table. Both have the same link, frames, losses and clock.

mod buffers;
mod conditions;
mod feedback;
mod guarantee;
mod holes;
mod kinds;
mod numbers;
mod profile;
mod search;
mod starts;

use guarantee::{CheckResult, Violation};
use profile::{Hardened, Link, LinkParams, Profile, Prototype, link};
use wiremend_testkit::WireFrame;
use wiremend_units::Span;

const LEN: u32 = 1000;
/// Length where many frames are needed: 9.6 ns on the wire.
const SHORT: u32 = 100;
/// Longer than one or two recoveries, far shorter than any transport's timeout.
const PATIENCE: Span = Span::from_us(60);

/// Number of a limit, the test that shows it, and how the prototype fails.
macro_rules! defects {
    ($($limit:literal $module:ident::$test:ident $violation:ident;)*) => {
        const TESTED_LIMITS: &[u8] = &[$($limit),*];

        $(
            #[test]
            fn $test() {
                assert_eq!($module::$test::<Hardened>(), Ok(()));
                assert_eq!($module::$test::<Prototype>(), Err(Violation::$violation));
            }
        )*
    };
}

// Limits of the prototype:
//  1  the links of a switch share its loop           7  an end does not notice starts and ends of the other
//  2  it has five slots for a gap                    8  unordered frames are not deduplicated
//  3  eras and numbers get out of step               9  a full TX buffer is not counted
//  4  requests outlive their frame                  10  its parameters are fixed at compile time
//  5  the last ACK counts, even if older            11  it takes all frames for IPv4
//  6  notifications and pauses are sent once
defects! {
     2 holes::gap_over_five_is_filled                                 Lost;
     2 holes::gap_over_255_is_filled                                  Lost;
     2 holes::unrecoverable_frames_share_one_timeout                  Late;
     3 numbers::timeout_at_the_wrap_costs_no_other_frame              Lost;
     3 numbers::switch_to_ordered_frames_does_not_wait                Late;
     3 numbers::switch_to_ordered_frames_in_another_era_loses_none    Lost;
     4 numbers::request_ends_with_its_frame                           Duplicated;
     5 feedback::late_ack_leaves_no_copies                            Leftover;
     6 feedback::lost_notification_is_repeated                        Lost;
     6 feedback::lost_pause_is_repeated                               Overflowed;
     6 feedback::lost_resume_is_repeated                              Late;
     6 feedback::losses_in_both_directions_are_recovered              Lost;
     7 starts::receiver_may_restart                                   Late;
     7 starts::sender_may_restart                                     Lost;
     7 starts::start_after_a_reset_does_not_wait                      Late;
     7 starts::end_of_protection_leaves_no_copies                     Leftover;
     8 kinds::unordered_frames_arrive_once                            Duplicated;
     8 kinds::ordered_and_unordered_frames_share_a_link               Late;
     9 buffers::full_tx_buffer_is_counted                             Uncounted;
    10 conditions::timeouts_follow_the_link                           Lost;
    10 conditions::copies_follow_the_loss_rate                        NotAdapted;
    10 conditions::high_loss_does_not_block_the_link                  Late;
    11 kinds::frames_of_every_protocol_are_unchanged                  Damaged;
}

/// Limits whose tests need a switch with several ports, so they are in the simulator.
const TESTED_IN_SIM: &[(u8, &str, &str)] = &[(
    1,
    "fn a_second_protected_link_costs_the_first_nothing",
    include_str!("../../../../../sim/tests/it/neighbours.rs"),
)];

#[test]
fn every_limit_has_a_test() {
    for limit in 1..=11 {
        let elsewhere = TESTED_IN_SIM.iter().find(|(number, ..)| *number == limit);
        let is_tested =
            elsewhere.map_or(TESTED_LIMITS.contains(&limit), |(_, name, file)| file.contains(name));
        assert!(is_tested, "limit {limit}");
    }
}

/// Loses all frames of one direction for a while, from the first frame on for which `begins` is true.
fn outage<S>(lasting: Span, begins: impl Fn(&WireFrame<S>) -> bool) -> impl FnMut(&WireFrame<S>) -> bool {
    let mut began = None;
    move |sent| {
        if began.is_none() && begins(sent) {
            began = Some((sent.at, sent.from));
        }
        began.is_some_and(|(at, from)| sent.from == from && sent.at.since(at) < lasting)
    }
}
