//! Stored results on a page, whole and damaged.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use wiremend_dashboard::{PageSockets, ResultsService};
use wiremend_runner::{Input, Request, Runner};
use wiremend_sweep::{FailedBefore, Plan, Study, Sweep};

use crate::attacks::{ask, host};

/// Serves a folder while `test` asks for pages.
fn with_results(folder: &Path, test: impl FnOnce(&dyn Fn(&str) -> String)) {
    let service = ResultsService {
        folder: folder.to_owned(),
        sockets: PageSockets { listen: Some("127.0.0.1:0".parse().unwrap()), ..PageSockets::default() },
        version: "test",
    };
    let stop = AtomicBool::new(false);
    let (started, address) = mpsc::channel();
    std::thread::scope(|scope| {
        let (service, stop) = (&service, &stop);
        scope.spawn(move || service.run(stop, |address| started.send(address.unwrap()).unwrap()).unwrap());
        let address: SocketAddr = address.recv().unwrap();
        let get = |path: &str| ask(address, &format!("GET {path}"), &host(address), "");
        // Also when the test fails, the thread must end.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&get)));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = outcome {
            std::panic::resume_unwind(panic);
        }
    });
}

fn store_run(folder: &Path, scenario: &str, changes: &[&str]) {
    let changes: Vec<_> = changes.iter().map(|change| change.parse().unwrap()).collect();
    let input = Input::load(scenario, &changes).unwrap();
    Runner::new().run(&Request::new(&input).seeds(2).out_dir(folder)).unwrap();
}

fn store_sweep(folder: &Path) {
    let text = "name = \"<b>dummies\"\nscenario = \"tail-packet\"\nseeds = 2\n[[axis]]\nname = \"dummies\"\n\
                path = \"mend.dummies\"\nvalues = [0, 2]\n";
    let runner = Runner::new();
    let plan = Plan::new(Study::parse("study.toml", text).unwrap(), &runner, false).unwrap();
    let sweep = Sweep::start(folder, plan, FailedBefore::Keep, Duration::from_mins(2), &runner).unwrap();
    sweep.worker(runner).run().unwrap();
}

/// Both runs in one table, one of them chosen, and the number of a sweep chosen too.
#[test]
fn runs_and_sweeps_are_side_by_side() {
    let folder = tempfile::tempdir().unwrap();
    let series = "series={every=\"100us\", flows=1}";
    store_run(&folder.path().join("plain"), "tail-packet", &[series]);
    store_run(&folder.path().join("deep/mended"), "tail-packet", &["mend.dummies=1"]);
    store_sweep(&folder.path().join("study"));
    with_results(folder.path(), |get| {
        let page = get("/");
        assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
        for part in [
            "2 runs, 1 sweeps",
            "deep/mended",
            "plain: ",
            "Slowest flows",
            "Busiest links",
            "Throughput of flows",
            "Size bins",
            "Sweep study",
            "Longest completion time",
        ] {
            assert!(page.contains(part), "`{part}` is missing");
        }
        assert!(!page.contains("<script") && !page.contains("class=\"bad\""), "{page}");
        let one = get("/?v=deep%2Fmended%230&n=flows_with_timeout");
        assert!(one.contains("Flows with a timeout") && !one.contains("deep/mended: "), "one run");
        assert!(!one.contains("Busiest links"), "this run has no series");
        // The address of the page leads to the packets of a flow.
        let link =
            one.split("href=\"/flow?").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&");
        let flow = loop {
            let flow = get(&format!("/flow?{link}"));
            assert!(flow.starts_with("HTTP/1.1 200 "), "{flow}");
            if !flow.contains("http-equiv=\"refresh\"") {
                break flow;
            }
            std::thread::yield_now();
        };
        for part in ["DUMMY", "<svg", "Where the ", "wiremend trace"] {
            assert!(flow.contains(part), "`{part}` is missing in {flow}");
        }
    });
}

/// A flow, seed or run that does not exist is a line, and so is a run that was changed.
#[test]
fn unknown_flows_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    store_run(&folder.path().join("r"), "tail-packet", &[]);
    with_results(folder.path(), |get| {
        let settled = |path: &str| loop {
            let page = get(path);
            if !page.contains("http-equiv=\"refresh\"") {
                return page;
            }
            std::thread::yield_now();
        };
        assert!(settled("/flow?of=r%230&flow=99").contains("no flow 99"));
        assert!(settled("/flow?of=r%230&flow=0&seed=77").contains("has no seed 77"));
        for (path, status) in [
            ("/flow?of=r%239&flow=0", "404"),
            ("/flow?of=..%2F..%2Fetc%230&flow=0", "404"),
            ("/flow?of=r%230", "400"),
            ("/flow?of=r%230&flow=-1", "400"),
            ("/flow?of=r%230&flow=0&seed=x", "400"),
            ("/summary.json", "404"),
            ("/../r/summary.json", "404"),
            ("/?v=r%239&n=nonsense", "200"),
        ] {
            let page = get(path);
            assert!(page.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {page}");
        }
        let summary = folder.path().join("r/summary.json");
        let text = fs::read_to_string(&summary).unwrap();
        fs::write(&summary, text.replace("retry = ", "retry = 1")).unwrap();
        assert!(settled("/flow?of=r%230&flow=0&seed=1").contains("changed after the run"));
    });
}

/// What cannot be read is one line with its name; the page stays alive and shows the rest.
#[test]
fn damaged_results_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    store_run(&at("whole"), "tail-packet", &["series={every=\"100us\", flows=1}"]);
    store_sweep(&at("sweep"));
    let text = fs::read_to_string(at("whole/summary.json")).unwrap();
    for (name, content) in [
        ("empty", String::new()),
        ("cut", text[..text.len() / 2].to_owned()),
        ("other", "{\"schema\": 7}".to_owned()),
        ("<script>alert(1)</script>", "[]".to_owned()),
        ("negative", text.replacen("\"flows\": ", "\"flows\": -", 1)),
    ] {
        fs::create_dir_all(at(name)).unwrap();
        fs::write(at(name).join("summary.json"), content).unwrap();
    }
    fs::create_dir_all(at("stopped")).unwrap();
    fs::write(at("stopped/flows.parquet"), "PAR1").unwrap();
    fs::create_dir_all(at("directory/summary.json")).unwrap();
    fs::create_dir_all(at("pipe")).unwrap();
    assert!(Command::new("mkfifo").arg(at("pipe/summary.json")).status().unwrap().success());
    fs::write(at("sweep/plans/000002.json"), "{}").unwrap();
    // Links lead out of the folder and round in it.
    std::os::unix::fs::symlink("/", at("root")).unwrap();
    std::os::unix::fs::symlink(folder.path(), at("round")).unwrap();
    // Text of a hostile run is text.
    fs::create_dir_all(at("hostile")).unwrap();
    let hostile =
        text.replace("\"scenario\": \"tail-packet\"", "\"scenario\": \"<img src=x onerror=alert(1)>\"");
    assert_ne!(hostile, text);
    fs::write(at("hostile/summary.json"), hostile).unwrap();
    with_results(folder.path(), |get| {
        let page = get("/");
        assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("2 runs, 1 sweeps"), "{page}");
        for name in [
            "empty",
            "cut",
            "other",
            "negative",
            "stopped",
            "directory",
            "pipe",
            "&lt;script&gt;alert(1)&lt;/script&gt;",
        ] {
            let line = page
                .lines()
                .find(|line| line.contains("class=\"bad\"") && line.contains(&format!(">{name}: ")));
            assert!(line.is_some(), "{name} in {page}");
        }
        assert!(page.contains("is not a plan of this version"), "{page}");
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
        assert!(get("/healthz").ends_with("ok\n"));
    });
}

/// Every damage of a table gives a line or another table; the page stays alive.
#[test]
fn damaged_tables_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    store_run(&at("whole"), "tail-packet", &[]);
    let whole = fs::read(at("whole/flows.parquet")).unwrap();
    with_results(folder.path(), |get| {
        let mut damages: Vec<Vec<u8>> =
            (0..whole.len()).step_by(whole.len() / 40).map(|end| whole[..end].to_vec()).collect();
        for at in (0..whole.len()).step_by(whole.len() / 120) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            damages.push(damaged);
        }
        for damaged in damages {
            fs::write(at("whole/flows.parquet"), &damaged).unwrap();
            let page = get("/?v=whole%230");
            assert!(page.starts_with("HTTP/1.1 200 ") && page.contains("</html>"), "{page}");
            assert!(
                page.contains("flows.parquet: ")
                    || page.contains("whole: ")
                    || page.contains("href=\"/flow?"),
                "{page}"
            );
        }
        fs::write(at("whole/flows.parquet"), &whole).unwrap();
        // Changes are noticed by time and length; the clock of files may be coarse.
        let file = fs::File::options().write(true).open(at("whole/flows.parquet")).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        assert!(get("/?v=whole%230").contains("href=\"/flow?"), "the table is whole again");
    });
}
