//! `wiremend serve`, with a Redis server and hostile records.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Browser;
use super::served::{Ending, looks, served};
use crate::shell;

const TOKEN: &str = "0123456789abcdef0123";
/// A text that would show itself if it became markup.
const HOSTILE: &str =
    "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>";

/// Opens, filters, sorts, opens a link, holds it, sees that in a second window; loses Redis and gets it back.
pub(super) fn run() -> Result<()> {
    let mut site = Site::start()?;
    let [first, second] = [Browser::start()?, Browser::start()?];
    for viewer in [&first, &second] {
        viewer.show_as(1280, 900, false)?;
        viewer.open(&site.url("#/now"))?;
        viewer.wait_for("document.getElementById('status').textContent === 'Live'")?;
        viewer.wait_for("document.querySelectorAll('#links tbody tr').length === 3")?;
    }
    println!("filter, sort, keys");
    table(&first)?;
    println!("hold a link");
    hold(&site, &first, &second)?;
    println!("map and past");
    views(&site, &second)?;
    println!("a thousand idle connections");
    crowd(&site, &second)?;
    println!("without Redis, and again with it");
    outage(&mut site, &first)?;
    println!("light, dark, narrow; axe-core");
    screenshots(&site, &first)?;
    for viewer in [&first, &second] {
        ensure!(viewer.run("return document.title;")? == "Fabric · wiremend", "a record became markup");
    }
    let errors = second.console_errors()?;
    ensure!(errors.is_empty(), "errors in the console: {errors:?}");
    Ok(())
}

fn table(viewer: &Browser) -> Result<()> {
    let links = "return [...document.querySelectorAll('#links tbody tr')].map(row => row.dataset.link);";
    let shown = viewer.run(links)?;
    ensure!(shown == json!(["leaf-1:eth0", "leaf-2:eth1", "leaf-3:eth0"]), "worst first: {shown}");
    let text = viewer.run("return document.querySelector('#links tbody tr').innerText;")?;
    let text = text.as_str().unwrap_or_default();
    for part in ["1.0e-3 (9.3e-4 to 1.1e-3)", "2 copies", "drain: it loses", "planner"] {
        ensure!(text.contains(part), "`{part}` in {text}");
    }
    // By keyboard: to the filter, its text, back to the list, and to the first link.
    viewer.run("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));")?;
    ensure!(viewer.run("return document.activeElement.id;")? == "filter", "`/` goes to the filter");
    viewer.type_into("#filter", "spine-2 LEAF")?;
    viewer.wait_for("document.querySelectorAll('#links tbody tr').length === 1")?;
    ensure!(viewer.run(links)? == json!(["leaf-2:eth1"]), "the filter selects by all columns");
    ensure!(viewer.run("return location.hash;")? == "#/now?filter=spine-2+LEAF", "a filter is a link");
    viewer.run("location.hash = '#/now?sort=link-reverse';")?;
    viewer.wait_for("document.querySelector('#links tbody tr').dataset.link === 'leaf-3:eth0'")?;
    viewer.click("#counters [data-state=corrupting]")?;
    viewer.wait_for("document.querySelectorAll('#links tbody tr').length === 2")?;
    viewer.run("location.hash = '#/now';")?;
    viewer.wait_for("document.querySelectorAll('#links tbody tr').length === 3")?;
    viewer.run("document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'j', bubbles: true }));")?;
    ensure!(viewer.run("return document.activeElement.textContent;")? == "leaf-1:eth0", "`j` goes on");
    Ok(())
}

fn hold(site: &Site, first: &Browser, second: &Browser) -> Result<()> {
    first.click("#links tbody a")?;
    first.wait_for("document.getElementById('title').textContent === 'leaf-1:eth0 - spine-1:eth0'")?;
    first.wait_for("document.getElementById('verdict').textContent.includes('1000 of 1001000')")?;
    first.wait_for("document.getElementById('drain').textContent.includes('out of service already')")?;
    first.wait_for("document.querySelectorAll('#events tbody tr').length >= 3")?;
    // What both ends counted in the last hour, and what `explain` says of it.
    first.wait_for(
        "/^corruption, in the 20 min until .*: to leaf-1:eth0 1000 of 1001000/.test(cause.textContent)",
    )?;
    let reasons = first.run("return document.getElementById('reasons').innerText;")?;
    ensure!(reasons.as_str().is_some_and(|text| text.contains("loss 1.0e-3, at least")), "{reasons}");
    first.click("#raw summary")?;
    let raw = first.run("return document.getElementById('counters-table').innerText;")?;
    for part in ["rx_crc", "1500 (+1000)", "relay: retransmitted", "77"] {
        ensure!(raw.as_str().is_some_and(|text| text.contains(part)), "`{part}` in {raw}");
    }
    let ends = first.run("return document.getElementById('ends').innerText;")?;
    ensure!(ends.as_str().is_some_and(|text| text.contains("protects what it sends, 2 copies")), "{ends}");
    ensure!(first.run("return document.querySelectorAll('#chart svg').length;")? == 1, "the loss is drawn");
    // Without the token nothing happens.
    first.type_into("#hold [name=why]", HOSTILE)?;
    first.click("#hold [type=submit]")?;
    first.wait_for("document.getElementById('outcome').textContent.includes('needs the token')")?;
    ensure!(site.redis_cli(&["EXISTS", "wiremend:hold:leaf-1:eth0"])? == "0", "nothing was written");
    first.type_into("#hold [name=token]", TOKEN)?;
    first.click("#hold [type=submit]")?;
    first.wait_for("document.getElementById('outcome').textContent === 'Held by alice.'")?;
    second.wait_for(
        "[...document.querySelectorAll('#links tbody tr')].some(row => row.dataset.link === 'leaf-1:eth0' && \
         row.innerText.includes('held: <img') && row.innerText.includes('by alice'))",
    )?;
    let audit = site.redis_cli(&["XREVRANGE", "wiremend:planner-audit", "+", "-", "COUNT", "2"])?;
    ensure!(audit.contains("alice"), "the audit names the operator: {audit}");
    // The address stays free of secrets.
    ensure!(first.run("return location.href.includes('0123');")? == false, "a secret in the address");
    first.wait_for("!document.getElementById('release').disabled")?;
    first.click("#release")?;
    first.wait_for("document.getElementById('outcome').textContent === 'Hold ended by alice.'")?;
    second.wait_for("document.querySelector('#counters [data-state=held] b').textContent === '0'")
}

/// The map, a pod, and the past, in the second window.
fn views(site: &Site, viewer: &Browser) -> Result<()> {
    viewer.open(&site.url("#/map"))?;
    viewer.wait_for("document.querySelectorAll('#cells a').length === 2")?;
    viewer.click("#cells a.corrupting")?;
    viewer.wait_for("document.querySelectorAll('#cells tbody tr').length === 2")?;
    viewer.wait_for("document.querySelector('#cells a.drain') !== null")?;
    viewer.open(&site.url("#/link/leaf-2:eth1"))?;
    viewer.wait_for(
        "/^It may be drained: .* 100 of 200 Gb/.test(document.getElementById('drain').textContent)",
    )?;
    viewer.open(&site.url("#/time"))?;
    viewer.wait_for("document.querySelectorAll('#past tbody tr').length === 3")?;
    // Two hours ago nothing was corrupt yet.
    let earlier =
        "const at = document.getElementById('at'); at.value = -120; at.dispatchEvent(new Event('input'));";
    viewer.run(earlier)?;
    viewer.wait_for("document.querySelectorAll('#past tbody tr').length === 0")?;
    viewer.open(&site.url("#/now"))
}

/// A thousand connections that ask nothing keep out neither a viewer nor a health check.
fn crowd(site: &Site, viewer: &Browser) -> Result<()> {
    let connect = || TcpStream::connect(&site.address).context("the page refuses a connection");
    let idle = (0..1_000).map(|_| connect()).collect::<Result<Vec<_>>>()?;
    let mut asked = connect()?;
    write!(asked, "GET /healthz HTTP/1.1\r\nHost: any\r\n\r\n")?;
    let mut answer = String::new();
    asked.read_to_string(&mut answer).context("no answer beside idle connections")?;
    ensure!(answer.ends_with("\r\n\r\nok\n"), "beside idle connections: {answer}");
    site.observe("leaf-3:eth1", 7, "7e-5")?;
    viewer.wait_for(
        "[...document.querySelectorAll('#links tbody a')].some(a => a.textContent === 'leaf-3:eth1')",
    )?;
    drop(idle);
    let clean = json!({ "corrupting": null });
    site.record("observation", "leaf-3:eth1", 2, &clean, "*")?;
    viewer.wait_for("document.querySelectorAll('#links tbody tr').length === 3")
}

fn outage(site: &mut Site, viewer: &Browser) -> Result<()> {
    viewer.open(&site.url("#/now"))?;
    viewer.wait_for("document.getElementById('status').textContent === 'Live'")?;
    site.stop_redis()?;
    viewer.wait_for("/^The data are \\d+ s old: /.test(document.getElementById('status').textContent)")?;
    ensure!(viewer.run("return document.querySelectorAll('#links tbody tr').length;")? == 3, "rows stay");
    site.start_redis()?;
    site.observe("leaf-4:eth0", 5, "3e-5")?;
    viewer.wait_for("document.getElementById('status').textContent === 'Live'")?;
    viewer.wait_for("document.querySelectorAll('#links tbody tr').length === 4")
}

fn screenshots(site: &Site, viewer: &Browser) -> Result<()> {
    for (view, hash, is_ready) in [
        ("now", "#/now", "document.querySelectorAll('#links tbody tr').length === 4"),
        ("link", "#/link/leaf-1:eth0", "document.querySelector('#chart svg') !== null"),
        ("map", "#/map", "document.querySelectorAll('#cells a').length === 2"),
        ("time", "#/time", "document.querySelectorAll('#timeline tbody tr').length > 3"),
    ] {
        let is_ready = format!("{is_ready} && document.getElementById('status').textContent === 'Live'");
        looks(viewer, view, &site.url(hash), &is_ready)?;
    }
    Ok(())
}

/// A Redis server with records, and the page.
struct Site {
    folder: PathBuf,
    redis: Ending,
    _page: Ending,
    address: String,
}

impl Site {
    fn start() -> Result<Self> {
        let folder = shell::target_dir()?.join("test-output/page");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).context("cannot create the folder of the page")?;
        let config = folder.join("planner.toml");
        fs::write(&config, config_text(&folder)).context("cannot write a configuration")?;
        let tokens = folder.join("tokens");
        fs::write(&tokens, format!("alice {TOKEN}\n")).context("cannot write tokens")?;
        shell::run(Command::new("chmod").arg("600").arg(&tokens))?;
        let redis = redis(&folder)?;
        let (page, address) =
            served(&["--config".as_ref(), config.as_os_str(), "--token-file".as_ref(), tokens.as_os_str()])?;
        let site = Self { folder, redis, _page: page, address };
        site.fill()?;
        Ok(site)
    }

    fn url(&self, hash: &str) -> String {
        format!("http://{}/{hash}", self.address)
    }

    /// Two links corrupt, one is predicted to; one is to be drained, one cannot be protected.
    fn fill(&self) -> Result<()> {
        let now_ms = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64;
        let at = |minutes: u64| (now_ms - minutes * 60_000).to_string();
        self.record("observation", "leaf-1:eth0", 1, &json!({ "corrupting": null }), &at(90))?;
        self.record("observation", "leaf-1:eth0", 2, &json!({ "corrupting": loss(1_000, 1e-3) }), &at(50))?;
        let protect = json!({ "observation_version": 2, "action": { "protect": { "copies": 2 } } });
        self.record("action", "spine-1:eth0", 1, &protect, &at(49))?;
        for (minutes, good, bad) in [(100, 0, 0), (40, 500_000, 500), (20, 1_500_000, 1_500)] {
            let counters = json!({ "rx_good": good, "rx_crc": bad });
            self.counters("leaf-1:eth0", &json!({ "up": true, "counters": counters }), &at(minutes))?;
            let relay = json!({ "protects": [true, false], "level": "ordered", "copies": 2, "loss": 1e-3,
                                "held_back": null, "counts": { "retransmitted": 77 } });
            let counters = json!({ "rx_good": good, "rx_crc": 0 });
            self.counters(
                "spine-1:eth0",
                &json!({ "up": true, "counters": counters, "relay": relay }),
                &at(minutes),
            )?;
        }
        let reason = "it loses 1.0e-3, and every ToR and pod keeps enough capacity without it";
        let advice = json!({ "action": "drain", "protect": true, "binding": false, "reason": reason });
        for port in ["leaf-1:eth0", "spine-1:eth0"] {
            self.record("advice", port, 1, &advice, &at(48))?;
        }
        self.record("observation", "leaf-2:eth1", 1, &json!({ "corrupting": loss(20, 2e-5) }), &at(30))?;
        let decline = json!({ "observation_version": 1, "action": { "decline": { "reason": HOSTILE } } });
        self.record("action", "spine-2:eth1", 1, &decline, &at(29))?;
        self.record(
            "observation",
            "leaf-3:eth0",
            1,
            &json!({ "corrupting": null, "forecast": 4e-7 }),
            &at(20),
        )
    }

    fn observe(&self, port: &str, errors: u64, ratio: &str) -> Result<()> {
        let body = json!({ "corrupting": loss(errors, ratio.parse()?) });
        self.record("observation", port, 1, &body, "*")
    }

    /// Stores a record as a daemon or planner does, at a time.
    fn record(&self, kind: &str, port: &str, version: u64, body: &Value, at: &str) -> Result<()> {
        let (node, body, version) =
            (port.split(':').next().unwrap_or(port), body.to_string(), version.to_string());
        self.redis_cli(&["HSET", &format!("wiremend:{kind}:{port}"), "version", &version, "body", &body])?;
        let is_planner = kind == "advice";
        let stream =
            if is_planner { "wiremend:planner-audit".to_owned() } else { format!("wiremend:audit:{node}") };
        let id = if at == "*" { at.to_owned() } else { format!("{at}-*") };
        let entry = ["port", port, "kind", kind, "version", &version, "body", &body];
        self.redis_cli(&[&["XADD", &stream, &id], &entry[..]].concat())?;
        let until = (SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as u64 + 900_000).to_string();
        self.redis_cli(&["HSET", &format!("wiremend:lease:{node}"), "until", &until, "fence", "1"])?;
        let channel = if is_planner {
            format!("wiremend:advised:{node}")
        } else {
            format!("wiremend:notify:{node}:{node}")
        };
        self.redis_cli(&["PUBLISH", &channel, &format!("{kind} {port}")]).map(drop)
    }

    /// Stores counters of a port as a daemon does.
    fn counters(&self, port: &str, body: &Value, at: &str) -> Result<()> {
        let (stream, id, body) = (format!("wiremend:counters:{port}"), format!("{at}-*"), body.to_string());
        self.redis_cli(&["XADD", &stream, &id, "body", &body]).map(drop)
    }

    fn redis_cli(&self, words: &[&str]) -> Result<String> {
        let mut command = Command::new("redis-cli");
        let text = shell::output(command.arg("-s").arg(self.folder.join("redis.sock")).args(words))?;
        ensure!(!text.starts_with("ERR"), "{words:?}: {text}");
        Ok(text.trim().to_owned())
    }

    fn stop_redis(&mut self) -> Result<()> {
        self.redis.0.kill().context("cannot stop Redis")?;
        self.redis.0.wait().map(drop).context("cannot wait for Redis")
    }

    fn start_redis(&mut self) -> Result<()> {
        self.redis = redis(&self.folder)?;
        Ok(())
    }
}

fn loss(errors: u64, ratio: f64) -> Value {
    let frames = (errors as f64 / ratio) as u64 + errors;
    json!({ "frames": frames, "errors": errors, "loss": ratio, "low": ratio * 0.93, "high": ratio * 1.07 })
}

fn redis(folder: &Path) -> Result<Ending> {
    let _ = fs::remove_file(folder.join("redis.sock"));
    let redis = Command::new("redis-server")
        .args(["--port", "0", "--unixsocket", "redis.sock", "--save", "", "--appendonly", "yes"])
        .args(["--appendfsync", "always"])
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .context("cannot start `redis-server`")?;
    let redis = Ending(redis);
    let answers = || {
        let mut ping = Command::new("redis-cli");
        ping.arg("-s").arg(folder.join("redis.sock")).arg("PING").stderr(Stdio::null());
        ping.output().is_ok_and(|output| output.stdout == b"PONG\n")
    };
    while !answers() {
        thread::sleep(Duration::from_millis(20));
    }
    Ok(redis)
}

/// Four leaves in two pods and two spines.
fn config_text(folder: &Path) -> String {
    let socket = Value::from(folder.join("redis.sock").to_string_lossy());
    let head = format!("relays = [\"spine-1\"]\n[redis]\naddress = {socket}\n[plan]\nconstraint = 0.5\n");
    let spines = [1, 2].map(|spine| format!("[[switch]]\nname = \"spine-{spine}\"\nlevel = 1\n"));
    let leaves = [1, 2, 3, 4].map(|leaf| {
        let pod = if leaf <= 2 { "a" } else { "b" };
        let links = [0, 1].map(|at| {
            let (spine, port) = (at + 1, leaf - 1);
            format!("[[link]]\na = \"leaf-{leaf}:eth{at}\"\nb = \"spine-{spine}:eth{port}\"\n")
        });
        format!("[[switch]]\nname = \"leaf-{leaf}\"\nlevel = 0\npod = \"{pod}\"\n{}", links.concat())
    });
    head + &spines.concat() + &leaves.concat()
}
