//! `wiremend lab stalls`: messages that lose packets, with the RoCE of a kernel and in the simulator.

use wiremend_lab::guests;
use wiremend_lab::stalls::{Part, StallTrial};
use wiremend_report::lab::{ENDS, Lost, MessageTimes, PingPongTimes, StallTable};
use wiremend_report::text_table;

use crate::args::lab_guests::{LabStalls, StallPart};
use crate::failure::{Answer, Failure};
use crate::progress;
use crate::terminal;

pub(super) fn run(args: &LabStalls) -> Result<Answer, Failure> {
    if args.fetch {
        guests::fetch()?;
    }
    let files = guests::find()?;
    super::begin(args.out.as_deref())?;
    let part = match args.part {
        StallPart::Causes => Part::Causes,
        StallPart::Remedies => Part::Remedies,
        StallPart::PingPong => Part::PingPong,
    };
    let trial = StallTrial { messages: args.messages, part, seed: args.seed, out: args.out.clone() };
    let lab = super::lab();
    let table = progress::shown(&trial.steps(), |progress| trial.run(&lab, &files, progress));
    // Ctrl-C may make a guest fail with another error.
    lab.check_stop()?;
    let table = table?;
    if args.json {
        let text = serde_json::to_string_pretty(&table).expect("plain values");
        terminal::print(&format!("{text}\n"))?;
    } else {
        terminal::print(&rendered(&table))?;
    }
    Ok(Answer::Yes)
}

fn rendered(table: &StallTable) -> String {
    if !table.ping_pongs.is_empty() {
        return rendered_ping_pongs(table);
    }
    let times = |times: &MessageTimes| {
        let MessageTimes { count, median_ms, interval_ms: [low, high], p90_ms, .. } = times;
        format!("{median_ms:.1} ({low:.1} to {high:.1}), {p90_ms:.1}, {count}")
    };
    let rows: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let lost = row.lost.map_or("all messages", Lost::name).to_owned();
            let ratio = row.simulator.median_ms / row.kernel.median_ms;
            let [with_kernel, simulated] = row.double_waits;
            let double = format!("{with_kernel}, {simulated}");
            let [kernel, simulator] = [&row.kernel, &row.simulator].map(times);
            vec![row.set_up.clone(), lost, kernel, simulator, format!("{ratio:.2}"), double]
        })
        .collect();
    let headings = ["set-up", "lost", "kernel", "simulator", "ratio", "double waits"];
    format!(
        "WRITEs and READs of 4 KiB, one at a time, timeout 67 ms; {} messages with the kernel for each mix of losses,\n\
         16 times as many where NAKs have copies.\n\
         Milliseconds: median (95 % confidence interval), 90th percentile, number of messages. Double waits: two timers\n\
         without a frame between them, with the kernel and in the simulator.\n\n{}",
        table.messages,
        text_table(&headings, &rows, terminal::stdout()),
    )
}

fn rendered_ping_pongs(table: &StallTable) -> String {
    let who = [("kernel", 0), ("simulator", 1)];
    let times = |times: &PingPongTimes| {
        let median = |times: &Option<MessageTimes>| {
            times.as_ref().map_or("-".to_owned(), |times| format!("{:.1} ({})", times.median_ms, times.count))
        };
        let ends = ENDS.iter().zip(&times.writes).flat_map(|(_, writes)| {
            [writes.timeouts.to_string(), median(&writes.lost_packet), median(&writes.lost_ack)]
        });
        let iterations = &times.iterations;
        let first = [iterations.count.to_string(), format!("{:.2}", iterations.mean_ms)];
        let last = [format!("{:.1}", times.p999_ms), format!("{:.1}", times.longest_ms)];
        first.into_iter().chain(ends).chain(last).collect::<Vec<_>>()
    };
    let rows = table.ping_pongs.iter().flat_map(|row| {
        who.map(|(name, at)| {
            let cells = times([&row.kernel, &row.simulator][at]);
            [row.set_up.clone(), name.to_owned()].into_iter().chain(cells).collect::<Vec<_>>()
        })
    });
    let headings = [
        "set-up",
        "with",
        "iterations",
        "mean",
        "timeouts",
        "packet",
        "ACK",
        "timeouts",
        "packet",
        "ACK",
        "p99.9",
        "max",
    ];
    format!(
        "Ping-pongs of WRITEs of 1 KiB, timeout 67 ms: the kernel's timeouts, then those of `wiremend peer`.\n\
         Times in milliseconds. Packet, ACK: median time of WRITEs that lost it, and their number.\n\n{}",
        text_table(&headings, &rows.collect::<Vec<_>>(), terminal::stdout()),
    )
}
