//! `cargo xtask bench serve`: the page of a large fabric, with many viewers.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::shell;

/// The fabric of the papers: pods of 48 racks and 4 fabric switches, 48 spines in each of 4 planes.
const PODS: usize = 261;
const TORS: usize = 48;
const PLANES: usize = 4;
const SPINES: usize = 48;
const CORRUPTING: usize = 300;
const VIEWERS: usize = 50;
const UPDATES: usize = 40;
/// Limits: the first view in seconds and bytes, and the CPU time of the server for an update.
const VIEW_S_MAX: f64 = 1.0;
const VIEW_BYTES_MAX: usize = 300_000;
const UPDATE_CPU_S_MAX: f64 = 0.05;
/// Clock ticks per second in `/proc` on all supported machines.
const TICKS_PER_S: f64 = 100.0;

/// Measures and prints; fails if a limit is exceeded.
pub(super) fn run(program: &Path) -> Result<()> {
    let site = Site::start(program)?;
    let begun = Instant::now();
    let mut bytes = 0;
    for path in ["/", "/page.js", "/page.css", "/icon.svg"] {
        bytes += site.get(path)?.len();
    }
    let mut stream = site.stream()?;
    bytes += read_event(&mut stream, "event: tick")?;
    let view_s = begun.elapsed().as_secs_f64();
    println!("the first view: {:.2} s, {:.0} kB over the wire", view_s, bytes as f64 / 1e3);

    let (seen, events) = mpsc::channel();
    for _ in 0..VIEWERS {
        let (mut stream, seen) = (site.stream()?, seen.clone());
        read_event(&mut stream, "event: tick")?;
        thread::spawn(
            move || {
                while read_event(&mut stream, "event: change").is_ok() && seen.send(()).is_ok() {}
            },
        );
    }
    let (idle_from, begun) = (site.cpu_s()?, Instant::now());
    thread::sleep(Duration::from_secs(5));
    let idle = (site.cpu_s()? - idle_from) / begun.elapsed().as_secs_f64();
    let (cpu_from, begun) = (site.cpu_s()?, Instant::now());
    let mut slowest = Duration::ZERO;
    for update in 0..UPDATES {
        let sent = Instant::now();
        site.pipe(&record(&tor_port(update), &loss(1e-3 + update as f64 * 1e-5), true))?;
        for _ in 0..VIEWERS {
            events.recv_timeout(Duration::from_mins(1)).context("a viewer got no update")?;
        }
        slowest = slowest.max(sent.elapsed());
    }
    let all = site.cpu_s()? - cpu_from;
    let update_s = (all - idle * begun.elapsed().as_secs_f64()).max(0.0) / UPDATES as f64;
    println!(
        "{UPDATES} updates to {VIEWERS} viewers: {:.1} ms of CPU each beside {:.1} % of a core without updates; the slowest \
         after {:.0} ms",
        update_s * 1e3,
        idle * 100.0,
        slowest.as_secs_f64() * 1e3
    );
    let mut missed = Vec::new();
    if view_s > VIEW_S_MAX {
        missed.push(format!("the first view takes {view_s:.2} s"));
    }
    if bytes > VIEW_BYTES_MAX {
        missed.push(format!("the first view has {bytes} bytes"));
    }
    if update_s > UPDATE_CPU_S_MAX {
        missed.push(format!("an update takes {:.1} ms", update_s * 1e3));
    }
    ensure!(missed.is_empty(), "limits exceeded: {}", missed.join("; "));
    Ok(())
}

/// Reads a stream to the end of the next event of a kind; returns the number of bytes.
fn read_event(stream: &mut BufReader<TcpStream>, kind: &str) -> Result<usize> {
    let (mut bytes, mut is_found) = (0, false);
    loop {
        let mut line = String::new();
        let got = stream.read_line(&mut line).context("a stream of events")?;
        ensure!(got > 0, "the stream ended");
        bytes += got;
        is_found |= line.trim_end() == kind;
        if is_found && line.trim_end().is_empty() {
            return Ok(bytes);
        }
    }
}

struct Site {
    folder: PathBuf,
    redis: Child,
    page: Child,
    address: String,
}

impl Site {
    fn start(program: &Path) -> Result<Self> {
        let folder = shell::target_dir()?.join("bench-page");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).context("cannot create the folder of the measurement")?;
        fs::write(folder.join("fabric.csv"), fabric()).context("cannot write the fabric")?;
        let socket = folder.join("redis.sock");
        let config = folder.join("planner.toml");
        let text = format!("fabric = \"fabric.csv\"\n[redis]\naddress = \"{}\"\n", socket.display());
        fs::write(&config, text).context("cannot write the configuration")?;
        let redis = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--unixsocket", "redis.sock"])
            .current_dir(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start `redis-server`")?;
        while !socket.exists() {
            thread::sleep(Duration::from_millis(20));
        }
        fill(&socket)?;
        let begun = Instant::now();
        let mut page = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start `wiremend serve`")?;
        let mut lines = BufReader::new(page.stderr.take().expect("stderr is a pipe")).lines();
        let mut line_with = |part: &str| {
            let found = lines.by_ref().map_while(Result::ok).find(|line| line.contains(part));
            found.with_context(|| format!("the page does not log `{part}`"))
        };
        let started = line_with("the page is at http://")?;
        let address =
            started.split_once("http://").map_or("", |(_, rest)| rest).trim_end_matches('/').to_owned();
        line_with("the records are read")?;
        println!("{} links read in {:.1} s", links(), begun.elapsed().as_secs_f64());
        thread::spawn(move || lines.for_each(drop));
        Ok(Self { folder, redis, page, address })
    }

    fn get(&self, path: &str) -> Result<Vec<u8>> {
        let mut answer = Vec::new();
        self.ask(path)?.read_to_end(&mut answer).with_context(|| format!("GET {path}"))?;
        ensure!(answer.starts_with(b"HTTP/1.1 200"), "GET {path}: {}", String::from_utf8_lossy(&answer));
        Ok(answer)
    }

    fn stream(&self) -> Result<BufReader<TcpStream>> {
        Ok(BufReader::new(self.ask("/api/stream")?))
    }

    fn ask(&self, path: &str) -> Result<TcpStream> {
        let mut stream = TcpStream::connect(&self.address).context("the page")?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address)?;
        Ok(stream)
    }

    fn pipe(&self, commands: &[u8]) -> Result<()> {
        pipe(&self.folder.join("redis.sock"), commands)
    }

    /// CPU time of the server until now.
    fn cpu_s(&self) -> Result<f64> {
        let path = format!("/proc/{}/stat", self.page.id());
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read `{path}`"))?;
        let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        // `utime` and `stime` are fields 14 and 15; the name of the program is field 2.
        let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<f64>().ok());
        Ok((ticks(11).context("no CPU time")? + ticks(12).context("no CPU time")?) / TICKS_PER_S)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        for child in [&mut self.page, &mut self.redis] {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn links() -> usize {
    PODS * PLANES * (TORS + SPINES)
}

/// The fabric as a file.
fn fabric() -> String {
    let mut text = String::new();
    for plane in 0..PLANES {
        for spine in 0..SPINES {
            let _ = writeln!(text, "switch,s{plane}-{spine},spine");
        }
    }
    for pod in 0..PODS {
        for plane in 0..PLANES {
            let _ = writeln!(text, "switch,f{pod}-{plane},fabric,p{pod}");
        }
        for tor in 0..TORS {
            let _ = writeln!(text, "switch,t{pod}-{tor},tor,p{pod}");
            for plane in 0..PLANES {
                let _ = writeln!(text, "link,t{pod}-{tor},u{plane},f{pod}-{plane},d{tor}");
            }
        }
        for (plane, spine) in (0..PLANES).flat_map(|plane| (0..SPINES).map(move |spine| (plane, spine))) {
            let _ = writeln!(text, "link,f{pod}-{plane},u{spine},s{plane}-{spine},d{pod}");
        }
    }
    text
}

fn tor_port(number: usize) -> String {
    format!("t{}-{}:u{}", number % PODS, number / PODS, number % PLANES)
}

/// All ports observe; some links corrupt, with advice and the action of the other end.
fn fill(socket: &Path) -> Result<()> {
    let mut commands = Vec::new();
    for pod in 0..PODS {
        for plane in 0..PLANES {
            for tor in 0..TORS {
                commands.extend(record(&format!("t{pod}-{tor}:u{plane}"), &Value::Null, false));
                commands.extend(record(&format!("f{pod}-{plane}:d{tor}"), &Value::Null, false));
            }
            for spine in 0..SPINES {
                commands.extend(record(&format!("f{pod}-{plane}:u{spine}"), &Value::Null, false));
                commands.extend(record(&format!("s{plane}-{spine}:d{pod}"), &Value::Null, false));
            }
        }
    }
    for number in 0..CORRUPTING {
        let port = tor_port(number);
        commands.extend(record(&port, &loss(1e-5 * (number + 1) as f64), false));
        let reason = "it loses 1.0e-3, and every ToR and pod keeps enough capacity without it";
        let advice = json!({ "action": "drain", "protect": true, "binding": false, "reason": reason });
        let key = format!("wiremend:advice:{port}");
        commands.extend(command(&["HSET", &key, "version", "1", "body", &advice.to_string()]));
    }
    pipe(socket, &commands)
}

fn loss(ratio: f64) -> Value {
    let errors = (1e7 * ratio) as u64;
    json!({ "frames": 10_000_000, "errors": errors, "loss": ratio, "low": ratio * 0.9, "high": ratio * 1.1 })
}

/// The commands that store an observation, and the message about it.
fn record(port: &str, corrupting: &Value, is_told: bool) -> Vec<u8> {
    let body = json!({ "corrupting": corrupting }).to_string();
    let (key, node) = (format!("wiremend:observation:{port}"), port.split(':').next().unwrap_or(port));
    let mut commands = command(&["HSET", &key, "version", "1", "body", &body]);
    if is_told {
        let entry = ["port", port, "kind", "observation", "version", "1", "body", &body];
        let stream = format!("wiremend:audit:{node}");
        commands.extend(command(&[&["XADD", &stream, "*"], &entry[..]].concat()));
        let channel = format!("wiremend:notify:{node}:{node}");
        commands.extend(command(&["PUBLISH", &channel, &format!("observation {port}")]));
    }
    commands
}

/// A command in the protocol of Redis.
fn command(words: &[&str]) -> Vec<u8> {
    let mut text = format!("*{}\r\n", words.len());
    for word in words {
        let _ = write!(text, "${}\r\n{word}\r\n", word.len());
    }
    text.into_bytes()
}

fn pipe(socket: &Path, commands: &[u8]) -> Result<()> {
    let mut client = Command::new("redis-cli")
        .arg("-s")
        .arg(socket)
        .arg("--pipe")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start `redis-cli`")?;
    client.stdin.take().expect("stdin is a pipe").write_all(commands).context("redis-cli")?;
    ensure!(client.wait().context("redis-cli")?.success(), "`redis-cli --pipe` failed");
    Ok(())
}
