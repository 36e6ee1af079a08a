//! One end of a protected link: who is next on the wire, and what arrives.

use wiremend_units::Time;

use super::{Config, Counters, Disposal, Signal, Transmit, Waiting};

/// One end of a protected link; see the [module](super).
///
/// `BITS` is the width of sequence numbers; tests shrink it to see every wrap.
#[derive(Clone, Debug)]
pub struct Endpoint<F, const BITS: u32 = 20> {
    config: Config,
    counters: Counters,
    disposals: Vec<Disposal<F>>,
}

impl<F: Copy, const BITS: u32> Endpoint<F, BITS> {
    /// A dormant end.
    pub fn new(config: Config) -> Self {
        Self { config, counters: Counters::default(), disposals: Vec::new() }
    }

    /// Protects what is sent from here on. `epoch` differs from that of any start before.
    pub fn activate(&mut self, now: Time, epoch: u32) {
        let _ = (now, epoch);
    }

    /// Ends the protection of what is sent from here, without losing or reordering anything.
    pub fn deactivate(&mut self, now: Time) {
        let _ = now;
    }

    /// What the wire, which is free, carries next. `waiting` is the head of the normal queue. Nothing: ask again after an
    /// input, or when another frame has come to the queue.
    pub fn poll_transmit(&mut self, now: Time, waiting: Option<Waiting>) -> Option<Transmit<F>> {
        let _ = now;
        waiting.map(|_| Transmit::Plain)
    }

    /// The frame of [`Transmit::Fresh`] leaves; `kept` is the host's copy.
    pub fn on_sent(&mut self, now: Time, kept: F) {
        let _ = now;
        self.disposals.push(Disposal::Release(kept));
    }

    /// A frame with a header has arrived whole; `frame` is the handle of what followed [`Signal::Data`].
    pub fn on_signal(&mut self, now: Time, signal: &Signal, frame: Option<F>) {
        let _ = (now, signal);
        self.disposals.extend(frame.map(Disposal::Deliver));
    }

    /// What becomes of handles, in order, until there is nothing.
    pub fn poll(&mut self) -> Option<Disposal<F>> {
        (!self.disposals.is_empty()).then(|| self.disposals.remove(0))
    }

    /// The time that was asked for has come, or a later one.
    pub fn on_timeout(&mut self, now: Time) {
        let _ = now;
    }

    /// When to call [`Endpoint::on_timeout`], if nothing else happens.
    pub fn next_timeout(&self) -> Option<Time> {
        None
    }

    /// What was counted.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What it goes by.
    pub fn config(&self) -> &Config {
        &self.config
    }
}
