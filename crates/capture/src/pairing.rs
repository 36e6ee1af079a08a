//! Which queue pair answers which requests.
//!
//! Packets name only their destination. Requests towards one queue pair form a flow, from one host with one
//! range of PSNs. The answers go the other way to a queue pair that no request names. Each answer votes for
//! the flows to which its PSN fits at that moment; a flow takes the queue pair with most votes. A message of
//! the connection manager that was seen decides without votes.

use std::collections::BTreeSet;

use wiremend_units::Psn;
use wiremend_wire::{CmMessage, CmRequest, Opcode};

use crate::record::{HostIndex, Kind, Record, Stream, Table, TapIndex};

/// Most flows that are followed.
pub(crate) const FLOWS_MAX: usize = 1 << 16;
/// A request that is further ahead or behind than this belongs to another connection.
const JUMP_MAX: i64 = 1 << 17;
/// Resent requests may lie this far below the first PSN that the capture has.
const BEFORE_FIRST_MAX: i64 = 4096;
/// Most flows between two hosts among which an answer votes: the newest ones.
const CANDIDATES_MAX: usize = 256;
/// Most queue pairs that are counted for a flow.
const VOTES_MAX: usize = 32;
/// Most set-ups that are remembered.
const SETUPS_MAX: usize = 1 << 16;

/// The range of a flow, as far as pairing needs it.
#[derive(Clone, Debug)]
pub(crate) struct Outline {
    pub(crate) stream: Stream,
    pub(crate) first: i64,
    pub(crate) next: i64,
    /// Queue pairs that may answer.
    votes: Vec<Vote>,
    answered_by: Option<u32>,
    pub(crate) pairing: Pairing,
    /// Path MTU, from payloads and from the distances of READs.
    pub(crate) mtu: Option<u32>,
    pending_read: Option<(i64, u32)>,
    /// UDP source port: constant for most queue pairs.
    port: u16,
    ports_vary: bool,
}

/// A queue pair that may answer a flow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Vote {
    /// Whether its packets have the source port of the flow. Linux hashes both numbers of a connection
    /// (`rdma_calc_flow_label`), so both directions often have the same one.
    same_port: bool,
    /// Answers that fit.
    count: u64,
    qpn: u32,
}

/// How the answering queue pair was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pairing {
    None,
    /// Several queue pairs fit equally well.
    Ambiguous,
    ByPsn,
    ByManager,
}

impl Pairing {
    /// Whether nothing else fits.
    pub(crate) fn is_certain(self) -> bool {
        matches!(self, Self::ByPsn | Self::ByManager)
    }
}

/// What the connection manager agreed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Setup {
    pub(crate) qpn: u32,
    pub(crate) timeout: u8,
    pub(crate) retries: u8,
}

#[derive(Default)]
pub(crate) struct Pairings {
    pub(crate) flows: Vec<Outline>,
    current: Table<Stream, u32>,
    between: Table<(TapIndex, HostIndex, HostIndex), Vec<u32>>,
    /// The same by source port of the requests.
    from_port: Table<(TapIndex, HostIndex, HostIndex, u16), Vec<u32>>,
    /// Largest full payload between two hosts in either direction.
    mtus: Table<(HostIndex, HostIndex), u32>,
    /// Flows that a stream of answers belongs to.
    answered: Table<Stream, Vec<u32>>,
    requests: Table<(HostIndex, u32), Setup>,
    /// By host and queue pair of the requests' destination: queue pair at their source.
    managed: Table<(HostIndex, HostIndex, u32), Setup>,
    restarted: BTreeSet<(HostIndex, u32)>,
    /// Requests of flows beyond the limit.
    pub(crate) left_out: u64,
}

impl Pairings {
    /// Learns path MTUs before flows are assigned.
    pub(crate) fn measure(&mut self, record: &Record) {
        if is_full(record) {
            let (from, to) = (record.stream.from, record.stream.to);
            let largest = self.mtus.entry((from.min(to), from.max(to))).or_default();
            *largest = (*largest).max(record.payload_len);
        }
    }

    /// Assigns the flow of a request, and counts the vote of an answer.
    pub(crate) fn assign(&mut self, record: &mut Record) {
        match record.kind {
            Kind::Request => self.request(record),
            Kind::Cnp => {}
            _ => {
                record.flow = self.flows.len() as u32;
                self.vote(record);
            }
        }
    }

    fn request(&mut self, record: &mut Record) {
        let known = self.current.get(&record.stream).copied();
        let reset = self.restarted.remove(&(record.stream.to, record.stream.qpn));
        let flow = known.filter(|flow| !reset && self.flows[*flow as usize].fits(record));
        let Some(flow) = flow.or_else(|| self.start(record)) else {
            self.left_out += 1;
            return;
        };
        record.flow = flow;
        let pair = (record.stream.from.min(record.stream.to), record.stream.from.max(record.stream.to));
        let mtu = self.mtus.get(&pair).copied();
        self.flows[flow as usize].extend(record, mtu);
    }

    fn start(&mut self, record: &Record) -> Option<u32> {
        if self.flows.len() == FLOWS_MAX {
            return None;
        }
        let flow = self.flows.len() as u32;
        // Far above 0, so that earlier PSNs stay positive.
        let first = (1 << 32) + i64::from(record.psn.get());
        self.flows.push(Outline {
            stream: record.stream,
            first,
            next: first,
            votes: Vec::new(),
            answered_by: None,
            pairing: Pairing::None,
            mtu: None,
            pending_read: None,
            port: record.source_port,
            ports_vary: false,
        });
        self.current.insert(record.stream, flow);
        let Stream { tap, from, to, .. } = record.stream;
        self.between.entry((tap, from, to)).or_default().push(flow);
        self.from_port.entry((tap, from, to, record.source_port)).or_default().push(flow);
        Some(flow)
    }

    fn vote(&mut self, record: &Record) {
        let Stream { tap, from, to, qpn } = record.stream;
        let newest = |flows: Option<&Vec<u32>>| {
            let flows = flows.map_or(&[][..], Vec::as_slice);
            flows[flows.len().saturating_sub(CANDIDATES_MAX)..].to_vec()
        };
        let by_port = newest(self.from_port.get(&(tap, to, from, record.source_port)));
        let mut candidates = newest(self.between.get(&(tap, to, from)));
        candidates.retain(|flow| self.flows[*flow as usize].port != record.source_port);
        for flow in by_port.iter().chain(&candidates) {
            let outline = &mut self.flows[*flow as usize];
            if !outline.could_answer(record.psn) {
                continue;
            }
            // A number that is used again answers from another port, so these answers count apart.
            let same_port = outline.port == record.source_port && !outline.ports_vary;
            let is_same = |vote: &&mut Vote| vote.qpn == qpn && vote.same_port == same_port;
            if let Some(vote) = outline.votes.iter_mut().find(is_same) {
                vote.count += 1;
            } else if outline.votes.len() < VOTES_MAX {
                outline.votes.push(Vote { same_port, count: 1, qpn });
            } else if same_port && let Some(weakest) = outline.votes.iter_mut().min() {
                *weakest = Vote { same_port, count: 1, qpn };
            }
        }
    }

    /// Decides the pairing of all flows with votes: the surest first, so that each queue pair answers one
    /// flow at a time.
    pub(crate) fn decide(&mut self) {
        let mut pairs: Vec<(Vote, u32)> = Vec::new();
        for (flow, outline) in self.flows.iter().enumerate() {
            let open = matches!(outline.pairing, Pairing::None | Pairing::Ambiguous);
            let votes = if open { outline.votes.as_slice() } else { &[] };
            pairs.extend(votes.iter().map(|vote| (*vote, flow as u32)));
        }
        pairs.sort_by_key(|(vote, flow)| (!vote.same_port, u64::MAX - vote.count, *flow, vote.qpn));
        for (vote, flow) in pairs {
            self.pair(flow, vote);
        }
    }

    fn pair(&mut self, flow: u32, vote: Vote) {
        let qpn = vote.qpn;
        let outline = &self.flows[flow as usize];
        if matches!(outline.pairing, Pairing::ByPsn | Pairing::ByManager) {
            return;
        }
        let Stream { tap, from, to, qpn: towards } = outline.stream;
        let managed = self.managed.get(&(from, to, towards)).map(|setup| setup.qpn);
        if managed.is_some_and(|managed| managed != qpn) {
            return;
        }
        let answers = Stream { tap, from: to, to: from, qpn };
        let taken = self.answered.get(&answers).is_some_and(|flows| {
            flows.iter().any(|other| *other != flow && self.flows[*other as usize].overlaps(outline))
        });
        if taken {
            return;
        }
        // PSNs of several queue pairs may overlap. The source port tells them apart where both directions use the
        // same one.
        let is_rival = |other: &Vote| other.qpn != qpn && other.same_port >= vote.same_port;
        let rival = outline.votes.iter().any(is_rival);
        let pairing = match (managed, rival) {
            (Some(_), _) => Pairing::ByManager,
            (None, true) => Pairing::Ambiguous,
            (None, false) => Pairing::ByPsn,
        };
        let outline = &mut self.flows[flow as usize];
        if outline.pairing == Pairing::Ambiguous && outline.answered_by.is_some() {
            if pairing != Pairing::Ambiguous && outline.answered_by == Some(qpn) {
                outline.pairing = pairing;
            }
            return;
        }
        outline.pairing = pairing;
        outline.answered_by = Some(qpn);
        self.answered.entry(answers).or_default().push(flow);
    }

    /// The flow that an answer belongs to: of those that had started, the newest one to which its source port and
    /// PSN fit.
    pub(crate) fn flow_of(&self, record: &Record) -> Option<u32> {
        let flows = self.answered.get(&record.stream)?;
        let started = || flows.iter().rev().filter(|flow| **flow < record.flow);
        let fits = |flow: &&u32| self.flows[**flow as usize].could_answer(record.psn);
        let is_from_port = |flow: &&u32| self.flows[**flow as usize].port == record.source_port;
        let by_port = started().filter(fits).find(is_from_port);
        by_port.or_else(|| started().find(fits)).or_else(|| started().next()).copied()
    }

    /// Path MTU of a flow, if the capture tells.
    pub(crate) fn mtu(&self, flow: u32) -> Option<u32> {
        let outline = &self.flows[flow as usize];
        let (from, to) = (outline.stream.from, outline.stream.to);
        outline.mtu.or_else(|| self.mtus.get(&(from.min(to), from.max(to))).copied())
    }

    /// The queue pair at the source of a flow's requests.
    pub(crate) fn answered_by(&self, flow: u32) -> Option<u32> {
        self.flows[flow as usize].answered_by
    }

    /// What the connection manager told about a flow.
    pub(crate) fn setup(&self, stream: &Stream) -> Option<Setup> {
        self.managed.get(&(stream.from, stream.to, stream.qpn)).copied()
    }

    /// Takes a message of a connection manager.
    pub(crate) fn on_manager(&mut self, from: HostIndex, to: HostIndex, message: CmMessage) {
        if self.requests.len() >= SETUPS_MAX || self.managed.len() >= SETUPS_MAX {
            return;
        }
        match message {
            CmMessage::Request(request) => {
                let CmRequest { local_id, pair, retries, timeout, .. } = request;
                let qpn = pair.get();
                self.requests.insert((from, local_id), Setup { qpn, timeout, retries });
                self.restarted.insert((from, qpn));
            }
            CmMessage::Reply(reply) => {
                let Some(client) = self.requests.get(&(to, reply.ids.remote)).copied() else { return };
                let qpn = reply.pair.get();
                let server = Setup { qpn, ..client };
                // Requests of the client go to the server's queue pair, and their answers to the client's.
                self.managed.insert((to, from, qpn), client);
                self.managed.insert((from, to, client.qpn), server);
                self.restarted.insert((from, qpn));
            }
            _ => {}
        }
    }
}

/// Whether a packet carries a whole path MTU.
fn is_full(record: &Record) -> bool {
    use Opcode::{ReadResponseFirst, ReadResponseMiddle, SendFirst, SendMiddle, WriteFirst, WriteMiddle};
    matches!(
        record.op,
        SendFirst | SendMiddle | WriteFirst | WriteMiddle | ReadResponseFirst | ReadResponseMiddle
    )
}

impl Outline {
    /// The number of a PSN without wrap, near the end of the flow.
    pub(crate) fn unwrap(&self, psn: Psn) -> i64 {
        let next = Psn::new((self.next & 0x00FF_FFFF) as u32);
        self.next + i64::from(psn.distance(next))
    }

    /// Whether a request may belong to this connection.
    fn fits(&self, record: &Record) -> bool {
        let psn = self.unwrap(record.psn);
        // A new queue pair with the old number may start at the old PSN, but hashes to another port.
        if psn < self.next && record.source_port != self.port && !self.ports_vary {
            return false;
        }
        // A READ of unknown MTU may span more.
        let ahead = self.pending_read.map_or(0, |(_, len)| i64::from(len / 256));
        psn > self.next - JUMP_MAX
            && psn >= self.first - BEFORE_FIRST_MAX
            && psn < self.next + JUMP_MAX + ahead
    }

    /// Whether an answer with this PSN may belong to this connection now.
    fn could_answer(&self, psn: Psn) -> bool {
        let psn = self.unwrap(psn);
        let ahead = self.pending_read.map_or(0, |(_, len)| i64::from(len / 256));
        psn >= self.first - 1 && psn < self.next + ahead
    }

    fn overlaps(&self, other: &Self) -> bool {
        // Generations of one stream follow each other and may share the queue pair that answers.
        self.stream != other.stream
    }

    fn extend(&mut self, record: &Record, between: Option<u32>) {
        if is_full(record) {
            self.mtu = Some(self.mtu.unwrap_or(0).max(record.payload_len));
        }
        let psn = self.unwrap(record.psn);
        if let Some((read, len)) = self.pending_read
            && psn > read
        {
            let fits = |mtu: &u32| i64::from(span_of(len, *mtu)) == psn - read;
            let by_distance = [256, 512, 1024, 2048, 4096].into_iter().rfind(fits);
            self.mtu = self.mtu.or(by_distance);
            self.pending_read = None;
        }
        self.first = self.first.min(psn);
        self.ports_vary |= record.source_port != self.port;
        let span = match (record.op, self.mtu.or(between)) {
            (Opcode::ReadRequest, Some(mtu)) => span_of(record.dma_len, mtu),
            (Opcode::ReadRequest, None) => {
                self.pending_read = (psn >= self.next).then_some((psn, record.dma_len)).or(self.pending_read);
                1
            }
            _ => 1,
        };
        self.next = self.next.max(psn + i64::from(span));
    }
}

/// PSNs of a READ.
pub(crate) fn span_of(len: u32, mtu: u32) -> u32 {
    len.div_ceil(mtu.max(1)).max(1)
}
