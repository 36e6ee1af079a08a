//! Who sends what, with which remedies, and how much is lost.

use wiremend_report::lab::Lost;

use super::messages::BYTES;
use crate::chain::Side;

/// What to compare.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Waits of a kernel without remedies, by what was lost.
    Causes,
    /// The same with dummies and copies, of this end and of the simulator.
    Remedies,
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
}

/// Shares of the frames that each direction loses: requests of the requester, and answers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    requests: &'static str,
    answers: &'static str,
}

const fn set_up(name: &'static str, requester: Requester, operation: Operation, remedies: [u8; 3]) -> SetUp {
    let [dummies, nak_copies, resend_copies] = remedies;
    SetUp { name, requester, operation, dummies, nak_copies, resend_copies }
}

const CAUSES: &[SetUp] = &[
    set_up("kernel writes", Requester::Kernel, Operation::Write, [0, 0, 0]),
    set_up("kernel reads", Requester::Kernel, Operation::Read, [0, 0, 0]),
];
const REMEDIES: &[SetUp] = &[
    set_up("kernel writes", Requester::Kernel, Operation::Write, [0, 0, 0]),
    set_up("kernel writes, 1 NAK copy", Requester::Kernel, Operation::Write, [0, 1, 0]),
    set_up("peer writes", Requester::Peer, Operation::Write, [0, 0, 0]),
    set_up("peer writes, 1 dummy", Requester::Peer, Operation::Write, [1, 0, 0]),
    set_up("peer writes, 1 dummy, 1 resend copy", Requester::Peer, Operation::Write, [1, 0, 1]),
    set_up("peer reads", Requester::Peer, Operation::Read, [0, 0, 0]),
    set_up("peer reads, 1 dummy", Requester::Peer, Operation::Read, [1, 0, 0]),
];
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
const DELAY: &str = "100us";

impl Part {
    pub(super) const fn set_ups(self) -> &'static [SetUp] {
        match self {
            Self::Causes => CAUSES,
            Self::Remedies => REMEDIES,
        }
    }
}

impl SetUp {
    pub(super) fn mixes(&self) -> &'static [Mix] {
        match self.operation {
            Operation::Write => WRITES,
            Operation::Read => READS,
        }
    }

    pub(super) fn losses(&self) -> &'static [Option<Lost>] {
        match self.operation {
            Operation::Write => WRITE_LOSSES,
            Operation::Read => READ_LOSSES,
        }
    }

    pub(super) fn is_kernel_requester(&self) -> bool {
        self.requester == Requester::Kernel
    }

    const fn verb(&self) -> &'static str {
        match self.operation {
            Operation::Write => "write",
            Operation::Read => "read",
        }
    }

    /// The command in the guest: one message in flight, the default timeout of 67 ms.
    pub(super) fn perftest(&self, messages: u32) -> String {
        format!("ib_{}_bw -d rxe0 -x 1 -m 1024 -F -s {BYTES} -n {messages} -t 1", self.verb())
    }

    /// The command at this end, if the guest is the server.
    pub(super) fn client(&self, messages: u32) -> Vec<String> {
        let (host, size, messages) =
            (Side::B.address().to_string(), format!("{BYTES}B"), messages.to_string());
        let words = ["peer", self.verb(), &host, "--size", &size, "--iterations", &messages, "--depth", "1"];
        let words = words.into_iter().chain(["--profile", "soft-roce"]);
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
        if self.resend_copies > 0 { "h1-tor" } else { "h0-tor" }
    }

    /// The same in the simulator.
    pub(super) fn scenario(&self, mix: &Mix, messages: u32, seed: u64) -> String {
        let link = self.captured_link();
        let (requests, answers) =
            if self.resend_copies > 0 { ("backward", "forward") } else { ("forward", "backward") };
        let Self { dummies, nak_copies, resend_copies, .. } = self;
        let impaired = [(requests, mix.requests), (answers, mix.answers)].map(|(direction, rate)| {
            format!("[[impair]]\nkind = \"frames\"\nlinks = \"{link}\"\ndirection = \"{direction}\"\nrate = \"{rate}\"\n")
        });
        format!(
            "title = \"messages of soft-RoCE that lose packets\"\nseed = {seed}\n\
             [topology]\nkind = \"pair\"\nrate = \"10Gbps\"\ndelay = \"{DELAY}\"\n\
             [transport]\nprofile = \"soft-roce\"\noperation = \"{}\"\ntimeout = 14\nqp = \"per-pair\"\n\
             [mend]\ndummies = {dummies}\nnak_copies = {nak_copies}\nretransmission_copies = {resend_copies}\n\
             [[workload]]\nkind = \"stream\"\nsrc = \"h0\"\ndst = \"h1\"\nmessage = \"{BYTES}B\"\ndepth = 1\n\
             count = {messages}\n{}[stop]\nafter = \"100000s\"\n",
            self.verb(),
            impaired.concat()
        )
    }
}
