//! Changes the forwarder of a direction without losing a frame or forwarding it twice.
//!
//! Each frame first reaches the packet socket and then the tc rule, which either drops it (the relay forwards)
//! or redirects it (the kernel does). During a change the socket receives every frame, so that none is lost.
//! The rule changes by one message, so the frames before it went one way and those after it the other. How
//! many were dropped tells which of the received frames the relay must forward:
//!
//! ```text
//!                 socket receives: ├──────────────── all ────────────────┤
//!   take:  redirected by the rule ─┴─────────┐ ┌─ dropped by the rule ───┴─
//!   give:     dropped by the rule ───────────┘ └─ redirected by the rule ──
//! ```
//!
//! The counts are read again until no frame came in between. If frames come too fast for that, the frames in
//! doubt are dropped and counted: none is forwarded twice. A port that cannot tell how many it has (`AF_XDP`)
//! changes without counts. When the relay gives a direction back, nothing waits in it, so the kernel overtakes only frames that
//! arrive within the change, some tens of microseconds; these are counted as well.

use crate::net::{NetError, tc};
use crate::port::LinuxPort;
use crate::sys::packet::{CaptureFilter, PendingFrames, Selection};

/// Readings until no frame comes in between.
const READINGS_MAX: u32 = 64;

/// Frames that wait in the socket, and frames dropped by the rule, at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Reading {
    pending: PendingFrames,
    dropped: u32,
    /// Frames that came during the reading: the rule may have dropped so many more.
    in_doubt: usize,
}

impl Reading {
    /// Reads both counts until no frame comes in between. `None`: the port cannot tell.
    fn take<E>(
        readings_max: u32,
        mut pending: impl FnMut() -> Option<PendingFrames>,
        mut dropped: impl FnMut() -> Result<u32, E>,
    ) -> Result<Option<Self>, E> {
        let Some(mut before) = pending() else { return Ok(None) };
        let mut reading = Self { pending: before, dropped: 0, in_doubt: 0 };
        for _ in 0..readings_max {
            reading.dropped = dropped()?;
            let after = pending().unwrap_or_default();
            let settled = dropped()? == reading.dropped && after == before;
            reading.pending = after;
            // Link frames too: the rule counts all that it drops.
            let all = |frames: PendingFrames| frames.link + frames.other;
            reading.in_doubt = all(after).saturating_sub(all(before));
            if settled {
                break;
            }
            before = after;
        }
        Ok(Some(reading))
    }

    /// Of the frames in the socket, without link frames, those that the rule has dropped since `earlier`: at
    /// least and at most so many.
    fn dropped_since(&self, earlier: &Self) -> [usize; 2] {
        let dropped = self.dropped.wrapping_sub(earlier.dropped) as usize;
        let link_frames = self.pending.link.saturating_sub(earlier.pending.link);
        let [least, most] = [dropped.saturating_sub(earlier.in_doubt), dropped + self.in_doubt];
        [least, most].map(|dropped| dropped.saturating_sub(link_frames).min(self.pending.other))
    }
}

/// Frames that a hand-over has affected.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct HandoverCounts {
    /// Dropped, because it was not clear who forwards them.
    pub(super) lost: u64,
    /// Arrived within the change to the kernel, which may have forwarded later frames before them.
    pub(super) late: u64,
}

/// A port whose frames change their forwarder.
pub(super) struct Handover<'a> {
    pub(super) name: &'a str,
    pub(super) switch: &'a mut tc::Switch,
    pub(super) socket: &'a LinuxPort,
    pub(super) ethertype: u16,
    /// What the socket receives while the kernel forwards.
    pub(super) returned: CaptureFilter,
    pub(super) counts: &'a mut HandoverCounts,
}

impl Handover<'_> {
    /// The relay forwards from now on.
    pub(super) fn take(mut self) -> Result<(), NetError> {
        let Some(before) = self.read(READINGS_MAX)? else {
            self.switch.drop_all()?;
            return self.filter(CaptureFilter::All);
        };
        self.filter(CaptureFilter::All)?;
        self.switch.drop_all()?;
        let after = self.read(READINGS_MAX)?.unwrap_or(before);
        // The redirected frames came first.
        let [ours, at_most] = after.dropped_since(&before);
        let skip = after.pending.other - ours;
        self.socket.select(Selection { ethertype: self.ethertype, keep: 0, skip });
        self.counts.lost += (at_most - ours) as u64;
        Ok(())
    }

    /// The kernel forwards from now on. False: frames have arrived meanwhile, which go first.
    pub(super) fn give(mut self) -> Result<bool, NetError> {
        let Some(before) = self.read(1)? else {
            self.filter(self.returned)?;
            self.switch.redirect()?;
            return Ok(true);
        };
        // The last look is right before the change: this process may have waited for a processor.
        if before.pending != PendingFrames::default()
            || self.socket.pending(self.ethertype) != Some(PendingFrames::default())
        {
            return Ok(false);
        }
        self.switch.redirect()?;
        self.filter(self.returned)?;
        let after = self.read(READINGS_MAX)?.unwrap_or(before);
        // The dropped frames came first.
        let [keep, at_most] = after.dropped_since(&before);
        let skip = after.pending.other - keep;
        self.socket.select(Selection { ethertype: self.ethertype, keep, skip });
        self.counts.lost += (at_most - keep) as u64;
        self.counts.late += keep as u64;
        Ok(true)
    }

    fn read(&mut self, readings_max: u32) -> Result<Option<Reading>, NetError> {
        Reading::take(readings_max, || self.socket.pending(self.ethertype), || self.switch.dropped())
    }

    fn filter(&self, filter: CaptureFilter) -> Result<(), NetError> {
        let set = self.socket.set_filter(filter);
        set.map_err(|error| NetError::failed(format!("set the socket filter of `{}`", self.name), error))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::convert::Infallible;

    use proptest::prelude::*;

    use super::*;

    /// A port, its rule and its socket. Frames arrive before anybody looks or changes something.
    #[derive(Default)]
    struct Model {
        /// How many frames arrive each time, and whether they are link frames.
        arrivals: Vec<Vec<bool>>,
        is_dropping: bool,
        receives_all: bool,
        dropped: u32,
        pending: PendingFrames,
        /// Of the pending frames other than link frames: those that the rule has dropped, and those that it has
        /// redirected.
        ours: usize,
        redirected: usize,
    }

    impl Model {
        fn arrive(&mut self) {
            for is_link in self.arrivals.pop().unwrap_or_default() {
                self.dropped = self.dropped.wrapping_add(u32::from(is_link || self.is_dropping));
                self.pending.link += usize::from(is_link);
                if !is_link && self.receives_all {
                    self.pending.other += 1;
                    self.ours += usize::from(self.is_dropping);
                    self.redirected += usize::from(!self.is_dropping);
                }
            }
        }
    }

    fn read(model: &RefCell<Model>) -> Reading {
        let look = || {
            let mut model = model.borrow_mut();
            model.arrive();
            (model.pending, model.dropped)
        };
        let reading = Reading::take(5, || Some(look().0), || Ok::<_, Infallible>(look().1));
        reading.unwrap().unwrap()
    }

    proptest! {
        /// However frames arrive, none that the kernel has redirected is forwarded again, and each one that
        /// nobody forwards is counted.
        #[test]
        fn frames_in_doubt_are_counted_and_not_repeated(
            arrivals in prop::collection::vec(prop::collection::vec(any::<bool>(), 0..4), 0..30),
            quiet in any::<bool>(),
            takes in any::<bool>(),
            before in any::<u32>(),
        ) {
            let frames: usize = arrivals.iter().map(Vec::len).sum();
            let arrivals = if quiet { arrivals.into_iter().rev().take(3).collect() } else { arrivals };
            let model = RefCell::new(Model { arrivals, dropped: before, is_dropping: !takes, receives_all: !takes, ..Model::default() });
            let change = |change: fn(&mut Model)| {
                let mut model = model.borrow_mut();
                model.arrive();
                change(&mut model);
            };
            let before = if takes {
                let before = read(&model);
                change(|model| model.receives_all = true);
                change(|model| model.is_dropping = true);
                before
            } else {
                let before = Reading { pending: PendingFrames::default(), dropped: before, in_doubt: 0 };
                change(|model| model.is_dropping = false);
                change(|model| model.receives_all = false);
                before
            };
            let after = read(&model);
            let [ours, at_most] = after.dropped_since(&before);
            // Frames that came after the last look are behind the others.
            let model = model.borrow();
            let ours_really = if takes { after.pending.other - model.redirected } else { model.ours };
            prop_assert!(ours <= ours_really, "{} repeated", ours - ours_really);
            prop_assert!(ours_really <= at_most, "{} of {frames} lost, not counted", ours_really - at_most);
        }
    }
}
