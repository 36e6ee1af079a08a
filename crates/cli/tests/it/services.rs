//! What all services have: a log with time and level, a reload of the configuration, health pages.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::monitor::{Daemon, await_that, port, redis};
use crate::planner::{config, free_port, get, planner_config};
use crate::program::{command, wiremend};

/// Each line has a time and a level, in both formats, and so has the reason of a failed start.
#[test]
fn each_line_of_a_log_has_time_and_level() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    port(&tree, 0, 0);
    let file = config(directory.path());
    let lines = |log: &str| {
        let arguments = ["--sysfs", tree.to_str().unwrap(), "--for", "200ms", "--log", log];
        let ended =
            wiremend(&[&["monitor", "run", "--config", file.to_str().unwrap()], &arguments[..]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended.stderr.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let text = lines("text");
    let [started, failed] = &text[..] else { panic!("{text:?}") };
    assert!(
        is_time(&started[..27]) && started[27..].starts_with("  INFO `leaf-1` only observes;"),
        "{started}"
    );
    assert!(is_time(&failed[..27]) && failed[27..].starts_with(" ERROR cannot use Redis: "), "{failed}");

    let json: Vec<Value> = lines("json").iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(json.iter().all(|line| is_time(line["timestamp"].as_str().unwrap())), "{json:?}");
    let [started, failed] = &json[..] else { panic!("{json:?}") };
    let fields = ["level", "event", "node", "links"].map(|key| started[key].clone());
    assert_eq!(fields, ["INFO".into(), "start".into(), "leaf-1".into(), Value::from(1)], "{started}");
    assert!(failed["level"] == "ERROR" && failed["event"] == "redis", "{failed}");

    fs::write(&file, "node = 5\n").unwrap();
    let ended = wiremend(&["monitor", "run", "--config", file.to_str().unwrap(), "--log", "json"]);
    let failed: Value = serde_json::from_str(&ended.stderr).unwrap();
    assert!(
        ended.code == Some(2) && failed["message"].as_str().unwrap().contains("leaf-1.toml:1:"),
        "{failed}"
    );
}

#[test]
fn a_log_leaves_out_what_is_below_its_level() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    port(&tree, 0, 0);
    let file = config(directory.path());
    let arguments = ["--sysfs", tree.to_str().unwrap(), "--for", "200ms", "--log-level", "warn"];
    let ended = wiremend(&[&["monitor", "run", "--config", file.to_str().unwrap()], &arguments[..]].concat());
    assert!(
        ended.stderr.lines().count() == 1 && ended.stderr.contains(" ERROR cannot use Redis"),
        "{}",
        ended.stderr
    );
}

#[test]
fn an_unknown_format_of_a_log_is_refused() {
    for service in
        [&["monitor", "run"][..], &["monitor", "planner"], &["relay", "run", "--lan", "a", "--link", "b"]]
    {
        let ended = wiremend(&[service, &["--config", "none", "--log", "xml"]].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
    }
}

/// The options of the sample file are those of the program: only the interfaces of the sample are missing here.
#[cfg(target_os = "linux")]
#[test]
fn the_sample_of_a_relay_is_valid() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/relay.toml");
    let commented = fs::read_to_string(&sample).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let all = directory.path().join("relay.toml");
    fs::write(
        &all,
        commented.replace("# class", "class").replace("# target", "target").replace("# rate", "rate"),
    )
    .unwrap();
    for file in [&sample, &all] {
        let run_dir = directory.path().to_str().unwrap();
        let arguments = ["--link", "no-such-link", "--lan", "no-such-lan", "--run-dir", run_dir];
        let ended =
            wiremend(&[&["relay", "run", "--config", file.to_str().unwrap()], &arguments[..]].concat());
        assert!(ended.stderr.contains("interface `no-such-lan` does not exist"), "{}", ended.stderr);
    }
}

/// SIGHUP applies a new configuration without a restart: what ports counted stays, ports come and go. An
/// unusable configuration changes nothing.
#[test]
fn a_monitor_reads_its_configuration_again() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_redis) = redis(directory.path()).map(Killed) else { return };
    let tree = directory.path().join("tree");
    port(&tree, 0, 0);
    let (file, metrics) = (config(directory.path()), free_port());
    let plain = fs::read_to_string(&file).unwrap();
    let mut monitor = Daemon::start(
        command()
            .args(["monitor", "run", "--metrics-listen", &metrics.to_string(), "--config"])
            .arg(&file)
            .arg("--sysfs")
            .arg(&tree),
    );
    monitor.await_log("`leaf-1` only observes; monitored links: 1");
    let page = |part: &str| get(metrics, "/metrics").contains(part);
    await_that(|| page("wiremend_monitor_redis_connected 1"));
    port(&tree, 1_000, 0);
    await_that(|| page("wiremend_monitor_receive_frames_total{device=\"eth0\"} 1000\n"));

    let second = plain
        .replace("[[link]]", "[act]\nmode = \"act\"\n[[link]]\nport = \"eth1\"\npeer = \"b:eth0\"\n[[link]]");
    fs::write(&file, &second).unwrap();
    monitor.reload();
    monitor.await_log("the configuration is reloaded: `leaf-1` acts; monitored links: 2");
    monitor.await_log("unknown interface `eth1`");
    await_that(|| page("wiremend_monitor_receive_frames_total{device=\"eth1\"} 0\n"));
    assert!(
        page("wiremend_monitor_receive_frames_total{device=\"eth0\"} 1000\n"),
        "{}",
        get(metrics, "/metrics")
    );

    for (text, why) in [
        (plain.replace("poll", "pull"), "leaf-1.toml:2:1: unknown field `pull`"),
        (plain.replace("\"leaf-1\"", "\"leaf-2\""), "`leaf-1` has become `leaf-2`, which needs a restart"),
        (plain.replace("\"eth0\"", "\"eth7\""), "link eth7: unknown interface"),
    ] {
        fs::write(&file, text).unwrap();
        monitor.reload();
        monitor.await_log(&format!(
            "the previous one stays in effect: {}",
            if why.starts_with("leaf") {
                format!("{}/{why}", directory.path().display())
            } else if why.starts_with('`') {
                format!("{}: {why}", file.display())
            } else {
                why.to_owned()
            }
        ));
    }
    fs::remove_file(&file).unwrap();
    monitor.reload();
    monitor.await_log("No such file");
    await_that(|| page("wiremend_monitor_receive_frames_total{device=\"eth1\"} 0\n"));
    monitor.ends();
}

#[test]
fn a_planner_reads_its_configuration_again() {
    let directory = tempfile::tempdir().unwrap();
    let Some(_redis) = redis(directory.path()).map(Killed) else { return };
    let file = planner_config(directory.path(), "");
    let mut planner = Daemon::start(command().args(["monitor", "planner", "--config"]).arg(&file));
    planner.await_log("a planner of 1 links; it only advises");
    planner.await_log("this planner is the leader");
    let text = fs::read_to_string(&file).unwrap();
    let more =
        "[[switch]]\nname = \"leaf-2\"\nlevel = 0\n[[link]]\na = \"leaf-2:eth0\"\nb = \"spine-3:eth1\"\n";
    fs::write(
        &file,
        format!(
            "{}{more}",
            text.replace(
                "[[switch]]\nname = \"leaf-1\"",
                "[act]\nmode = \"act\"\n[[switch]]\nname = \"leaf-1\""
            )
        ),
    )
    .unwrap();
    planner.reload();
    planner.await_log("the configuration is reloaded: a planner of 2 links; its advice binds");
    planner.await_log("this planner is the leader");
    fs::write(&file, text.replace("level = 0", "level = -1")).unwrap();
    planner.reload();
    planner.await_log("the configuration is not reloaded, the previous one stays in effect: ");
    planner.ends();
}

/// Alive as soon as it runs, ready once it does its task.
#[test]
fn health_pages_tell_alive_from_ready() {
    let directory = tempfile::tempdir().unwrap();
    let tree = directory.path().join("tree");
    port(&tree, 0, 0);
    let [monitor_port, planner_port] = [free_port(), free_port()];
    let service = |words: [&str; 2], file: &Path, port: u16| {
        let mut command = command();
        command.args(words).arg("--config").arg(file).args(["--metrics-listen", &port.to_string()]);
        command
    };
    let mut monitor = service(["monitor", "run"], &config(directory.path()), monitor_port);
    let mut services = [
        Daemon::start(monitor.arg("--sysfs").arg(&tree)),
        Daemon::start(&mut service(
            ["monitor", "planner"],
            &planner_config(directory.path(), ""),
            planner_port,
        )),
    ];
    for port in [monitor_port, planner_port] {
        await_that(|| get(port, "/readyz").ends_with("\r\n\r\nwaits for Redis\n"));
        assert!(get(port, "/readyz").starts_with("HTTP/1.1 503 "));
        assert!(get(port, "/healthz").starts_with("HTTP/1.1 200 OK"));
    }
    let Some(_redis) = redis(directory.path()).map(Killed) else { return };
    for port in [monitor_port, planner_port] {
        await_that(|| get(port, "/readyz").starts_with("HTTP/1.1 200 OK"));
    }
    // A loop that hangs is not alive; a stopped process does not answer at all.
    services.iter_mut().for_each(Daemon::ends);
}

/// `2026-11-19T03:34:57.123456Z`.
fn is_time(text: &str) -> bool {
    text.len() == 27
        && text.char_indices().all(|(at, c)| match at {
            4 | 7 => c == '-',
            10 => c == 'T',
            13 | 16 => c == ':',
            19 => c == '.',
            26 => c == 'Z',
            _ => c.is_ascii_digit(),
        })
}

/// A server that ends with the test.
struct Killed(std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Daemon {
    fn reload(&self) {
        let pid = self.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
    }
}
