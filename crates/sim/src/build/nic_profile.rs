//! The profile of a NIC, from a file that the scenario names.

use std::io::Read;

use wiremend_proto::rc;
use wiremend_scenario::{
    Acks, AfterLastAck, AfterNak, DummyReaction, Duplicates, NakSent, NicProfile, NoBuffer, OutOfOrder,
    ReadGap, RepeatedNaks, Retries, Scenario, Within,
};

use super::{BuildError, Files};
use crate::network::Transport;

/// Largest file of a profile.
const BYTES_MAX: u64 = 64 << 10;

/// Sets what the profile of the scenario sets, if it has one.
pub(super) fn apply(
    scenario: &Scenario,
    files: &dyn Files,
    transport: &mut Transport,
) -> Result<(), BuildError> {
    let Some(name) = &scenario.transport.profile else { return Ok(()) };
    let at = |what: String| BuildError::at(name.place, what);
    let text = match NicProfile::shipped(name).map_err(at)? {
        Some(text) => text.to_owned(),
        None => read(name, files).map_err(at)?,
    };
    let profile = NicProfile::read(name, &text).map_err(|error| at(error.to_string()))?;
    let answers_dummies = profile.responder.dummies == DummyReaction::Accepted;
    if !answers_dummies && scenario.mend.dummies() > 0 {
        return Err(at(format!(
            "the NIC of `{}` does not answer dummies; set mend.dummies = 0, and mend.tail_copies instead",
            name.value
        )));
    }
    transport.coalesce_acks = apply_profile(&profile, &mut transport.config)
        .map_err(|why| at(format!("profile `{}`: {why}", name.value)))?;
    Ok(())
}

fn read(name: &str, files: &dyn Files) -> Result<String, String> {
    let mut text = String::new();
    let read = files.open(name)?.take(BYTES_MAX).read_to_string(&mut text);
    read.map(|_| text).map_err(|error| format!("cannot read `{name}`: {error}"))
}

/// Sets the parameters of a connection to what a NIC makes of them. Returns whether a newer ACK replaces one that waits.
///
/// # Errors
/// If the NIC does not use go-back-N.
pub fn apply_profile(profile: &NicProfile, config: &mut rc::Config) -> Result<bool, String> {
    let (requester, responder) = (profile.requester, profile.responder);
    if requester.after_nak == AfterNak::One || responder.out_of_order == OutOfOrder::Kept {
        return Err(
            "it is of a NIC with selective repeat; remove `profile` and set recovery = \"selective-repeat\""
                .to_owned(),
        );
    }
    config.timeout = profile.timeout(config.timeout);
    config.window = requester.window.max().map_or(rc::Config::WINDOW_MAX, Within::get);
    config.ack_every = requester.ack_every.get();
    if config.retry_count == 7 {
        config.retry_count = match requester.retry_7 {
            Retries::ForEver => rc::Config::RETRY_INFINITE,
            Retries::Number(number) => number.get(),
        };
    }
    config.profile = rc::Profile {
        tick: profile.timer.tick,
        timer_runs_on: profile.timer.after_last_ack == AfterLastAck::RunsOn,
        ignores_repeated_naks: requester.repeated_naks == RepeatedNaks::Ignored,
        read_gap_waits: requester.read_gap == ReadGap::Timer,
        nak: match responder.nak {
            NakSent::Once => rc::NakRule::Once,
            NakSent::EachRound => rc::NakRule::EachRound,
            NakSent::EachPacket => rc::NakRule::EachPacket,
        },
        nak_after_rnr: responder.no_buffer == NoBuffer::RnrAndNak,
        silent_duplicates: responder.duplicates == Duplicates::Dropped,
    };
    Ok(responder.acks == Acks::Merged)
}
