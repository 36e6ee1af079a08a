//! The table of links on a page, those that cost most first.

use std::fmt::Write as _;

use wiremend_measure::LaneRow;

use crate::human;
use crate::markup::Escaped;
use crate::traffic::Traffic;

/// Links of each variant on a page.
const LINKS_MAX: usize = 8;
/// Variants whose table is open; the others unfold.
const OPEN_MAX: usize = 3;

type Value = fn(&LaneRow) -> u64;
/// Heading, meaning, value and its format.
type CostColumn = (&'static str, &'static str, Value, fn(u64) -> String);

/// Columns; those without values are left out.
const COLUMNS: [CostColumn; 12] = [
    (
        "time lost",
        "completion times minus those of the same bytes alone, summed over the flows that crossed the link",
        |lane| lane.flows.map_or(0, |flows| flows.lost_ps),
        time,
    ),
    ("flows", "flows whose packets or acknowledgements crossed it", |lane| flows(lane), human::count),
    (
        "timeouts",
        "retransmission timers of these flows that fired",
        |lane| lane.flows.map_or(0, |flows| flows.timeouts),
        human::count,
    ),
    ("corrupted", "frames that the link corrupted", |lane| lane.corrupted_frames, human::count),
    ("failed", "frames that the link lost because it had failed", |lane| lane.failed_frames, human::count),
    ("dropped", "frames dropped because the buffer was full", |lane| lane.dropped_frames, human::count),
    ("trimmed", "packets trimmed to their headers", |lane| lane.trimmed_packets, human::count),
    ("marked", "frames marked with ECN CE", |lane| lane.marked_frames, human::count),
    ("paused", "time that its port was paused, summed over classes", |lane| lane.paused_ps, time),
    (
        "link resent",
        "frames that the protection of the link retransmitted",
        |lane| lane.link_retransmitted_frames,
        human::count,
    ),
    ("link lost", "frames that the protection did not recover", |lane| lane.link_lost_frames, human::count),
    ("carried", "frame bytes", |lane| lane.bytes, |bytes| human::bytes(bytes as f64)),
];

fn flows(lane: &LaneRow) -> u64 {
    lane.flows.map_or(0, |flows| flows.count)
}

fn time(ps: u64) -> String {
    human::time_ns(ps as f64 / 1e3)
}

/// Writes a table for each variant whose links cost something.
pub(crate) fn write(html: &mut String, traffic: &[Traffic]) {
    let costly: Vec<_> = traffic
        .iter()
        .map(|traffic| (traffic, traffic.costliest()))
        .filter(|(_, lanes)| !lanes.is_empty())
        .collect();
    if costly.is_empty() {
        return;
    }
    html.push_str("<h2>Links by what they cost</h2>\n");
    let knows_flows = costly.iter().any(|(_, lanes)| lanes.iter().any(|(_, lane)| flows(lane) > 0));
    html.push_str(if knows_flows {
        "<p class=\"faint\">Each direction of a link, over all seeds. The time that a flow lost counts on every link \
         that it crossed, so links near a cause rank high too. links.parquet has all links.</p>\n"
    } else {
        "<p class=\"faint\">Each direction of a link, over all seeds, by frames lost and time paused. Flows do not \
         appear, because their packets may take several paths. links.parquet has all links.</p>\n"
    });
    for (place, (traffic, lanes)) in costly.iter().enumerate() {
        let open = if place < OPEN_MAX { " open" } else { "" };
        let _ = writeln!(html, "<details{open}>\n<summary>{}</summary>", Escaped(&traffic.variant));
        write_table(html, &lanes[..lanes.len().min(LINKS_MAX)]);
        let (shown, all) = (lanes.len().min(LINKS_MAX), traffic.lane_count());
        let _ = writeln!(
            html,
            "<p class=\"faint\">{shown} of {} directions</p>\n</details>",
            human::count(all as u64)
        );
    }
}

fn write_table(html: &mut String, lanes: &[(&str, &LaneRow)]) {
    let has_values = |value: Value| lanes.iter().any(|(_, lane)| value(lane) > 0);
    let columns: Vec<_> = COLUMNS.iter().filter(|(_, _, value, _)| has_values(*value)).collect();
    html.push_str("<div class=\"wide\">\n<table>\n<thead><tr><th scope=\"col\">link</th>");
    for (heading, meaning, ..) in &columns {
        let _ = write!(html, "<th scope=\"col\" class=\"n\" title=\"{}\">{heading}</th>", Escaped(meaning));
    }
    html.push_str("<th scope=\"col\" class=\"n\" title=\"fraction of the simulated time\">used</th></tr></thead>\n<tbody>\n");
    for (name, lane) in lanes {
        let kind = if lane.is_corrupting { " <span class=\"bad\">corrupting</span>" } else { "" };
        let _ = write!(html, "<tr><td class=\"l\">{}{kind}</td>", Escaped(name));
        for (_, _, value, format) in &columns {
            let _ = write!(html, "<td class=\"n\">{}</td>", Escaped(&format(value(lane))));
        }
        let _ = writeln!(html, "<td class=\"n\">{} %</td></tr>", human::percent(lane.utilisation()));
    }
    html.push_str("</tbody>\n</table>\n</div>\n");
}
