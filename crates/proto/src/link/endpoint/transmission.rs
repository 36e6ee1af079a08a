//! What an end sends next.

use wiremend_units::Time;

use super::Endpoint;
use crate::link::handshake::SendMode;
use crate::link::{
    ControlHeader, DataHeader, HelloKind, LinkHeader, QueueHead, Transmit, UnprotectedTransmit, UsualTransmit,
};

impl<F: Copy, const BITS: u32> Endpoint<F, BITS> {
    /// Returns the next transmission of a free wire. `head` is the head of the normal queue. `None`: poll
    /// again after an input or when a frame has joined the queue.
    pub fn poll_transmit(&mut self, now: Time, head: Option<QueueHead>) -> Option<Transmit<F>> {
        if self.is_urgent()
            && let Some(transmit) = self.poll_first(now)
        {
            return Some(transmit);
        }
        if let Some(usual) = self.poll_after_urgent(now, head) {
            return Some(match usual {
                UsualTransmit::New(header) => Transmit::New(header.into()),
                UsualTransmit::Control(header) => Transmit::Control(header.into()),
            });
        }
        if head.is_some()
            && self.is_plain()
            && let Some(transmit) = self.poll_plain(now)
        {
            return Some(transmit);
        }
        // An ACK with holes reports what is missing.
        self.receiver.poll_due(now, &mut self.out).map(Transmit::Control)
    }

    /// As [`Endpoint::poll_transmit`], but returns only what leaves often, in a small value. After `None`
    /// `poll_transmit` may still return something.
    #[inline]
    pub fn poll_usual(&mut self, now: Time, head: Option<QueueHead>) -> Option<UsualTransmit> {
        if self.is_urgent() { None } else { self.poll_after_urgent(now, head) }
    }

    #[expect(clippy::inline_always, reason = "a call costs as much as a dummy")]
    #[inline(always)]
    fn poll_after_urgent(&mut self, now: Time, head: Option<QueueHead>) -> Option<UsualTransmit> {
        if let Some(head) = head {
            match self.handshake.send_mode() {
                SendMode::Numbered if self.sender.is_open(now) => {
                    return self.number(head).map(UsualTransmit::New);
                }
                SendMode::Numbered | SendMode::Blocked => {}
                SendMode::Plain => return None,
            }
        }
        self.poll_control().map(UsualTransmit::Control)
    }

    /// As [`Endpoint::poll_transmit`], but returns only the header of a new frame. After `None` `poll_transmit` may
    /// still return something.
    #[inline]
    pub fn poll_new(&mut self, now: Time, head: QueueHead) -> Option<DataHeader> {
        let is_open = self.handshake.send_mode() == SendMode::Numbered && self.sender.is_open(now);
        if self.is_urgent() || !is_open { None } else { self.number(head) }
    }

    /// Returns the header of a head that leaves, unless an ACK with holes precedes it.
    #[expect(clippy::inline_always, reason = "the header is packed at once instead of going through memory")]
    #[inline(always)]
    fn number(&mut self, head: QueueHead) -> Option<DataHeader> {
        if self.receiver.is_missing_report_due() {
            return None;
        }
        let ack = self.receiver.poll_piggyback();
        Some(self.sender.next_header(head, ack))
    }

    /// Returns the dummy or ACK frame that an idle wire carries, if nothing is urgent. After `None`
    /// `poll_transmit` may still return something.
    #[expect(clippy::inline_always, reason = "a call costs as much as a dummy")]
    #[inline(always)]
    pub fn poll_control(&mut self) -> Option<ControlHeader> {
        let is_dummy = self.sender.dummy_owed();
        if !is_dummy && !self.receiver.is_plain_ack_due() {
            return None;
        }
        let ack = self.receiver.next_control(is_dummy, &mut self.out);
        let (epoch, next) = self.sender.next_control(is_dummy, &mut self.out);
        Some(ControlHeader { is_dummy, epoch, next, ack })
    }

    /// Returns what precedes normal frames.
    #[inline(never)]
    fn poll_first(&mut self, now: Time) -> Option<Transmit<F>> {
        if let Some(signal) = self.poll_urgent(now) {
            return Some(Transmit::Control(signal));
        }
        let again = self.sender.poll_retransmission(now, || self.receiver.poll_piggyback(), &mut self.out);
        again.map(|(signal, frame)| Transmit::Retransmission(signal, frame))
    }

    /// As [`Endpoint::poll_transmit`] for a head that is not protected. The frame has no number and no
    /// defined order, so a host that starts or stops protecting a kind of frame first waits for
    /// [`Endpoint::is_settled`].
    pub fn poll_unprotected(&mut self, now: Time) -> Option<UnprotectedTransmit<F>> {
        if let Some(transmit) = self.poll_first(now) {
            return Some(UnprotectedTransmit::First(transmit));
        }
        match self.handshake.send_mode() {
            SendMode::Numbered if self.receiver.is_missing_report_due() => self
                .receiver
                .poll_due(now, &mut self.out)
                .map(|signal| UnprotectedTransmit::First(Transmit::Control(signal))),
            SendMode::Numbered => {
                let ack = self.receiver.poll_piggyback();
                Some(UnprotectedTransmit::Head(Some(self.sender.unprotected_header(ack))))
            }
            SendMode::Blocked => None,
            SendMode::Plain => {
                let before = if self.handshake.on_traffic(now) {
                    self.poll_urgent(now)
                } else {
                    self.receiver.poll_due(now, &mut self.out)
                };
                Some(before.map_or(UnprotectedTransmit::Head(None), |signal| {
                    UnprotectedTransmit::First(Transmit::Control(signal))
                }))
            }
        }
    }

    fn poll_urgent(&mut self, now: Time) -> Option<LinkHeader> {
        if let Some(answer) = self.reply.take() {
            if answer.kind == HelloKind::Accept && answer.rtt_ns == 0 {
                self.receiver.on_accept_sent(now);
            }
            return Some(LinkHeader::Hello(answer));
        }
        if self.handshake.is_due() {
            return Some(LinkHeader::Hello(self.handshake.hello(now, self.sender.next_number())));
        }
        if let Some(signal) = self.receiver.poll_urgent(now, &mut self.out) {
            return Some(signal);
        }
        self.sender.probe_due().then(|| {
            let ack = self.receiver.poll_piggyback();
            let (epoch, next) = self.sender.next_dummy(&mut self.out);
            LinkHeader::Dummy { epoch, next, ack }
        })
    }

    /// Returns what leaves while the head of the queue has no header.
    fn poll_plain(&mut self, now: Time) -> Option<Transmit<F>> {
        if self.handshake.on_traffic(now) {
            return self.poll_urgent(now).map(Transmit::Control);
        }
        // A frame without a header carries no ACK, so the ACK precedes it in a frame of its own.
        let ack = self.receiver.poll_due(now, &mut self.out);
        Some(ack.map_or(Transmit::Plain, Transmit::Control))
    }
}
