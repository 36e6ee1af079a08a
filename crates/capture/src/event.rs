//! What the analysis reports.

use std::net::IpAddr;

use serde::{Serialize, Serializer};
use wiremend_measure::TimeoutCause;

/// Kind of an event.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// The requester's timer fired: a stall.
    Timeout,
    /// A NAK, and the retransmission that it asked for.
    NakRecovery,
    /// A READ was requested again because a later message was answered.
    ImpliedNak,
    /// The responder had no receive buffer.
    RnrWait,
    /// A NAK after which the queue pair is in error.
    Refused,
}

/// How sure a cause is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Certainty {
    /// Other causes contradict frames of the capture.
    Proof,
    /// The frames fit one cause. Where several frames were lost at once, it may be another one.
    Strong,
    /// The capture fits the alternatives too.
    Ambiguous,
}

/// Where a frame was lost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Before the tap, in the direction of the frame.
    Upstream,
    /// Behind the tap.
    Downstream,
    /// Between two taps.
    Between,
    /// Nothing was lost.
    Nowhere,
    /// The capture does not tell.
    Unknown,
}

/// A frame that supports the cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub struct Evidence {
    /// Number of the frame in its file, from 1.
    pub frame: u64,
    /// What the frame is.
    pub role: &'static str,
}

/// The cause of a timeout.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Verdict {
    /// The cause; the likeliest if it is ambiguous.
    #[serde(serialize_with = "cause_key")]
    pub cause: TimeoutCause,
    /// What it is in particular.
    pub sub_cause: Option<&'static str>,
    /// How sure it is.
    pub certainty: Certainty,
    /// The other causes that the capture fits.
    #[serde(serialize_with = "cause_keys")]
    pub alternatives: Vec<TimeoutCause>,
    /// Where the loss was.
    pub side: Side,
    /// Frames that were lost behind the tap.
    pub lost_frames: Vec<u64>,
    /// Frames that show it.
    pub evidence: Vec<Evidence>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn cause_key<S: Serializer>(cause: &TimeoutCause, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(cause.key())
}

#[expect(clippy::ref_option, clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn recorded_key<S: Serializer>(cause: &Option<TimeoutCause>, serializer: S) -> Result<S::Ok, S::Error> {
    cause.map(TimeoutCause::key).serialize(serializer)
}

fn cause_keys<S: Serializer>(causes: &[TimeoutCause], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(causes.iter().map(|cause| cause.key()))
}

/// One event of a queue pair.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Event {
    /// Kind.
    pub kind: EventKind,
    /// File of the capture.
    pub file: String,
    /// Interface of the file.
    pub interface: String,
    /// Address of the requester.
    pub source: IpAddr,
    /// Address of the responder.
    pub destination: IpAddr,
    /// Queue pair of the requester, if its answers were found.
    pub source_qp: Option<u32>,
    /// Queue pair of the responder.
    pub destination_qp: u32,
    /// Operation that was sent again first.
    pub operation: &'static str,
    /// Frame that was sent again first.
    pub frame: u64,
    /// Time of that frame, since 1970 or the start of a run.
    pub time_ns: i64,
    /// PSN of that frame.
    pub psn: u32,
    /// PSN at which the requester resumed: before `psn` if the tap missed the first packets of the round.
    pub resume_psn: u32,
    /// PSN behind the last one that the tap had seen before.
    pub end_psn: u32,
    /// Expiries in a row.
    pub timeouts: u32,
    /// From the last frame of the flow to the resend; the sum over expiries in a row.
    pub wait_ns: i64,
    /// From the first transmission of the resumed PSN to the answer that covers it.
    pub cost_ns: Option<i64>,
    /// Cause; timeouts only.
    #[serde(flatten)]
    pub verdict: Option<Verdict>,
    /// Frames with a congestion mark from the previous event of the flow on.
    pub marks: u64,
    /// Congestion notifications during the event.
    pub cnps: u64,
    /// Pause frames during the event.
    pub pauses: u64,
    /// The mechanism of [`Summary::remedies`](crate::Summary::remedies) that helps most against the cause.
    pub remedy: Option<&'static str>,
    /// The cause that the simulator recorded; see [`Analysis::compare_causes`](crate::Analysis::compare_causes).
    #[serde(serialize_with = "recorded_key")]
    pub truth: Option<TimeoutCause>,
}
