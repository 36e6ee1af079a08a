//! Who sends what, with which remedies, and how much is lost.

use wiremend_report::lab::Lost;
use wiremend_units::Span;

use super::messages::BYTES;
use crate::chain::Side;

/// What to compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Waits of a kernel without remedies, by what was lost.
    Causes,
    /// The same with dummies and copies, of this end and of the simulator.
    Remedies,
    /// WRITEs of the kernel and of this end in turn, without and with remedies of this end.
    PingPong,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Requester {
    Kernel,
    Peer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Write,
    Read,
    /// A WRITE of one packet by the kernel, then by this end.
    PingPong,
}

/// A requester, an operation, and remedies of `wiremend peer`.
#[derive(Debug)]
pub(super) struct SetUp {
    pub(super) name: &'static str,
    requester: Requester,
    operation: Operation,
    dummies: u8,
    nak_copies: u8,
    resend_copies: u8,
    mixes: &'static [Mix],
    /// Messages as a multiple of those asked for: rare losses need more.
    pub(super) scale: u32,
    /// Queue pairs of the kernel. Each has one message in flight, and all messages.
    pub(super) pairs: u32,
}

/// Shares of the frames that each direction loses: requests of the requester, and answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    requests: &'static str,
    answers: &'static str,
}

const fn set_up(name: &'static str, requester: Requester, operation: Operation, remedies: [u8; 3]) -> SetUp {
    let [dummies, nak_copies, resend_copies] = remedies;
    let mixes = if matches!(operation, Operation::Read) { READS } else { WRITES };
    SetUp { name, requester, operation, dummies, nak_copies, resend_copies, mixes, scale: 1, pairs: 1 }
}

/// Most messages lose no NAK, so that only many show what its copy changes: several queue pairs wait at the same time.
const fn nak_copies(name: &'static str, copies: u8) -> SetUp {
    let set_up = set_up(name, Requester::Kernel, Operation::Write, [0, copies, 0]);
    SetUp { scale: 2, pairs: 8, ..set_up }
}

/// The kernel is the server, which writes first. NAKs come from the kernel only, so there is nothing to copy.
const fn ping_pong(
    name: &'static str,
    mixes: &'static [Mix],
    scale: u32,
    [dummies, resend_copies]: [u8; 2],
) -> SetUp {
    let set_up = set_up(name, Requester::Peer, Operation::PingPong, [dummies, 0, resend_copies]);
    SetUp { mixes, scale, ..set_up }
}

const CAUSES: &[SetUp] = &[
    set_up("kernel writes", Requester::Kernel, Operation::Write, [0, 0, 0]),
    set_up("kernel reads", Requester::Kernel, Operation::Read, [0, 0, 0]),
];
const REMEDIES: &[SetUp] = &[
    nak_copies("kernel writes", 0),
    nak_copies("kernel writes, 1 NAK copy", 1),
    set_up("peer writes", Requester::Peer, Operation::Write, [0, 0, 0]),
    set_up("peer writes, 1 dummy", Requester::Peer, Operation::Write, [1, 0, 0]),
    set_up("peer writes, 1 dummy, 1 resend copy", Requester::Peer, Operation::Write, [1, 0, 1]),
    set_up("peer reads", Requester::Peer, Operation::Read, [0, 0, 0]),
    set_up("peer reads, 1 dummy", Requester::Peer, Operation::Read, [1, 0, 0]),
];
/// The highest rate of the paper, without and with its remedies; then each of them left out at a rate at which losses
/// can be counted.
const PING_PONGS: &[SetUp] = &[
    ping_pong("1/128, no remedy", PAPER, 3, [0, 0]),
    ping_pong("1/128, 2 dummies, 1 resend copy", PAPER, 3, [2, 1]),
    ping_pong("1/16, no remedy", STRESS, 1, [0, 0]),
    ping_pong("1/16, 2 dummies, 1 resend copy", STRESS, 1, [2, 1]),
    ping_pong("1/16, 1 dummy, 1 resend copy", STRESS, 1, [1, 1]),
    ping_pong("1/16, 2 dummies", STRESS, 1, [2, 0]),
];
const PAPER: &[Mix] = &[Mix { requests: "1/128", answers: "1/128" }];
const STRESS: &[Mix] = &[Mix { requests: "1/16", answers: "1/16" }];
/// Lost tails and NAKs; then packets that are lost twice.
const WRITES: &[Mix] = &[Mix { requests: "1/12", answers: "1/6" }, Mix { requests: "1/5", answers: "1/50" }];
const READS: &[Mix] = &[Mix { requests: "1/12", answers: "1/12" }];
const WRITE_LOSSES: &[Option<Lost>] = &[
    None,
    Some(Lost::Nothing),
    Some(Lost::TailPacket),
    Some(Lost::TailAck),
    Some(Lost::Nak),
    Some(Lost::Retransmission),
    Some(Lost::Middle),
];
const READ_LOSSES: &[Option<Lost>] = &[
    None,
    Some(Lost::Nothing),
    Some(Lost::ReadRequest),
    Some(Lost::LastResponse),
    Some(Lost::MiddleResponse),
];
/// Delay of each of the two links of the simulator: a message takes about as long as that of a guest.
pub(super) const DELAY: Span = Span::from_us(100);

impl Part {
    pub(super) const fn set_ups(self) -> &'static [SetUp] {
        match self {
            Self::Causes => CAUSES,
            Self::Remedies => REMEDIES,
            Self::PingPong => PING_PONGS,
        }
    }
}

impl SetUp {
    pub(super) fn mixes(&self) -> &'static [Mix] {
        self.mixes
    }

    pub(super) fn is_ping_pong(&self) -> bool {
        self.operation == Operation::PingPong
    }

    pub(super) fn losses(&self) -> &'static [Option<Lost>] {
        match self.operation {
            Operation::Write => WRITE_LOSSES,
            Operation::Read => READ_LOSSES,
            Operation::PingPong => &[],
        }
    }

    pub(super) fn is_kernel_requester(&self) -> bool {
        self.requester == Requester::Kernel
    }

    const fn verb(&self) -> &'static str {
        match self.operation {
            Operation::Write | Operation::PingPong => "write",
            Operation::Read => "read",
        }
    }

    /// The command in the guest: one message of each queue pair in flight, the default timeout of 67 ms.
    pub(super) fn perftest(&self, messages: u32) -> String {
        if self.is_ping_pong() {
            return format!(
                "ib_write_lat -d rxe0 -x 1 -m 1024 -F -s {} -n {messages}",
                super::ping_pong::BYTES
            );
        }
        let Self { pairs, .. } = self;
        format!("ib_{}_bw -d rxe0 -x 1 -m 1024 -F -s {BYTES} -n {messages} -t 1 -q {pairs}", self.verb())
    }

    /// The command at this end, if the guest is the server.
    pub(super) fn client(&self, messages: u32) -> Vec<String> {
        let host = Side::B.address().to_string();
        let (how, bytes) = if self.is_ping_pong() {
            (["ping", &host, "--with", "write"], super::ping_pong::BYTES)
        } else {
            ([self.verb(), &host, "--depth", "1"], BYTES)
        };
        let (size, messages) = (format!("{bytes}B"), messages.to_string());
        let words = ["peer"].into_iter().chain(how);
        let words = words.chain(["--size", &size, "--iterations", &messages, "--profile", "soft-roce"]);
        words.map(ToOwned::to_owned).collect()
    }

    /// Options of this end: remedies and losses.
    pub(super) fn options(&self, mix: &Mix) -> Vec<String> {
        let (requests, answers) = if self.is_kernel_requester() { ("in", "out") } else { ("out", "in") };
        let mut options = vec!["--drop".to_owned(), format!("{requests} {}", mix.requests)];
        options.extend(["--drop".to_owned(), format!("{answers} {}", mix.answers)]);
        let copies = [
            ("--dummies", self.dummies),
            ("--nak-copies", self.nak_copies),
            ("--resend-copies", self.resend_copies),
        ];
        for (option, copies) in copies {
            options.extend([option.to_owned(), copies.to_string()]);
        }
        options
    }

    /// The link of the simulator that loses frames. Its switch copies NAKs and retransmissions before they cross it.
    pub(super) const fn captured_link(&self) -> &'static str {
        // In a ping-pong, h1 is this end.
        if self.resend_copies > 0 && !matches!(self.operation, Operation::PingPong) {
            "h1-tor"
        } else {
            "h0-tor"
        }
    }

    /// The same in the simulator, with links of this delay.
    pub(super) fn scenario(&self, mix: &Mix, messages: u32, seed: u64, delay: Span) -> String {
        let link = self.captured_link();
        let (requests, answers) =
            if link == "h1-tor" { ("backward", "forward") } else { ("forward", "backward") };
        let workload = if self.is_ping_pong() {
            format!("kind = \"ping-pong\"\nbytes = \"{}B\"\niterations = {messages}", super::ping_pong::BYTES)
        } else {
            format!("kind = \"stream\"\nmessage = \"{BYTES}B\"\ndepth = 1\ncount = {messages}")
        };
        let Self { dummies, nak_copies, resend_copies, .. } = self;
        let impaired = [(requests, mix.requests), (answers, mix.answers)].map(|(direction, rate)| {
            format!("[[impair]]\nkind = \"frames\"\nlinks = \"{link}\"\ndirection = \"{direction}\"\nrate = \"{rate}\"\n")
        });
        format!(
            "title = \"messages of soft-RoCE that lose packets\"\nseed = {seed}\n\
             [topology]\nkind = \"pair\"\nrate = \"10Gbps\"\ndelay = \"{}ns\"\n\
             [transport]\nprofile = \"soft-roce\"\noperation = \"{}\"\ntimeout = 14\nqp = \"per-pair\"\n\
             [mend]\ndummies = {dummies}\nnak_copies = {nak_copies}\nretransmission_copies = {resend_copies}\n\
             [[workload]]\n{workload}\nsrc = \"h0\"\ndst = \"h1\"\n{}[stop]\nafter = \"100000s\"\n",
            delay.as_ns(),
            self.verb(),
            impaired.concat()
        )
    }
}
