//! The responder's half of READs: it keeps requests until it is their turn, and sends the data.

use std::collections::BTreeMap;

use wiremend_units::{Psn, QpNum, Time};

use super::config::Config;
use super::packet::Packet;
use super::requester::Requester;
use crate::engine::{Expiry, Op, Requester as _, Work};

/// Requests and the sending half for their data.
#[derive(Clone, Debug)]
pub(super) struct ReadSource {
    /// Address and length of READs that wait for the messages before them, by unit.
    kept: BTreeMap<u64, (u64, u32)>,
    /// Sends the data of a READ as a SEND, whose identifier is the local address.
    sender: Requester,
    /// READs whose data are not acknowledged.
    open: usize,
    /// Time of the last event. Packets are polled without a time; until the next event the timers of what is sent
    /// run early by at most a window.
    now: Time,
    /// Whether the sender's timers are due.
    timer_due: bool,
    /// Whether the sender has a packet.
    ready: bool,
    expiry: Option<Expiry>,
}

impl ReadSource {
    pub(super) fn new(peer: QpNum, first: Psn) -> Self {
        let sender = Requester::new(peer, first);
        let (kept, now) = (BTreeMap::new(), Time::ZERO);
        Self { kept, sender, open: 0, now, timer_due: false, ready: false, expiry: None }
    }

    /// Keeps a request. Returns false if there is no room for it: the peer has more open READs than permitted.
    pub(super) fn keep(&mut self, config: &Config, unit: u64, range: (u64, u32)) -> bool {
        // The requester knows that data have arrived before their acknowledgement is here.
        let most = 2 * config.base.reads_max as usize;
        let has_room = self.kept.contains_key(&unit) || self.kept.len() + self.open < most;
        if has_room {
            self.kept.insert(unit, range);
        }
        has_room
    }

    /// Length of a kept READ.
    pub(super) fn kept_len(&self, unit: u64) -> u32 {
        self.kept.get(&unit).map_or(0, |(_, len)| *len)
    }

    /// Starts the READs before this unit: all messages before them are complete.
    pub(super) fn start_before(&mut self, config: &Config, now: Time, expected: u64) {
        if self.kept.first_key_value().is_none_or(|(unit, _)| *unit >= expected) {
            return;
        }
        let later = self.kept.split_off(&expected);
        for (addr, len) in std::mem::replace(&mut self.kept, later).into_values() {
            self.open += 1;
            self.sender.post(config, now, Work { id: addr, op: Op::Send, len, addr: 0, rkey: 0, imm: None });
        }
        self.update(config, now);
    }

    /// Handles a packet of the peer's receiving half.
    pub(super) fn on_packet(&mut self, config: &Config, now: Time, packet: &Packet) {
        let mut packet = *packet;
        match &mut packet {
            Packet::Data(data) => *data = data.as_send(),
            Packet::Ack(ack) => ack.progress = ack.progress.of_data(),
            Packet::Missing(missing) => missing.progress = missing.progress.of_data(),
            Packet::Recount(recount) => recount.progress = recount.progress.of_data(),
        }
        self.sender.on_packet(config, now, &packet);
        self.update(config, now);
    }

    /// Handles a time at which timers are due. They run at the next poll, which has the configuration.
    pub(super) fn on_timeout(&mut self, now: Time) {
        (self.now, self.timer_due) = (now, true);
    }

    #[inline]
    pub(super) fn next_timeout(&self) -> Option<Time> {
        if self.timer_due { None } else { self.sender.next_timeout() }
    }

    #[inline]
    pub(super) const fn has_output(&self) -> bool {
        self.ready || self.timer_due
    }

    pub(super) fn poll_transmit(&mut self, config: &Config) -> Option<Packet> {
        if std::mem::take(&mut self.timer_due) {
            self.expiry = self.sender.on_timeout(config, self.now).or(self.expiry);
        }
        let transmit = self.sender.poll_transmit(config, self.now);
        self.update(config, self.now);
        let transmit = transmit?;
        let Packet::Data(data) = transmit.packet else { return None };
        let source = transmit.work.wrapping_add(u64::from(transmit.offset));
        Some(Packet::Data(data.into_read_data().with_source(source)))
    }

    fn update(&mut self, config: &Config, now: Time) {
        self.now = now;
        while self.sender.poll_completion().is_some() {
            self.open -= 1;
        }
        self.ready = self.sender.ready(config, now);
    }

    pub(super) fn take_expiry(&mut self) -> Option<Expiry> {
        self.expiry.take()
    }

    pub(super) const fn sender(&self) -> &Requester {
        &self.sender
    }
}
