//! The scenarios that come with the program, and the files that they name.

use std::path::{Path, PathBuf};

use crate::load::load;
use wiremend_units::nearest;

/// A file of the library.
struct Shipped {
    /// Its path in the library.
    path: &'static str,
    text: &'static str,
}

macro_rules! shipped {
    ($($path:literal),+ $(,)?) => {
        &[$(Shipped { path: $path, text: include_str!(concat!("../../../scenarios/", $path)) }),+]
    };
}

/// All files, in the order in which they are listed: first what explains, then what measures.
const LIBRARY: &[Shipped] = shipped![
    "tour.toml",
    "tail-packet.toml",
    "tail-ack.toml",
    "nak.toml",
    "twice.toml",
    "ping-pong.toml",
    "livelock.toml",
    "incast.toml",
    "deadlock.toml",
    "victim.toml",
    "pauses.toml",
    "congestion.toml",
    "balance.toml",
    "trimming.toml",
    "tcp.toml",
    "allreduce.toml",
    "cross-dc.toml",
    "google-rpc-million.toml",
    "bench/perm-k4.toml",
    "bench/perm-k8.toml",
    "bench/perm-k16.toml",
    "bench/incast-k8.toml",
    "bench/ws50-k4.toml",
    "bench/ws50-k8.toml",
    "bench/ws50-k16.toml",
    "bench/ws50-256.toml",
    "bench/protected-100g.toml",
    "bench/dcqcn-k4.toml",
    "bench/dcqcn-k8.toml",
    "bench/dcqcn-k16.toml",
    "bench/ws50-k4.csv",
    "bench/ws50-k8.csv",
    "bench/ws50-k16.csv",
    "claims/attenuation.toml",
    "claims/frames.toml",
    "claims/chain.toml",
    "claims/long-flows.toml",
    "claims/tails.toml",
    "claims/short-flows.toml",
    "claims/livelock.toml",
    "claims/ping-pong.toml",
    "claims/waste.toml",
    "claims/fct.toml",
    "claims/mesh.toml",
    "claims/mend-path.toml",
    "claims/link-flows.toml",
    "claims/reordered.toml",
    "claims/linkguardian.toml",
    "claims/backpressure.toml",
    "claims/kernel.toml",
    "claims/stream.toml",
    "claims/stream-parities.toml",
    "claims/loop-rate.toml",
    "claims/loop-time.toml",
    "claims/deadlock.toml",
    "claims/congestion.toml",
    "claims/goodput.toml",
    "claims/corrupted.toml",
    "claims/recovery.toml",
    "claims/disorder.toml",
    "claims/trim-incast.toml",
    "claims/unequal.toml",
    "claims/collectives.toml",
    "claims/websearch.toml",
    "claims/incast.toml",
    "claims/long-headroom.toml",
    "claims/far-racks.toml",
    "claims/requirements.toml",
];

/// Names and titles of all scenarios.
pub fn list() -> Vec<(&'static str, String)> {
    let title = |name, text| {
        let file = load(name, text, &[]).expect("a scenario of the library is right");
        file.scenario.title.as_str().to_owned()
    };
    scenarios().map(|(name, text)| (name, title(name, text))).collect()
}

/// The text of a scenario, or which names there are.
pub fn get(name: &str) -> Result<&'static str, String> {
    if let Some((_, text)) = scenarios().find(|(known, _)| *known == name) {
        return Ok(text);
    }
    let known: Vec<&str> = scenarios().map(|(name, _)| name).collect();
    let guess = nearest(name, &known).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    Err(format!("no scenario `{name}`; {guess}give a path ending in .toml or one of: {}", known.join(", ")))
}

/// Where the text of a file is that a scenario names: a flow list or a size table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Named {
    /// In the library.
    Shipped(&'static str),
    /// In the file system.
    Path(PathBuf),
}

/// Finds the file that a scenario calls `name`. Names of the library come first (`./` in front avoids them); others
/// are paths relative to the file of the scenario, which is `None` for one of the library.
pub fn locate(scenario: Option<&Path>, name: &str) -> Named {
    if let Some(shipped) = LIBRARY.iter().find(|shipped| shipped.path == name) {
        return Named::Shipped(shipped.text);
    }
    let folder = scenario.and_then(Path::parent).unwrap_or(Path::new(""));
    Named::Path(folder.join(name))
}

fn scenarios() -> impl Iterator<Item = (&'static str, &'static str)> {
    LIBRARY.iter().filter_map(|shipped| Some((shipped.path.strip_suffix(".toml")?, shipped.text)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_is_exactly_the_folder_of_scenarios() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut there = files_below(&folder, "");
        // A fabric and its state, for `wiremend fleet plan`: nothing to simulate.
        there.retain(|path| !path.starts_with("fleet/"));
        let mut listed: Vec<String> = LIBRARY.iter().map(|shipped| shipped.path.to_owned()).collect();
        there.sort();
        listed.sort();
        assert_eq!(listed, there);
    }

    #[test]
    fn a_name_nearly_right_is_answered_with_the_right_one() {
        let error = get("tuor").unwrap_err();
        assert!(error.starts_with("no scenario `tuor`; did you mean `tour`? give a path"), "{error}");
        assert!(error.contains("bench/perm-k8"), "{error}");
        assert!(get("bench/ws50-k4.csv").is_err(), "a flow list is no scenario");
        assert!(get("ping-pong").is_ok());
    }

    #[test]
    fn named_files_come_from_the_library_or_from_beside_the_scenario() {
        let Named::Shipped(text) = locate(None, "bench/ws50-k4.csv") else { panic!("it is shipped") };
        assert!(text.contains("src,dst,bytes,start_ns"));
        let beside = locate(Some(Path::new("my/lossy.toml")), "flows.csv");
        assert_eq!(beside, Named::Path("my/flows.csv".into()));
        let own = locate(Some(Path::new("my/lossy.toml")), "./bench/ws50-k4.csv");
        assert_eq!(own, Named::Path("my/./bench/ws50-k4.csv".into()));
        let absolute = locate(Some(Path::new("my/lossy.toml")), "/var/flows.csv");
        assert_eq!(absolute, Named::Path("/var/flows.csv".into()));
    }

    fn files_below(folder: &Path, prefix: &str) -> Vec<String> {
        let mut files = Vec::new();
        for entry in std::fs::read_dir(folder).expect("the folder is there") {
            let entry = entry.expect("it can be read");
            let name = format!("{prefix}{}", entry.file_name().to_str().expect("a plain name"));
            if entry.path().is_dir() {
                files.extend(files_below(&entry.path(), &format!("{name}/")));
            } else {
                files.push(name);
            }
        }
        files
    }
}
