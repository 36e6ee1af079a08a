//! W1: mechanisms at hosts, at links, or both, with the flows of J15.

use super::curves::{ALL, BOTH, LINKS, LINKS_NB, Mode, NO_LOSS, NONE, Panel, Table, axes, panels};
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "W1",
    title: "protection at hosts, at links, or both",
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
    judge,
    ..Claim::FORM
};

const COMPARED: [&str; 6] = [NO_LOSS, NONE, ALL, LINKS, LINKS_NB, BOTH];
const QUANTILES: [(&str, f64); 3] = [("median", 0.5), ("99 %", 0.99), ("slowest", 1.0)];

fn judge(judgement: &mut Judgement, results: &Results<'_>) {
    let panels_for = |table, flows, betas| panels(Mode::PointToPoint, table, flows, betas, &[0.1, 0.6]);
    let all = match results.effort() {
        Effort::Quick => panels_for(Table::WebSearch, 100, &[1e-3]),
        Effort::Full => {
            let betas = &[1e-3, 1e-4];
            [panels_for(Table::WebSearch, 1000, betas), panels_for(Table::DataMining, 300, betas)].concat()
        }
    };
    for panel in &all {
        judge_panel(judgement, results, panel);
        let plot = Plot {
            title: format!("Hosts, links or both: {}", panel.name()),
            description:
                "Cumulative distribution of completion times with mechanisms at hosts, protected links, and both."
                    .to_owned(),
            curves: COMPARED.map(|curve| distribution(curve, panel.outcome(results, curve))).to_vec(),
            ..axes(panel.flows)
        };
        judgement.plot(&panel.file("w1"), &plot);
    }
    let overloaded = all.iter().find(|panel| panel.is_overloaded()).expect("there is such a case");
    judgement.bars("w1-bytes", &bytes(results, overloaded));
    judgement.columns("| median | 99 % | slowest | timeouts | bytes added | TX buffer | RX buffer");
}

fn judge_panel(judgement: &mut Judgement, results: &Results<'_>, panel: &Panel) {
    let of = |curve| panel.outcome(results, curve);
    let ratio = |a, b, quantile| number(exact_ns(of(a), quantile) / exact_ns(of(b), quantile));
    for curve in COMPARED {
        let outcome = of(curve);
        let [median, p99, slowest] = QUANTILES.map(|(_, quantile)| time_ns(exact_ns(outcome, quantile)));
        let added = fraction(outcome.bytes_on_links() as f64 / of(NO_LOSS).bytes_on_links() as f64 - 1.0);
        let protection = &outcome.summary.protection;
        let [tx, rx] = [protection.tx_buffer_bytes_max, protection.rx_buffer_bytes_max]
            .map(|buffer| human::bytes(buffer as f64));
        judgement.row(
            format!("{}, {curve}", panel.name()),
            [&median, &p99, &slowest, &outcome.timeouts(), &added, &tx, &rx],
        );
    }
    // The flows take at most 1.25 times as long as without loss.
    for curve in [LINKS, BOTH] {
        let name = format!("{curve}, {}", panel.name());
        judgement.none(format!("flows that do not finish, {name}"), of(curve).unfinished());
        judgement.none(format!("timeouts, {name}"), of(curve).summary.timeouts.total());
        for (what, quantile) in QUANTILES {
            let test = ratio(curve, NO_LOSS, quantile).at_most(1.25);
            judgement.must(format!("{what} divided by that of NoLoss, {name}"), test);
        }
    }
    for (what, quantile) in QUANTILES {
        let test = ratio(BOTH, LINKS, quantile).near(1.0, 0.05);
        judgement.must(format!("{what}, Both divided by Links, {}", panel.name()), test);
    }
    if panel.is_overloaded() {
        let hosts = ratio(ALL, NO_LOSS, 0.99).at_least(1.5);
        judgement.must(format!("99 %, All divided by NoLoss, {}", panel.name()), hosts);
        let unordered = (ratio(LINKS_NB, NO_LOSS, 0.99) / ratio(ALL, NO_LOSS, 0.99)).at_least(1.0);
        judgement.must(format!("99 %, LinksNb divided by All, {}", panel.name()), unordered);
    }
}

/// Added bytes by mechanism.
fn bytes(results: &Results<'_>, panel: &Panel) -> Bars {
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
        bars: [ALL, LINKS, LINKS_NB, BOTH].map(bar).to_vec(),
    }
}
