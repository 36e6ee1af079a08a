//! Two guests on a bridge, in a namespace of their own: everything here with the real thing.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tempfile::tempdir;
use wiremend_units::Span;
use wiremend_wire::MacAddr;

use super::perftest::{self, Asked};
use super::{Guest, Image, Parts, Seat, Tap, Trouble, kernel};

/// Says to this program that it is inside already, and what to do there.
const INSIDE: &str = "WIREMEND_TRIAL";
const MEASURE: &str = "measure";
const CRASH: &str = "crash";
/// Alone it takes ten seconds.
const START_LIMIT: Duration = Duration::from_mins(10);

/// Unmodified soft-RoCE peers come up, measure, count, and are gone afterwards.
#[test]
fn two_guests_write_to_each_other() {
    if std::env::var_os(INSIDE).is_some_and(|what| what == MEASURE) {
        return measure(&Parts::find().unwrap(), &std::env::temp_dir());
    }
    let directory = tempdir().unwrap();
    if let Some(mut inside) = inside("two_guests_write_to_each_other", MEASURE, directory.path()) {
        let output = inside.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
        println!("{text}");
        assert_eq!(processes(&text).len(), 2, "{text}");
        assert!(processes(&text).iter().all(|process| !is_running(process)), "{text}");
    }
}

/// Whoever starts a guest and dies takes it along.
#[test]
fn guests_end_with_the_process_that_started_them() {
    if std::env::var_os(INSIDE).is_some_and(|what| what == CRASH) {
        crash(&Parts::find().unwrap(), &std::env::temp_dir());
    }
    let directory = tempdir().unwrap();
    if let Some(mut inside) = inside("guests_end_with_the_process_that_started_them", CRASH, directory.path())
    {
        let output = inside.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let [process] = &processes(&text)[..] else { panic!("{output:?}") };
        let until = Instant::now() + Duration::from_mins(5);
        while is_running(process) {
            assert!(Instant::now() < until, "process {process} outlives its parent");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

fn measure(parts: &Parts, directory: &Path) {
    ip("link add bridge type bridge");
    ip("link set bridge up");
    let started = Instant::now();
    let image = Image::build(parts, directory).unwrap();
    println!("image of {} bytes in {:?}", fs::metadata(&image.root).unwrap().len(), started.elapsed());
    let [mut a, mut b] = [1, 2].map(|number| start(&image, number, directory));
    for guest in [&mut a, &mut b] {
        guest.wait_ready(START_LIMIT).unwrap();
    }
    println!("both up after {:?}", started.elapsed());
    let before = a.counters().unwrap();
    let limit = Duration::from_mins(5);
    let asked = Asked { bytes: 8, iterations: 200, timeout_exponent: 16, limit };
    let latency = perftest::write_latency(&mut b, &mut a, asked).unwrap();
    println!("{latency:?}");
    assert!(latency.min > Span::from_us(1) && latency.min <= latency.typical, "{latency:?}");
    assert!(latency.p99 <= latency.max && latency.average <= latency.max, "{latency:?}");
    let asked = Asked { bytes: 65536, iterations: 50, timeout_exponent: 16, limit };
    let bandwidth = perftest::write_bandwidth(&mut b, &mut a, asked).unwrap();
    println!("{bandwidth:?}");
    assert!(bandwidth.average_mib_per_s > 0.1, "{bandwidth:?}");
    let after = a.counters().unwrap();
    println!("{after:?}");
    // Each message of 64 KiB takes 64 packets.
    assert!(after["sent_pkts"] - before["sent_pkts"] >= 200 + 50 * 64, "{before:?} {after:?}");
    let refused = a.read("echo no; exit 4", limit).unwrap_err().to_string();
    assert_eq!(refused, "`echo no; exit 4` in guest a ended with 4: no");
    assert!(a.run("poweroff -f", Duration::from_secs(5)).is_err(), "a guest that is off says nothing");
    println!("all in {:?}", started.elapsed());
}

fn crash(parts: &Parts, directory: &Path) -> ! {
    ip("link add bridge type bridge");
    let image = Image::build(parts, directory).unwrap();
    let guest = start(&image, 1, directory);
    std::thread::sleep(Duration::from_millis(500));
    assert!(is_running(&guest.process_id().to_string()), "it runs as long as we do");
    // Nothing is dropped.
    std::process::exit(1);
}

fn start(image: &Image<'_>, number: u8, directory: &Path) -> Guest {
    let tap = format!("tap{number}");
    ip(&format!("tuntap add {tap} mode tap"));
    ip(&format!("link set {tap} master bridge up"));
    let seat = Seat {
        name: ["a", "b"][usize::from(number) - 1],
        tap: Tap::Named(tap),
        address: Ipv4Addr::new(198, 18, 0, number),
        mac: MacAddr::local(number.into()),
        directory,
        stop: Arc::default(),
    };
    let guest = Guest::start(image, seat).unwrap();
    println!("process {}", guest.process_id());
    guest
}

/// This very test, in a network namespace that ends with it and with a directory of its own; none if something is missing here.
fn inside(test: &str, what: &str, directory: &Path) -> Option<Command> {
    if let Some(why) = &*LACKING {
        return skip(why);
    }
    let ways = [&["--net"][..], &["--map-root-user", "--net"]];
    let works = |way: &&&[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(**way).arg("test").args(["-w", "/dev/net/tun"]).stderr(Stdio::null());
        unshare.status().is_ok_and(|status| status.success())
    };
    let Some(way) = ways.iter().find(works) else {
        return skip("no network namespace with TAP interfaces can be made; root can");
    };
    let mut command = Command::new("unshare");
    command.args(*way).arg(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "--nocapture",
        &format!("{}::{test}", module_path!().split_once("::").unwrap().1),
    ]);
    command.env(INSIDE, what).env("TMPDIR", directory);
    Some(command)
}

/// Why there can be no guests here. The kernel is fetched, once for all tests.
static LACKING: LazyLock<Option<String>> = LazyLock::new(|| {
    let found = Parts::find().or_else(|trouble| match trouble {
        Trouble::NoKernel => kernel::fetch().and_then(|()| Parts::find()),
        other => Err(other),
    });
    found.err().map(|trouble| trouble.to_string())
});

fn skip<T>(why: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    eprintln!("skipped: {why}");
    None
}

fn processes(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("process ")).map(str::to_owned).collect()
}

fn is_running(process: &str) -> bool {
    // One that has ended and was not waited for is no longer running.
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}
