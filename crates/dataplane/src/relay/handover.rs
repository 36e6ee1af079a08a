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
//! The counts are read again until no frame came in between. If frames come too fast for that, or the port
//! cannot tell how many it has (`AF_XDP`), the frames in doubt are dropped and counted: none is forwarded
//! twice. When the relay gives a direction back, nothing waits in it, so the kernel overtakes only frames that
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
    /// Frames that came during the reading.
    in_doubt: usize,
}

impl Reading {
    /// Frames that the rule has dropped since `earlier`, without link frames.
    fn dropped_since(&self, earlier: &Self) -> usize {
        let dropped = self.dropped.wrapping_sub(earlier.dropped) as usize;
        dropped.saturating_sub(self.pending.link.saturating_sub(earlier.pending.link))
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
        let skip = after.pending.other.saturating_sub(after.dropped_since(&before));
        self.socket.select(Selection { ethertype: self.ethertype, keep: 0, skip });
        self.counts.lost += after.in_doubt as u64;
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
        let keep = after.dropped_since(&before).min(after.pending.other);
        let skip = after.pending.other - keep;
        self.socket.select(Selection { ethertype: self.ethertype, keep, skip });
        self.counts.lost += after.in_doubt as u64;
        self.counts.late += keep as u64;
        Ok(true)
    }

    /// Reads both counts until no frame comes in between. `None`: the port cannot tell.
    fn read(&mut self, readings_max: u32) -> Result<Option<Reading>, NetError> {
        let Some(mut before) = self.socket.pending(self.ethertype) else { return Ok(None) };
        let mut reading = Reading { pending: before, dropped: 0, in_doubt: 0 };
        for _ in 0..readings_max {
            reading.dropped = self.switch.dropped()?;
            let after = self.socket.pending(self.ethertype).unwrap_or_default();
            let settled = self.switch.dropped()? == reading.dropped && after == before;
            reading.pending = after;
            reading.in_doubt = after.other.saturating_sub(before.other);
            if settled {
                break;
            }
            before = after;
        }
        Ok(Some(reading))
    }

    fn filter(&self, filter: CaptureFilter) -> Result<(), NetError> {
        let set = self.socket.set_filter(filter);
        set.map_err(|error| NetError::failed(format!("set the socket filter of `{}`", self.name), error))
    }
}
