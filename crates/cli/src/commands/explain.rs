//! `wiremend capture explain`: which queue pairs stalled, for how long, and why.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use wiremend_capture::{Analysis, Explanation, ReadError, Step, TapPosition};
use wiremend_measure::{Fate, FlowTrace, PacketKind, TraceEvent, TracePacket, TraceRecord};
use wiremend_report::{Ladder, write_atomic};
use wiremend_units::{HostId, NodeId, Span, Time};
use wiremend_wire::pcap::CaptureFault;

use super::explain_page::page;
use crate::args::capture::{Explain, TapPlace};
use crate::failure::{Answer, Failure};
use crate::{signals, terminal};

pub(super) fn run(args: &Explain) -> Result<Answer, Failure> {
    signals::catch()?;
    let (explanation, steps, damage) = analyse(args, args.ladder)?;
    if explanation.frames.rc == 0 {
        return Err(damage.unwrap_or_else(|| Failure::Input(without_roce(args, &explanation))));
    }
    if let Some(path) = &args.html {
        let drawn = worst_ladder(args, &explanation)?;
        let html = page(&explanation, drawn, &file_names(args));
        write_atomic(path, &html).map_err(|error| Failure::file(&error))?;
    }
    print(args, &explanation, &steps)?;
    match damage {
        Some(failure) => Err(failure),
        None if explanation.summary.flows == 0 => Err(Failure::Input(format!(
            "{}: answers only, no requests; capture both directions",
            file_names(args)
        ))),
        None if explanation.summary.stalls > 0 => Ok(Answer::No),
        None => Ok(Answer::Yes),
    }
}

/// Prints what was asked for, in parts: an explanation of many stalls is long.
fn print(args: &Explain, explanation: &Explanation, steps: &[Step]) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    if args.json {
        let written = serde_json::to_writer_pretty(&mut out, explanation).map_err(io::Error::from);
        terminal::written(written.and_then(|()| writeln!(out)))?;
    } else if args.filter {
        terminal::written(writeln!(out, "{}", explanation.filter()))?;
    } else if let Some(qpn) = args.ladder {
        if steps.is_empty() {
            return Err(Failure::Input(format!(
                "--ladder: no packets of queue pair {qpn:#x}; see the summary"
            )));
        }
        terminal::written(out.write_all(ladder(args, qpn, steps).text(terminal::stdout()).as_bytes()))?;
    } else {
        terminal::written(write!(out, "{explanation}"))?;
        for line in explanation.lines(args.all) {
            terminal::written(out.write_all(line.as_bytes()))?;
        }
    }
    terminal::written(out.flush())
}

/// Reads all files. A damaged file ends the reading; what was read before is explained.
fn analyse(args: &Explain, watch: Option<u32>) -> Result<(Explanation, Vec<Step>, Option<Failure>), Failure> {
    let mut analysis = Analysis::new(match args.tap {
        TapPlace::Requester => TapPosition::Requester,
        TapPlace::Responder => TapPosition::Responder,
        TapPlace::Unknown => TapPosition::Unknown,
    });
    if let Some(qpn) = watch {
        analysis.watch(qpn);
    }
    if args.truth {
        analysis.compare_causes();
    }
    let mut damage = None;
    for path in &args.files {
        let name = name_of(path);
        let source: Box<dyn Read> = if path.as_os_str() == "-" {
            Box::new(io::stdin().lock())
        } else {
            Box::new(File::open(path).map_err(|error| Failure::unreadable(&name, &error))?)
        };
        if let Err(error) = analysis.read(&name, source, || signals::caught().is_none()) {
            damage = Some(damaged(&name, &error));
            break;
        }
        if let Some(signal) = signals::caught() {
            return Err(Failure::Interrupted(signal));
        }
    }
    let (explanation, steps) = analysis.finish_with_steps();
    Ok((explanation, steps, damage))
}

fn name_of(path: &Path) -> String {
    if path.as_os_str() == "-" { "stdin".to_owned() } else { path.display().to_string() }
}

fn file_names(args: &Explain) -> String {
    args.files.iter().map(|path| name_of(path)).collect::<Vec<_>>().join(" ")
}

fn damaged(name: &str, error: &ReadError) -> Failure {
    let what = match &error.error.fault {
        CaptureFault::Io(why) => return Failure::unreadable(name, why),
        CaptureFault::Truncated(_) if error.error.offset == 0 => "at byte 0: the file is empty".to_owned(),
        _ => error.error.to_string(),
    };
    let after = if error.frames == 0 { String::new() } else { format!(", after {} frames", error.frames) };
    Failure::Input(format!("{name}: {what}{after}; expected pcap or pcapng"))
}

/// Says why there is nothing to explain.
fn without_roce(args: &Explain, explanation: &Explanation) -> String {
    let frames = &explanation.frames;
    let what = if frames.roce_v1 > 0 {
        "RoCEv1 frames only; RoCEv2 is explained"
    } else if frames.encrypted > 0 {
        "encrypted packets only; capture inside the tunnel"
    } else if frames.other_services > 0 {
        "no reliable connections; other services of RoCEv2 only"
    } else if frames.cut > 0 {
        "cut within their headers; capture at least 128 bytes of each frame (tcpdump -s 128)"
    } else if frames.other_links > 0 {
        "of a link type that is not decoded; decoded: Ethernet, Linux cooked, raw IP"
    } else {
        "no RoCEv2 packets: adapters with offloaded RDMA hide them from the host; capture at the switch, or with \
         the adapter's sniffer"
    };
    format!("{}: {} frames, {what}", file_names(args), frames.frames)
}

/// The drawing of the queue pair that lost most time.
fn worst_ladder(args: &Explain, explanation: &Explanation) -> Result<Option<String>, Failure> {
    let Some(worst) = explanation.flows.first().filter(|flow| flow.stalls > 0) else { return Ok(None) };
    if args.files.iter().any(|path| path.as_os_str() == "-") {
        return Ok(None);
    }
    let (_, steps, _) = analyse(args, Some(worst.destination_qp))?;
    Ok((!steps.is_empty()).then(|| ladder(args, worst.destination_qp, &steps).svg()))
}

fn ladder(args: &Explain, qpn: u32, steps: &[Step]) -> Ladder {
    const REQUESTER: NodeId = NodeId(0);
    const TAP: NodeId = NodeId(1);
    const RESPONDER: NodeId = NodeId(2);
    /// Later packets, of a clock that jumped, are drawn at the end of the range of times.
    const LATEST_NS: u64 = u64::MAX / 1000;
    let first_ns = steps.iter().map(|step| step.time_ns).min().unwrap_or(0);
    let mut records = Vec::with_capacity(steps.len() + 1);
    for step in steps {
        let time = Time::from_ns(((step.time_ns - first_ns) as u64).min(LATEST_NS));
        let kind = match (step.is_nak, step.from_requester) {
            (true, _) => PacketKind::Nak,
            (false, true) => PacketKind::Data,
            (false, false) => PacketKind::Ack,
        };
        // A tap sees the packet once; where it came from and where it goes follow.
        let (from, to) = if step.from_requester { (REQUESTER, RESPONDER) } else { (RESPONDER, REQUESTER) };
        let packet = TracePacket {
            name: step.name,
            psn: step.psn,
            kind,
            retransmission: step.again,
            number: 0,
            class: 0,
            bytes: 0,
            src: HostId(from.0),
            dst: HostId(to.0),
        };
        for (node, to) in [(from, TAP), (TAP, to)] {
            let (arrive, busy_since) = (time, time);
            let event =
                TraceEvent::Sent { packet, to, arrive, wire: Span::ZERO, busy_since, fate: Fate::Pass };
            records.push(TraceRecord { time, node, event });
        }
    }
    let name = |node| match node {
        REQUESTER => "requester".to_owned(),
        TAP => "tap".to_owned(),
        _ => "responder".to_owned(),
    };
    // Folders would not fit into a drawing.
    let short =
        |path: &PathBuf| path.file_name().map_or_else(|| name_of(path), |file| name_of(Path::new(file)));
    let files: Vec<String> = args.files.iter().map(short).collect();
    let trace = FlowTrace { records, hosts: 3, ..FlowTrace::default() };
    Ladder::new(&format!("queue pair {qpn:#x} in {}", files.join(" ")), &trace, name, args.steps as usize)
}
