//! `wiremend fleet table`: measures the loss and speed of a protected link by simulation.

use std::fmt::Write as _;

use wiremend_claims::ledger::Effort;
use wiremend_claims::protection;

use crate::args::VERSION;
use crate::args::fleet::{FleetTable, TableProfile};
use crate::failure::{Answer, Failure};
use crate::progress::Progress;
use crate::{signals, terminal};

pub(super) fn run(args: &FleetTable) -> Result<Answer, Failure> {
    signals::catch()?;
    let bps = args.rate.bits_per_s();
    let gbps = u32::try_from(bps / 1_000_000_000).unwrap_or(u32::MAX);
    if !bps.is_multiple_of(1_000_000_000) || !(1..=1600).contains(&gbps) {
        return Err(Failure::Input(format!(
            "--rate {}: expected whole Gb/s from 1Gbps to 1600Gbps",
            args.rate
        )));
    }
    let effort = if args.quick { Effort::Quick } else { Effort::Full };
    let protocol = match args.profile {
        TableProfile::Hardened => protection::LinkProtocol::Hardened,
        TableProfile::Prototype => protection::LinkProtocol::Prototype,
    };
    let (progress, stop) = (Progress::new(args.quiet), signals::stop());
    let runner = crate::commands::runner(args.threads, &progress, &stop);
    let rows = protection::measure(&runner, gbps, protocol, effort)?;
    let mut text = format!(
        "# Loss and speed of a protected link, measured by simulation: {}, {gbps} Gb/s, 1518-byte frames at line rate, target 1e-8.\n\
         # Made by `wiremend fleet table --rate {} --profile {}{}`, wiremend {VERSION}.\n\
         # residual_loss: upper bound of the 99.99 % interval, from weighted episodes of injected losses.\n\
         # speed: delivered frames as a share of the line rate; 0.992 was offered.\n\
         loss,residual_loss,speed\n",
        match args.profile {
            TableProfile::Hardened => "the hardened protocol in order",
            TableProfile::Prototype => "the published prototype in order",
        },
        args.rate,
        if args.profile == TableProfile::Hardened { "hardened" } else { "prototype" },
        if args.quick { " --quick" } else { "" },
    );
    for protection::ProtectionRow { loss, left, speed } in rows {
        let _ = writeln!(text, "{loss:e},{left:.3e},{speed:.4}");
    }
    terminal::print(&text)?;
    Ok(Answer::Yes)
}
