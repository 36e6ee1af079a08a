//! A client of the protocol by which programs control browsers (W3C `WebDriver`: JSON over HTTP), for headless
//! Chromium.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

use crate::{process, python};

/// Time limit of a condition of a page. A machine that needs longer hangs.
const CONDITION_TIME_MAX: Duration = Duration::from_mins(3);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A browser with one window. It ends with the value.
pub(in crate::test) struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts a browser.
    pub(in crate::test) fn start() -> Result<Self> {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start `chromedriver`")?;
        let mut lines = BufReader::new(driver.stdout.take().expect("stdout is a pipe")).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.strip_suffix('.')?.split_once("successfully on port ")?.1.parse().ok());
        let port = port.context("`chromedriver` names no port")?;
        // The driver must not fill the pipe.
        thread::spawn(move || lines.for_each(drop));
        let mut browser = Self { driver, port, session: String::new() };
        let mut arguments = vec!["--headless=new", "--disable-gpu", "--disable-dev-shm-usage"];
        // The sandbox refuses to run as root.
        if crate::shell::is_root()? {
            arguments.push("--no-sandbox");
        }
        let options = json!({ "args": arguments });
        let wanted = json!({ "goog:chromeOptions": options, "goog:loggingPrefs": { "browser": "ALL" } });
        let session =
            browser.call("POST", "/session", &json!({ "capabilities": { "alwaysMatch": wanted } }))?;
        session["sessionId"].as_str().context("a session without an id")?.clone_into(&mut browser.session);
        Ok(browser)
    }

    /// Sets the size of the page in pixels and the colour scheme that the reader prefers.
    pub(in crate::test) fn show_as(&self, width: u32, height: u32, is_dark: bool) -> Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": features }))
    }

    /// Opens a page and waits until it is loaded.
    pub(in crate::test) fn open(&self, url: &str) -> Result<()> {
        self.post("url", &json!({ "url": url })).map(drop)
    }

    /// Runs the body of a function in the page and returns its value.
    pub(in crate::test) fn run(&self, script: &str) -> Result<Value> {
        self.post("execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression of the page is true.
    pub(in crate::test) fn wait_for(&self, expression: &str) -> Result<()> {
        let begun = Instant::now();
        while self.run(&format!("return !!({expression});"))? != true {
            if begun.elapsed() > CONDITION_TIME_MAX {
                let text = self.run("return document.body.innerText;")?;
                bail!("`{expression}` does not become true; the page shows: {text}");
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    /// Clicks the element of a CSS selector, as a person does.
    pub(in crate::test) fn click(&self, selector: &str) -> Result<()> {
        let element = self.element(selector)?;
        self.post(&format!("element/{element}/click"), &json!({})).map(drop)
    }

    /// Types text into the element of a CSS selector.
    pub(in crate::test) fn type_into(&self, selector: &str, text: &str) -> Result<()> {
        let element = self.element(selector)?;
        self.post(&format!("element/{element}/value"), &json!({ "text": text })).map(drop)
    }

    /// Writes what the window shows to a PNG file.
    pub(in crate::test) fn screenshot(&self, file: &Path) -> Result<()> {
        let image = self.call("GET", &format!("/session/{}/screenshot", self.session), &Value::Null)?;
        let bytes = base64(image.as_str().context("a screenshot that is no text")?)?;
        fs::write(file, bytes).with_context(|| format!("cannot write `{}`", file.display()))
    }

    /// Takes the errors and warnings that the console received.
    pub(in crate::test) fn console_errors(&self) -> Result<Vec<String>> {
        let log = self.post("se/log", &json!({ "type": "browser" }))?;
        let entries = log.as_array().context("a log that is no list")?.iter();
        let is_bad = |entry: &&Value| entry["level"] == "SEVERE" || entry["level"] == "WARNING";
        Ok(entries.filter(is_bad).map(|entry| entry["message"].to_string()).collect())
    }

    /// Judges the page by axe-core; returns the violations of impact serious and critical.
    pub(in crate::test) fn accessibility_faults(&self) -> Result<Vec<String>> {
        let mut python = Command::new(python::environment()?.join("bin/python"));
        let path =
            crate::shell::output(python.args(["-c", "import axe_core_python as a; print(a.__path__[0])"]))?;
        let file = Path::new(path.trim()).join("axe.min.js");
        let axe = fs::read_to_string(&file).with_context(|| format!("cannot read `{}`", file.display()))?;
        // The page's policy forbids inline scripts; the protocol evaluates beside the policy.
        self.run(&axe)?;
        let judge =
            "const done = arguments[arguments.length - 1]; axe.run().then(done, e => done(String(e)));";
        let found = self.post("execute/async", &json!({ "script": judge, "args": [] }))?;
        let violations = found["violations"].as_array().with_context(|| format!("axe-core: {found}"))?.iter();
        let is_serious = |one: &&Value| one["impact"] == "serious" || one["impact"] == "critical";
        let text = |one: &Value| format!("{}: {}: {}", one["id"], one["help"], one["nodes"][0]["html"]);
        Ok(violations.filter(is_serious).map(text).collect())
    }

    fn element(&self, selector: &str) -> Result<String> {
        let found = self.post("element", &json!({ "using": "css selector", "value": selector }))?;
        let id = found.as_object().and_then(|object| object.values().next()).and_then(Value::as_str);
        Ok(id.with_context(|| format!("no element `{selector}`"))?.to_owned())
    }

    fn devtools(&self, command: &str, parameters: &Value) -> Result<()> {
        self.post("goog/cdp/execute", &json!({ "cmd": command, "params": parameters })).map(drop)
    }

    fn post(&self, command: &str, body: &Value) -> Result<Value> {
        self.call("POST", &format!("/session/{}/{command}", self.session), body)
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).context("chromedriver")?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.port,
            body.len()
        )?;
        let mut stream = BufReader::new(stream);
        let mut length = None;
        for line in stream.by_ref().lines() {
            let line = line.context("chromedriver")?;
            if line.is_empty() {
                break;
            }
            let field = line.split_once(':').filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
            length = field.and_then(|(_, value)| value.trim().parse().ok()).or(length);
        }
        let mut answer = vec![0; length.context("an answer without a length")?];
        stream.read_exact(&mut answer).context("chromedriver")?;
        let answer: Value = serde_json::from_slice(&answer).context("an answer that is no JSON")?;
        let value = answer["value"].clone();
        ensure!(value["error"].is_null(), "{path}: {}: {}", value["error"], value["message"]);
        Ok(value)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The browser is a child of the driver.
        process::kill_tree(self.driver.id());
        let _ = self.driver.wait();
    }
}

/// Decodes Base64 with padding (RFC 4648 section 4).
fn base64(text: &str) -> Result<Vec<u8>> {
    let digit = |c: u8| match c {
        b'A'..=b'Z' => Ok(u32::from(c - b'A')),
        b'a'..=b'z' => Ok(u32::from(c - b'a') + 26),
        b'0'..=b'9' => Ok(u32::from(c - b'0') + 52),
        b'+' => Ok(62),
        b'/' => Ok(63),
        _ => bail!("Base64 with the byte {c}"),
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four.iter().try_fold(0, |bits, c| anyhow::Ok(bits << 6 | digit(*c)?))?;
        let three = (bits << (6 * (4 - four.len()))).to_be_bytes();
        bytes.extend_from_slice(&three[1..four.len()]);
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of RFC 4648 section 10.
    #[test]
    fn base64_is_decoded() {
        for (text, bytes) in [("", ""), ("Zg==", "f"), ("Zm8=", "fo"), ("Zm9v", "foo"), ("Zm9vYg==", "foob")]
        {
            assert_eq!(base64(text).unwrap(), bytes.as_bytes());
        }
        assert!(base64("Zm9*").is_err());
    }
}
