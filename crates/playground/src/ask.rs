//! Questions and answers.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use wiremend_measure::{TimePart, VariantSummary};
use wiremend_report::comparison_html;
use wiremend_report::plot::style;
use wiremend_scenario::{File, Override, Variant, builtin, load};
use wiremend_sim::Progress;

use crate::simulate;

/// What a page asks: `{"ask":"run","scenario":"nak","set":["transport.timeout=8"],"variant":0}`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Question {
    /// The scenarios of the library, the parts of a flow's time in words, and the style of drawings.
    Library,
    /// A scenario: its text and the names of its variants.
    Describe(Changed),
    /// The results of one variant.
    Run(OfVariant),
    /// The summaries of several variants as part of a page: sentences, a table and the completion times.
    Compare {
        /// The summaries, from answers to [`Question::Run`].
        variants: Vec<VariantSummary>,
    },
    /// One flow of a variant: its ladder, its steps and where its time went.
    Trace {
        /// The variant.
        #[serde(flatten)]
        of: OfVariant,
        /// The number of the flow; without it, the slowest one.
        flow: Option<u64>,
        /// Most records that the ladder shows.
        #[serde(default = "records_max")]
        records: usize,
    },
}

/// A scenario with changed values.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct Changed {
    /// Its name in the library.
    pub scenario: String,
    /// Its text, if it is not in the library.
    pub text: Option<String>,
    /// Values that are changed: `PATH=VALUE`, as `--set` has them.
    #[serde(default)]
    pub set: Vec<String>,
}

/// A variant of a scenario, and a seed.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub struct OfVariant {
    /// The scenario.
    #[serde(flatten)]
    pub changed: Changed,
    /// The number of the variant in the order of the file.
    pub variant: usize,
    /// The seed; without it, that of the scenario.
    pub seed: Option<u64>,
}

const fn records_max() -> usize {
    wiremend_report::Ladder::RECORDS_MAX
}

/// Answers a question in JSON. An answer has a field `error` with one line if the question cannot be answered. A run
/// calls `report` from time to time.
pub fn answer(question: &[u8], report: &mut dyn FnMut(&Progress)) -> String {
    let answer = serde_json::from_slice(question)
        .map_err(|error| format!("the question: {error}"))
        .and_then(|question| try_answer(&question, report));
    answer.unwrap_or_else(|error| json!({ "error": error })).to_string()
}

fn try_answer(question: &Question, report: &mut dyn FnMut(&Progress)) -> Result<Value, String> {
    match question {
        Question::Library => {
            let scenario = |(name, title)| json!({ "name": name, "title": title });
            let scenarios: Vec<_> = builtin::list().into_iter().map(scenario).collect();
            let parts: BTreeMap<_, _> =
                TimePart::ALL.into_iter().map(|part| (part.key(), part.describe())).collect();
            Ok(json!({ "scenarios": scenarios, "parts": parts, "style": style() }))
        }
        Question::Describe(changed) => {
            let file = changed.load()?;
            let variants: Vec<_> = file.variants.iter().map(|variant| &variant.name).collect();
            Ok(json!({
                "title": file.scenario.title.as_str(),
                "about": file.scenario.about,
                "text": file.text(),
                "seed": file.scenario.seed.get(),
                "variants": variants,
            }))
        }
        Question::Run(of) => {
            let file = of.changed.load()?;
            simulate::run(&file, of.variant(&file)?, of.seed, report)
        }
        Question::Compare { variants } => Ok(json!({ "html": comparison_html(variants) })),
        Question::Trace { of, flow, records } => {
            let file = of.changed.load()?;
            simulate::trace(&file, of.variant(&file)?, of.seed, (*flow, *records), report)
        }
    }
}

impl Changed {
    fn load(&self) -> Result<File, String> {
        let text = match &self.text {
            Some(text) => text,
            None => builtin::get(&self.scenario)?,
        };
        let set: Vec<Override> = self.set.iter().map(|set| set.parse()).collect::<Result<_, _>>()?;
        load(&self.scenario, text, &set).map_err(|error| error.to_string())
    }
}

impl OfVariant {
    fn variant<'a>(&self, file: &'a File) -> Result<&'a Variant, String> {
        let count = file.variants.len();
        file.variants
            .get(self.variant)
            .ok_or_else(|| format!("no variant {}; the scenario has {count}, from 0 on", self.variant))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(question: &Value) -> Value {
        let text = answer(question.to_string().as_bytes(), &mut |_| ());
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_scenario_is_described_run_traced_and_compared() {
        let described = ask(&json!({ "ask": "describe", "scenario": "nak" }));
        assert_eq!(described["variants"], json!(["base"]));
        let run = ask(&json!({ "ask": "run", "scenario": "nak", "variant": 0 }));
        assert_eq!((&run["slowest"], &run["summary"]["timeouts"]["nak"]), (&json!(0), &json!(1)), "{run}");
        let set = ["mend.nak_copies=1"];
        let mended = ask(&json!({ "ask": "run", "scenario": "nak", "variant": 0, "set": set }));
        assert_ne!(run["summary"]["digest"], mended["summary"]["digest"]);
        assert_eq!(mended["summary"]["timeouts"]["nak"], 0);
        let both = [&run["summary"], &mended["summary"]];
        let html = ask(&json!({ "ask": "compare", "variants": both }))["html"].to_string();
        assert!(html.contains("67.1 ms") && html.contains("µs"), "{html}");

        let trace = ask(&json!({ "ask": "trace", "scenario": "nak", "variant": 0 }));
        let steps = trace["steps"].as_array().unwrap();
        let timer = steps.iter().position(|step| step["what"] == "timer").unwrap();
        assert!(steps[timer]["text"].as_str().unwrap().contains("NAK lost"), "{}", steps[timer]);
        // The drawing has the numbers of the steps.
        let svg = trace["svg"].as_str().unwrap();
        assert!(svg.contains(&format!("data-step=\"{timer}\"")), "step {timer}");
        let total: u64 =
            trace["parts"].as_array().unwrap().iter().map(|part| part["ps"].as_u64().unwrap()).sum();
        let end = steps.last().unwrap()["time_ps"].as_u64().unwrap();
        assert_eq!(total, end - steps[0]["time_ps"].as_u64().unwrap());
    }

    /// A queued packet says behind how many frames, of its own flow and of others.
    #[test]
    fn waits_name_the_frames_before_a_packet() {
        let set = ["workload.0.bytes=64KiB"];
        let trace = ask(&json!({ "ask": "trace", "scenario": "incast", "variant": 0, "set": set }));
        let behind = |step: &Value| step["behind"]["others"].as_u64();
        let most = trace["steps"].as_array().unwrap().iter().max_by_key(|step| behind(step)).unwrap();
        assert!(behind(most) > Some(50) && most["waited_ps"]["queueing"].is_u64(), "{most}");
    }

    #[test]
    fn a_wrong_question_has_a_line_that_says_why() {
        let cases = [
            (json!({ "ask": "fly" }), "unknown variant `fly`"),
            (json!({ "ask": "run", "scenario": "nak", "variant": 1 }), "no variant 1"),
            (
                json!({ "ask": "trace", "scenario": "nak", "variant": 0, "flow": 7 }),
                "no flow 7; this run has 1",
            ),
            (
                json!({ "ask": "run", "scenario": "nak", "variant": 0, "set": ["transport.timout=3"] }),
                "did you mean `timeout`?",
            ),
            (
                json!({ "ask": "run", "scenario": "tour", "variant": 0, "set": ["workload.0.sizes=mine.csv"] }),
                "a page has no files",
            ),
        ];
        for (question, why) in cases {
            let error = ask(&question)["error"].as_str().unwrap_or_default().to_owned();
            assert!(error.contains(why) && !error.contains('\n'), "{question}: {error}");
        }
        assert!(answer(b"{", &mut |_| ()).contains("the question: "));
    }
}
