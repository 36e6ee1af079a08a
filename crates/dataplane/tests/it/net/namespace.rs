//! Network namespaces and frames for tests.

use std::any::type_name;
use std::process::Command;
use std::time::Duration;

use wiremend_dataplane::net::tc::IngressRule;
use wiremend_dataplane::net::{self, Interface, NetError, NetNs, VethEnd};
use wiremend_dataplane::sys::namespace::start_in_user;
use wiremend_dataplane::sys::raw::{CapturedFrame, RawSocket};

/// `EtherType` of the link header.
pub(crate) const LINK: u16 = 0x88B5;
pub(crate) const TIME_LIMIT: Duration = Duration::from_mins(5);
/// Waiting time for events that must not happen.
pub(crate) const QUIET_TIME: Duration = Duration::from_millis(50);

/// Runs the body of a test in an empty network namespace, with the capabilities to change it.
pub(crate) fn in_own_namespace<Work: FnOnce() + Send>(work: Work) {
    match NetNs::new() {
        Ok(network) => network.run(work).unwrap(),
        Err(NetError::NotPermitted { .. }) if !set("WIREMEND_TEST_INSIDE") => {
            // The type name of the closure contains the name of the test.
            let place = type_name::<Work>().trim_end_matches("::{{closure}}");
            let (_, test) = place.split_once("::").expect("the crate comes first");
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([test, "--exact", "--nocapture"]).env("WIREMEND_TEST_INSIDE", "1");
            start_in_user(&mut command);
            match command.output() {
                Ok(output) => {
                    let [stdout, stderr] =
                        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
                    eprint!("{stderr}");
                    assert!(
                        output.status.success() && stdout.contains("1 passed"),
                        "inside a user namespace: {stdout}"
                    );
                }
                Err(error) => skip(&format!("neither root nor user namespaces: {error}")),
            }
        }
        Err(refused) => skip(&refused.to_string()),
    }
}

pub(crate) fn skip(why: &str) {
    assert!(!set("CI"), "must run where CI is set: {why}");
    eprintln!("skipped: {why}");
}

#[expect(clippy::disallowed_methods, reason = "the environment says where a test runs")]
fn set(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}

/// A veth pair on which the host sends nothing, with a socket on each end.
pub(crate) fn quiet_pair(a: &str, b: &str) -> [RawSocket; 2] {
    net::new_veth(VethEnd::here(a), VethEnd::here(b)).unwrap();
    for name in [a, b] {
        net::disable_link_local(name).unwrap();
        net::set_up(name, true).unwrap();
    }
    [a, b].map(|name| {
        let interface = Interface::await_running(name, TIME_LIMIT).unwrap();
        assert!(interface.running);
        RawSocket::open(interface.index).unwrap()
    })
}

pub(crate) fn frame(ethertype: u16, fill: u8) -> Vec<u8> {
    frame_with_length(60, ethertype, fill)
}

pub(crate) fn frame_with_length(length: usize, ethertype: u16, fill: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(ethertype.to_be_bytes());
    frame.resize(length, fill);
    frame
}

pub(crate) fn await_incoming(socket: &RawSocket) -> CapturedFrame {
    loop {
        let seen = socket.receive(TIME_LIMIT).unwrap().expect("a frame arrives");
        if !seen.outgoing {
            return seen;
        }
    }
}

pub(crate) fn redirect(from: &str, to: &str) -> IngressRule {
    IngressRule::Redirect { from: from.to_owned(), to: to.to_owned(), except_ethertype: LINK }
}
