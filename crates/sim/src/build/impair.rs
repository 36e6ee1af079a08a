//! The impairments of a scenario by lane, each with its own random stream.

use std::collections::BTreeMap;

use wiremend_impair::{
    BadImpairment, BitErrors, Channel, Direction, EpisodeStart, EveryNth, FaultList, FrameKind, FrameLoss,
    GilbertElliott, Impairment, Impairments, IpId, LinkKind, Model, Rule, Script, TiltSettings, TiltedLoss,
    Window,
};
use wiremend_scenario::{Impair, ImpairmentKind, LinkFrame, PacketKind, Placed, Scenario, Within};
use wiremend_units::{LaneId, Psn, Time, stream_seed};

use super::topology::lanes;
use super::{BuildError, Files};
use crate::network::{Network, purpose};
use crate::registry::Registry;

pub(super) fn place(
    scenario: &Scenario,
    files: &dyn Files,
    net: &Network,
    registry: &Registry,
) -> Result<Vec<(LaneId, Impairments)>, BuildError> {
    let mut by_lane: BTreeMap<LaneId, Impairments> = BTreeMap::new();
    for (number, impair) in scenario.impairs.iter().enumerate() {
        let recorded = match &impair.kind {
            ImpairmentKind::Script(script) => {
                script.faults.as_ref().map(|file| read_faults(file, files)).transpose()?
            }
            _ => None,
        };
        for lane in lanes(&net.graph, &impair.links, impair.direction)? {
            let entity = (number as u64) << 32 | u64::from(lane.0);
            let seed = stream_seed(net.seed, purpose::IMPAIR, entity);
            let made = match &impair.kind {
                ImpairmentKind::Registered(registered) => {
                    let model = registry.make_impairment(registered, seed);
                    let model = model.map_err(BuildError::setting(impair.place))?;
                    window(impair).map(|window| Impairment::during(window, Model::Other(model)))
                }
                _ => impairment(impair, seed),
            };
            let made = made.map_err(|error| BuildError::at(impair.place, error.to_string()))?;
            let impairments = by_lane.entry(lane).or_default();
            let window = made.window();
            impairments.push(made);
            if let Some(recorded) = &recorded {
                let direction =
                    if lane == lane.link().forward() { Direction::Forward } else { Direction::Backward };
                impairments.push(Impairment::during(window, recorded.replay(direction)));
            }
        }
    }
    Ok(by_lane.into_iter().collect())
}

/// The impairments of all links together, forward and backward, for a link outside of the simulator.
///
/// # Errors
/// If there is none, or one that needs a simulation: of a protected link, or registered by a program.
pub fn impairments(scenario: &Scenario) -> Result<[Impairments; 2], BuildError> {
    let mut both = [Impairments::default(), Impairments::default()];
    for (number, impair) in scenario.impairs.iter().enumerate() {
        let at = |what: &str| BuildError::at(impair.place, what);
        match &impair.kind {
            ImpairmentKind::Tilted(_) | ImpairmentKind::Registered(_) => {
                return Err(at("this impairment is for simulated links only; write another kind"));
            }
            ImpairmentKind::Script(script) if names_headers(script) => {
                return Err(at(
                    "this link is not protected, so its frames have no link header; remove `link`, `seq` \
                               and `faults`",
                ));
            }
            _ => {}
        }
        let directions = match impair.direction {
            wiremend_scenario::Direction::Both => 0..2,
            wiremend_scenario::Direction::Forward => 0..1,
            wiremend_scenario::Direction::Backward => 1..2,
        };
        for direction in directions {
            let entity = (number as u64) << 32 | direction as u64;
            let made = impairment(impair, stream_seed(scenario.seed.get(), purpose::IMPAIR, entity));
            both[direction].push(made.map_err(|error| at(&error.to_string()))?);
        }
    }
    Ok(both)
}

/// Whether a script selects frames by their link header.
fn names_headers(script: &wiremend_scenario::Script) -> bool {
    script.faults.is_some() || script.rules.iter().any(|rule| rule.link.is_some() || rule.seq.is_some())
}

fn read_faults(file: &Placed<String>, files: &dyn Files) -> Result<FaultList, BuildError> {
    let at = |what: String| BuildError::at(file.place, what);
    let reader = files.open(file).map_err(at)?;
    FaultList::read(reader).map_err(|error| at(format!("{}: {error}", file.value)))
}

/// Rejects scripts that select frames by link header on unprotected links.
pub(super) fn check_scripts(
    scenario: &Scenario,
    net: &Network,
    is_protected: impl Fn(LaneId) -> bool,
) -> Result<(), BuildError> {
    for impair in &scenario.impairs {
        let ImpairmentKind::Script(script) = &impair.kind else { continue };
        if !names_headers(script) {
            continue;
        }
        if let Some(lane) =
            lanes(&net.graph, &impair.links, impair.direction)?.into_iter().find(|lane| !is_protected(*lane))
        {
            let name = net.graph.lane_name(lane);
            let what = format!(
                "`{name}` is not protected, so its frames have no link header; remove `link`, `seq` and `faults`"
            );
            return Err(BuildError::at(impair.place, what));
        }
    }
    Ok(())
}

/// Returns the lane with `tilted` losses, if there is one: a direction of a protected link.
pub(super) fn tilted(
    scenario: &Scenario,
    net: &Network,
    is_protected: impl Fn(LaneId) -> bool,
) -> Result<Option<LaneId>, BuildError> {
    let mut found = None;
    for impair in scenario.impairs.iter().filter(|impair| matches!(impair.kind, ImpairmentKind::Tilted(_))) {
        for lane in lanes(&net.graph, &impair.links, impair.direction)? {
            let name = net.graph.lane_name(lane);
            if !is_protected(lane) {
                let what = format!("`{name}` is not protected; `tilted` needs a protected link");
                return Err(BuildError::at(impair.place, what));
            }
            if found.replace(lane).is_some() {
                let what =
                    format!("`{name}` is the second lane with `tilted`; choose one direction of one link");
                return Err(BuildError::at(impair.place, what));
            }
        }
    }
    Ok(found)
}

/// Share of episodes without importance sampling, and maximum number of frames per episode with raised loss.
const PLAIN_SHARE: f64 = 0.1;
const RAISED_MAX: u32 = 64;

fn window(impair: &Impair) -> Result<Window, BadImpairment> {
    Window::new(impair.start, impair.stop.unwrap_or(Time::MAX))
}

fn impairment(impair: &Impair, seed: u64) -> Result<Impairment, BadImpairment> {
    let model: Model = match &impair.kind {
        ImpairmentKind::BitErrors(fault) => BitErrors::new(fault.rate.get(), seed)?.into(),
        ImpairmentKind::Frames(fault) => FrameLoss::new(fault.rate.get(), seed)?.into(),
        ImpairmentKind::Bursts(fault) => {
            GilbertElliott::from_bursts(fault.loss.get(), fault.length.get(), seed)?.into()
        }
        ImpairmentKind::GilbertElliott(fault) => {
            let channel = Channel {
                good_to_bad: fault.to_bad.get(),
                bad_to_good: fault.to_good.get(),
                loss_good: fault.loss_good.get(),
                loss_bad: fault.loss_bad.get(),
            };
            GilbertElliott::new(channel, seed)?.into()
        }
        ImpairmentKind::Every(fault) => EveryNth::new(fault.n.get(), fault.offset.get())?.into(),
        ImpairmentKind::IpId(fault) => IpId::new(fault.mask.get(), fault.value.get())?.into(),
        ImpairmentKind::Tilted(fault) => {
            let rate = fault.rate.get();
            let tilting = TiltSettings {
                loss: rate,
                raised_copies: fault.raised.get(),
                raised_control: rate,
                plain_share: PLAIN_SHARE,
                raised_max: RAISED_MAX,
                quiet_frames: fault.quiet.get(),
                begin: EpisodeStart::Forced { after: fault.after.get() },
            };
            TiltedLoss::new(tilting, seed)?.into()
        }
        ImpairmentKind::Registered(_) => unreachable!("the caller handles registered impairments"),
        ImpairmentKind::Script(fault) => {
            Script::new(&fault.rules.iter().map(rule).collect::<Vec<_>>())?.into()
        }
    };
    Ok(Impairment::during(window(impair)?, model))
}

fn rule(rule: &wiremend_scenario::Rule) -> Rule {
    let mut made = match rule.psn {
        Some(psn) => Rule::nth_of_psn(rule.nth.get(), Psn::new(psn.get())),
        None => Rule::nth_frame(rule.nth.get()),
    };
    let kind = match rule.packet {
        PacketKind::Any => None,
        PacketKind::Data => Some(FrameKind::Data),
        PacketKind::Ack => Some(FrameKind::Ack),
        PacketKind::Nak => Some(FrameKind::Nak),
        PacketKind::ReadRequest => Some(FrameKind::ReadRequest),
        PacketKind::ReadResponse => Some(FrameKind::ReadResponse),
    };
    if let Some(kind) = kind {
        made = made.of_kind(kind);
    }
    made.matching.link = rule.link.map(|link| match link {
        LinkFrame::Data => LinkKind::Data,
        LinkFrame::Dummy => LinkKind::Dummy,
        LinkFrame::Ack => LinkKind::Ack,
        LinkFrame::Missing => LinkKind::Missing,
        LinkFrame::Hello => LinkKind::Hello,
    });
    made.matching.seq = rule.seq.map(Within::get);
    made.times(rule.count.get())
}
