//! Bad studies: one line with place, reason and what is valid.

use wiremend_runner::Runner;
use wiremend_sweep::{Plan, Study};

use crate::SMALL;

fn refusal(text: &str) -> String {
    let message = match Study::parse("study.toml", text) {
        Err(error) => error.to_string(),
        Ok(study) => match Plan::new(study, &Runner::new(), false) {
            Err(error) => error.to_string(),
            Ok(plan) => panic!("{} cells", plan.cells().len()),
        },
    };
    assert_eq!(message.lines().count(), 1, "{message}");
    message
}

#[test]
fn mistakes_are_shown_where_they_stand() {
    for (from, to, expected) in [
        ("seeds = 2", "seed = 2", "study.toml:4:1: unknown field `seed`; did you mean `seeds`?"),
        ("seeds = 2", "seeds = 0", "study.toml:4:9: `seeds` is a number from 1 to "),
        ("seeds = 2", "seeds = [1, 1]", "study.toml:4:9: `seeds` is "),
        (
            "\"tail-packet\"",
            "\"tail-paket\"",
            "study.toml:3:12: no scenario `tail-paket`; did you mean `tail-packet`?",
        ),
        ("\"tail-packet\"", "\"none.toml\"", "none.toml: cannot be read: "),
        ("\"tail-packet\"", "7", "study.toml:3:12: `scenario` is a name, a path, or a table"),
        ("name = \"small\"", "", "study.toml:1:1: missing field `name`"),
        ("values = [0, 1, 2]", "values = []", "study.toml:18:10: an axis needs at least one value"),
        ("values = [0, 1, 2]", "", "study.toml:15:1: an axis needs `values`, or `from` and `to`"),
        (
            "values = [0, 1, 2]",
            "values = [0, 0]",
            "study.toml:15:1: axis `dummies`: two of its values are `0`",
        ),
        ("values = [0, 1, 2]", "values = [0, \"many\"]", "study.toml:18:14: mend.dummies = \"many\": "),
        (
            "values = [0, 1, 2]",
            "from = 3\nto = 1\nstep = 1",
            "study.toml:19:6: a range ends where it starts or above",
        ),
        (
            "values = [0, 1, 2]",
            "from = 0\nto = 8\npoints = 3\nspacing = \"log\"",
            "study.toml:18:8: a range with spacing",
        ),
        ("values = [0, 1, 2]", "from = \"1us\"\nto = 8\npoints = 3", "study.toml:18:8: a range has numbers"),
        ("values = [0, 1, 2]", "from = 0\nto = 1e9\nstep = 1e-9", "study.toml:20:8: `step` is above zero"),
        (
            "\"mend.dummies\"",
            "\"mend.dumies\"",
            "study.toml:18:11: mend.dumies = 0: unknown field `dumies`; did you mean `dummies`?",
        ),
        (
            "\"mend.dummies\"",
            "\"workload.3.count\"",
            "study.toml:18:11: workload.3.count = 0: `workload` has no element 3",
        ),
        ("\"mend.dummies\"", "\"seed\"", "study.toml:17:8: seeds are an axis of their own"),
        ("name = \"dummies\"", "name = \"scheme\"", "study.toml:15:1: two axes are called `scheme`"),
        (
            "name = \"dummies\"",
            "name = \"fct_p99_ns\"",
            "study.toml:15:1: `fct_p99_ns` is a column of the results",
        ),
        ("name = \"dummies\"", "zip = \"a\"", "`mend.dummies` has 3"),
        ("seeds = 2", "seeds = 2\nvariants = [\"bse\"]", "unknown variant `bse`; did you mean `base`?"),
    ] {
        let text = SMALL.replace(from, to).replace(
            "name = \"scheme\"\n[[axis.case]]",
            match to {
                "zip = \"a\"" => "name = \"scheme\"\nzip = \"a\"\n[[axis.case]]",
                _ => "name = \"scheme\"\n[[axis.case]]",
            },
        );
        let message = refusal(&text);
        let fits = if expected.starts_with("study.toml") {
            message.starts_with(expected)
        } else {
            message.contains(expected)
        };
        assert!(fits, "{to}: {message}");
    }
}

#[test]
fn conditions_and_output_name_axes() {
    for (more, expected) in [
        ("[[exclude]]\nshceme = \"irn\"\n", "study.toml:20:1: unknown axis `shceme`; did you mean `scheme`?"),
        (
            "[[exclude]]\nscheme = { over = 3 }\n",
            "study.toml:20:10: expected a value, a list of values, or bounds",
        ),
        ("[[exclude]]\nseed = [1, 2]\n", "study.toml: the conditions leave out every cell"),
        (
            "[output]\nx = \"loss\"\n",
            "study.toml:20:5: unknown axis `loss`; allowed: scheme, dummies, variant",
        ),
        (
            "[output]\nmetrics = [\"fct_p98_ns\"]\n",
            "study.toml:20:12: unknown metric `fct_p98_ns`; did you mean `fct_p99_ns`?",
        ),
    ] {
        let message = refusal(&format!("{SMALL}{more}"));
        assert!(message.starts_with(expected), "{message}");
    }
}

/// A study without axes runs variants and seeds; an empty list of axes is a mistake.
#[test]
fn an_empty_list_of_axes_is_refused() {
    let text = "name = \"x\"\nscenario = \"tail-packet\"\nseeds = 2\naxis = []\n";
    let message = refusal(text);
    assert!(message.starts_with("study.toml:4:8: `axis` is empty; write an `[[axis]]`"), "{message}");
    assert_eq!(crate::plan(&text.replace("axis = []\n", "")).cells().len(), 2);
}

/// An error in the scenario inside a study points into the study.
#[test]
fn an_error_in_the_scenario_has_its_place_in_the_study() {
    let text =
        "name = \"x\"\n\n[scenario]\ntitle = \"t\"\n[scenario.topology]\nkind = \"pair\"\nrate = \"fast\"\n";
    let message = refusal(text);
    assert!(message.starts_with("study.toml:7:8: "), "{message}");
}

#[test]
fn very_many_cells_must_be_confirmed() {
    let text = SMALL.replace("seeds = 2", "seeds = 1000000");
    assert!(refusal(&text).ends_with("6000000 cells; more than 100000 must be confirmed with --yes"));
    let text = SMALL.replace("seeds = 2", "seeds = 1000000").replace("[0, 1, 2]", "[0, 1, 2, 3, 4, 5]");
    assert!(refusal(&text).contains("12000000 cells; a study has at most 10000000"));
}
