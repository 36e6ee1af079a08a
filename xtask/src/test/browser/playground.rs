//! The playground: what a reader does with the simulator in a page.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::Browser;
use crate::playground::{self, Server};
use crate::shell::{self, call};

/// Scenarios that the program runs for more than 2 s.
const LONG: &[&str] = &[
    "google-rpc-million",
    "bench/ws50-256",
    "claims/tails",
    "claims/fct",
    "claims/mesh",
    "claims/link-flows",
    "claims/stream",
    "claims/deadlock",
    "claims/recovery",
    "claims/websearch",
    "claims/far-racks",
    "claims/failures",
];

const IS_DONE: &str = "document.body.dataset.state === 'done'";

/// Keys of the `WebDriver` protocol.
const RIGHT: &str = "\u{e014}";
const END: &str = "\u{e010}";

pub(super) fn check() -> Result<()> {
    playground::build().map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let server = Server::start(&playground::folder(), 0)?;
    let browser = Browser::start()?;
    let page = Page { browser, url: server.url() };
    page.opens_and_follows_a_flow()?;
    page.changes_with_a_slider()?;
    page.is_shared_by_its_address()?;
    page.responds_while_it_simulates()?;
    page.names_what_is_wrong()?;
    page.is_accessible_in_every_look()?;
    page.computes_what_the_program_computes()?;
    let errors = page.browser.console_errors()?;
    ensure!(errors.is_empty(), "the console has errors: {}", errors.join("\n"));
    Ok(())
}

struct Page {
    browser: Browser,
    url: String,
}

impl Page {
    /// Opens the page in a state. A change of the fragment alone would not load it.
    fn open(&self, state: &str) -> Result<()> {
        self.browser.open("about:blank")?;
        self.browser.open(&format!("{}#{state}", self.url))?;
        self.browser.wait_for(IS_DONE).with_context(|| format!("the state `{state}`"))
    }

    fn text(&self, selector: &str) -> Result<String> {
        let text =
            self.browser.run(&format!("return document.querySelector({}).innerText;", json!(selector)))?;
        Ok(text.as_str().with_context(|| format!("no text of `{selector}`"))?.to_owned())
    }

    /// The steps, the time of each part and the ladder are those of a lost tail packet.
    fn opens_and_follows_a_flow(&self) -> Result<()> {
        self.browser.show_as(1280, 900, false)?;
        self.open("scene=tail-packet")?;
        let times = self.text("#times")?;
        ensure!(times.contains("67.1 ms") && times.contains("1 tail packet"), "{times}");
        let parts = self.text("#parts")?;
        ensure!(parts.contains("timers") && parts.contains("100 %"), "{parts}");
        let step = self.text("#now")?;
        ensure!(step.contains("Step 1 of") && step.contains("h0 posts"), "{step}");
        // By keyboard, over notable steps, to the timer.
        self.browser.click("#events")?;
        self.browser.type_into("#ladder", &RIGHT.repeat(2))?;
        let step = self.text("#now")?;
        ensure!(step.contains("timer fires at 11: tail packet lost"), "{step}");
        self.browser.click("#events")?;
        self.browser.click("#forward")?;
        let step = self.text("#now")?;
        ensure!(
            step.contains("sends WRITE last 11 again to tor")
                && step.contains("a retransmission timer fired"),
            "{step}"
        );
        let journey = self.text("#journey")?;
        ensure!(journey.contains("h0 → tor") && journey.contains("tor → h1"), "{journey}");
        self.browser.type_into("#ladder", END)?;
        ensure!(self.text("#now")?.contains("completes"), "the last step is not the end");
        let chosen = self.browser.run("return document.querySelectorAll('#ladder .chosen').length;")?;
        ensure!(chosen == 1, "{chosen} steps are emphasised");
        Ok(())
    }

    /// One dummy reveals the lost tail: the timeout disappears from the times, the parts and the ladder.
    fn changes_with_a_slider(&self) -> Result<()> {
        let ladder = self.text("#ladder")?;
        ensure!(ladder.contains("timer fires"), "{ladder}");
        self.browser.type_into("#set-dummies", RIGHT)?;
        self.browser
            .wait_for(&format!("{IS_DONE} && !document.querySelector('#times').innerText.includes('ms')"))?;
        let (times, ladder) = (self.text("#times")?, self.text("#ladder")?);
        ensure!(times.contains("none") && times.contains("µs"), "{times}");
        ensure!(ladder.contains("DUMMY") && !ladder.contains("timer fires"), "{ladder}");
        Ok(())
    }

    /// Scene, sliders, seed, variant and step are in the address; another window shows the same. The commands of the
    /// page give its digests.
    fn is_shared_by_its_address(&self) -> Result<()> {
        self.open("scene=linkguardian&variant=0&packets=20&psn=19&seed=5&step=30")?;
        let (digests, command, step) = (self.text("#digests")?, self.text("#command")?, self.text("#now")?);
        ensure!(step.contains("Step 31 of"), "{step}");
        let line = command.split("\nwiremend").next().context("a command")?;
        let program = shell::build("test-release")?;
        let line = line.replacen("wiremend", &program.display().to_string(), 1) + " --json";
        let summary: Value = shell::json(call("sh".as_ref(), "-c").arg(line))?;
        for variant in summary["variants"].as_array().context("variants")? {
            let digest = variant["digest"].as_str().context("a digest")?;
            ensure!(digests.contains(digest), "{}: {digest}, the page shows\n{digests}", variant["name"]);
        }
        let address = self.browser.run("return location.hash;")?;
        self.open(address.as_str().context("an address")?.trim_start_matches('#'))?;
        let again = (self.text("#digests")?, self.text("#command")?, self.text("#now")?);
        ensure!(again == (digests, command, step), "the address {address} gives another state: {again:?}");
        // Positions that do not exist.
        self.open("scene=nowhere&psn=-5&timeout=99999&variant=77&step=999999&flow=0")?;
        ensure!(self.text("#now")?.contains("completes"), "the step beyond the end is not the last one");
        Ok(())
    }

    /// Frames are painted while a run goes on, and a slider that moves on ends the old run.
    fn responds_while_it_simulates(&self) -> Result<()> {
        self.open("scene=tour&flows=4000")?;
        self.browser.run(
            "window.painted = 0;
             const paint = () => {
               if (document.body.dataset.state === 'busy') window.painted++;
               requestAnimationFrame(paint);
             };
             requestAnimationFrame(paint);",
        )?;
        self.browser.type_into("#set-load", &RIGHT.repeat(3))?;
        self.browser.wait_for(IS_DONE)?;
        let painted = self.browser.run("return window.painted;")?.as_u64().context("a count")?;
        ensure!(painted > 5, "{painted} frames were painted during the runs");
        let command = self.text("#command")?;
        ensure!(command.contains("workload.0.load=0.35"), "{command}");
        let rows = self.browser.run("return document.querySelectorAll('#digests tbody tr').length;")?;
        ensure!(rows == 5, "{rows} variants instead of 5");
        Ok(())
    }

    /// A flow that does not exist is an error with its reason; the next change recovers.
    fn names_what_is_wrong(&self) -> Result<()> {
        self.browser.open("about:blank")?;
        self.browser.open(&format!("{}#scene=nak&flow=7", self.url))?;
        self.browser.wait_for("document.body.dataset.state === 'failed'")?;
        let error = self.text("#error")?;
        ensure!(error.contains("no flow 7; this run has 1"), "{error}");
        self.browser.click("#reset")?;
        self.browser.wait_for(&format!("{IS_DONE} && document.querySelector('#error').hidden"))
    }

    /// Light, dark and a phone; the pictures are in `target/pages`.
    fn is_accessible_in_every_look(&self) -> Result<()> {
        let pictures = shell::target_dir()?.join("pages");
        fs::create_dir_all(&pictures).context("the folder of pictures")?;
        let looks = [("light", 1280, 1600, false), ("dark", 1280, 1600, true), ("phone", 400, 1600, true)];
        for (look, width, height, is_dark) in looks {
            self.browser.show_as(width, height, is_dark)?;
            for scene in ["tail-packet", "tour", "deadlock"] {
                self.open(&format!("scene={scene}&step=5"))?;
                let faults = self.browser.accessibility_faults()?;
                ensure!(faults.is_empty(), "{scene}, {look}: {}", faults.join("\n"));
                let overflow = "return document.documentElement.scrollWidth - innerWidth;";
                let overflow = self.browser.run(overflow)?.as_i64().context("a width")?;
                ensure!(overflow <= 0, "{scene}, {look}: the page is {overflow} pixels too wide");
                self.browser.screenshot(&pictures.join(format!("playground-{scene}-{look}.png")))?;
            }
        }
        Ok(())
    }

    /// Every scenario of the library that takes at most 2 s has the digests of the program.
    fn computes_what_the_program_computes(&self) -> Result<()> {
        let program = shell::build("test-release")?;
        self.open("scene=tail-packet")?;
        self.browser.run(
            "window.found = {};
             import('./engine.js').then(({ Engine }) => { window.engine = new Engine(); });
             window.simulate = async (scenario) => {
               const { variants } = await window.engine.ask({ ask: 'describe', scenario });
               const digests = [];
               for (const variant of variants.keys()) {
                 const { summary } = await window.engine.ask({ ask: 'run', scenario, variant });
                 digests.push([summary.name, summary.digest]);
               }
               return digests;
             };",
        )?;
        self.browser.wait_for("window.engine")?;
        self.browser
            .run("window.engine.ask({ ask: 'library' }).then((found) => { window.library = found; });")?;
        self.browser.wait_for("window.library")?;
        let names = self.browser.run("return window.library.scenarios.map(({ name }) => name);")?;
        let names: Vec<&str> = names.as_array().context("names")?.iter().filter_map(Value::as_str).collect();
        ensure!(LONG.iter().all(|name| names.contains(name)), "an unknown name in {LONG:?}");
        let mut variants = 0;
        for name in names.iter().filter(|name| !LONG.contains(name)) {
            let quoted = json!(name);
            self.browser.run(&format!(
                "window.simulate({quoted}).catch(String).then((found) => {{ window.found[{quoted}] = found; }});"
            ))?;
            let native = native_digests(&program, name)?;
            self.browser.wait_for(&format!("window.found[{quoted}]")).with_context(|| (*name).to_owned())?;
            let found = self.browser.run(&format!("return window.found[{quoted}];"))?;
            ensure!(found == native, "{name}: the page has {found}, the program {native}");
            variants += native.as_array().map_or(0, Vec::len);
        }
        ensure!(variants > 100, "only {variants} variants were compared");
        println!("{variants} variants of {} scenarios have equal digests", names.len() - LONG.len());
        Ok(())
    }
}

/// Names and digests of the variants of a scenario, by the program.
fn native_digests(program: &std::path::Path, scenario: &str) -> Result<Value> {
    // A run whose flows fail exits with 1.
    let output = call(program, "run --json").arg(scenario).output().context("the program")?;
    let summary: Value =
        serde_json::from_slice(&output.stdout).with_context(|| format!("`run {scenario}`"))?;
    let variants = summary["variants"].as_array().context("variants")?.iter();
    Ok(variants.map(|variant| json!([variant["name"], variant["digest"]])).collect())
}
