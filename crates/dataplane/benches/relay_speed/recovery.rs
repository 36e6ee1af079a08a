//! How long it takes from a gap that is seen to the frame that fills it, beside a round trip over the same wire in the same run.
//!
//! Other programs want the processors too, so both are measured in turns, and the median of the ratios is told beside the whole.

use std::collections::BTreeMap;
use std::fmt;
use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use wiremend_dataplane::drive::{Clock, Poll, idle};
use wiremend_dataplane::sys::packet::PacketSocket;
use wiremend_dataplane::sys::sched::short_turns;
use wiremend_dataplane::sys::wait::{Waker, precise_timers};
use wiremend_units::Span;

use crate::carrier::relay;
use crate::traffic::{carry, socket};
use crate::{Kind, Trouble};

/// Frames a second: little to do for a processor, so that what is measured is the link.
const PER_SECOND: u64 = 20_000;
const ROUNDS: usize = 5;
const TRIPS: usize = 2000;
/// The share of frames that is lost each way, and the seconds for which they are sent in each round.
const LOSSES: [(f64, u64); 3] = [(1e-4, 20), (1e-3, 5), (1e-2, 2)];

/// Measures and prints it.
pub(crate) fn measure(kind: Kind) -> Result<(), Trouble> {
    println!(
        "\n{:<34} {:>20} {:>20} {:>9} {:>9} {:>9}",
        format!("{PER_SECOND} frames a second"),
        "recovery p50 / p99",
        "round trip p50 / p99",
        "p99:p99",
        "in rounds",
        "p99:p50"
    );
    for (loss, seconds) in LOSSES {
        let (mut recoveries, mut trips) = (Delays::default(), Delays::default());
        let mut ratios = Vec::new();
        for _ in 0..ROUNDS {
            let trip = echo(TRIPS)?;
            let run = carry(kind, Some(PER_SECOND), PER_SECOND * seconds, 1514, |side, lan, link| {
                relay(side, loss, lan, link)
            })?;
            ratios.push(run.delays.us(990) / trip.us(990));
            recoveries.add_all(&run.delays);
            trips.add_all(&trip);
        }
        ratios.sort_unstable_by(f64::total_cmp);
        println!(
            "{:<34} {:>20} {:>20} {:>9.1} {:>9.1} {:>9.1}",
            format!("loss {loss}, {} recoveries", recoveries.count()),
            recoveries.to_string(),
            trips.to_string(),
            recoveries.us(990) / trips.us(990),
            ratios[ROUNDS / 2],
            recoveries.us(990) / trips.us(500)
        );
    }
    Ok(())
}

/// How long things took, in nanoseconds, and how many took so long.
#[derive(Default)]
pub(crate) struct Delays(BTreeMap<u64, u64>);

impl FromIterator<(u64, u64)> for Delays {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(delays: I) -> Self {
        let mut all = Self::default();
        for (ns, count) in delays.into_iter().filter(|(_, count)| *count > 0) {
            *all.0.entry(ns).or_default() += count;
        }
        all
    }
}

impl Delays {
    fn add_all(&mut self, others: &Self) {
        for (ns, count) in &others.0 {
            *self.0.entry(*ns).or_default() += count;
        }
    }

    fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// So many per mille took at most so many microseconds.
    fn us(&self, per_mille: u64) -> f64 {
        let rank = (self.count() * per_mille).div_ceil(1000).max(1);
        let mut below = 0;
        let at = self.0.iter().find(|(_, count)| {
            below += *count;
            below >= rank
        });
        at.map_or(f64::NAN, |(ns, _)| *ns as f64 / 1e3)
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count() == 0 {
            return Ok(());
        }
        write!(f, "{:.0} / {:.0} µs", self.us(500), self.us(990))
    }
}

/// Round trips over the link between two threads that sleep and do nothing else.
fn echo(count: usize) -> Result<Delays, Trouble> {
    let (mut near, mut far) = (socket("link-b")?, socket("link-a")?);
    let stop = AtomicBool::new(false);
    let frame = [0; 60];
    let trip = |port: &mut PacketSocket, clock: &Clock, waker: &Waker| -> Result<bool, Trouble> {
        if port.take().is_some() {
            port.release();
            return Ok(true);
        }
        idle(Poll::Sleep, clock, [port, port], waker, Some(clock.now() + Span::from_ms(5)))?;
        Ok(false)
    };
    thread::scope(|scope| {
        let mirror = scope.spawn(|| -> Result<(), Trouble> {
            precise_timers();
            short_turns();
            let (clock, waker) = (Clock::start(), Waker::new()?);
            while !stop.load(Ordering::Relaxed) {
                if trip(&mut far, &clock, &waker)? {
                    far.send(&[[IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])]])?;
                }
            }
            Ok(())
        });
        precise_timers();
        short_turns();
        let (clock, waker) = (Clock::start(), Waker::new()?);
        let mut trips = Vec::with_capacity(count);
        while trips.len() < count {
            let begun = clock.now();
            near.send(&[[IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])]])?;
            while !trip(&mut near, &clock, &waker)? {}
            trips.push((clock.now().since(begun).as_ns(), 1));
            idle(Poll::Sleep, &clock, [&near, &near], &waker, Some(clock.now() + Span::from_us(200)))?;
        }
        stop.store(true, Ordering::Relaxed);
        mirror.join().map_err(|_| "the echo ended badly")??;
        Ok(trips.into_iter().collect())
    })
}
