//! A real Redis on loopback, of this test alone.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use wiremend_monitor::bus::{Connection, Place, Server};

/// A server that ends with the test.
pub(crate) struct Redis {
    child: Child,
    directory: TempDir,
    options: Vec<String>,
}

impl Redis {
    /// Starts one, if there is any on this machine; where everything must be there, its absence is a failure.
    pub(crate) fn start(options: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let options: Vec<String> = options.iter().map(|&option| option.to_owned()).collect();
        match spawn(&directory, &options) {
            Ok(child) => {
                let redis = Self { child, directory, options };
                redis.await_ready();
                Some(redis)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound && !must_be_there() => {
                eprintln!("skipped: there is no redis-server");
                None
            }
            Err(error) => panic!("redis-server: {error}"),
        }
    }

    pub(crate) fn server(&self) -> Server {
        Server { place: Place::Unix(self.socket()), tls: None, login: None, patience: Duration::from_mins(1) }
    }

    /// The same for somebody who does not wait long.
    pub(crate) fn hasty(&self) -> Server {
        Server { patience: Duration::from_secs(2), ..self.server() }
    }

    pub(crate) fn connection(&self) -> Connection {
        Connection::open(&self.server()).unwrap()
    }

    /// It hangs from here on, or goes on.
    pub(crate) fn hang(&self, on: bool) {
        let signal = if on { "-STOP" } else { "-CONT" };
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Kills it as a crash would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn restart(&mut self) {
        let _ = fs::remove_file(self.socket());
        self.child = spawn(&self.directory, &self.options).unwrap();
        self.await_ready();
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("redis.sock")
    }

    fn await_ready(&self) {
        let answers =
            || Connection::open(&self.server()).and_then(|mut redis| redis.call(&[b"PING"])).is_ok();
        for _ in 0..30_000 {
            if answers() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("redis-server does not answer");
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(directory: &TempDir, options: &[String]) -> io::Result<Child> {
    Command::new("redis-server")
        .args(["--port", "0", "--unixsocket", "redis.sock", "--save", "", "--appendonly", "yes"])
        .args(["--appendfsync", "always"])
        .args(options)
        .current_dir(directory.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// Whether something may be missing on this machine.
pub(crate) fn may_lack() -> bool {
    !must_be_there()
}

#[expect(clippy::disallowed_methods, reason = "whether this runs where everything must be there")]
fn must_be_there() -> bool {
    std::env::var_os("CI").is_some()
}

#[expect(clippy::disallowed_methods, reason = "a real server takes real time")]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}
