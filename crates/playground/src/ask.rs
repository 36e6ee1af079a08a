//! Questions and answers.

use serde::Deserialize;
use serde_json::{Value, json};
use wiremend_measure::VariantSummary;
use wiremend_report::comparison_html;
use wiremend_scenario::{File, Override, Variant, builtin, load};
use wiremend_sim::Progress;

use crate::simulate;

/// What a page asks: `{"ask":"run","scenario":"nak","set":["transport.timeout=8"],"variant":0}`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Question {
    /// The scenarios of the library: names and titles.
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
            let entry = |(name, title)| json!({ "name": name, "title": title });
            Ok(builtin::list().into_iter().map(entry).collect())
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
