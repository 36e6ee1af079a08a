//! `wiremend monitor`: from counters in a copy of sysfs to a verdict.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::program::{command, wiremend, wiremend_with};

/// Two monitors and a real Redis: one end detects the loss, the other reports its action. Then Redis dies.
#[test]
fn a_monitor_publishes_its_observations() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut redis) = redis(directory.path()) else { return };
    let (leaf_tree, spine_tree) = (directory.path().join("leaf"), directory.path().join("spine"));
    port(&leaf_tree, 0, 0);
    port(&spine_tree, 0, 0);
    let mut leaf = daemon(directory.path(), &leaf_tree, "leaf-1", "spine-3:eth0");
    let mut spine = daemon(directory.path(), &spine_tree, "spine-3", "leaf-1:eth0");
    leaf.await_log("`leaf-1` only observes; monitored links: 1");
    let file = directory.path().join("leaf-1.toml");
    let second = wiremend(&["monitor", "run", "--for", "10s", "--config", file.to_str().unwrap()]);
    assert_eq!(second.code, Some(3), "{}", second.stderr);
    assert!(second.stderr.contains("another daemon uses"), "{}", second.stderr);
    await_that(|| has_read(directory.path(), "leaf-1:eth0"));
    port(&leaf_tree, 1_000_000, 1_000);
    leaf.await_log("eth0: corrupts: 1000 of ");
    let done = || cli(directory.path(), &["HGET", "wiremend:action:spine-3:eth0", "body"]);
    await_that(|| done().contains("this node only observes"));
    // Both ends store what they counted.
    let counted = |port: &str| {
        let stream = format!("wiremend:counters:{port}");
        cli(directory.path(), &["XREVRANGE", &stream, "+", "-", "COUNT", "1"])
    };
    await_that(|| counted("leaf-1:eth0").contains("\"rx_crc\":1000"));
    await_that(|| counted("spine-3:eth0").contains("\"rx_crc\":0"));
    redis.kill().unwrap();
    redis.wait().unwrap();
    leaf.await_log("cannot use Redis");
    spine.await_log("keeps reading ports and changes no protection");
    leaf.ends();
    spine.ends();
}

#[test]
fn a_file_is_checked_before_anything_is_done() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("monitor.toml");
    let file = file.to_str().unwrap();
    fs::write(file, config("leaf-1", "spine-3:eth0")).unwrap();
    let text = wiremend(&["monitor", "check-config", file]).ok();
    assert!(text.contains("`leaf-1` only observes") && text.contains("leaf-1:eth0 - spine-3:eth0"), "{text}");
    fs::write(file, config("leaf-1", "spine-3:eth0").replace("poll", "pull")).unwrap();
    for arguments in [&["monitor", "check-config", file][..], &["monitor", "run", "--config", file]] {
        let ended = wiremend(arguments);
        assert_eq!(ended.code, Some(2));
        assert!(ended.stderr.contains("monitor.toml:2:1: unknown field `pull`"), "{}", ended.stderr);
    }
    fs::write(file, "secret\n").unwrap();
    let text = wiremend(&["monitor", "acl", "leaf-1", "--password-file", file]).ok();
    // printf secret | sha256sum
    let hash = "#2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b";
    let ending = format!(" {hash}\nACL SAVE\n");
    assert!(text.starts_with("ACL SETUSER leaf-1 reset on ") && text.ends_with(&ending), "{text}");
    assert!(!text.contains("secret"), "{text}");
    assert!(text.contains(" ~wiremend:observation:leaf-1:* "), "{text}");
}

#[test]
fn ports_are_recorded_and_explained() {
    let tree = tempfile::tempdir().unwrap();
    port(tree.path(), 1_000_000, 7);
    let record = |name: &str, node: &str| {
        let sysfs = tree.path().to_str().unwrap();
        let text = wiremend(&[
            "monitor", "record", "eth0", "--node", node, "--sysfs", sysfs, "--every", "10ms", "--for", "20ms",
        ])
        .ok();
        assert_eq!(text.lines().count(), 3, "{text}");
        let file = tree.path().join(name);
        fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let (here, there) = (record("here.jsonl", "leaf-1"), record("there.jsonl", "spine-3"));
    let text = wiremend(&["monitor", "explain", &here, &there]).ok();
    assert!(text.starts_with("leaf-1:eth0 - spine-3:eth0: healthy\n"), "{text}");
}

#[test]
fn a_link_that_corrupts_is_named_with_its_numbers() {
    let ended = wiremend_with(CORRUPTING, &["monitor", "explain", "-"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for part in [
        "a:eth0 - b:eth0: corruption",
        "corruption    at b:eth0: 1000 of 1001000 frames corrupted: loss 1.0e-3",
        "loss          to b:eth0: 1000 of 1001000 frames",
        "loss          to a:eth0: 0 of 1000000 frames; at most 4.6e-6 with 99 % confidence",
    ] {
        assert!(ended.stdout.contains(part), "`{part}` in {}", ended.stdout);
    }
    let ended = wiremend_with(CORRUPTING, &["monitor", "explain", "-", "--link", "b:eth0=a:eth0", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ended.stdout).expect("stdout is JSON");
    assert_eq!(json["links"][0]["cause"], "corruption");
    assert_eq!(json["links"][0]["reasons"][0]["end"], "a");
    assert_eq!(json["links"][0]["loss_to_a"]["errors"], 1000);
}

#[test]
fn invalid_records_are_refused_in_one_line() {
    for (input, arguments, why) in [
        (CORRUPTING, &["--link", "a:eth0=c:eth0"][..], "unknown port `c:eth0`; did you mean"),
        (CORRUPTING, &["--link", "a:eth0"], "write NODE:PORT=NODE:PORT"),
        (CORRUPTING, &["--threshold", "1e-20"], "not between 1e-15 and 0.5"),
        ("", &[], "0 ports () instead of the two ends"),
        (ONCE, &[], "has one reading"),
        ("{}", &[], "line 1: missing field `time_s`"),
    ] {
        let ended = wiremend_with(input, &[&["monitor", "explain", "-"][..], arguments].concat());
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(
            ended.stderr.contains(why) && ended.stderr.lines().count() == 1,
            "`{why}` in {}",
            ended.stderr
        );
        assert_eq!(ended.stdout, "");
    }
    let ended = wiremend(&["monitor", "record", "no-such-port"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("cannot read the interface `no-such-port`"), "{}", ended.stderr);
}

#[test]
fn recorded_counters_are_replayed() {
    let ended = wiremend_with(CORRUPTING, &["monitor", "replay", "-"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    for part in [
        "9.000 s  b:eth0: corrupts: 1000 of 1001000 frames corrupted (loss 1.0e-3)",
        "a:eth0: not corrupting at the end; 0 of 1000000 frames bad",
        "b:eth0: corrupts at the end; 1000 of 1001000 frames bad",
    ] {
        assert!(ended.stdout.contains(part), "`{part}` in {}", ended.stdout);
    }
    let ended = wiremend_with(CORRUPTING, &["monitor", "replay", "-", "--threshold", "1e-2", "--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let ports = ended.json();
    assert_eq!(ports["ports"][1]["errors"], 1000);
    assert_eq!(ports["ports"][1]["events"].as_array().unwrap().len(), 0, "a loss that is allowed");
    let twice = format!("{CORRUPTING}{CORRUPTING}");
    let ended = wiremend_with(&twice, &["monitor", "replay", "-"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("`a:eth0` has a reading at 9s and then one at 0ns"), "{}", ended.stderr);
    let ended = wiremend_with("", &["monitor", "replay", "-"]);
    assert_eq!(
        (ended.code, ended.stderr.as_str()),
        (Some(2), "wiremend: -: no reading of a port; record some: wiremend monitor record IF --for 60s\n")
    );
}

/// The users of `monitor acl` outlive a restart of Redis with `aclfile`. Without them the daemon names the
/// refusal and the remedy, although it first lost its connection.
#[test]
fn users_outlive_a_restart_of_redis() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("users.acl"), "").unwrap();
    let Some(mut server) = redis_with(directory.path(), &["--aclfile", "users.acl"]) else { return };
    let secret = directory.path().join("secret");
    fs::write(&secret, "secret\n").unwrap();
    let text = wiremend(&["monitor", "acl", "leaf-1", "--password-file", secret.to_str().unwrap()]).ok();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(cli(directory.path(), &words).trim(), "OK", "{line}");
    }
    let tree = directory.path().join("tree");
    port(&tree, 0, 0);
    let file = directory.path().join("leaf-1.toml");
    let socket = directory.path().join("redis.sock");
    let address = format!("{}\"\npassword_file = \"{}", socket.display(), secret.display());
    fs::write(&file, config("leaf-1", "spine-3:eth0").replace("/SOCKET", &address)).unwrap();
    let mut leaf =
        Daemon::start(command().args(["monitor", "run", "--config"]).arg(&file).arg("--sysfs").arg(&tree));
    await_that(|| has_read(directory.path(), "leaf-1:eth0"));
    // Rules of an older version have no streams of counters: one warning, and the daemon goes on.
    cli(
        directory.path(),
        &[
            "ACL",
            "SETUSER",
            "leaf-1",
            "clearselectors",
            "(+publish",
            "&wiremend:notify:leaf-1:*)",
            "(+xadd",
            "~wiremend:audit:leaf-1)",
            "(+subscribe",
            "&*)",
        ],
    );
    port(&tree, 1_000_000, 1_000);
    leaf.await_log("eth0: corrupts: 1000 of ");
    leaf.await_log("run `wiremend monitor acl` for this node again");
    for round in 0..2 {
        server.kill().unwrap();
        server.wait().unwrap();
        leaf.await_log("cannot use Redis");
        if round == 1 {
            // Somebody forgot the file.
            fs::write(directory.path().join("users.acl"), "").unwrap();
        }
        fs::remove_file(&socket).unwrap();
        server = redis_with(directory.path(), &["--aclfile", "users.acl"]).unwrap();
        leaf.await_log(if round == 0 { "Redis is reachable again" } else { "WRONGPASS" });
    }
    for line in text.lines() {
        cli(directory.path(), &line.split(' ').collect::<Vec<_>>());
    }
    leaf.await_log("Redis is reachable again");
    leaf.ends();
    server.kill().unwrap();
    server.wait().unwrap();
}

/// One port of two is missing: it is listed, and the other one is read.
#[test]
fn a_missing_port_stops_no_other_port() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut server) = redis(directory.path()) else { return };
    let tree = directory.path().join("tree");
    port(&tree, 0, 0);
    let (file, socket) = (directory.path().join("leaf-1.toml"), directory.path().join("redis.sock"));
    let text = config("leaf-1", "spine-3:eth0").replace("/SOCKET", socket.to_str().unwrap());
    fs::write(&file, format!("{text}[[link]]\nport = \"eth9\"\npeer = \"spine-4:eth0\"\n")).unwrap();
    let mut leaf =
        Daemon::start(command().args(["monitor", "run", "--config"]).arg(&file).arg("--sysfs").arg(&tree));
    leaf.await_log("link eth9: unknown interface `eth9`");
    await_that(|| has_read(directory.path(), "leaf-1:eth0"));
    leaf.await_log("eth9: its counters cannot be read");
    assert!(!has_read(directory.path(), "leaf-1:eth9"), "nobody knows whether it is healthy");
    leaf.ends();
    server.kill().unwrap();
    server.wait().unwrap();
}

/// From the command of an operator to the record that the daemon follows.
#[test]
fn operators_hold_ports_and_links() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut server) = redis(directory.path()) else { return };
    let tree = directory.path().join("tree");
    port(&tree, 0, 0);
    let (file, socket) = (directory.path().join("leaf-1.toml"), directory.path().join("redis.sock"));
    fs::write(&file, config("leaf-1", "spine-3:eth0").replace("/SOCKET", socket.to_str().unwrap())).unwrap();
    let mut leaf =
        Daemon::start(command().args(["monitor", "run", "--config"]).arg(&file).arg("--sysfs").arg(&tree));
    await_that(|| has_read(directory.path(), "leaf-1:eth0"));
    let file = file.to_str().unwrap();
    let hold = ["monitor", "hold", "--config", file, "--for", "2h", "--why", "new optics"];
    wiremend(&[&hold[..], &["eth0"]].concat()).ok();
    leaf.await_log("eth0: held: new optics");
    wiremend(&["monitor", "unhold", "--config", file, "eth0"]).ok();
    leaf.await_log("eth0: the hold has ended");
    let planner = directory.path().join("planner.toml");
    let fabric = "[[switch]]\nname = \"leaf-1\"\nlevel = 0\npod = \"a\"\n[[switch]]\nname = \"spine-3\"\nlevel = 1\n\
                  [[link]]\na = \"leaf-1:eth0\"\nb = \"spine-3:eth0\"\n";
    fs::write(&planner, format!("[redis]\naddress = \"{}\"\n{fabric}", socket.display())).unwrap();
    let planner = planner.to_str().unwrap();
    let hold = ["monitor", "hold", "--planner", "--config", planner, "--for", "2h", "--why", "recabling"];
    let ended = wiremend(&[&hold[..], &["--maintenance", "pod:a"]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("leaf-1:eth0, spine-3:eth0"), "{}", ended.stderr);
    leaf.await_log("eth0: held: recabling");
    let stored = cli(directory.path(), &["HGET", "wiremend:hold:spine-3:eth0", "body"]);
    assert!(stored.contains("\"maintenance\":true"), "{stored}");
    for (arguments, why) in [
        (&[&hold[..], &["leaf-9"]].concat(), "neither a NODE:PORT, nor a node, nor a pod:NAME"),
        (&vec!["monitor", "unhold", "--config", file, "eth1"], "unknown port `eth1`"),
        (&vec!["monitor", "hold", "--config", file, "--for", "1y", "--why", "x", "eth0"], "--for"),
        (&vec!["monitor", "hold", "--config", file, "--for", "1h", "--why", " ", "eth0"], "--why"),
    ] {
        let ended = wiremend(arguments);
        assert_eq!(ended.code, Some(2), "{}", ended.stderr);
        assert!(ended.stderr.contains(why), "`{why}` in {}", ended.stderr);
    }
    let dry = wiremend(&["monitor", "planner", "--config", planner, "--dry-run"]);
    assert_eq!(
        (dry.code, dry.stdout.as_str()),
        (Some(0), "advice on 0 of 1 links would change\n"),
        "{}",
        dry.stderr
    );
    leaf.ends();
    server.kill().unwrap();
    server.wait().unwrap();
}

#[test]
fn a_secret_that_others_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let (file, secret) = (directory.path().join("monitor.toml"), directory.path().join("secret"));
    fs::write(&secret, "secret\n").unwrap();
    let address = format!("/SOCKET\"\npassword_file = \"{}", secret.display());
    fs::write(&file, config("leaf-1", "spine-3:eth0").replace("/SOCKET", &address)).unwrap();
    for (mode, code) in [(0o644, Some(2)), (0o602, Some(2)), (0o640, Some(0)), (0o600, Some(0))] {
        fs::set_permissions(&secret, fs::Permissions::from_mode(mode)).unwrap();
        let ended = wiremend(&["monitor", "check-config", file.to_str().unwrap()]);
        assert_eq!(ended.code, code, "{mode:o}: {}", ended.stderr);
        assert!(code == Some(0) || ended.stderr.contains("chmod 600"), "{}", ended.stderr);
        assert!(ended.stderr.lines().count() <= 1, "{}", ended.stderr);
    }
}

const CORRUPTING: &str = r#"{"time_s":0,"node":"a","port":"eth0","up":true,"counters":{"rx_good":5,"rx_crc":0}}
{"time_s":0,"node":"b","port":"eth0","up":true,"counters":{"rx_good":7,"rx_crc":2}}
{"time_s":9,"node":"a","port":"eth0","up":true,"counters":{"rx_good":1000005,"rx_crc":0}}
{"time_s":9,"node":"b","port":"eth0","up":true,"counters":{"rx_good":1000007,"rx_crc":1002}}
"#;

const ONCE: &str = r#"{"time_s":0,"node":"a","port":"eth0","up":true,"counters":{"rx_good":5,"rx_crc":0}}
{"time_s":0,"node":"b","port":"eth0","up":true,"counters":{"rx_good":7,"rx_crc":2}}
"#;

pub(crate) fn port(root: &Path, good: u64, bad: u64) {
    let base = root.join("class/net/eth0");
    fs::create_dir_all(base.join("statistics")).unwrap();
    for (file, value) in [
        ("carrier", 1),
        ("carrier_changes", 1),
        ("statistics/rx_packets", good),
        ("statistics/rx_crc_errors", bad),
    ] {
        fs::write(base.join(file), format!("{value}\n")).unwrap();
    }
}

/// A process that ends with the test.
pub(crate) struct Daemon {
    child: Child,
    lines: std::sync::mpsc::Receiver<String>,
}

impl Daemon {
    pub(crate) fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, lines) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Self { child, lines }
    }

    /// Waits for a line with this part, and returns it.
    pub(crate) fn await_log(&mut self, part: &str) -> String {
        let deadline = Instant::now() + Duration::from_mins(5);
        let mut log = Vec::new();
        while let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
            if line.contains(part) {
                return line;
            }
            log.push(line);
        }
        panic!("`{part}` is not in the log: {log:?}");
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn ends(&mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn config(node: &str, peer: &str) -> String {
    format!(
        "node = \"{node}\"\npoll = \"50ms\"\n[redis]\naddress = \"/SOCKET\"\n[[link]]\nport = \"eth0\"\npeer = \"{peer}\"\nprotect = \"relay\"\n"
    )
}

fn daemon(directory: &Path, tree: &Path, node: &str, peer: &str) -> Daemon {
    let file = directory.join(format!("{node}.toml"));
    let socket = directory.join("redis.sock");
    fs::write(&file, config(node, peer).replace("/SOCKET", socket.to_str().unwrap())).unwrap();
    Daemon::start(command().args(["monitor", "run", "--config"]).arg(&file).arg("--sysfs").arg(tree))
}

pub(crate) fn redis(directory: &Path) -> Option<Child> {
    redis_with(directory, &[])
}

fn redis_with(directory: &Path, options: &[&str]) -> Option<Child> {
    let started = Command::new("redis-server")
        .args(["--port", "0", "--unixsocket", "redis.sock", "--save", ""])
        .args(options)
        .current_dir(directory)
        .stdout(Stdio::null())
        .spawn();
    match started {
        Ok(child) => {
            await_that(|| cli(directory, &["PING"]).contains("PONG"));
            Some(child)
        }
        Err(error) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: redis-server: {error}");
            None
        }
        Err(error) => panic!("redis-server: {error}"),
    }
}

pub(crate) fn cli(directory: &Path, arguments: &[&str]) -> String {
    let output =
        Command::new("redis-cli").args(["-s", "redis.sock"]).args(arguments).current_dir(directory).output();
    String::from_utf8(output.unwrap().stdout).unwrap()
}

/// Returns whether the monitor has read the counters of this port: it then publishes an observation.
pub(crate) fn has_read(directory: &Path, port: &str) -> bool {
    cli(directory, &["EXISTS", &format!("wiremend:observation:{port}")]).trim() == "1"
}

pub(crate) fn await_that(mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_mins(5);
    while !holds() {
        assert!(Instant::now() < deadline, "it never holds");
        std::thread::sleep(Duration::from_millis(20));
    }
}
