//! Runs all tests of the workspace, each in its own process.
//!
//! A hanging test is detected by the time since its start, so compilation and earlier tests do not count.
//! Tests on real interfaces (module `wire`) run one at a time, in parallel with the others.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::Value;

use super::tally::Tally;
use crate::process::{self, wait};
use crate::shell::{self, command, format_duration};

/// Time limit of a test. The longest test takes two minutes, mostly waiting.
const TEST_TIME_MAX: Duration = Duration::from_mins(15);
/// Time limit of all examples in documentation. Their compilation counts, because cargo runs each as soon as
/// it is compiled; together they take two minutes.
const DOCUMENTS_TIME_MAX: Duration = Duration::from_hours(1);
/// Number of tests between two progress lines.
const REPORT_EVERY: usize = 200;
/// Number of slowest tests that are listed.
const SLOWEST_LISTED: usize = 5;
/// Module of tests that run one at a time.
const SERIAL_MODULE: &str = "wire::";

/// The command that compiles the tests.
pub(super) const BUILD: &str = "cargo test --quiet --workspace --profile test-release --no-run";

/// Compiles and runs all tests.
pub(super) fn run(tally: &mut Tally) -> Result<()> {
    let begun = Instant::now();
    let programs = programs()?;
    println!("compiled {} test programs, {}", programs.len(), format_duration(begun.elapsed()));
    let tests = list(&programs, tally)?;
    let mut results = Run::new(&tests)?.all();
    results.sort_by_key(|result| std::cmp::Reverse(result.took));
    for result in results.iter().take(SLOWEST_LISTED) {
        println!("{:>12}  {}", format_duration(result.took), result.test.full_name());
    }
    let failed = results.iter().filter(|result| result.failed).count() as u64;
    *tally += Tally { passed: results.len() as u64 - failed, failed, skipped: 0 };
    let documents = examples_in_documents(tally);
    ensure!(tally.passed > 0, "no test ran");
    ensure!(tally.failed == 0, "{} tests failed", tally.failed);
    documents
}

/// A test program.
struct Program {
    /// The package, and the target if it is not the library.
    name: String,
    path: PathBuf,
    /// Directory of its package, in which cargo would run it.
    folder: PathBuf,
}

struct Test<'a> {
    program: &'a Program,
    name: String,
}

struct Outcome<'a> {
    test: &'a Test<'a>,
    took: Duration,
    failed: bool,
}

fn programs() -> Result<Vec<Program>> {
    let messages = shell::output(command(BUILD).arg("--message-format=json-render-diagnostics"))?;
    let artifacts = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    artifacts.filter_map(|message| program(&message).transpose()).collect()
}

/// The test program in a message of cargo, if there is one.
fn program(message: &Value) -> Result<Option<Program>> {
    let is_test = message["reason"] == "compiler-artifact" && message["profile"]["test"] == true;
    let Some(path) = message["executable"].as_str().filter(|_| is_test) else { return Ok(None) };
    let manifest =
        PathBuf::from(message["manifest_path"].as_str().context("an artifact without a manifest")?);
    let folder = manifest.parent().context("a manifest without a folder")?.to_owned();
    let package = folder.file_name().context("a package without a folder")?.to_string_lossy().into_owned();
    let name = match message["target"]["kind"][0].as_str() {
        Some("lib") => package,
        _ => format!("{package}/{}", message["target"]["name"].as_str().unwrap_or("?")),
    };
    Ok(Some(Program { name, path: path.into(), folder }))
}

/// All tests of the programs. Ignored tests are counted and left out.
fn list<'a>(programs: &'a [Program], tally: &mut Tally) -> Result<Vec<Test<'a>>> {
    let mut tests = Vec::new();
    for program in programs {
        let names = |more: &[&str]| -> Result<Vec<String>> {
            let mut list = program.command();
            let text = shell::output(list.args(["--list", "--format", "terse"]).args(more))?;
            Ok(text.lines().filter_map(|line| Some(line.strip_suffix(": test")?.to_owned())).collect())
        };
        let ignored = names(&["--ignored"])?;
        tally.skipped += ignored.len() as u64;
        let wanted = names(&[])?.into_iter().filter(|name| !ignored.contains(name));
        tests.extend(wanted.map(|name| Test { program, name }));
    }
    Ok(tests)
}

impl Program {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).stdin(Stdio::null());
        command
    }
}

impl Test<'_> {
    fn full_name(&self) -> String {
        format!("{} {}", self.program.name, self.name)
    }

    fn is_alone(&self) -> bool {
        self.name.starts_with(SERIAL_MODULE)
    }

    /// Runs the test; returns the reason of a failure.
    fn run(&self, output: &Path) -> Option<String> {
        self.judge(output).unwrap_or_else(|error| Some(format!("{error:#}")))
    }

    /// Writes the output to a file: a process that the test leaves running would keep a pipe open.
    fn judge(&self, output: &Path) -> Result<Option<String>> {
        let file = File::create(output).with_context(|| format!("cannot write `{}`", output.display()))?;
        let mut command = self.program.command();
        command.args([&*self.name, "--exact", "--nocapture", "--test-threads=1"]);
        command.stdout(file.try_clone().context("a second handle of a file")?).stderr(file);
        let mut child =
            command.spawn().with_context(|| format!("cannot start `{}`", self.program.path.display()))?;
        let status = wait(&mut child, TEST_TIME_MAX)?;
        let bytes = fs::read(output).with_context(|| format!("cannot read `{}`", output.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        // A test that runs other test programs may print their results; the last result is its own.
        let result = text.lines().rev().find_map(Tally::from_line);
        let passed = result == Some(Tally { passed: 1, failed: 0, skipped: 0 });
        Ok(match status {
            None => Some(format!("{text}\nhung: killed after {}", format_duration(TEST_TIME_MAX))),
            Some(status) if status.success() && passed => None,
            Some(status) => Some(format!("{text}\n{status}")),
        })
    }
}

struct Run<'a> {
    tests: &'a [Test<'a>],
    /// Directory of the tests' output files.
    folder: PathBuf,
    results: Mutex<Vec<Outcome<'a>>>,
}

impl<'a> Run<'a> {
    fn new(tests: &'a [Test<'a>]) -> Result<Self> {
        let folder = shell::target_dir()?.join("test-output");
        fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
        Ok(Self { tests, folder, results: Mutex::default() })
    }

    /// Runs ordinary tests on all cores, and tests of module `wire` one at a time.
    fn all(self) -> Vec<Outcome<'a>> {
        let [alone, others]: [Vec<&Test<'a>>; 2] = [true, false]
            .map(|is_alone| self.tests.iter().filter(|test| test.is_alone() == is_alone).collect());
        let next = AtomicUsize::new(0);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        thread::scope(|scope| {
            scope.spawn(|| alone.iter().for_each(|test| self.one(test, "alone")));
            for core in 0..cores {
                let (run, others, next) = (&self, &others, &next);
                scope.spawn(move || {
                    while let Some(test) = others.get(next.fetch_add(1, Ordering::Relaxed)) {
                        run.one(test, &core.to_string());
                    }
                });
            }
        });
        self.results.into_inner().expect("no thread panicked")
    }

    fn one(&self, test: &'a Test<'a>, thread: &str) {
        let begun = Instant::now();
        let failure = test.run(&self.folder.join(thread));
        let (took, failed) = (begun.elapsed(), failure.is_some());
        if let Some(failure) = failure {
            println!("FAILED {}, {}\n{failure}", test.full_name(), format_duration(took));
        }
        let mut results = self.results.lock().expect("no thread panicked");
        results.push(Outcome { test, took, failed });
        if results.len().is_multiple_of(REPORT_EVERY) {
            println!("{} of {} tests", results.len(), self.tests.len());
        }
    }
}

/// Runs the examples in documentation.
fn examples_in_documents(tally: &mut Tally) -> Result<()> {
    let mut cargo = command("cargo test --workspace --profile test-release --doc --no-fail-fast");
    let output = process::output_within(&mut cargo, DOCUMENTS_TIME_MAX)?;
    let text = String::from_utf8_lossy(&output.stdout);
    *tally += Tally::from_output(&text);
    if output.status.success() {
        return Ok(());
    }
    print!("{text}");
    Err(anyhow!("`{}` failed ({})", shell::line(&cargo), output.status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn test_programs_are_selected_from_the_messages_of_cargo() {
        let message = |test: bool| {
            json!({
                "reason": "compiler-artifact", "profile": { "test": test }, "executable": "/target/it-1",
                "manifest_path": "/top/crates/units/Cargo.toml", "target": { "kind": ["test"], "name": "it" },
            })
        };
        let found = program(&message(true)).unwrap().unwrap();
        assert_eq!((&*found.name, found.folder), ("units/it", PathBuf::from("/top/crates/units")));
        assert!(program(&message(false)).unwrap().is_none());
        assert!(program(&json!({ "reason": "build-finished" })).unwrap().is_none());
    }

    /// A test program that passes no test fails.
    #[test]
    fn a_test_passes_if_its_program_reports_it() {
        let folder = shell::root().to_owned();
        let script = |text: &str| {
            let path =
                std::env::temp_dir().join(format!("wiremend-xtask-{}-{}", std::process::id(), text.len()));
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            assert!(shell::succeeds(command("chmod +x").arg(&path)));
            let program = Program { name: "x".to_owned(), path: path.clone(), folder: folder.clone() };
            let failure = Test { program: &program, name: "a".to_owned() }.run(&path.with_extension("out"));
            let _ = (fs::remove_file(&path), fs::remove_file(path.with_extension("out")));
            failure
        };
        let passed = "echo 'test result: ok. 1 passed; 0 failed; 0 ignored'";
        assert_eq!(script(passed), None);
        assert_eq!(script(&format!("{passed}; {passed}")), None);
        assert!(script("echo 'test result: ok. 0 passed; 0 failed; 0 ignored'").is_some());
        assert!(script(&format!("{passed}; exit 101")).unwrap().contains("101"));
    }
}
