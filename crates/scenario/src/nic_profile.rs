//! Measured behaviour of a NIC: a file of its own, which `transport.profile` names.

use serde::{Deserialize, Serialize};
use wiremend_units::{Span, canonical_name, unknown_name};

use crate::error::{Error, read_toml};
use crate::name::Line;
use crate::pattern::CheckError;
use crate::quantity::{Limit, Within};
use crate::recovery::Recovery;
use crate::tcp::Protocol;
use crate::transport::Transport;
use crate::value::{self, Refusal, Scalar, Value, as_value};
use crate::window::{Window, WindowPackets};

/// Profiles of the program.
const SHIPPED: &[(&str, &str)] = &[("soft-roce", include_str!("../../../profiles/soft-roce.toml"))];

/// What a NIC does where the specification leaves a choice, or where it differs from the specification. The defaults
/// are the behaviour of the simulator without a profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NicProfile {
    /// Which NIC, in one line.
    pub about: Line,
    /// The retransmission timer.
    #[serde(default)]
    pub timer: NicTimer,
    /// The half that sends requests.
    #[serde(default)]
    pub requester: NicRequester,
    /// The half that answers them.
    #[serde(default)]
    pub responder: NicResponder,
}

/// The retransmission timer of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NicTimer {
    /// Clock tick; 0 for an exact timer. A timer of n ticks and a part expires at the (n + 1)th tick from its start.
    #[serde(with = "value")]
    pub tick: Span,
    /// Shortest timeout.
    #[serde(with = "value")]
    pub shortest: Span,
    /// Timeout as a percentage of 4.096 µs · 2^t for the timeout code t.
    pub percent: Within<u32, 1, 100_000>,
    /// What the timer does when everything is acknowledged.
    pub after_last_ack: AfterLastAck,
}

/// What a timer does when everything is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterLastAck {
    /// It stops. The next packet starts it.
    Stops,
    /// It runs on, and expires for what is outstanding then.
    RunsOn,
}

/// The requester of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NicRequester {
    /// What it retransmits after a NAK.
    pub after_nak: AfterNak,
    /// What it does with NAKs after the first, before an ACK arrives.
    pub repeated_naks: RepeatedNaks,
    /// When it requests missing responses of a READ again.
    pub read_gap: ReadGap,
    /// Retries without progress if it is set to 7.
    pub retry_7: Retries,
    /// Most packets that may be unacknowledged.
    #[serde(with = "value")]
    pub window: Limit<WindowPackets>,
    /// Packets of a message after which it requests an acknowledgement at the latest.
    pub ack_every: Within<u32, 1, 8_388_607>,
}

/// What is retransmitted after a NAK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AfterNak {
    /// Everything from the missing packet on.
    All,
    /// The missing packet.
    One,
}

/// What a requester does with NAKs between the first one and the next ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RepeatedNaks {
    /// Each causes a retransmission.
    Obeyed,
    /// They acknowledge, and cause no retransmission.
    Ignored,
}

/// When a requester asks again for missing responses of a READ whose later responses arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadGap {
    /// At once.
    AtOnce,
    /// When its timer expires, or when a later request is answered.
    Timer,
}

/// Retries without progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retries {
    /// `"for-ever"`.
    ForEver,
    /// This number.
    Number(Within<u8, 0, 7>),
}

const FOR_EVER: &str = "for-ever";

impl Value for Retries {
    fn expected() -> String {
        format!("\"{FOR_EVER}\" or {}", Within::<u8, 0, 7>::expected())
    }

    fn types() -> &'static [&'static str] {
        &["integer", "string"]
    }

    fn names() -> &'static [&'static str] {
        &[FOR_EVER]
    }

    fn read(scalar: &Scalar) -> Result<Self, Refusal> {
        match scalar {
            Scalar::Text(text) if text == FOR_EVER => Ok(Self::ForEver),
            Scalar::Text(_) => Err(Refusal::Type),
            scalar => Within::read(scalar).map(Self::Number),
        }
    }

    fn write(&self) -> Scalar {
        match self {
            Self::ForEver => Scalar::Text(FOR_EVER.to_owned()),
            Self::Number(number) => number.write(),
        }
    }
}

as_value!(Retries);

/// The responder of a NIC.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NicResponder {
    /// What it does with packets behind a missing one.
    pub out_of_order: OutOfOrder,
    /// When it sends a NAK for a missing packet.
    pub nak: NakSent,
    /// Whether a newer ACK replaces one that is not sent yet.
    pub acks: Acks,
    /// What it does with duplicates of SEND and WRITE packets.
    pub duplicates: Duplicates,
    /// What a requester gets whose SEND finds no receive buffer.
    pub no_buffer: NoBuffer,
    /// What it does with an empty WRITE behind the last packet, where its queue pair permits WRITEs.
    pub dummies: DummyReaction,
    /// What it does with a packet whose ICRC is wrong. Without effect in the simulator, where links drop such frames.
    pub wrong_icrc: WrongIcrc,
}

/// What a responder does with packets behind a missing one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutOfOrder {
    /// It drops them.
    Dropped,
    /// It keeps them.
    Kept,
}

/// When a responder sends a NAK for a missing packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NakSent {
    /// Once, until the packet arrives.
    Once,
    /// Again when a round of retransmissions lacks the packet.
    EachRound,
    /// For each packet behind it.
    EachPacket,
}

/// Whether ACKs are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Acks {
    /// Each request for an ACK gets its own.
    Each,
    /// A newer ACK replaces one that waits.
    Merged,
}

/// What a responder does with duplicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Duplicates {
    /// It acknowledges them.
    Acknowledged,
    /// It drops them silently.
    Dropped,
}

/// What a responder sends without a receive buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoBuffer {
    /// An RNR NAK.
    Rnr,
    /// An RNR NAK, and a sequence NAK for the packet behind.
    RnrAndNak,
}

/// What a responder does with dummies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DummyReaction {
    /// It executes and acknowledges them.
    Accepted,
    /// It refuses them, and the queue pair fails.
    Refused,
    /// It drops them silently.
    Dropped,
}

/// What a responder does with a packet whose ICRC is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WrongIcrc {
    /// It drops the packet silently.
    Dropped,
    /// It sends a NAK.
    Nak,
    /// It takes the packet as if it were right.
    Accepted,
}

impl Default for NicTimer {
    fn default() -> Self {
        Self {
            tick: Span::ZERO,
            shortest: Span::ZERO,
            percent: Within::fixed(100),
            after_last_ack: AfterLastAck::Stops,
        }
    }
}

impl Default for NicRequester {
    fn default() -> Self {
        Self {
            after_nak: AfterNak::All,
            repeated_naks: RepeatedNaks::Obeyed,
            read_gap: ReadGap::AtOnce,
            retry_7: Retries::Number(Within::fixed(7)),
            window: Limit::Unlimited,
            ack_every: Within::fixed(1),
        }
    }
}

impl Default for NicResponder {
    fn default() -> Self {
        Self {
            out_of_order: OutOfOrder::Dropped,
            nak: NakSent::Once,
            acks: Acks::Each,
            duplicates: Duplicates::Acknowledged,
            no_buffer: NoBuffer::Rnr,
            dummies: DummyReaction::Accepted,
            wrong_icrc: WrongIcrc::Dropped,
        }
    }
}

impl NicProfile {
    /// Reads the text of a profile; `source` names it in messages.
    pub fn read(source: &str, text: &str) -> Result<Self, Error> {
        let profile: Self = read_toml(source, text)?;
        let longest = Span::from_ms(10_000);
        if profile.timer.tick > longest || profile.timer.shortest > longest {
            let message = format!("[timer] `tick` and `shortest` are at most {longest}");
            return Err(Error::at(source, text, text.find("[timer]").unwrap_or(0), &message));
        }
        Ok(profile)
    }

    /// The text of a profile of the program; `None`: the name is a path. An error lists the names.
    pub fn shipped(name: &str) -> Result<Option<&'static str>, String> {
        let known: Vec<&str> = SHIPPED.iter().map(|(known, _)| *known).collect();
        if let Some(found) = canonical_name(name, &known) {
            return Ok(SHIPPED.iter().find(|(known, _)| *known == found).map(|(_, text)| *text));
        }
        if std::path::Path::new(name).extension().is_some_and(|extension| extension == "toml") {
            return Ok(None);
        }
        Err(format!("{}; a file needs a path ending in .toml", unknown_name("profile", name, &known)))
    }

    /// Returns a text that reads as this profile.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a profile is TOML")
    }

    /// Timeout for a timeout code; `None` for code 0, which disables the timer.
    pub fn timeout(&self, code: Option<Span>) -> Option<Span> {
        let ps = u128::from(code?.as_ps()) * u128::from(self.timer.percent.get()) / 100;
        Some(Span::from_ps(u64::try_from(ps).unwrap_or(u64::MAX).max(1)).max(self.timer.shortest))
    }
}

/// Checks that the transport leaves to the profile what the profile sets.
pub(crate) fn check(transport: &Transport) -> Result<(), CheckError> {
    let Some(name) = &transport.profile else { return Ok(()) };
    let at_name = |why: String| Err((name.place, why));
    NicProfile::shipped(name).map_err(|why| (name.place, why))?;
    if transport.recovery.value != Recovery::GoBackN || transport.protocol != Protocol::Rdma {
        return at_name(
            "a profile is of a NIC with go-back-N; remove `profile`, or set recovery = \"go-back-n\" and protocol = \
             \"rdma\""
                .to_owned(),
        );
    }
    let doubled = [
        ("window", transport.window != Window::Bdp),
        ("ack_every", transport.ack_every.get() != 1),
        ("ack_coalescing", transport.ack_coalescing),
        ("acceleration", transport.acceleration.is_some()),
    ];
    match doubled.iter().find(|(_, is_set)| *is_set) {
        Some((field, _)) => at_name(format!("the profile sets `{field}` too; remove one of both")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_and_written() {
        let text = NicProfile::shipped("soft-roce").unwrap().unwrap();
        let profile = NicProfile::read("soft-roce", text).unwrap();
        assert_eq!(profile.to_toml(), text, "the shipped file has the form that is written");
        assert_eq!(profile.timeout(None), None);
        assert_eq!(profile.timeout(Some(Span::from_us(4096))), Some(Span::from_us(4096)));
        let short = "about = \"fast\"\n[timer]\npercent = 50\nshortest = \"1ms\"\n";
        let short = NicProfile::read("short", short).unwrap();
        assert_eq!(short.requester, NicRequester::default());
        let timeouts = [1_000, 4_000].map(|us| short.timeout(Some(Span::from_us(us))).unwrap());
        assert_eq!(timeouts, [1, 2].map(Span::from_ms));
    }

    #[test]
    fn wrong_profiles_are_refused_with_their_place() {
        for (text, part) in [
            ("[timer]\n", "p.toml:1:1: missing field `about`"),
            ("about = \"x\"\n[timr]\n", "p.toml:2:2: unknown field `timr`; did you mean `timer`?"),
            ("about = \"x\"\n[requester]\nretry_7 = 8\n", "p.toml:3:11: "),
            ("about = \"x\"\n[requester]\nretry_7 = \"ever\"\n", "expected \"for-ever\" or a whole number"),
            ("about = \"x\"\n[responder]\nnak = \"twice\"\n", "p.toml:3:7: unknown value `twice`"),
            ("about = \"x\"\n[timer]\ntick = \"4x\"\n", "p.toml:3:8: "),
            (
                "about = \"x\"\n[timer]\ntick = \"11s\"\n",
                "p.toml:2:1: [timer] `tick` and `shortest` are at most",
            ),
        ] {
            let error = NicProfile::read("p.toml", text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        let error = NicProfile::shipped("soft-roc").unwrap_err();
        assert!(error.contains("soft-roce") && error.contains(".toml"), "{error}");
    }
}
