//! `wiremend lab wire`: a cable that corrupts.

use std::fs::File;
use std::path::Path;

use wiremend_dataplane::cable::{Ailment, CableRequest, CableService, CableSettings, CableStatus, FaultList};
use wiremend_dataplane::control::{Unanswered, ask};
use wiremend_wire::link::Dialect;

use crate::args::operate::{LabAilment, LabWire};
use crate::commands::relay::{poll, unusable};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

pub(crate) fn run(asked: &LabWire) -> Result<Answer, Failure> {
    let ailments = ailments(&asked.ailment);
    let status = match (&asked.a, &asked.b, &asked.socket) {
        (_, _, Some(socket)) if asked.change => {
            let [forth, back] = ailments.map(Some);
            let request = CableRequest::Impair { forth, back };
            ask(socket, &request).map_err(|why| match why {
                Unanswered::Refused(why) => Failure::Input(why),
                Unanswered::Absent(error) => {
                    Failure::Environment(format!("no wire listens at {}: {error}", socket.display()))
                }
                Unanswered::Garbled(why) => Failure::Environment(format!("the wire broke off: {why}")),
            })?
        }
        (Some(a), Some(b), _) => carry(asked, [a.clone(), b.clone()], ailments)?,
        _ => return Err(Failure::Input("a wire has two ends: --a IF --b IF".to_owned())),
    };
    let text = serde_json::to_string_pretty(&status).expect("plain values");
    terminal::print(&format!("{text}\n"))?;
    Ok(Answer::Yes)
}

fn carry(asked: &LabWire, ends: [String; 2], ailments: [Ailment; 2]) -> Result<CableStatus, Failure> {
    signals::catch()?;
    let settings = CableSettings {
        ends,
        rate: asked.rate,
        delay: asked.delay,
        queue_bytes_max: asked.queue.get(),
        ailments,
        faults: asked.faults.as_deref().map(read_faults).transpose()?,
        record: asked.record.clone(),
        dialect: Dialect { ethertype: asked.ethertype },
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

/// From A to B, and back.
fn ailments(asked: &LabAilment) -> [Ailment; 2] {
    let forth = Ailment {
        loss: asked.loss.unwrap_or(0.0),
        burst_frames: asked.burst,
        bit_error_rate: asked.ber.unwrap_or(0.0),
        every: asked.every,
    };
    let back = Ailment { loss: asked.loss_back.unwrap_or(forth.loss), ..forth };
    [forth, back]
}
