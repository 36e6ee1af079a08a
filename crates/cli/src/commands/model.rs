//! `wiremend model`: the cost of corruption, exactly and by the formulas of the paper.

use std::fmt::Write as _;

use serde_json::{Value, json};
use wiremend_model::timeout::expected;
use wiremend_model::{
    Cause, Corruption, Cost, Expected, MendCounts, NakReaction, PaperModel, Penalty, cost, flow, penalty,
    recovery,
};
use wiremend_report::plot::{self, Axis, Curve, Line, Plot, Scale, Unit};
use wiremend_report::terminal::Terminal;
use wiremend_report::{human, text_table, write_atomic};

use crate::args::explain::Model;
use crate::failure::{Answer, Failure};
use crate::model_input::{Grain, ModelInput};
use crate::terminal;

pub(super) fn run(args: &Model) -> Result<Answer, Failure> {
    let mut input = ModelInput::new(&args.link, &args.flows, &args.times, Grain::FINE, NakReaction::Each)?;
    input.times.hold = args.hold.as_secs_f64();
    if let Some(path) = &args.plot {
        let coarse = ModelInput::new(&args.link, &args.flows, &args.times, Grain::COARSE, NakReaction::Each)?;
        let drawing = drawing(&coarse, args.mend.get());
        write_atomic(path, &plot::standalone(&drawing.svg())).map_err(|error| Failure::file(&error))?;
    }
    let report = ModelReport::new(&input, args.mend.get());
    if args.json {
        terminal::print(&format!("{:#}\n", report.json()))?;
    } else {
        terminal::print(&report.text(terminal::stdout()))?;
    }
    Ok(Answer::Yes)
}

/// A quantity by the formula of the paper and exactly.
struct Pair {
    what: &'static str,
    key: &'static str,
    printed: f64,
    exact: f64,
}

impl Pair {
    /// Relative error of the formula of the paper.
    fn error(&self) -> f64 {
        self.printed / self.exact - 1.0
    }
}

/// All results.
struct ModelReport<'a> {
    input: &'a ModelInput,
    mend: MendCounts,
    bare: Expected,
    mended: Expected,
    cost: Cost,
    bare_penalty: Penalty,
    penalty: Penalty,
    printed: PaperModel,
}

impl<'a> ModelReport<'a> {
    fn new(input: &'a ModelInput, mend: MendCounts) -> Self {
        let ModelInput { path, flows, times, .. } = input;
        let setting = input.setting(mend);
        let bare = expected(&input.setting(MendCounts::NONE), path, flows);
        let mended = expected(&setting, path, flows);
        Self {
            input,
            mend,
            bare,
            mended,
            cost: cost::cost_from(&setting, path, flows, times.idle_share(), &mended),
            bare_penalty: penalty::penalty(&bare, times),
            penalty: penalty::penalty(&mended, times),
            printed: PaperModel {
                beta: input.beta,
                links: f64::from(path.links + path.access_links),
                omega: path.omega,
                mean_inverse: flow::mean_inverse(flows),
            },
        }
    }

    /// Returns the probabilities per packet, as in the paper.
    fn pairs(&self) -> Vec<Pair> {
        let ModelInput { sizes, corruption, path, beta, flows, .. } = self.input;
        let one_link = |bytes: u32| corruption.loss(f64::from(bytes), 1);
        let packets = flow::mean_packets(flows);
        let per_packet = |cause: Cause| self.mended.timeouts[cause as usize] / packets;
        let MendCounts { dummies, nak_copies, retransmission_copies, tail_copies } = self.mend;
        let printed = &self.printed;
        let tail = if tail_copies > 0 {
            printed.tail_with_copies(tail_copies)
        } else {
            printed.tail_with_dummies(dummies)
        };
        let pair = |what, key, printed, exact| Pair { what, key, printed, exact };
        vec![
            pair("dummy lost on a corrupting link (γ)", "gamma", printed.small_loss(), one_link(sizes.dummy)),
            pair("ACK or NAK lost there (δ)", "delta", printed.small_loss(), one_link(sizes.answer)),
            pair("full packet lost on the path", "packet_on_path", printed.packet(), path.packet_loss(*beta)),
            pair("timeout: tail packet", "tail_packet", tail, per_packet(Cause::TailPacket)),
            pair(
                "timeout: tail ACK",
                "tail_ack",
                printed.tail_ack(dummies.max(tail_copies)),
                per_packet(Cause::TailAck),
            ),
            pair("timeout: NAK", "nak", printed.nak(nak_copies + 1), per_packet(Cause::Nak)),
            pair(
                "timeout: retransmission",
                "retransmission",
                printed.twice(retransmission_copies + 1),
                per_packet(Cause::Retransmission),
            ),
        ]
    }

    /// Returns the added bytes relative to the flow's own.
    fn costs(&self) -> Vec<(Pair, f64)> {
        let MendCounts { dummies, nak_copies, retransmission_copies, tail_copies } = self.mend;
        let printed = [
            self.printed.cost_of_dummies(dummies),
            self.printed.cost_of_nak_copies(nak_copies + 1),
            self.printed.cost_of_retransmission_copies(retransmission_copies + 1),
            self.printed.cost_of_tail_copies(tail_copies),
        ];
        let keys = ["dummies", "nak_copies", "retransmission_copies", "tail_copies"];
        let own = self.cost.flow.forward;
        let parts = self.cost.parts().into_iter().zip(printed).zip(keys);
        let used = [dummies, nak_copies, retransmission_copies, tail_copies];
        parts
            .zip(used)
            .filter(|(_, used)| *used > 0)
            .map(|(((part, printed), key), _)| {
                let (what, traffic) = part;
                (Pair { what, key, printed, exact: traffic.forward / own }, traffic.backward / own)
            })
            .collect()
    }

    fn text(&self, terminal: Terminal) -> String {
        let mut text = self.opening();
        let rows: Vec<_> = self
            .pairs()
            .iter()
            .map(|pair| vec![pair.what.to_owned(), sci(pair.printed), sci(pair.exact), error(pair.error())])
            .collect();
        let _ = writeln!(text, "\nPer packet");
        text.push_str(&text_table(&["", "as printed", "exact", "off by"], &rows, terminal));
        let _ = writeln!(text, "\nPer flow");
        text.push_str(&self.flow_table(terminal));
        if self.mend != MendCounts::NONE {
            let _ = writeln!(text, "\nAdded bytes relative to the flow's own frames");
            text.push_str(&self.cost_table(terminal));
        }
        text.push('\n');
        text.push_str(&wiremend_report::terminal::wrap(&self.closing(), terminal.width));
        text
    }

    fn opening(&self) -> String {
        let ModelInput { sizes, beta, path, flows, flows_name, corruption, .. } = self.input;
        let law = match corruption {
            Corruption::Bits(alpha) => format!("bit errors {}", sci(*alpha)),
            Corruption::Frames(_) => "for any frame length".to_owned(),
        };
        let mut text = String::new();
        let _ = writeln!(
            text,
            "Link     a frame of {} B is lost with β = {} ({law}); dummy {} B, ACK and NAK {} B",
            sizes.full(),
            sci(*beta),
            sizes.dummy,
            sizes.answer
        );
        let access = match path.access_links {
            0 => String::new(),
            links => format!(", and {links} between a host and its switch"),
        };
        let _ =
            writeln!(text, "Path     {} links{access}; each corrupts with ω = {}", path.links, path.omega);
        let _ = writeln!(
            text,
            "Flows    {flows_name}: {} packets on average, E(1/S) = {:.4}, 1/E(S) = {}",
            round(flow::mean_packets(flows)),
            flow::mean_inverse(flows),
            sci(flow::tail_share(flows))
        );
        let _ = writeln!(text, "Mended   {}", mend_text(self.mend));
        text
    }

    fn flow_table(&self, terminal: Terminal) -> String {
        let is_mended = self.mend != MendCounts::NONE;
        let mut rows = Vec::new();
        let mut row = |what: &str, bare: String, mended: String| {
            let mut cells = vec![what.to_owned(), bare];
            if is_mended {
                cells.push(mended);
            }
            rows.push(cells);
        };
        for cause in Cause::ALL {
            let timeouts = |met: &Expected| sci(met.timeouts[cause as usize]);
            row(&format!("timeouts: {}", cause.name()), timeouts(&self.bare), timeouts(&self.mended));
        }
        row("timeouts", sci(self.bare.total()), sci(self.mended.total()));
        row("flows with a timeout", share(self.bare.probability), share(self.mended.probability));
        let time = |seconds: f64| human::time_ns(seconds * 1e9);
        row("mean time lost", time(self.bare_penalty.total()), time(self.penalty.total()));
        row("  waiting for the timer", time(self.bare_penalty.timeouts), time(self.penalty.timeouts));
        let headings = if is_mended { vec!["", "bare", "mended"] } else { vec!["", "bare"] };
        text_table(&headings, &rows, terminal)
    }

    fn cost_table(&self, terminal: Terminal) -> String {
        let mut rows: Vec<_> = self
            .costs()
            .iter()
            .map(|(pair, backward)| {
                let cells = [share(pair.printed), share(pair.exact), error(pair.error()), share(*backward)];
                [vec![pair.what.to_owned()], cells.to_vec()].concat()
            })
            .collect();
        let all = [String::new(), share(self.cost.share()), String::new(), share(self.cost.backward_share())];
        rows.push([vec!["all".to_owned()], all.to_vec()].concat());
        text_table(&["", "as printed", "exact", "off by", "other direction"], &rows, terminal)
    }

    /// Returns the conclusions.
    fn closing(&self) -> String {
        let met = if self.mend == MendCounts::NONE { &self.bare } else { &self.mended };
        let most = |a: &Cause, b: &Cause| met.timeouts[*a as usize].total_cmp(&met.timeouts[*b as usize]);
        let main = Cause::ALL.into_iter().max_by(most).expect("there are causes");
        let mut text = String::new();
        if met.probability > 0.0 {
            let _ = write!(
                text,
                "One flow in {} waits for its timer, mostly because of {}.",
                human::count((1.0 / met.probability).round().max(1.0) as u64),
                in_words(main)
            );
        }
        if self.mend != MendCounts::NONE {
            let _ = write!(
                text,
                " The mechanisms add {} % of bytes and {} work requests per flow.",
                human::percent(self.cost.share()),
                round(self.cost.work_requests)
            );
        }
        let flight = self.input.nic.flight_packets;
        let loss = self.input.path.packet_loss(self.input.beta);
        let _ = write!(
            text,
            " At line rate the goodput of go-back-N is {} % of the bytes sent.",
            human::percent(recovery::go_back_n(loss, flight))
        );
        text
    }

    fn json(&self) -> Value {
        let ModelInput { sizes, beta, corruption, path, flows, flows_name, times, .. } = self.input;
        let alpha = match corruption {
            Corruption::Bits(alpha) => Some(*alpha),
            Corruption::Frames(_) => None,
        };
        let per_packet: serde_json::Map<_, _> =
            self.pairs().iter().map(|pair| (pair.key.to_owned(), pair_json(pair))).collect();
        let costs: serde_json::Map<_, _> = self
            .costs()
            .iter()
            .map(|(pair, backward)| {
                let mut value = pair_json(pair);
                value["backward"] = json!(backward);
                (pair.key.to_owned(), value)
            })
            .collect();
        let loss = path.packet_loss(*beta);
        let largest = flows.iter().map(|flow| flow.packets).fold(1.0, f64::max);
        json!({
            "link": { "beta": beta, "alpha": alpha, "frame_bytes": sizes.full(), "dummy_bytes": sizes.dummy,
                "answer_bytes": sizes.answer },
            "path": { "links": path.links, "access_links": path.access_links, "omega": path.omega },
            "flows": { "name": flows_name, "mean_packets": flow::mean_packets(flows),
                "mean_inverse_packets": flow::mean_inverse(flows), "tail_share": flow::tail_share(flows) },
            "mend": mend_json(self.mend),
            "per_packet": per_packet,
            "per_flow": { "bare": met_json(&self.bare, &self.bare_penalty),
                "mended": met_json(&self.mended, &self.penalty) },
            "bytes": costs,
            "bytes_all": { "forward": self.cost.share(), "backward": self.cost.backward_share() },
            "work_requests": self.cost.work_requests,
            "recovery": {
                "go_back_n": recovery::go_back_n(loss, self.input.nic.flight_packets),
                "go_back_0_largest_flow":
                    recovery::go_back_zero(loss, largest, self.input.nic.flight_packets),
            },
            "times_s": { "rtt": times.rtt, "rto": times.rto, "hold": times.hold, "gap": times.gap },
        })
    }
}

/// Plots the timeout probability over the loss ratio.
fn drawing(input: &ModelInput, mend: MendCounts) -> Plot {
    const PER_DECADE: i32 = 4;
    let betas: Vec<f64> =
        (-8 * PER_DECADE..=-PER_DECADE).map(|i| 10_f64.powf(f64::from(i) / f64::from(PER_DECADE))).collect();
    let at = |&beta: &f64, mend: MendCounts| {
        let corruption = match input.corruption {
            Corruption::Bits(_) => Corruption::from_full_frame_loss(beta, input.sizes.full()),
            Corruption::Frames(_) => Corruption::Frames(beta),
        };
        expected(&input.setting_with(mend, corruption), &input.path, &input.flows)
    };
    let curve = |name: String, met: &[Expected], of: &dyn Fn(&Expected) -> f64| Curve {
        name,
        points: betas.iter().zip(met).map(|(&beta, met)| (beta, of(met))).collect(),
        line: Line::Straight,
    };
    let mut curves = Vec::new();
    if mend != MendCounts::NONE {
        let mended: Vec<_> = betas.iter().map(|beta| at(beta, mend)).collect();
        curves.push(curve(mend_text(mend), &mended, &|met| met.probability));
    }
    let bare: Vec<_> = betas.iter().map(|beta| at(beta, MendCounts::NONE)).collect();
    curves.push(curve("bare".to_owned(), &bare, &|met| met.probability));
    for cause in Cause::ALL {
        let name = format!("bare: {}", cause.name());
        curves.push(curve(name, &bare, &|met| met.probabilities[cause as usize]));
    }
    // Very small values would flatten the rest.
    let low = |curves: &[Curve]| {
        let values = curves.iter().flat_map(|curve| curve.points.iter().map(|point| point.1));
        values.filter(|value| *value > 1e-15).fold(1.0, f64::min)
    };
    let floor = 10_f64.powf(low(&curves).log10().floor());
    for curve in &mut curves {
        curve.points.retain(|point| point.1 >= floor);
    }
    Plot {
        title: format!("Timeouts: {}, links that may corrupt: {}", input.flows_name, input.path.links),
        description: "Probability that a flow waits for its timer, against the corruption of a link."
            .to_owned(),
        x: Axis::new("β: a corrupting link loses a full frame", Scale::Log, Unit::Number),
        y: Axis::new("flows with a timeout", Scale::Log, Unit::Number).with_range(floor, 1.0),
        curves,
    }
}

/// Describes dummies and copies.
pub(super) fn mend_text(mend: MendCounts) -> String {
    let MendCounts { dummies, nak_copies, retransmission_copies, tail_copies } = mend;
    let parts = [
        (dummies, "dummy", "dummies"),
        (nak_copies, "NAK copy", "NAK copies"),
        (retransmission_copies, "retransmission copy", "retransmission copies"),
        (tail_copies, "tail copy", "tail copies"),
    ];
    let used = parts.iter().filter(|part| part.0 > 0);
    let texts: Vec<_> =
        used.map(|(n, one, many)| format!("{n} {}", if *n == 1 { one } else { many })).collect();
    if texts.is_empty() { "nothing".to_owned() } else { texts.join(", ") }
}

pub(super) fn mend_json(mend: MendCounts) -> Value {
    json!({ "dummies": mend.dummies, "nak_copies": mend.nak_copies,
        "retransmission_copies": mend.retransmission_copies, "tail_copies": mend.tail_copies })
}

/// Describes a cause, as the end of a sentence.
pub(super) fn in_words(cause: Cause) -> &'static str {
    match cause {
        Cause::TailPacket => "a lost tail",
        Cause::TailAck => "a lost tail ACK",
        Cause::Nak => "a lost NAK",
        Cause::Retransmission => "a lost retransmission",
    }
}

fn pair_json(pair: &Pair) -> Value {
    let error = pair.error();
    json!({ "printed": pair.printed, "exact": pair.exact, "error": error.is_finite().then_some(error) })
}

fn met_json(met: &Expected, penalty: &Penalty) -> Value {
    let timeouts: serde_json::Map<_, _> = Cause::ALL
        .iter()
        .map(|cause| (cause.key().to_owned(), json!(met.timeouts[*cause as usize])))
        .collect();
    json!({ "timeouts": timeouts, "timeouts_all": met.total(), "timeout_probability": met.probability,
        "naks": met.naks, "time_lost_s": { "all": penalty.total(), "timeouts": penalty.timeouts,
            "repeats": penalty.repeats, "dummies": penalty.dummies, "next_flow": penalty.next_flow } })
}

/// Renders a number, in scientific notation if it is small.
pub(super) fn sci(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if (0.1..1000.0).contains(&value) {
        format!("{value:.3}")
    } else {
        format!("{value:.2e}")
    }
}

/// Renders a fraction in percent, or in scientific notation if it is tiny.
pub(super) fn share(value: f64) -> String {
    if value > 0.0 && value < 1e-5 { sci(value) } else { format!("{} %", human::percent(value)) }
}

/// Renders a relative error in percent, or as a factor.
fn error(relative: f64) -> String {
    match relative {
        error if !error.is_finite() => "–".to_owned(),
        error if error.abs() < 0.000_5 => "0 %".to_owned(),
        error if error.abs() < 1.0 => format!("{:+.1} %", error * 100.0),
        error => human::factor(error + 1.0),
    }
}

fn round(value: f64) -> String {
    if value >= 100.0 { human::count(value.round() as u64) } else { format!("{value:.2}") }
}
