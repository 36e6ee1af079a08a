//! L26: flows that fit into one packet.

use wiremend_fabric::Workload;
use wiremend_units::Bytes;

use crate::papers::joshi::source;
use crate::prelude::*;

pub(super) const CLAIM: Claim = Claim {
    id: "L26",
    title: "most flows fit into one packet",
    source: source("sections 1 to 3, Fig. 2"),
    paper: "In most workloads of 2008 to 2019 most flows fit into one packet, so that each loss is that of a tail and \
           order does not matter. The largest flow of Alibaba's storage has 2 MB",
    method: "Share of the flows of at most 1460 B in the tables of web search (2010), Facebook's Hadoop (2015), RPCs of \
             Google (all, and search, 2008 to 2018) and Alibaba's storage (2019): above one half in at least three of \
             the five. Computed, not simulated",
    note: "Two of five workloads are exceptions: web search, whose flows the paper uses for its multi-packet \
           experiments, and Alibaba's storage",
    judge,
    ..Claim::FORM
};

const TABLES: [&str; 5] = ["websearch", "fb-hadoop", "google-rpc", "google-search-rpc", "alibaba-storage"];
const PACKET_BYTES: u64 = 1_460;

fn judge(judgement: &mut Judgement, _: &Results<'_>) {
    let mut mostly_short = 0;
    for name in TABLES {
        let table = Workload::named(name).expect("it is built in").table();
        let groups = table.groups(Bytes::new(PACKET_BYTES), 64, 1.05);
        let fits: f64 =
            groups.iter().filter(|group| group.packets <= 1.0).map(|group| group.probability).sum();
        let packets: f64 = groups.iter().map(|group| group.probability * group.packets).sum();
        mostly_short += u64::from(fits > 0.5);
        judgement.row(name, [&fraction(fits), &number(packets), &bytes(table.range().1.get() as f64)]);
    }
    judgement.printed(
        "workloads of which most flows fit into one packet",
        number(mostly_short as f64).at_least(3.0),
    );
    let largest = Workload::named("alibaba-storage").expect("it is built in").table().range().1;
    judgement.printed("largest flow of Alibaba's storage", bytes(largest.get() as f64).near(2e6, 0.0));
    judgement.columns("| fit into one packet | packets of a mean flow | largest flow");
}
