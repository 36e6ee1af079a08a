//! Exit codes of xtask, and its measurement of another program.

use std::process::{Command, Output};

use serde_json::Value;

#[test]
fn a_wrong_task_or_argument_exits_with_2() {
    for line in ["", "nonsense", "test --fast", "bench --fast", "bench perm-k5", "docs now", "dist --deb"] {
        let output = xtask(line);
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{line}: {message}");
        assert!(
            message.starts_with("error: ") && message.contains("usage: cargo xtask"),
            "{line}: {message}"
        );
    }
}

#[test]
fn help_is_not_an_error() {
    let output = xtask("--help");
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("usage: "));
}

#[test]
fn a_program_that_sleeps_takes_wall_time_and_little_cpu_time() {
    let measured = measure("sleep 0.3");
    assert!(measured["wall_s"].as_f64().unwrap() >= 0.3, "{measured}");
    assert!((0.0..0.2).contains(&measured["cpu_s"].as_f64().unwrap()), "{measured}");
}

#[test]
fn output_and_memory_of_a_program_are_returned() {
    let small = measure("echo heard");
    assert_eq!(small["stdout"], "heard\n");
    let large = measure("dd if=/dev/zero of=/dev/null bs=64M count=1");
    let [small, large] = [small, large].map(|measured| measured["peak_bytes"].as_u64().unwrap());
    assert!((64 << 20..128 << 20).contains(&large) && small < 32 << 20, "{small} {large}");
}

#[test]
fn a_program_that_fails_is_not_measured() {
    assert_eq!(xtask("measure false").status.code(), Some(1));
}

fn measure(program: &str) -> Value {
    let output = xtask(&format!("measure {program}"));
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn xtask(line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(line.split_whitespace()).output().unwrap()
}
