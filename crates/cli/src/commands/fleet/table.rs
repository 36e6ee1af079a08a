//! `wiremend fleet table`: measures the loss and speed of a protected link by simulation.

use std::fmt::Write as _;

use wiremend_claims::ledger::Effort;
use wiremend_claims::protection;

use crate::args::VERSION;
use crate::args::fleet::{By, FleetTable};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::{signals, terminal};

pub(super) fn run(asked: &FleetTable) -> Result<Answer, Failure> {
    signals::catch()?;
    let bps = asked.rate.bits_per_s();
    let gbps = u32::try_from(bps / 1_000_000_000).unwrap_or(u32::MAX);
    if !bps.is_multiple_of(1_000_000_000) || !(1..=1600).contains(&gbps) {
        return Err(Failure::Input(format!(
            "--rate {}: expected whole Gb/s from 1Gbps to 1600Gbps",
            asked.rate
        )));
    }
    let effort = if asked.quick { Effort::Quick } else { Effort::Full };
    let by = match asked.by {
        By::Hardened => protection::LinkProtocol::Hardened,
        By::Prototype => protection::LinkProtocol::Prototype,
    };
    let (progress, stop) = (Progress::default(), signals::stop());
    let runner = crate::commands::runner(asked.threads, &progress, &stop);
    let rows = protection::measure(&runner, gbps, by, effort)?;
    let mut text = format!(
        "# Loss and speed of a protected link, measured by simulation: {}, {gbps} Gb/s, 1518-byte frames at line rate, target 1e-8.\n\
         # Made by `wiremend fleet table --rate {} --by {}{}`, wiremend {VERSION}.\n\
         # residual_loss: upper bound of the 99.99 % interval, from weighted episodes of injected losses.\n\
         # speed: delivered frames as a share of the line rate; 0.992 was offered.\n\
         loss,residual_loss,speed\n",
        match asked.by {
            By::Hardened => "the hardened protocol in order",
            By::Prototype => "the published prototype in order",
        },
        asked.rate,
        if asked.by == By::Hardened { "hardened" } else { "prototype" },
        if asked.quick { " --quick" } else { "" },
    );
    for protection::ProtectionRow { loss, left, speed } in rows {
        let _ = writeln!(text, "{loss:e},{left:.3e},{speed:.4}");
    }
    terminal::print(&text)?;
    Ok(Answer::Yes)
}
