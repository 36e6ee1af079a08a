//! A network of a test's own, and frames in it.

use std::any::type_name;
use std::process::Command;
use std::time::Duration;

use wiremend_dataplane::net::tc::Rule;
use wiremend_dataplane::net::{self, End, Interface, NetNs, Refused};
use wiremend_dataplane::sys::namespace::start_in_user;
use wiremend_dataplane::sys::plain::{PlainSocket, Seen};

/// The link's own type of frames.
pub(crate) const LINK: u16 = 0x88B5;
/// Longer than anything takes that does happen.
pub(crate) const SOON: Duration = Duration::from_mins(5);
/// Longer than anything takes that should not happen.
pub(crate) const NOTHING: Duration = Duration::from_millis(50);

/// Runs the body of a test in an empty network of its own, with the rights to change it.
pub(crate) fn in_own_network<Work: FnOnce() + Send>(work: Work) {
    match NetNs::new() {
        Ok(network) => network.run(work).unwrap(),
        Err(Refused::NotPermitted { .. }) if !set("WIREMEND_TEST_INSIDE") => {
            // The body is a closure in the test, and the type of a closure is named after where it stands.
            let place = type_name::<Work>().trim_end_matches("::{{closure}}");
            let (_, test) = place.split_once("::").expect("the crate comes first");
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.args([test, "--exact", "--nocapture"]).env("WIREMEND_TEST_INSIDE", "1");
            start_in_user(&mut command);
            match command.output() {
                Ok(output) => {
                    let [told, warned] =
                        [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
                    eprint!("{warned}");
                    assert!(
                        output.status.success() && told.contains("1 passed"),
                        "inside a user namespace: {told}"
                    );
                }
                Err(error) => skip(&format!("neither root nor user namespaces: {error}")),
            }
        }
        Err(refused) => skip(&refused.to_string()),
    }
}

/// Says that a test cannot run here, which is a failure where `CI` is set.
pub(crate) fn skip(why: &str) {
    assert!(!set("CI"), "must run where CI is set: {why}");
    eprintln!("skipped: {why}");
}

#[expect(clippy::disallowed_methods, reason = "the environment says where a test runs")]
fn set(variable: &str) -> bool {
    std::env::var_os(variable).is_some()
}

/// A pair that is up and silent, and a socket on each end.
pub(crate) fn quiet_pair(a: &str, b: &str) -> [PlainSocket; 2] {
    net::new_veth(End::here(a), End::here(b)).unwrap();
    for name in [a, b] {
        net::silence(name).unwrap();
        net::set_up(name, true).unwrap();
    }
    [a, b].map(|name| {
        let interface = Interface::await_running(name, SOON).unwrap();
        assert!(interface.running);
        PlainSocket::open(interface.index).unwrap()
    })
}

pub(crate) fn frame(ethertype: u16, fill: u8) -> Vec<u8> {
    frame_of(60, ethertype, fill)
}

pub(crate) fn frame_of(length: usize, ethertype: u16, fill: u8) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    frame.extend(ethertype.to_be_bytes());
    frame.resize(length, fill);
    frame
}

pub(crate) fn await_incoming(socket: &PlainSocket) -> Seen {
    loop {
        let seen = socket.receive(SOON).unwrap().expect("a frame arrives");
        if !seen.outgoing {
            return seen;
        }
    }
}

pub(crate) fn redirect(from: &str, to: &str) -> Rule {
    Rule::Redirect { from: from.to_owned(), to: to.to_owned(), except_ethertype: LINK }
}
