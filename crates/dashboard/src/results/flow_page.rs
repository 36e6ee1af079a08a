//! The packets of a flow: simulates its run again, beside the page.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wiremend_measure::Breakdown;
use wiremend_report::{Escaped, Ladder, breakdown_text, shell_quoted, terminal::Terminal};
use wiremend_runner::{Error, Progress, RecordedRun, Runner, TracedFlow};
use wiremend_units::NodeId;

use super::results_page::head;

/// A flow of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FlowChoice {
    pub(crate) folder: PathBuf,
    pub(crate) variant: String,
    /// The first seed of the run, if none is named.
    pub(crate) seed: Option<u64>,
    pub(crate) flow: u64,
}

/// Flows that are or were simulated.
#[derive(Default)]
pub(crate) struct FlowPages {
    jobs: Vec<(FlowChoice, Arc<Job>)>,
}

/// The simulation of a flow.
struct Job {
    /// The finished page without its head, or why there is none.
    page: Mutex<Option<Result<String, String>>>,
    stop: AtomicBool,
    /// Completed parts per million.
    share: AtomicU64,
    asked: Mutex<Instant>,
}

/// Simulations at the same time, and pages that are kept.
const RUNNING_MAX: usize = 2;
const KEPT_MAX: usize = 16;
/// A simulation whose page nobody waits for any more is stopped.
const ABANDONED_AFTER: Duration = Duration::from_secs(20);

impl FlowPages {
    /// The page of a flow: its packets, or how far the simulation is.
    pub(crate) fn page(&mut self, wanted: &FlowChoice) -> String {
        let mut html = head(&format!("Flow {}", wanted.flow));
        let job = self.job(wanted);
        let title = format!("Flow {}, {}", wanted.flow, wanted.variant);
        let back = "<p><a href=\"/\">All results</a></p>";
        let _ = writeln!(html, "<main>\n<h1>{}</h1>\n{back}", Escaped(&title));
        let state = job.as_ref().map(|job| job.page.lock().unwrap_or_else(PoisonError::into_inner).clone());
        match (state, job) {
            (Some(Some(Ok(page))), _) => html.push_str(&page),
            (Some(Some(Err(why))), _) => {
                let _ = writeln!(html, "<p class=\"bad\">{}</p>", Escaped(&why));
            }
            (_, job) => {
                // The page asks again by itself.
                html = html.replacen("<title>", "<meta http-equiv=\"refresh\" content=\"1\">\n<title>", 1);
                let share = job.map_or(0, |job| job.share.load(Ordering::Relaxed)) / 10_000;
                let _ = writeln!(
                    html,
                    "<p role=\"status\">The run is simulated up to the end of this flow: {share} %</p>"
                );
            }
        }
        html.push_str("</main>\n</body>\n</html>\n");
        html
    }

    /// The simulation of a flow, if it has begun; none while too many others run.
    fn job(&mut self, wanted: &FlowChoice) -> Option<Arc<Job>> {
        if let Some((_, job)) = self.jobs.iter().find(|(known, _)| known == wanted) {
            *job.asked.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
            return Some(Arc::clone(job));
        }
        if self.jobs.iter().filter(|(_, job)| job.is_running()).count() >= RUNNING_MAX {
            return None;
        }
        if self.jobs.len() >= KEPT_MAX {
            let oldest = self.jobs.iter().position(|(_, job)| !job.is_running())?;
            self.jobs.remove(oldest);
        }
        let job = Arc::new(Job {
            page: Mutex::new(None),
            stop: AtomicBool::new(false),
            share: AtomicU64::new(0),
            asked: Mutex::new(Instant::now()),
        });
        self.jobs.push((wanted.clone(), Arc::clone(&job)));
        let (own, wanted) = (Arc::clone(&job), wanted.clone());
        thread::spawn(move || own.run(&wanted));
        Some(job)
    }

    /// Stops simulations whose page nobody waits for.
    pub(crate) fn stop_abandoned(&mut self) {
        self.jobs.retain(|(_, job)| {
            let asked = *job.asked.lock().unwrap_or_else(PoisonError::into_inner);
            let is_abandoned = job.is_running() && asked.elapsed() > ABANDONED_AFTER;
            if is_abandoned {
                job.stop.store(true, Ordering::Release);
            }
            !is_abandoned
        });
    }
}

impl Drop for FlowPages {
    fn drop(&mut self) {
        self.jobs.iter().for_each(|(_, job)| job.stop.store(true, Ordering::Release));
    }
}

impl Progress for Job {
    fn on_progress(&self, _: usize, share: f64) {
        self.share.store((share * 1e6) as u64, Ordering::Relaxed);
    }
}

impl Job {
    fn is_running(&self) -> bool {
        self.page.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    fn run(&self, wanted: &FlowChoice) {
        let page = catch_unwind(AssertUnwindSafe(|| self.traced(wanted)));
        let page = page.unwrap_or_else(|_| Err("the run cannot be simulated again".to_owned()));
        *self.page.lock().unwrap_or_else(PoisonError::into_inner) = Some(page);
    }

    fn traced(&self, wanted: &FlowChoice) -> Result<String, String> {
        let runner = Runner::new().stop(&self.stop).progress(self);
        let text = |error: Error| error.to_string();
        let run = RecordedRun::read(&wanted.folder).map_err(text)?;
        let (input, first) = run.input(&runner, &wanted.variant).map_err(text)?;
        let (seeds, seed) = (run.record().seeds.max(1), wanted.seed.unwrap_or(first));
        if seed.checked_sub(first).is_none_or(|after| after >= seeds) {
            let last = first + (seeds - 1);
            return Err(format!("the run has no seed {seed}; its seeds are {first} to {last}"));
        }
        let variant = input.variants(&[]).map_err(text)?[0];
        let traced = runner.trace(&input, variant, wanted.flow, runner.options(seed)).map_err(text)?;
        if traced.results.trace.records.is_empty() {
            return Err(format!("no flow {}; {}", wanted.flow, traced.flows.known_flows()));
        }
        Ok(drawn(&wanted.folder, &wanted.variant, seed, wanted.flow, &traced))
    }
}

/// The ladder of a flow, and where its time went.
fn drawn(folder: &Path, variant: &str, seed: u64, flow: u64, traced: &TracedFlow) -> String {
    const PLAIN: Terminal = Terminal { width: 100, colour: false };
    let TracedFlow { results, names, .. } = traced;
    let name = |node: NodeId| names[node.index()].clone();
    let title = format!("flow {flow}, {variant}");
    let ladder = Ladder::new(&title, &results.trace, name, Ladder::RECORDS_MAX);
    let mut html =
        format!("<p class=\"faint\">Seed {seed} of {}</p>\n", Escaped(&folder.display().to_string()));
    if let Some(breakdown) = Breakdown::new(&results.trace) {
        let _ = writeln!(html, "<pre>{}</pre>", Escaped(breakdown_text(&breakdown, PLAIN).trim_end()));
    }
    let _ = writeln!(
        html,
        "<figure class=\"ladder\" tabindex=\"0\" role=\"region\" aria-label=\"Ladder\">\n{}</figure>",
        ladder.svg()
    );
    let summary = shell_quoted(&folder.join("summary.json").display().to_string());
    let _ = writeln!(
        html,
        "<h2>In a terminal</h2>\n<p>The scenario of each variant is in <code>summary.json</code>:</p>\n<pre>jq -r \
         {} {} &gt; flow.toml\nwiremend trace flow.toml --seed {seed} --flow {flow}</pre>",
        Escaped(&shell_quoted(&format!(
            ".origin.variants[] | select(.variant == {}) | .scenario",
            serde_json::to_string(variant).expect("a text")
        ))),
        Escaped(&summary)
    );
    html
}
