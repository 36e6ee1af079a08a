//! What an end does when a hello arrives.

use wiremend_units::{Span, Time};

use super::Endpoint;
use crate::link::handshake::Handshake;
use crate::link::sender::epoch_bits;
use crate::link::timing::Timing;
use crate::link::{Hello, HelloKind};

impl<F: Copy, const BITS: u32> Endpoint<F, BITS> {
    pub(super) fn on_hello(&mut self, now: Time, hello: &Hello) {
        match hello.kind {
            HelloKind::Open => self.on_open(now, hello),
            HelloKind::Close => {
                if self.receiver.epoch() == Some(hello.epoch) {
                    self.receiver.on_dummy(now, hello.stamp_ns, &mut self.out);
                    self.receiver.stop(now, &mut self.out);
                }
                let closed = Some(Hello { kind: HelloKind::Closed, ..*hello });
                if self.host_confirms_close {
                    self.closed = closed;
                } else {
                    self.reply = closed;
                }
            }
            HelloKind::Accept => {
                if let Some(rtt) = self.handshake.on_accept(now, hello) {
                    let measured = self.handshake.measured();
                    self.sender.start(hello.epoch, Timing::new(&self.config, rtt), measured);
                    self.level = self.sender.protection_level();
                }
            }
            HelloKind::Closed => self.handshake.on_closed(now, hello),
            HelloKind::Unknown => {
                if self.handshake.is_protecting() && epoch_bits(hello.epoch) == self.sender.epoch() {
                    self.on_peer_gone(now);
                }
            }
            // For hosts that share a key.
            HelloKind::Challenge => self.out.counters.ignored += 1,
            HelloKind::Leave => {
                if self.handshake.is_current(hello.epoch) {
                    self.end(now, true);
                }
            }
        }
    }

    /// The other end starts. Even a measurement shows that its previous epoch is over, so held frames are
    /// delivered first.
    fn on_open(&mut self, now: Time, hello: &Hello) {
        if self.leaving || !Handshake::is_plausible(hello.rtt_ns) {
            self.out.counters.ignored += 1;
            return;
        }
        self.closed = None;
        self.receiver.on_open(now);
        if self.receiver.epoch() != Some(hello.epoch) {
            if self.receiver.epoch().is_some() {
                self.receiver.stop(now, &mut self.out);
            }
            if hello.rtt_ns > 0 {
                let rtt = Span::from_ns(u64::from(hello.rtt_ns));
                self.receiver.start(hello.epoch, Timing::new(&self.config, rtt));
            }
        }
        self.reply = Some(Hello { kind: HelloKind::Accept, ..*hello });
    }
}
