//! `wiremend monitor` with counters in files of other programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::monitor::Daemon;
use crate::program::{command, wiremend};

/// Both programs count corrupted frames, then they die. The daemon needs neither sysfs nor Redis for this.
#[test]
fn a_daemon_reads_prometheus_text_and_openconfig() {
    let directory = tempfile::tempdir().unwrap();
    let config = config(directory.path(), "1s");
    write_counters(directory.path(), 0);
    let mut leaf =
        Daemon::start(command().args(["monitor", "run", "--sysfs", "nowhere", "--config"]).arg(&config));
    let written = AtomicBool::new(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 0;
            while written.load(Ordering::Relaxed) {
                round += 1;
                write_counters(directory.path(), round);
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let logged = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let first = leaf.await_log(": corrupts: ");
            let other = if first.contains("eth0: ") { "port7: corrupts: " } else { "eth0: corrupts: " };
            leaf.await_log(other);
        }));
        written.store(false, Ordering::Relaxed);
        logged.unwrap();
    });
    leaf.await_log("not written for more than 1s; does the program that writes it run?");
    leaf.await_log("its counters cannot be read");
    leaf.ends();
}

#[test]
fn check_config_reads_counter_files_once() {
    let directory = tempfile::tempdir().unwrap();
    let file = config(directory.path(), "24h");
    let [prometheus, openconfig] = paths(directory.path());
    let check = || {
        let ended = wiremend(&["monitor", "check-config", file.to_str().unwrap()]);
        assert!(ended.stderr.lines().count() <= 1, "{}", ended.stderr);
        ended
    };
    let refused = |why: &str| {
        let ended = check();
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "`{why}` in {}", ended.stderr);
    };
    refused(&format!("link eth0: source: {}: No such file", prometheus.display()));
    let fresh = || write_counters(directory.path(), 1);
    fresh();
    let text = check().ok();
    let expected = format!(
        "leaf-1:port7 - spine-4:eth0: not protected: no relay here; counters of `Ethernet1/1` in {}\n",
        openconfig.display()
    );
    assert!(text.contains(&expected), "{text}");
    let old = fs::File::options().write(true).open(&prometheus).unwrap();
    old.set_modified(old.metadata().unwrap().modified().unwrap() - Duration::from_hours(25)).unwrap();
    refused("x.prom: not written for more than 86400s");
    fresh();
    fs::write(&openconfig, "{\"interface\": [}").unwrap();
    refused("link port7: source: ");
    fresh();
    fs::write(&openconfig, "{\"interface\": []}").unwrap();
    refused("interfaces.json: no port `Ethernet1/1` in this file");
}

fn paths(directory: &Path) -> [PathBuf; 2] {
    ["x.prom", "interfaces.json"].map(|name| directory.join(name))
}

fn config(directory: &Path, max_age: &str) -> PathBuf {
    let [prometheus, openconfig] = paths(directory).map(|path| path.display().to_string());
    let text = format!(
        "node = \"leaf-1\"\npoll = \"20ms\"\n[redis]\naddress = \"/none\"\n\
         [[link]]\nport = \"eth0\"\npeer = \"spine-3:eth0\"\n\
         source = {{ node_exporter = {{ file = \"{prometheus}\", max_age = \"{max_age}\" }} }}\n\
         [[link]]\nport = \"port7\"\npeer = \"spine-4:eth0\"\n\
         source = {{ openconfig = {{ file = \"{openconfig}\", interface = \"Ethernet1/1\", max_age = \"{max_age}\" }} }}\n"
    );
    let file = directory.join("monitor.toml");
    fs::write(&file, text).unwrap();
    file
}

/// Writes both files elsewhere and renames them, as their programs do.
fn write_counters(directory: &Path, round: u64) {
    let (good, bad) = (round * 1_000_000, round * 1_000);
    let prometheus = format!(
        "node_network_receive_packets_total{{device=\"eth0\"}} {good}\n\
         node_network_receive_errs_total{{device=\"eth0\"}} {bad}\n"
    );
    let openconfig = format!(
        "{{\"openconfig-interfaces:interfaces\":{{\"interface\":[{{\"name\":\"Ethernet1/1\",\"state\":{{\
         \"oper-status\":\"UP\",\"counters\":{{\"in-unicast-pkts\":\"{good}\",\"in-fcs-errors\":\"{bad}\"}}}}}}]}}}}"
    );
    for (path, text) in paths(directory).into_iter().zip([prometheus, openconfig]) {
        let new = path.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(&new, &path).unwrap();
    }
}
