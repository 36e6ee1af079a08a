//! A file server for one folder, on this machine only: Python's.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result};

/// Serves the files of a folder until it is dropped.
pub(crate) struct Server {
    process: Child,
    port: u16,
}

impl Server {
    /// Starts on a port; 0 is any free one.
    pub(crate) fn start(folder: &Path, port: u16) -> Result<Self> {
        let mut process = Command::new("python3")
            .args(["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory"])
            .arg(folder)
            .arg(port.to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start `python3`, which serves the page")?;
        // `Serving HTTP on 127.0.0.1 port 8037 (…) ...`
        let mut lines = BufReader::new(process.stdout.take().expect("stdout is a pipe")).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split_once(" port ")?.1.split(' ').next()?.parse().ok());
        // Closed here, the pipe would end the server at its next line.
        thread::spawn(move || lines.for_each(drop));
        let server = Self { process, port: port.unwrap_or_default() };
        port.with_context(|| format!("`python3 -m http.server` does not serve `{}`", folder.display()))?;
        Ok(server)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Serves until the program is stopped.
    pub(crate) fn join(mut self) -> Result<()> {
        self.process.wait().map(drop).context("the file server")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
