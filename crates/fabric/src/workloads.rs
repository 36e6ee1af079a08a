//! Published distributions of flow sizes. Each file names its source.

use std::sync::LazyLock;

use wiremend_units::canonical_name;

use crate::size_table::SizeTable;

/// A published distribution.
#[derive(Debug)]
pub struct Workload {
    /// Name in scenarios.
    pub name: &'static str,
    /// What was measured.
    pub what: &'static str,
    /// Publication.
    pub origin: &'static str,
    table: LazyLock<SizeTable>,
}

impl Workload {
    /// Returns the workload with this name, in any spelling (`WebSearch`).
    pub fn named(name: &str) -> Option<&'static Self> {
        let name = canonical_name(name, &WORKLOADS.each_ref().map(|workload| workload.name))?;
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// Returns the distribution; it is parsed at first use.
    pub fn table(&self) -> &SizeTable {
        &self.table
    }
}

macro_rules! workload {
    ($name:literal, $what:literal, $origin:literal) => {
        Workload {
            name: $name,
            what: $what,
            origin: $origin,
            table: LazyLock::new(|| {
                let text = include_str!(concat!("sizes/", $name, ".csv"));
                SizeTable::parse_csv(text).expect("built-in tables are valid")
            }),
        }
    };
}

/// All built-in workloads.
pub static WORKLOADS: [Workload; 9] = [
    workload!(
        "websearch",
        "flows of a web search cluster",
        "Alizadeh et al., Data Center TCP (DCTCP), SIGCOMM 2010; the twelve points used by HPCC and many after it"
    ),
    workload!(
        "datamining",
        "flows of a data mining cluster, finer points",
        "Greenberg et al., VL2, SIGCOMM 2009; points of Opera (NSDI 2020) and ABM (SIGCOMM 2022)"
    ),
    workload!(
        "datamining-vl2",
        "flows of a data mining cluster, the older points",
        "Greenberg et al., VL2, SIGCOMM 2009; points of CONGA, PIAS and others"
    ),
    workload!(
        "google-rpc",
        "RPCs of all applications of a Google data centre",
        "Sivaram, before 2008; workload W3 of Homa (Montazeri et al., SIGCOMM 2018)"
    ),
    workload!(
        "google-search-rpc",
        "RPCs of Google search",
        "workload W2 of Homa (Montazeri et al., SIGCOMM 2018)"
    ),
    workload!(
        "fb-hadoop",
        "flows of a Facebook Hadoop cluster",
        "Roy et al., Inside the Social Network's (Datacenter) Network, SIGCOMM 2015; workload W4 of Homa"
    ),
    workload!(
        "alibaba-storage",
        "messages of a distributed storage system at Alibaba",
        "published with HPCC (Li et al., SIGCOMM 2019)"
    ),
    workload!(
        "alibaba-ebs",
        "writes to elastic block storage at Alibaba",
        "Miao et al., From Luna to Solar, SIGCOMM 2022; points of ConWeave (SIGCOMM 2023)"
    ),
    workload!(
        "fb-kv",
        "values in a Facebook key-value store",
        "Atikoglu et al., Workload Analysis of a Large-Scale Key-Value Store, SIGMETRICS 2012; 17 points in common use"
    ),
];
