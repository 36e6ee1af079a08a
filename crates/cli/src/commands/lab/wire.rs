//! `wiremend lab wire`: an emulated wire that corrupts frames.

use std::fs::File;
use std::path::Path;

use wiremend_dataplane::control::{ControlError, send_request};
use wiremend_dataplane::wire::{
    FaultList, ImpairmentSettings, WireRequest, WireService, WireSettings, WireStatus,
};
use wiremend_wire::link::LinkCodec;

use crate::args::operate::{LabImpairment, LabWire};
use crate::commands::relay::{poll, unusable};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

pub(crate) fn run(args: &LabWire) -> Result<Answer, Failure> {
    let impairments = impairments(&args.impairment);
    let status = match (&args.a, &args.b, &args.socket) {
        (_, _, Some(socket)) if args.change => {
            let [a_to_b, b_to_a] = impairments.map(Some);
            let request = WireRequest::Impair { a_to_b, b_to_a };
            send_request(socket, &request).map_err(|why| match why {
                ControlError::Refused(why) => Failure::Input(why),
                ControlError::Unreachable(error) => Failure::Environment(format!(
                    "no wire at {}: {error}; start one: wiremend lab wire --a IF --b IF --socket PATH",
                    socket.display()
                )),
                ControlError::InvalidResponse(why) => {
                    Failure::Environment(format!("invalid response of the wire: {why}"))
                }
            })?
        }
        (Some(a), Some(b), _) => carry(args, [a.clone(), b.clone()], impairments)?,
        _ => return Err(Failure::Input("a wire needs two ends: --a IF --b IF".to_owned())),
    };
    let text = serde_json::to_string_pretty(&status).expect("plain values");
    terminal::print(&format!("{text}\n"))?;
    Ok(Answer::Yes)
}

fn carry(
    args: &LabWire,
    ends: [String; 2],
    impairments: [ImpairmentSettings; 2],
) -> Result<WireStatus, Failure> {
    signals::catch()?;
    let settings = WireSettings {
        ends,
        rate: args.rate,
        delay: args.delay,
        queue_bytes_max: args.queue.get(),
        impairments,
        faults: args.faults.as_deref().map(read_faults).transpose()?,
        record: args.record.clone(),
        codec: LinkCodec { ethertype: args.ethertype },
        seed: args.seed,
        socket: args.socket.clone(),
        poll: poll(args.poll),
    };
    let service = WireService::start(settings).map_err(|why| unusable(&why))?;
    service.run(|| signals::caught().is_some()).map_err(|why| unusable(&why))
}

fn read_faults(path: &Path) -> Result<FaultList, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::unreadable(&name, &error))?;
    FaultList::read(file).map_err(|error| Failure::Input(format!("{name}: {error}")))
}

/// Returns the impairments from A to B and from B to A.
fn impairments(args: &LabImpairment) -> [ImpairmentSettings; 2] {
    let a_to_b = ImpairmentSettings {
        loss: args.loss.unwrap_or(0.0),
        burst_frames: args.burst,
        bit_error_rate: args.ber.unwrap_or(0.0),
        every: args.every,
        tcp_byte: args.tcp_byte,
    };
    let b_to_a = ImpairmentSettings { loss: args.loss_back.unwrap_or(a_to_b.loss), tcp_byte: None, ..a_to_b };
    [a_to_b, b_to_a]
}
