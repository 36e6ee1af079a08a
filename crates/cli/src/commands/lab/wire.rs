//! `wiremend lab wire`: an emulated cable that corrupts frames.

use std::fs::File;
use std::path::Path;

use wiremend_dataplane::cable::{
    CableRequest, CableService, CableSettings, CableStatus, FaultList, ImpairmentSettings,
};
use wiremend_dataplane::control::{ControlError, send_request};
use wiremend_wire::link::LinkCodec;

use crate::args::operate::{LabImpairment, LabWire};
use crate::commands::relay::{poll, unusable};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

pub(crate) fn run(asked: &LabWire) -> Result<Answer, Failure> {
    let impairments = impairments(&asked.impairment);
    let status = match (&asked.a, &asked.b, &asked.socket) {
        (_, _, Some(socket)) if asked.change => {
            let [a_to_b, b_to_a] = impairments.map(Some);
            let request = CableRequest::Impair { a_to_b, b_to_a };
            send_request(socket, &request).map_err(|why| match why {
                ControlError::Refused(why) => Failure::Input(why),
                ControlError::Unreachable(error) => {
                    Failure::Environment(format!("no cable at {}: {error}", socket.display()))
                }
                ControlError::InvalidResponse(why) => {
                    Failure::Environment(format!("invalid response of the cable: {why}"))
                }
            })?
        }
        (Some(a), Some(b), _) => carry(asked, [a.clone(), b.clone()], impairments)?,
        _ => return Err(Failure::Input("a cable needs two ends: --a IF --b IF".to_owned())),
    };
    let text = serde_json::to_string_pretty(&status).expect("plain values");
    terminal::print(&format!("{text}\n"))?;
    Ok(Answer::Yes)
}

fn carry(
    asked: &LabWire,
    ends: [String; 2],
    impairments: [ImpairmentSettings; 2],
) -> Result<CableStatus, Failure> {
    signals::catch()?;
    let settings = CableSettings {
        ends,
        rate: asked.rate,
        delay: asked.delay,
        queue_bytes_max: asked.queue.get(),
        impairments,
        faults: asked.faults.as_deref().map(read_faults).transpose()?,
        record: asked.record.clone(),
        codec: LinkCodec { ethertype: asked.ethertype },
        seed: asked.seed,
        socket: asked.socket.clone(),
        poll: poll(asked.poll),
    };
    let service = CableService::start(settings).map_err(|why| unusable(&why))?;
    service.run(|| signals::caught().is_some()).map_err(|why| unusable(&why))
}

fn read_faults(path: &Path) -> Result<FaultList, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::unreadable(&name, &error))?;
    FaultList::read(file).map_err(|error| Failure::Input(format!("{name}: {error}")))
}

/// Returns the impairments from A to B and from B to A.
fn impairments(asked: &LabImpairment) -> [ImpairmentSettings; 2] {
    let a_to_b = ImpairmentSettings {
        loss: asked.loss.unwrap_or(0.0),
        burst_frames: asked.burst,
        bit_error_rate: asked.ber.unwrap_or(0.0),
        every: asked.every,
    };
    let b_to_a = ImpairmentSettings { loss: asked.loss_back.unwrap_or(a_to_b.loss), ..a_to_b };
    [a_to_b, b_to_a]
}
