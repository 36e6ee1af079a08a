//! `wiremend monitor planner`: monitors and a planner as processes, with a real Redis.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use crate::monitor::{Daemon, await_that, cli, has_read, port, redis};
use crate::program::{command, wiremend};

const FABRIC: &str = "\
[[switch]]\nname = \"leaf-1\"\nlevel = 0\n[[switch]]\nname = \"spine-3\"\nlevel = 1\n\
[[link]]\na = \"leaf-1:eth0\"\nb = \"spine-3:eth0\"\n";

/// The only path of a ToR corrupts: the link must stay, has no protection, and the advice says so.
#[test]
fn a_planner_publishes_advice() {
    let directory = tempfile::tempdir().unwrap();
    let Some(mut server) = redis(directory.path()) else { return };
    let tree = directory.path().join("leaf");
    port(&tree, 0, 0);
    let (leaf_port, planner_port) = (free_port(), free_port());
    let textfile = directory.path().join("wiremend.prom");
    let mut leaf = Daemon::start(
        command()
            .args(["monitor", "run", "--config"])
            .arg(config(directory.path()))
            .arg("--sysfs")
            .arg(&tree)
            .args(["--metrics-listen", &leaf_port.to_string(), "--textfile"])
            .arg(&textfile),
    );
    let planner = planner_config(directory.path(), "");
    let mut first = Daemon::start(
        command()
            .args(["monitor", "planner", "--config"])
            .arg(&planner)
            .args(["--metrics-listen", &planner_port.to_string()]),
    );
    first.await_log("this planner is the leader");
    await_that(|| has_read(directory.path(), "leaf-1:eth0"));
    port(&tree, 1_000_000, 1_000);
    leaf.await_log("eth0: corrupts");
    first.await_log(
        "leaf-1:eth0 - spine-3:eth0: wait: it loses 1.0e-3, and must stay: ToR leaf-1 would keep 0 of 100 Gb/s",
    );
    let advice = || cli(directory.path(), &["HGET", "wiremend:advice:leaf-1:eth0", "body"]);
    await_that(|| advice().contains("no relay runs on the sending port"));
    await_that(|| {
        get(planner_port, "/metrics").contains("wiremend_planner_link_advice{node=\"leaf-1\",device=\"eth0\"")
    });
    await_that(|| get(leaf_port, "/metrics").contains("wiremend_monitor_corrupting{device=\"eth0\"} 1\n"));
    await_that(|| {
        fs::read_to_string(&textfile).is_ok_and(|text| text.contains("wiremend_monitor_polls_total"))
    });
    // Another one waits; when the first is gone for good, it would lead after its lease.
    let other = directory.path().join("other.toml");
    fs::copy(&planner, &other).unwrap();
    let mut second = Daemon::start(command().args(["monitor", "planner", "--config"]).arg(&other));
    second.await_log("another planner is the leader");
    wiremend(&["monitor", "release", "--config", planner.to_str().unwrap()]).ok();
    server.kill().unwrap();
    server.wait().unwrap();
    first.await_log("stored advice stays in effect");
    for daemon in [&mut leaf, &mut first, &mut second] {
        daemon.ends();
    }
}

#[test]
fn an_invalid_planner_configuration_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let file = planner_config(directory.path(), text);
        let ended = wiremend(&["monitor", "check-config", "--planner", file.to_str().unwrap()]);
        assert!(ended.stderr.lines().count() <= 1, "{}", ended.stderr);
        (ended.code, ended.stderr)
    };
    assert_eq!(check("").0, Some(0));
    for (text, code, why) in [
        (
            "relays = [\"leaf-9:eth0\"]\n",
            2,
            "`leaf-9:eth0` is neither a switch nor a NODE:PORT of the fabric",
        ),
        ("relay = []\n", 2, "planner.toml:1:1: unknown field `relay`"),
        ("fabric = \"fabric.csv\"\n", 2, "not both"),
    ] {
        let (status, stderr) = check(text);
        assert_eq!(status, Some(code), "{stderr}");
        assert!(stderr.contains(why), "`{why}` in {stderr}");
    }
}

/// TLS without a certificate, a missing port, a missing sysfs.
#[test]
fn a_missing_requirement_is_reported_with_the_remedy() {
    let directory = tempfile::tempdir().unwrap();
    let file = config(directory.path());
    let plain = fs::read_to_string(&file).unwrap();
    let run = |text: &str, sysfs: &str| {
        fs::write(&file, text).unwrap();
        let config = file.to_str().unwrap();
        let ended = wiremend(&["monitor", "run", "--config", config, "--sysfs", sysfs, "--for", "1s"]);
        assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        (ended.code, ended.stderr)
    };
    let tls = |section: &str| {
        let socket = directory.path().join("redis.sock");
        plain
            .replace(&format!("\"{}\"", socket.display()), "\"localhost:6379\"")
            .replace("[[link]]", &format!("{section}\n[[link]]"))
    };
    let tree = directory.path().join("tree");
    port(&tree, 0, 0);
    let tree = tree.to_str().unwrap();
    for (text, sysfs, code, why) in [
        (tls("[redis.tls]"), tree, 2, "leaf-1.toml:5:1: missing field `ca_file`"),
        (
            tls("[redis.tls]\nca_file = \"no.pem\""),
            tree,
            3,
            "the file must contain the CA certificate of the Redis server in PEM",
        ),
        (tls("[redis.tls]\nca_file = \"a\"\nkey_file = \"b\""), tree, 2, "belong together"),
        (
            plain.replace("port = \"eth0\"", "port = \"eth1\""),
            tree,
            2,
            "link eth1: unknown interface `eth1`; did you mean `eth0`",
        ),
        (plain.clone(), "nowhere", 3, "set --sysfs to the mount point of sysfs"),
    ] {
        let (status, stderr) = run(&text, sysfs);
        assert_eq!(status, Some(code), "{stderr}");
        assert!(stderr.contains(why), "`{why}` in {stderr}");
    }
    let ended =
        wiremend(&["monitor", "run", "--config", file.to_str().unwrap(), "--metrics-listen", "0.0.0.0:9470"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
}

pub(crate) fn config(directory: &Path) -> std::path::PathBuf {
    let file = directory.join("leaf-1.toml");
    let socket = directory.join("redis.sock");
    let text = format!(
        "node = \"leaf-1\"\npoll = \"50ms\"\n[redis]\naddress = \"{}\"\n[[link]]\nport = \"eth0\"\npeer = \"spine-3:eth0\"\n",
        socket.display()
    );
    fs::write(&file, text).unwrap();
    file
}

pub(crate) fn planner_config(directory: &Path, more: &str) -> std::path::PathBuf {
    let file = directory.join("planner.toml");
    let socket = directory.join("redis.sock");
    fs::write(&file, format!("{more}[redis]\naddress = \"{}\"\n{FABRIC}", socket.display())).unwrap();
    file
}

pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub(crate) fn get(port: u16, path: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(("127.0.0.1", port)) else { return String::new() };
    let mut answer = String::new();
    let _ = stream.write_all(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes());
    let _ = stream.read_to_string(&mut answer);
    answer
}
