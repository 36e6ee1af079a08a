//! `wiremend completions`: completion scripts for shells.

use std::fmt::Write as _;

use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use wiremend_fabric::WORKLOADS;
use wiremend_scenario::builtin;

use crate::args::{self, Completions};
use crate::failure::{Answer, Failure};
use crate::terminal;

/// Commands whose first argument is a scenario: its id, and whether it may be a file too.
const SCENARIO_ARGS: [(&str, &str, bool); 4] =
    [("run", "name", true), ("trace", "name", true), ("check", "scenario", true), ("show", "name", false)];
/// Stand in clap's script for the names of scenarios, and for names or files.
const PLACEHOLDERS: [&str; 2] = ["__scenario_name__", "__scenario__"];

pub(super) fn run(args: &Completions) -> Result<Answer, Failure> {
    terminal::print(&script(args.shell))?;
    Ok(Answer::Yes)
}

/// The script that clap generates, with the names of built-in scenarios and of tables of sizes.
fn script(shell: Shell) -> String {
    let mut command = args::command();
    for (name, arg, with_files) in SCENARIO_ARGS {
        let values = PossibleValuesParser::new([PLACEHOLDERS[usize::from(with_files)]]);
        command = command.mut_subcommand(name, |inner| inner.mut_arg(arg, |arg| arg.value_parser(values)));
    }
    for name in ["model", "tune"] {
        let tables = PossibleValuesParser::new(WORKLOADS.iter().map(|table| table.name));
        command =
            command.mut_subcommand(name, |inner| inner.mut_arg("workload", |arg| arg.value_parser(tables)));
    }
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "wiremend", &mut script);
    let script = String::from_utf8(script).expect("a script is text");
    match shell {
        Shell::Bash => bash(&without_placeholders(&script), &command),
        Shell::Zsh => zsh(&script),
        Shell::Fish => fish(without_placeholders(&script)),
        _ => without_placeholders(&script),
    }
}

fn without_placeholders(script: &str) -> String {
    PLACEHOLDERS.iter().fold(script.to_owned(), |script, placeholder| {
        script.replace(&format!(" {placeholder}"), "").replace(placeholder, "")
    })
}

/// Offers names and files where clap's function would offer options, until a scenario is given.
fn bash(script: &str, command: &clap::Command) -> String {
    let mut cases = String::new();
    for (name, _, with_files) in SCENARIO_ARGS {
        let inner = command.find_subcommand(name).expect("it is a command");
        let with_value: Vec<_> = inner.get_opts().filter_map(clap::Arg::get_long).collect();
        let with_value: Vec<_> = with_value.iter().map(|option| format!("--{option}")).collect();
        let _ =
            writeln!(cases, "        {name}) options=\" {} \"; files={with_files} ;;", with_value.join(" "));
    }
    let names = builtin::names().join(" ");
    let body = format!(
        r#"
_wiremend_scenario() {{
    local cur="${{COMP_WORDS[COMP_CWORD]}}" options files i
    case "${{COMP_WORDS[1]}}" in
{cases}        *) _wiremend "$@"; return ;;
    esac
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ $options == *" ${{COMP_WORDS[i]}} "* ]]; then
            ((i++))
        elif [[ ${{COMP_WORDS[i]}} != -* ]]; then
            break
        fi
    done
    if ((COMP_CWORD < 2)) || [[ $cur == -* ]] || ((i != COMP_CWORD)); then
        _wiremend "$@"
        return
    fi
    COMPREPLY=($(compgen -W "{names}" -- "$cur"))
    if $files; then
        compopt -o filenames 2>/dev/null
        COMPREPLY+=($(compgen -f -X '!*.toml' -- "$cur") $(compgen -d -- "$cur"))
    fi
}}
"#
    );
    let (functions, registration) =
        script.split_once("\nif [[ \"${BASH_VERSINFO[0]}\" -eq 4").expect("it registers");
    let registration = registration.replace("complete -F _wiremend ", "complete -F _wiremend_scenario ");
    format!("{functions}\n{}\nif [[ \"${{BASH_VERSINFO[0]}}\" -eq 4{registration}", body.trim())
}

fn zsh(script: &str) -> String {
    let functions = format!(
        r#"_wiremend_scenario_names() {{
    compadd -- {names}
}}

_wiremend_scenario() {{
    _alternative 'names:scenario:_wiremend_scenario_names' 'files:file:_files -g "*.toml"'
}}
"#,
        names = builtin::names().join(" ")
    );
    let [names, names_or_files] = PLACEHOLDERS.map(|placeholder| format!("({placeholder})"));
    let script = script.replace(&names, "_wiremend_scenario_names");
    script.replace(&names_or_files, "_wiremend_scenario").replacen(
        "\n_wiremend() {",
        &format!("\n{functions}\n_wiremend() {{"),
        1,
    )
}

/// clap completes no arguments without a name for fish, which offers files by itself.
fn fish(mut script: String) -> String {
    let names = builtin::names().join(" ");
    for (name, _, with_files) in SCENARIO_ARGS {
        let files = if with_files { "" } else { " -f" };
        let _ = writeln!(
            script,
            "complete -c wiremend -n \"__fish_wiremend_using_subcommand {name}\"{files} -a \"{names}\""
        );
    }
    script
}
