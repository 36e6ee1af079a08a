//! Runs with random scenarios, captured at three taps, and the timers that fired in them.

use std::fmt::Write as _;
use std::io::{BufRead, Result};
use std::path::Path;

use wiremend_sim::{Capture, CapturedFrame, Files, FoundCause, Observer, Options, Simulation};
use wiremend_units::mix;

/// A run: captures at the requesters, in the middle and at the responders, and the causes of all timeouts.
pub(crate) struct Run {
    pub(crate) operation: &'static str,
    recovery: &'static str,
    /// Whether both ends behave as soft-RoCE was measured to.
    is_kernel: bool,
    scenario: String,
    /// Captures by tap.
    pub(crate) taps: [Vec<u8>; 3],
    /// Whether the links of the hosts lose nothing: what passes the taps there has been sent, or arrives.
    pub(crate) is_clean_at_hosts: bool,
    /// In order of time.
    pub(crate) causes: Vec<FoundCause>,
}

/// Draws that depend only on a seed.
struct Draws(u64);

impl Draws {
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.0 = mix(self.0);
        from[(self.0 >> 16) as usize % from.len()]
    }
}

struct Watcher {
    captures: Vec<Capture<Vec<u8>>>,
    causes: Vec<FoundCause>,
}

impl Observer for Watcher {
    fn on_frame(&mut self, captured: &CapturedFrame) -> Result<()> {
        self.captures.iter_mut().try_for_each(|capture| capture.write(captured))
    }

    fn on_cause(&mut self, found: &FoundCause) -> Result<()> {
        self.causes.push(*found);
        Ok(())
    }
}

struct NoFiles;

impl Files for NoFiles {
    fn open(&self, name: &str) -> std::result::Result<Box<dyn BufRead>, String> {
        Err(format!("there is no `{name}`"))
    }
}

/// The links of the taps: at the requesters, in the middle, at the responders.
const TAPS: [&str; 3] = ["h0-s0", "s0-s1", "s1-h1"];

impl Run {
    /// Operation and recovery.
    pub(crate) fn scheme(&self) -> &'static str {
        match (self.operation, self.recovery, self.is_kernel) {
            ("read", _, false) => "READ",
            ("read", _, true) => "READ, soft-RoCE",
            (_, "go-back-n", false) => "WRITE, SEND",
            (_, _, true) => "WRITE, SEND, soft-RoCE",
            _ => "WRITE, SEND, selective repeat",
        }
    }

    pub(crate) fn new(seed: u64) -> Self {
        let mut draws = Draws(mix(seed));
        let operation = draws.pick(&["write", "write", "send", "read"]);
        let recovery = draws.pick(&["go-back-n", "go-back-n", "go-back-n", "selective-repeat"]);
        // The data of a READ are responses, which only go-back-N repeats.
        let recovery = if operation == "read" { "go-back-n" } else { recovery };
        let is_kernel = recovery == "go-back-n" && draws.pick(&[true, false, false]);
        let scenario = scenario(&mut draws, operation, recovery, is_kernel);
        let file = wiremend_scenario::load("swarm.toml", &scenario, &[])
            .unwrap_or_else(|error| panic!("{error}\n{scenario}"));
        let variant = file.variants.into_iter().next().expect("a file has a variant").scenario;
        let (graph, _) = wiremend_sim::build_graph(&variant).unwrap_or_else(|_| panic!("{scenario}"));
        let links = TAPS.map(|name| graph.link_by_name(name).unwrap_or_else(|| panic!("no link {name}")));
        let mut options = Options::new(variant.seed.get());
        options.captures = links.to_vec();
        let simulation = Simulation::build(&variant, &NoFiles, &options)
            .unwrap_or_else(|error| panic!("{error:?}\n{scenario}"));
        let captures = links.map(|link| Capture::new(Vec::new(), "swarm", simulation.graph(), link));
        let captures = captures.into_iter().map(|capture| capture.expect("memory")).collect();
        let mut watcher = Watcher { captures, causes: Vec::new() };
        simulation.run(&mut watcher).expect("memory");
        let mut taps = watcher.captures.into_iter().map(Capture::into_inner);
        let mut causes = watcher.causes;
        causes.sort_by_key(|found| found.time);
        let is_clean_at_hosts = !scenario.contains("links = \"all\"");
        Self {
            is_clean_at_hosts,
            operation,
            recovery,
            is_kernel,
            scenario,
            taps: std::array::from_fn(|_| taps.next().unwrap()),
            causes,
        }
    }
}

impl Run {
    /// Writes the captures and the causes into a folder.
    pub(crate) fn write(&self, folder: &Path, seed: u64) {
        let file = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.join(format!("{seed}-{name}")), bytes).expect("the folder can be written");
        };
        for (name, bytes) in TAPS.iter().zip(&self.taps) {
            file(&format!("{name}.pcapng"), bytes);
        }
        let causes = self.causes.iter().map(|found| format!("{found:?}\n"));
        file("causes.txt", causes.collect::<String>().as_bytes());
        file("scenario.toml", self.scenario.as_bytes());
    }
}

fn scenario(draws: &mut Draws, operation: &str, recovery: &str, is_kernel: bool) -> String {
    let seed = draws.pick(&std::array::from_fn::<u64, 64, _>(|i| i as u64 * 977));
    let seed = seed + u64::from(draws.pick(&[0_u32, 100_000, 200_000]));
    let count = draws.pick(&[1, 3, 10]);
    let bytes = draws.pick(&["64B", "1KiB", "3000B", "5KiB", "16KiB", "40KiB"]);
    let mut text = format!(
        "title = \"swarm\"\nseed = {seed}\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 1\n\
         [transport]\noperation = \"{operation}\"\nrecovery = \"{recovery}\"\ntimeout = {}\nqp = \"{}\"\n\
         first_psn = {}\n",
        draws.pick(&[8, 10]),
        draws.pick(&["per-flow", "per-pair"]),
        draws.pick(&[0, 16_777_210]),
    );
    let window = draws.pick(&["\"bdp\"", "64", "16"]);
    if !is_kernel {
        let _ = writeln!(text, "window = {window}");
    }
    if is_kernel {
        text.push_str("profile = \"soft-roce\"\n");
    } else if recovery == "go-back-n" {
        let (every, coalescing) = (draws.pick(&[1, 4, 16]), draws.pick(&["true", "false"]));
        let _ = write!(text, "ack_every = {every}\nack_coalescing = {coalescing}\n");
    }
    if !is_kernel && recovery == "go-back-n" && draws.pick(&[true, false, false]) {
        text.push_str(
            "[transport.acceleration]\nadaptive_retransmission = true\nfirst_timeout = \"250us\"\n",
        );
    }
    let _ = write!(
        text,
        "[[workload]]\nkind = \"flows\"\npattern = \"point-to-point\"\nsrc = \"h0\"\ndst = \"h1\"\nbytes = \"{bytes}\"\n\
         count = {count}\nevery = \"{}\"\nrounds = {}\n[stop]\nafter = \"2s\"\n",
        draws.pick(&["1us", "10us", "1ms"]),
        draws.pick(&[2, 10, 30]),
    );
    let impairment = match draws.pick(&[0, 0, 1]) {
        0 => format!("kind = \"frames\"\nrate = \"{}\"\n", draws.pick(&["0.01", "0.05", "0.15"])),
        _ => format!("kind = \"bursts\"\nloss = \"{}\"\nlength = 3\n", draws.pick(&["0.01", "0.05"])),
    };
    let links = draws.pick(&["\"s0-s1\"", "\"s0-s1\"", "\"all\""]);
    let _ = write!(text, "[[impair]]\nlinks = {links}\n{impairment}");
    text
}
