//! The built-in scenarios and their files.

use std::path::{Path, PathBuf};

use crate::load::load;
use wiremend_units::{canonical_name, nearest_name, nearest_names};

/// A built-in file.
struct Shipped {
    /// Path in the library.
    path: &'static str,
    text: &'static str,
}

macro_rules! shipped {
    ($($path:literal),+ $(,)?) => {
        &[$(Shipped { path: $path, text: include_str!(concat!("../../../scenarios/", $path)) }),+]
    };
}

/// All files in the order of `wiremend list`: first scenarios that explain, then scenarios that measure.
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
    "link-failure.toml",
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
    "bench/ring-k8.toml",
    "bench/ring-k16.toml",
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
    "claims/classes.toml",
    "claims/kernel.toml",
    "claims/stream.toml",
    "claims/stream-parities.toml",
    "claims/loop-rate.toml",
    "claims/loop-time.toml",
    "claims/loop-crossing.toml",
    "claims/deadlock.toml",
    "claims/core-loop.toml",
    "claims/convergence.toml",
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
    "claims/batches.toml",
    "claims/reads.toml",
    "claims/avoided.toml",
    "claims/redundant.toml",
    "claims/rerouted.toml",
    "claims/failures.toml",
    "claims/victims.toml",
];

/// Returns the names and titles of all scenarios.
pub fn list() -> Vec<(&'static str, String)> {
    let title = |name, text| {
        let file = load(name, text, &[]).expect("a scenario of the library is right");
        file.scenario.title.as_str().to_owned()
    };
    scenarios().map(|(name, text)| (name, title(name, text))).collect()
}

/// Returns the names of all scenarios.
pub fn names() -> Vec<&'static str> {
    scenarios().map(|(name, _)| name).collect()
}

/// Returns the text of a scenario. Accepts other spellings of its name (`Ping_Pong`). An error lists the
/// nearest names.
pub fn get(name: &str) -> Result<&'static str, String> {
    const NEAREST: usize = 5;
    let known = names();
    let found = canonical_name(name, &known).and_then(|name| scenarios().find(|(known, _)| *known == name));
    found.map(|(_, text)| text).ok_or_else(|| {
        let guess =
            nearest_name(name, &known).map_or(String::new(), |near| format!("did you mean `{near}`? "));
        let few = match nearest_names(name, &known, NEAREST) {
            few if few.is_empty() => String::new(),
            few => format!("nearest names: {}; ", few.join(", ")),
        };
        format!(
            "no scenario `{name}`; {guess}{few}`wiremend list` shows all; a file needs a path ending in .toml"
        )
    })
}

/// Where the text of a flow list or size table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileSource {
    /// In the library.
    BuiltIn(&'static str),
    /// In the file system.
    Path(PathBuf),
}

/// Finds the file that a scenario refers to by `name`. Files of the library come first (a leading `./` avoids
/// them). Other names are paths relative to the scenario file `scenario`, which is `None` for a built-in
/// scenario.
pub fn locate(scenario: Option<&Path>, name: &str) -> FileSource {
    if let Some(shipped) = LIBRARY.iter().find(|shipped| shipped.path == name) {
        return FileSource::BuiltIn(shipped.text);
    }
    let folder = scenario.and_then(Path::parent).unwrap_or(Path::new(""));
    FileSource::Path(folder.join(name))
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
        // A fabric and its state for `wiremend fleet plan`, and studies for `wiremend sweep`: no scenarios.
        there.retain(|path| !path.starts_with("fleet/") && !path.starts_with("studies/"));
        let mut listed: Vec<String> = LIBRARY.iter().map(|shipped| shipped.path.to_owned()).collect();
        there.sort();
        listed.sort();
        assert_eq!(listed, there);
    }

    #[test]
    fn a_name_nearly_right_is_answered_with_the_right_one() {
        let error = get("tuor").unwrap_err();
        assert!(
            error.starts_with("no scenario `tuor`; did you mean `tour`? nearest names: tour, "),
            "{error}"
        );
        assert!(error.matches(", ").count() == 4 && error.contains("; `wiremend list` shows all"), "{error}");
        assert!(get("bench/ws50-k4.csv").is_err(), "a flow list is no scenario");
        for spelled in ["ping-pong", "ping_pong", "PingPong", "pingpong"] {
            assert_eq!(get(spelled), get("ping-pong"), "{spelled}");
        }
    }

    #[test]
    fn named_files_come_from_the_library_or_from_beside_the_scenario() {
        let FileSource::BuiltIn(text) = locate(None, "bench/ws50-k4.csv") else { panic!("it is shipped") };
        assert!(text.contains("src,dst,bytes,start_ns"));
        let beside = locate(Some(Path::new("my/lossy.toml")), "flows.csv");
        assert_eq!(beside, FileSource::Path("my/flows.csv".into()));
        let own = locate(Some(Path::new("my/lossy.toml")), "./bench/ws50-k4.csv");
        assert_eq!(own, FileSource::Path("my/./bench/ws50-k4.csv".into()));
        let absolute = locate(Some(Path::new("my/lossy.toml")), "/var/flows.csv");
        assert_eq!(absolute, FileSource::Path("/var/flows.csv".into()));
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
