//! W1: mechanisms at hosts, at links, or both, with the flows of J15.

use wiremend_report::human;
use wiremend_report::ledger::Source;
use wiremend_report::plot::{Bar, Bars, Plot};

use super::curves::{
    ALL, BOTH, LINKS, LINKS_NB, Mode, NO_LOSS, NONE, Panel, Table, axes, panels, runs as runs_of,
};
use crate::ledger::number::number;
use crate::ledger::{Claim, Effort, Judgement, Outcome, Results, Run};
use crate::papers::completion::{distribution, exact_ns};

pub(super) const CLAIM: Claim = Claim {
    id: "W1",
    title: "protection at hosts, at links, or both",
    source: Source { name: "own question", citation: "our own question", place: "" },
    paper: "J15 has a case in which mechanisms at the hosts do not help: at β = 1e-3 and U = 0.6 go-back-N needs more \
           than the link rate. Do links with local retransmission help there, what do they cost in bytes and buffers, \
           and is there anything left for the hosts to do?",
    method: "Setting and flows of J15, fewer of them (1000 of WebSearch and 300 of DataMining; quick: 100 of \
             WebSearch, β = 1e-3). Links: all links between switches run the hardened link protocol with in-order \
             delivery; LinksNb: without order; Both: in order, and all mechanisms at the hosts. Bytes are those on \
             all links beyond the run without loss; buffers are the largest of any port",
    note: "A link retransmits one frame within its own round trip, where go-back-N retransmits all packets of a \
           round trip of the path. With ordered links nothing is lost on the path, and the mechanisms at the hosts \
           have nothing to do. With non-blocking links they do: go-back-N takes a late frame for a lost one",
    runs,
    judge,
};

const COMPARED: [&str; 6] = [NO_LOSS, NONE, ALL, LINKS, LINKS_NB, BOTH];
/// Curves with mechanisms.
const WITH_MECHANISMS: [&str; 4] = [ALL, LINKS, LINKS_NB, BOTH];

const QUANTILES: [(&str, f64); 3] = [("median", 0.5), ("99 %", 0.99), ("slowest", 1.0)];
const LINKS_RATIO_MAX: f64 = 1.25;
const HOSTS_RATIO_MIN: f64 = 1.5;
const BOTH_TOLERANCE: f64 = 0.05;

fn all_panels(effort: Effort) -> Vec<Panel> {
    let panels_for = |table, flows, betas| panels(Mode::PointToPoint, table, flows, betas, &[0.1, 0.6]);
    match effort {
        Effort::Quick => panels_for(Table::WebSearch, 100, &[1e-3]),
        Effort::Full => {
            let betas = &[1e-3, 1e-4];
            [panels_for(Table::WebSearch, 1000, betas), panels_for(Table::DataMining, 300, betas)].concat()
        }
    }
}

fn runs(effort: Effort) -> Vec<Run> {
    runs_of(&all_panels(effort), &COMPARED)
}

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let mut rows = Vec::new();
    for panel in all_panels(results.effort()) {
        rows.extend(COMPARED.iter().map(|curve| row(&panel, results, curve)));
        for curve in [LINKS, BOTH] {
            check_links(judgement, &panel, results, curve);
        }
        check_both(judgement, &panel, results);
        if panel.is_overloaded() {
            check_overloaded(judgement, &panel, results);
        }
        judgement.plot(&panel.file("w1"), &figure(&panel, results));
    }
    judgement.bars("w1-bytes", &bytes(results));
    judgement.table("| median | 99 % | slowest | timeouts | bytes added | TX buffer | RX buffer", rows);
}

/// Checks that the flows take at most 1.25 times as long as without loss.
fn check_links(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>, curve: &'static str) {
    let name = format!("{curve}, {}", panel.name());
    let [clean, protected] = [NO_LOSS, curve].map(|curve| panel.outcome(results, curve));
    let summary = &protected.summary;
    judgement.none(format!("flows that do not finish, {name}"), summary.flows - summary.finished);
    judgement.none(format!("timeouts, {name}"), summary.timeouts.total());
    for (what, quantile) in QUANTILES {
        let ratio = exact_ns(protected, quantile) / exact_ns(clean, quantile);
        judgement.must(
            format!("{what} divided by that of NoLoss, {name}"),
            number(ratio).at_most(LINKS_RATIO_MAX),
        );
    }
}

fn check_both(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>) {
    let [links, both] = [LINKS, BOTH].map(|curve| panel.outcome(results, curve));
    for (what, quantile) in QUANTILES {
        let ratio = exact_ns(both, quantile) / exact_ns(links, quantile);
        judgement.must(
            format!("{what}, Both divided by Links, {}", panel.name()),
            number(ratio).near(1.0, BOTH_TOLERANCE),
        );
    }
}

fn check_overloaded(judgement: &mut Judgement, panel: &Panel, results: &Results<'_>) {
    let at_99 = |curve| exact_ns(panel.outcome(results, curve), 0.99);
    let [hosts, unordered] = [ALL, LINKS_NB].map(|curve| at_99(curve) / at_99(NO_LOSS));
    judgement.must(
        format!("99 %, All divided by NoLoss, {}", panel.name()),
        number(hosts).at_least(HOSTS_RATIO_MIN),
    );
    let what = format!("99 %, LinksNb divided by All, {}", panel.name());
    judgement.must(what, number(unordered / hosts).at_least(1.0));
}

/// Bytes on all links beyond the run without loss, relative to that run.
fn added(panel: &Panel, results: &Results<'_>, curve: &'static str) -> f64 {
    let [clean, protected] =
        [NO_LOSS, curve].map(|curve| panel.outcome(results, curve).bytes_on_links() as f64);
    protected / clean - 1.0
}

fn row(panel: &Panel, results: &Results<'_>, curve: &'static str) -> Vec<String> {
    let outcome: &Outcome = panel.outcome(results, curve);
    let mut row = vec![format!("{}, {curve}", panel.name())];
    row.extend(QUANTILES.map(|(_, quantile)| human::time_ns(exact_ns(outcome, quantile))));
    let protection = &outcome.summary.protection;
    row.push(human::count(outcome.summary.timeouts.total()));
    row.push(format!("{} %", human::percent(added(panel, results, curve))));
    row.extend(
        [protection.tx_buffer_bytes_max, protection.rx_buffer_bytes_max]
            .map(|bytes| human::bytes(bytes as f64)),
    );
    row
}

fn figure(panel: &Panel, results: &Results<'_>) -> Plot {
    let curve = |&name: &&'static str| distribution(name, panel.outcome(results, name));
    Plot {
        title: format!("Hosts, links or both: {}", panel.name()),
        description:
            "Cumulative distribution of completion times with mechanisms at hosts, protected links, and both."
                .to_owned(),
        curves: COMPARED.iter().map(curve).collect(),
        ..axes(panel.flows)
    }
}

/// Added bytes by mechanism, in the panel with the most.
fn bytes(results: &Results<'_>) -> Bars {
    let panel =
        all_panels(results.effort()).into_iter().find(Panel::is_overloaded).expect("there is such a case");
    let bar = |curve: &'static str| {
        let [clean, protected] = [NO_LOSS, curve].map(|curve| panel.outcome(results, curve));
        let protection = &protected.summary.protection;
        let all = protected.bytes_on_links().saturating_sub(clean.bytes_on_links());
        let hosts = all.saturating_sub(protection.bytes());
        let parts = [hosts, protection.header_bytes, protection.resent.bytes, protection.control.bytes];
        Bar { name: curve.to_owned(), counts: parts.map(|bytes| bytes / 1000).to_vec() }
    };
    let parts = ["sent by hosts", "link headers", "retransmitted by links", "control frames of links"];
    Bars {
        title: format!("Kilobytes added to all links: {}", panel.name()),
        description: "Bytes on links beyond the run without loss, by origin.".to_owned(),
        parts: parts.map(str::to_owned).to_vec(),
        bars: WITH_MECHANISMS.map(bar).to_vec(),
    }
}
