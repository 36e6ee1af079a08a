//! Time from the detection of a gap to the arrival of the missing frame, compared with a round trip.
//!
//! Both are measured in alternating rounds, because other programs use the processors too. The report has the
//! ratio over all rounds and the median of the ratios per round.

use std::collections::BTreeMap;
use std::fmt;
use std::io::IoSlice;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use wiremend_dataplane::event_loop::{Clock, WaitMode, wait_for_frames};
use wiremend_dataplane::sys::packet::PacketSocket;
use wiremend_dataplane::sys::sched::request_short_slices;
use wiremend_dataplane::sys::wait::{Waker, set_precise_timers};
use wiremend_units::Span;

use crate::device::relay;
use crate::traffic::{carry, socket};
use crate::{BoxError, Kind};

/// Frames per second; a low rate, so that the processor is not the bottleneck.
const PER_SECOND: u64 = 20_000;
const ROUNDS: usize = 5;
const TRIPS: usize = 2000;
/// Loss rate in each direction, and seconds of traffic per round.
const LOSSES: [(f64, u64); 3] = [(1e-4, 20), (1e-3, 5), (1e-2, 2)];

pub(crate) fn measure(kind: Kind) -> Result<(), BoxError> {
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

fn echo(count: usize) -> Result<Delays, BoxError> {
    let (mut near, mut far) = (socket("link-b")?, socket("link-a")?);
    let stop = AtomicBool::new(false);
    let frame = [0; 60];
    let trip = |port: &mut PacketSocket, clock: &Clock, waker: &Waker| -> Result<bool, BoxError> {
        if port.take().is_some() {
            port.release();
            return Ok(true);
        }
        wait_for_frames(WaitMode::Sleep, clock, [port, port], waker, Some(clock.now() + Span::from_ms(5)))?;
        Ok(false)
    };
    thread::scope(|scope| {
        let mirror = scope.spawn(|| -> Result<(), BoxError> {
            set_precise_timers();
            request_short_slices();
            let (clock, waker) = (Clock::start(), Waker::new()?);
            while !stop.load(Ordering::Relaxed) {
                if trip(&mut far, &clock, &waker)? {
                    far.send(&[[IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])]])?;
                }
            }
            Ok(())
        });
        set_precise_timers();
        request_short_slices();
        let (clock, waker) = (Clock::start(), Waker::new()?);
        let mut trips = Vec::with_capacity(count);
        while trips.len() < count {
            let begun = clock.now();
            near.send(&[[IoSlice::new(&frame), IoSlice::new(&[]), IoSlice::new(&[])]])?;
            while !trip(&mut near, &clock, &waker)? {}
            trips.push((clock.now().since(begun).as_ns(), 1));
            wait_for_frames(
                WaitMode::Sleep,
                &clock,
                [&near, &near],
                &waker,
                Some(clock.now() + Span::from_us(200)),
            )?;
        }
        stop.store(true, Ordering::Relaxed);
        mirror.join().map_err(|_| "the echo thread panicked")??;
        Ok(trips.into_iter().collect())
    })
}
