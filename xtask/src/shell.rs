//! Runs other programs from the top of the repository, without input.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The top of the repository.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this crate lies one level below the top")
}

/// A command in one line: words separated by spaces.
pub(crate) fn command(line: &str) -> Command {
    let (program, args) = line.split_once(' ').unwrap_or((line, ""));
    // The cargo that runs xtask, not another one in the path.
    call(&if program == "cargo" { cargo() } else { program.into() }, args)
}

/// A command with the path of its program, which may contain spaces.
pub(crate) fn call(program: &Path, args: &str) -> Command {
    let mut command = Command::new(program);
    command.args(args.split_whitespace()).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs a command with our output; an exit status other than 0 is an error.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| cannot_start(command))?;
    if !status.success() {
        bail!("`{}` failed ({status})", line(command));
    }
    Ok(())
}

/// Runs a command and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.stderr(Stdio::inherit()).output().with_context(|| cannot_start(command))?;
    if !output.status.success() {
        bail!("`{}` failed ({})", line(command), output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("output of `{}`", line(command)))
}

/// Runs a command and reads its standard output as JSON.
pub(crate) fn json(command: &mut Command) -> Result<Value> {
    let text = output(command)?;
    serde_json::from_str(&text).with_context(|| format!("output of `{}` as JSON", line(command)))
}

/// Whether a command can be started and succeeds; its output is dropped.
pub(crate) fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Builds the program with a profile; returns its path.
pub(crate) fn build(profile: &str) -> Result<PathBuf> {
    run(&mut command(&format!("cargo build --quiet --package wiremend --profile {profile}")))?;
    let directory = if profile == "dev" { "debug" } else { profile };
    Ok(target_dir()?.join(directory).join("wiremend"))
}

/// Cargo's target directory.
pub(crate) fn target_dir() -> Result<PathBuf> {
    let metadata = metadata()?;
    let directory =
        metadata["target_directory"].as_str().context("cargo metadata without target_directory")?;
    Ok(PathBuf::from(directory))
}

/// The packages of the workspace.
pub(crate) fn metadata() -> Result<Value> {
    json(&mut command("cargo metadata --format-version 1 --no-deps"))
}

/// Whether the user is root.
pub(crate) fn is_root() -> Result<bool> {
    Ok(output(&mut command("id -u")).context("cannot read the user id")?.trim() == "0")
}

/// A command as typed, without the path of its program.
pub(crate) fn line(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// A duration for readers: `8.3 s`, `2 min 05 s`.
pub(crate) fn format_duration(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

fn cargo() -> PathBuf {
    std::env::var_os("CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from)
}

fn cannot_start(command: &Command) -> String {
    format!("cannot start `{}`", line(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_named_in_the_error() {
        let error = run(&mut command("false --loudly")).unwrap_err();
        assert_eq!(error.to_string(), "`false --loudly` failed (exit status: 1)");
        let error = output(&mut command("no-such-program x")).unwrap_err();
        assert_eq!(error.to_string(), "cannot start `no-such-program x`");
        assert!(!succeeds(&mut command("no-such-program")));
    }

    #[test]
    fn output_is_read_as_text_and_as_json() {
        assert_eq!(output(&mut command("echo [1, 2]")).unwrap(), "[1, 2]\n");
        assert_eq!(json(&mut command("echo [1, 2]")).unwrap(), serde_json::json!([1, 2]));
        assert!(json(&mut command("echo [1,")).is_err());
    }

    #[test]
    fn durations_are_formatted() {
        assert_eq!(format_duration(Duration::from_millis(8_340)), "8.3 s");
        assert_eq!(format_duration(Duration::from_secs(125)), "2 min 05 s");
    }
}
