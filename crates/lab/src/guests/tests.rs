//! Tests with two real guests on a bridge in a network namespace.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tempfile::tempdir;
use wiremend_units::Span;
use wiremend_wire::MacAddr;

use super::perftest::{self, PerftestArguments};
use super::{Guest, GuestConfig, GuestError, GuestFiles, Image, TapDevice, kernel};

/// Environment variable that selects the part of a test to run inside the namespace.
const INSIDE: &str = "WIREMEND_TRIAL";
const MEASURE: &str = "measure";
const CRASH: &str = "crash";
/// On an idle machine the start takes ten seconds.
const START_LIMIT: Duration = Duration::from_mins(10);

/// Unmodified soft-RoCE guests start, measure, count and end.
#[test]
fn two_guests_write_to_each_other() {
    if std::env::var_os(INSIDE).is_some_and(|what| what == MEASURE) {
        return measure(&GuestFiles::find().unwrap(), &std::env::temp_dir());
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

#[test]
fn guests_end_with_the_process_that_started_them() {
    if std::env::var_os(INSIDE).is_some_and(|what| what == CRASH) {
        crash(&GuestFiles::find().unwrap(), &std::env::temp_dir());
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

fn measure(files: &GuestFiles, directory: &Path) {
    ip("link add bridge type bridge");
    ip("link set bridge up");
    let started = Instant::now();
    let image = Image::build(files, directory).unwrap();
    println!("image of {} bytes in {:?}", fs::metadata(&image.root).unwrap().len(), started.elapsed());
    let [mut a, mut b] = [1, 2].map(|number| start(&image, number, directory));
    for guest in [&mut a, &mut b] {
        guest.wait_ready(START_LIMIT).unwrap();
    }
    println!("both up after {:?}", started.elapsed());
    let before = a.counters().unwrap();
    let limit = Duration::from_mins(5);
    let arguments = PerftestArguments { bytes: 8, iterations: 200, timeout_exponent: 16, limit };
    let latency = perftest::write_latency(&mut b, &mut a, arguments).unwrap();
    println!("{latency:?}");
    assert!(latency.min > Span::from_us(1) && latency.min <= latency.typical, "{latency:?}");
    assert!(latency.p99 <= latency.max && latency.average <= latency.max, "{latency:?}");
    let arguments = PerftestArguments { bytes: 65536, iterations: 50, timeout_exponent: 16, limit };
    let bandwidth = perftest::write_bandwidth(&mut b, &mut a, arguments).unwrap();
    println!("{bandwidth:?}");
    assert!(bandwidth.average_mib_per_s > 0.1, "{bandwidth:?}");
    let after = a.counters().unwrap();
    println!("{after:?}");
    // Each message of 64 KiB takes 64 packets.
    assert!(after["sent_pkts"] - before["sent_pkts"] >= 200 + 50 * 64, "{before:?} {after:?}");
    let refused = a.read("echo no; exit 4", limit).unwrap_err().to_string();
    assert_eq!(refused, "`echo no; exit 4` in guest a ended with 4: no");
    // Orphans end while the next commands are read. Each command arrives whole, and only the init script has
    // process id 1.
    for number in 0..100 {
        let text = a.read(&format!("(sleep 0.01) & echo {number} $PPID"), limit).unwrap();
        assert!(text.starts_with(&format!("{number} ")) && !text.ends_with(" 1\n"), "{number}: {text}");
    }
    assert!(a.run("poweroff -f", Duration::from_secs(5)).is_err(), "a guest that is off does not reply");
    println!("all in {:?}", started.elapsed());
}

fn crash(files: &GuestFiles, directory: &Path) -> ! {
    ip("link add bridge type bridge");
    let image = Image::build(files, directory).unwrap();
    let guest = start(&image, 1, directory);
    std::thread::sleep(Duration::from_millis(500));
    assert!(is_running(&guest.process_id().to_string()), "it runs while its parent does");
    // Exit without dropping the guest.
    std::process::exit(1);
}

fn start(image: &Image<'_>, number: u8, directory: &Path) -> Guest {
    let tap = format!("tap{number}");
    ip(&format!("tuntap add {tap} mode tap"));
    ip(&format!("link set {tap} master bridge up"));
    let config = GuestConfig {
        name: ["a", "b"][usize::from(number) - 1],
        tap: TapDevice::Named(tap),
        address: Ipv4Addr::new(198, 18, 0, number),
        mac: MacAddr::local(number.into()),
        directory,
        stop: Arc::default(),
    };
    let guest = Guest::start(image, config).unwrap();
    println!("process {}", guest.process_id());
    guest
}
/// Returns the command that runs this test in a network namespace. `None` if something is missing.
fn inside(test: &str, what: &str, directory: &Path) -> Option<Command> {
    if let Some(why) = &*MISSING {
        return skip(why);
    }
    let options = [&["--net"][..], &["--map-root-user", "--net"]];
    let works = |option: &&&[&str]| {
        let mut unshare = Command::new("unshare");
        unshare.args(**option).arg("test").args(["-w", "/dev/net/tun"]).stderr(Stdio::null());
        unshare.status().is_ok_and(|status| status.success())
    };
    let Some(option) = options.iter().find(works) else {
        return skip("cannot create a network namespace with TAP interfaces; run as root");
    };
    let mut command = Command::new("unshare");
    command.args(*option).arg(std::env::current_exe().unwrap());
    command.args([
        "--exact",
        "--nocapture",
        &format!("{}::{test}", module_path!().split_once("::").unwrap().1),
    ]);
    command.env(INSIDE, what).env("TMPDIR", directory);
    Some(command)
}

/// Why guests cannot run here. Fetches the kernel once for all tests.
static MISSING: LazyLock<Option<String>> = LazyLock::new(|| {
    let found = GuestFiles::find().or_else(|error| match error {
        GuestError::NoKernel => kernel::fetch().and_then(|()| GuestFiles::find()),
        other => Err(other),
    });
    found.err().map(|error| error.to_string())
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
    // A zombie is not running.
    let state = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split(' ')).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}
