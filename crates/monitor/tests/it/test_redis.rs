//! A real Redis server for one test.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use wiremend_monitor::redis::{RedisConnection, RedisServer, ServerAddress};

/// A server that ends with the test.
pub(crate) struct TestRedis {
    child: Child,
    directory: TempDir,
    options: Vec<String>,
}

impl TestRedis {
    /// Starts a server; `None` if it is not installed and not required.
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

    pub(crate) fn server(&self) -> RedisServer {
        RedisServer {
            address: ServerAddress::Unix(self.socket()),
            tls: None,
            login: None,
            timeout: Duration::from_mins(1),
        }
    }

    /// The same server with a short timeout.
    pub(crate) fn hasty(&self) -> RedisServer {
        RedisServer { timeout: Duration::from_secs(2), ..self.server() }
    }

    pub(crate) fn connection(&self) -> RedisConnection {
        RedisConnection::open(&self.server()).unwrap()
    }

    /// Stops or continues the process.
    pub(crate) fn hang(&self, on: bool) {
        let signal = if on { "-STOP" } else { "-CONT" };
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    }

    /// Kills the process, as in a crash.
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
            || RedisConnection::open(&self.server()).and_then(|mut redis| redis.call(&[b"PING"])).is_ok();
        for _ in 0..30_000 {
            if answers() {
                return;
            }
            sleep(Duration::from_millis(10));
        }
        panic!("redis-server does not answer");
    }
}

impl Drop for TestRedis {
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

/// Returns whether external programs may be missing.
pub(crate) fn may_lack() -> bool {
    !must_be_there()
}

#[expect(clippy::disallowed_methods, reason = "CI requires all external programs")]
fn must_be_there() -> bool {
    std::env::var_os("CI").is_some()
}

#[expect(clippy::disallowed_methods, reason = "a real server takes real time to start")]
fn sleep(time: Duration) {
    std::thread::sleep(time);
}
