//! A sender and a receiver with their two loops, on a cable without length: what happens is up to the test, and so is when.

use std::collections::VecDeque;

use wiremend_proto::link::paper::{Config, Judgement, Number, Receiver, Sender, Signal, Verdict};

/// Both switches, and what was handed on.
pub(crate) struct Pair {
    pub(crate) sender: Sender,
    pub(crate) receiver: Receiver,
    /// Frames by the order in which they were sent, as they were handed on.
    pub(crate) delivered: Vec<u32>,
    /// Ticks that have passed.
    pub(crate) ticks: u64,
    /// What is sent again does not arrive.
    pub(crate) loses_repeats: bool,
    tx_loop: VecDeque<Copy>,
    rx_loop: VecDeque<Copy>,
    sent: u32,
}

/// A frame that goes round, behind its header.
#[derive(Clone, Copy)]
struct Copy {
    frame: u32,
    signal: Signal,
}

impl Pair {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            delivered: Vec::new(),
            ticks: 0,
            loses_repeats: false,
            tx_loop: VecDeque::new(),
            rx_loop: VecDeque::new(),
            sent: 0,
        }
    }

    /// So many frames that arrive, each acknowledged at once, and all that follows from them.
    pub(crate) fn stream(&mut self, count: u32) {
        for _ in 0..count {
            self.send(true);
            self.courier();
            self.settle();
        }
    }

    /// Streams until the next frame has that number.
    pub(crate) fn stream_to(&mut self, seq: u16) {
        let left = seq.wrapping_sub(self.sender.next_number().seq);
        self.stream(left.into());
    }

    /// So many frames that do not arrive.
    pub(crate) fn lose(&mut self, count: u32) {
        (0..count).for_each(|_| self.send(false));
    }

    fn send(&mut self, arrives: bool) {
        let copy = Copy { frame: self.sent, signal: self.sender.on_egress(None) };
        self.sent += 1;
        self.tx_loop.push_back(copy);
        if arrives {
            self.arrive(copy);
        }
    }

    /// A dummy's turn; whether there was one.
    pub(crate) fn dummy(&mut self, arrives: bool) -> bool {
        let Some(signal) = self.sender.on_egress_dummy() else { return false };
        if arrives {
            let arrival = self.receiver.on_arrival(&signal);
            self.notify(arrival.notification);
        }
        true
    }

    /// A courier's turn; whether it left.
    pub(crate) fn courier(&mut self) -> bool {
        let Some(ack) = self.receiver.on_egress() else { return false };
        self.sender.on_signal(&Signal::Ack(ack));
        true
    }

    /// Turns of both loops, until one changes nothing.
    pub(crate) fn settle(&mut self) {
        while self.turn() {}
    }

    /// Ticks until nothing is waited for; how many.
    pub(crate) fn wait(&mut self) -> u64 {
        let before = self.ticks;
        while let Some(ticks) = self.receiver.ticks_to_event() {
            self.receiver.on_ticks(ticks);
            self.ticks += ticks;
            self.settle();
        }
        self.ticks - before
    }

    /// Copies in the TX loop.
    pub(crate) fn kept(&self) -> usize {
        self.tx_loop.len()
    }

    /// Frames in the RX loop.
    pub(crate) fn held(&self) -> usize {
        self.rx_loop.len()
    }

    fn turn(&mut self) -> bool {
        let mut changed = false;
        for _ in 0..self.tx_loop.len() {
            let copy = self.tx_loop.pop_front().expect("as many as there were");
            let judgement = self.sender.judge_copy(number(copy.signal));
            changed |= judgement != Judgement::Again;
            match judgement {
                Judgement::Again => self.tx_loop.push_back(copy),
                Judgement::Resend { copies } if !self.loses_repeats => {
                    let again = Copy { signal: copy.signal.sent_again(), ..copy };
                    (0..copies).for_each(|_| self.arrive(again));
                }
                Judgement::Drop | Judgement::Resend { .. } => {}
            }
        }
        for _ in 0..self.rx_loop.len() {
            let copy = self.rx_loop.pop_front().expect("as many as there were");
            let verdict = self.receiver.judge(number(copy.signal), true);
            changed |= verdict != Verdict::Hold;
            self.dispose(copy, verdict);
        }
        changed
    }

    fn arrive(&mut self, copy: Copy) {
        let arrival = self.receiver.on_arrival(&copy.signal);
        self.notify(arrival.notification);
        self.dispose(copy, arrival.verdict.expect("a data frame is judged"));
    }

    fn dispose(&mut self, copy: Copy, verdict: Verdict) {
        match verdict {
            Verdict::Forward => self.delivered.push(copy.frame),
            Verdict::Hold => self.rx_loop.push_back(copy),
            Verdict::Drop => {}
        }
    }

    fn notify(&mut self, notification: Option<Signal>) {
        if let Some(notification) = notification {
            self.sender.on_signal(&notification);
        }
    }
}

fn number(signal: Signal) -> Number {
    match signal {
        Signal::Data { number, .. } => number,
        other => panic!("{other:?} does not go round"),
    }
}
