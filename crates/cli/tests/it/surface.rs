//! Help, other spellings of names, completion, and the schema for editors.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::tempdir;

use crate::program::{assert_has, command, ended, wiremend, wiremend_with, words};

/// `--help` shows a screen of common options, and `--help-all` the rest.
#[test]
fn help_shows_common_options_and_help_all_the_rest() {
    for (line, common, advanced) in [
        (
            "relay run",
            "--lan --link --active --mode --copies",
            "--device-frames --ethertype --allow-pfc --run-dir",
        ),
        ("lab wire", "--loss --rate --delay", "--faults --record --poll"),
        ("fleet run", "--fabric --policy --constraint", "--mttf --technicians --leaves"),
        ("model", "--beta --links --dummies", "--omega --nak-reaction --hold"),
        ("monitor run", "--config --metrics-listen", "--sysfs --textfile"),
    ] {
        let help = |flag: &str| wiremend(&words(&format!("{line} {flag}"))).ok();
        let (short, long) = (help("--help"), help("--help-all"));
        assert_eq!(short, help("-h"));
        assert_has(&short, &format!("Examples: | `wiremend {line} --help-all` prints all options."));
        assert_has(&long, "Examples: | Advanced options:");
        for option in common.split(' ') {
            assert!(short.contains(option) && long.contains(option), "{line} {option}");
        }
        for option in advanced.split(' ') {
            assert!(!short.contains(&format!("      {option}")) && long.contains(option), "{line} {option}");
        }
    }
}

#[test]
fn help_fits_a_screen() {
    for line in
        ["", "relay run ", "monitor ", "monitor run ", "lab tcp ", "lab wire ", "fleet run ", "model "]
    {
        for flag in ["-h", "--help"] {
            let mut program = command();
            program.env("COLUMNS", "100").args(words(&format!("{line}{flag}")));
            let help = ended(program.output().unwrap()).ok();
            assert!(help.lines().count() <= 40, "{help}");
        }
    }
}

#[test]
fn scenarios_tables_and_values_are_known_by_other_spellings() {
    for name in ["tail_packet", "TailPacket", "Tail-Packet"] {
        assert_eq!(wiremend(&["show", name]).ok(), wiremend(&["show", "tail-packet"]).ok());
    }
    let digest = |arguments: &[&str]| {
        let summary = wiremend(&[&["run", "nak", "--json"], arguments].concat()).json();
        summary["variants"][0]["digest"].clone()
    };
    let irn = digest(&["--set", "transport.recovery=selective-repeat"]);
    assert_eq!(digest(&["--set", "transport.recovery=IRN"]), irn);
    assert_ne!(digest(&[]), irn);
    let model = |name: &str| wiremend(&["model", "--beta", "1e-3", "--json", "--workload", name]).json();
    for (spelled, name) in
        [("DataMining", "datamining"), ("Web_Search", "websearch"), ("hadoop", "fb-hadoop")]
    {
        assert_eq!(model(spelled)["per_flow"], model(name)["per_flow"], "{spelled}");
    }
    let sizes = |name: &str| {
        let text = wiremend(&["show", "tour"]).ok();
        assert!(text.contains("sizes = \"alibaba-ebs\""));
        let text = text.replace("sizes = \"alibaba-ebs\"", &format!("sizes = \"{name}\""));
        let run = ["run", "-", "--json", "--variant", "clean", "--set", "workload.0.flows=20"];
        wiremend_with(&text, &run).json()["variants"][0]["digest"].clone()
    };
    assert_eq!(sizes("AlibabaEBS"), sizes("alibaba-ebs"));
    wiremend(&["run", "tour", "--variant", "Clean", "--set", "workload.0.flows=20"]).ok();
    wiremend(&["model", "--beta", "1e-3", "--operation", "SEND", "--next", "at_once"]).ok();
    assert_eq!(wiremend(&["completions", "Bash"]).ok(), wiremend(&["completions", "bash"]).ok());
}

#[test]
fn unknown_commands_are_answered_with_the_nearest_at_every_level() {
    for (line, answer) in [
        ("rnu", "unknown command `rnu`; did you mean `run`? allowed: run, rerun, sweep, "),
        ("relay statsu", "unknown command `statsu`; did you mean `status`? allowed: run, status, "),
        (
            "monitor xplain",
            "unknown command `xplain`; did you mean `explain`? | see `wiremend monitor --help`",
        ),
        ("fleet plam", "did you mean `plan`?"),
        ("lab tpc", "did you mean `tcp`?"),
        ("capture decod", "did you mean `decode`?"),
        ("tour", "unknown command `tour`; to run this scenario: wiremend run tour"),
        ("relay", "`wiremend relay` needs a command: run, status, activate, deactivate, set, restore; see"),
        ("run tour --sede 1", "unknown option `--sede`; did you mean `--seed"),
        (
            "relay run --lan a --link b --poll bsy",
            "--poll: unknown value `bsy`; did you mean `busy`? allowed: sleep, busy",
        ),
    ] {
        wiremend(&words(line)).refused_for(2, answer);
    }
}

#[test]
fn the_schema_of_scenarios_is_printed() {
    let schema = wiremend(&["schema"]).json();
    assert_eq!(schema["title"], "wiremend scenario");
    let kinds = schema["definitions"]["Topology"]["oneOf"].as_array().unwrap();
    let names: Vec<_> = kinds.iter().map(|kind| &kind["properties"]["kind"]["const"]).collect();
    assert!(names.contains(&&Value::from("leaf-spine")), "{names:?}");
    for table in ["Protect", "Transport", "Mend"] {
        assert!(schema["definitions"][table]["description"].is_string(), "{table}");
    }
}

/// Completes a line in a real bash, if there is one, in this directory.
fn completed(directory: &Path, line: &str) -> Option<Vec<String>> {
    let script = r#"
        PATH="$1:$PATH"
        source <(wiremend completions bash)
        COMP_LINE="$2"; COMP_POINT=${#2}
        read -ra COMP_WORDS <<< "$2"
        [[ $2 == *" " ]] && COMP_WORDS+=("")
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        function=$(complete -p wiremend | sed 's/.*-F \([^ ]*\).*/\1/')
        "$function" wiremend "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let programs = Path::new(env!("CARGO_BIN_EXE_wiremend")).parent()?;
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", script, "bash"]).arg(programs).arg(line).current_dir(directory);
    let output = ended(bash.output().ok()?);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    Some(output.stdout.lines().map(str::to_owned).collect())
}

#[test]
fn bash_completes_scenarios_files_and_options() {
    let directory = tempdir().unwrap();
    std::fs::write(directory.path().join("mine.toml"), "").unwrap();
    std::fs::write(directory.path().join("notes.txt"), "").unwrap();
    let Some(all) = completed(directory.path(), "wiremend run ") else {
        return eprintln!("skipped: no bash");
    };
    assert!(
        ["tour", "ping-pong", "bench/perm-k8", "mine.toml"]
            .iter()
            .all(|name| all.iter().any(|one| one == name))
    );
    assert!(!all.iter().any(|name| name.starts_with("--") || name == "notes.txt"), "{all:?}");
    for (line, expected) in [
        ("wiremend run pin", "ping-pong"),
        ("wiremend run --json pin", "ping-pong"),
        ("wiremend run --seed 7 mi", "mine.toml"),
        ("wiremend trace tail-p", "tail-packet"),
        ("wiremend check tou", "tour"),
        ("wiremend show tou", "tour"),
        ("wiremend run tour --see", "--seed"),
        ("wiremend ru", "run"),
        ("wiremend relay sta", "status"),
        ("wiremend model --workload datamining-", "datamining-vl2"),
    ] {
        let found = completed(directory.path(), line).unwrap();
        assert!(found.iter().any(|one| one == expected), "{line}: {found:?}");
    }
    assert!(!completed(directory.path(), "wiremend show m").unwrap().contains(&"mine.toml".to_owned()));
}

#[test]
fn zsh_and_fish_know_the_scenarios() {
    let zsh = wiremend(&["completions", "zsh"]).ok();
    assert_has(
        &zsh,
        ":_wiremend_scenario' | :_wiremend_scenario_names' | compadd -- tour tail-packet | _files -g \"*.toml\"",
    );
    let fish = wiremend(&["completions", "fish"]).ok();
    assert_has(
        &fish,
        "using_subcommand run\" -a \"tour tail-packet | using_subcommand show\" -f -a \"tour tail-packet",
    );
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(!wiremend(&["completions", shell]).ok().contains("__scenario"), "{shell}");
    }
}
