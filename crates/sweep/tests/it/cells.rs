//! From a study to its cells.

use std::collections::BTreeSet;

use wiremend_sweep::{AxisValue, Plan, describe};

use crate::{SMALL, plan};

fn cells(plan: &Plan) -> Vec<String> {
    (0..plan.cells().len()).map(|cell| describe(plan, cell)).collect()
}

fn names(plan: &Plan) -> BTreeSet<String> {
    plan.cells().iter().map(|cell| cell.name.clone()).collect()
}

fn values(axis: &str) -> Vec<AxisValue> {
    let text =
        format!("name = \"x\"\nscenario = \"tail-packet\"\n[[axis]]\npath = \"workload.0.count\"\n{axis}\n");
    plan(&text).axes()[0].choices.iter().map(|choice| choice.value.clone()).collect()
}

#[test]
fn axes_are_crossed_and_the_last_advances_first() {
    let cells = cells(&plan(SMALL));
    assert_eq!(cells.len(), 12);
    assert_eq!(cells[0], "scheme go-back-n, dummies 0, seed 1");
    assert_eq!(cells[1], "scheme go-back-n, dummies 0, seed 2");
    assert_eq!(cells[2], "scheme go-back-n, dummies 1, seed 1");
    assert_eq!(cells[11], "scheme irn, dummies 2, seed 2");
}

#[test]
fn ranges_have_round_values_and_keep_their_type() {
    use AxisValue::{Float, Int};
    assert_eq!(values("from = 1\nto = 10\nstep = 3"), [1, 4, 7, 10].map(Int));
    assert_eq!(values("from = 1\nto = 1000\npoints = 4\nspacing = \"log\""), [1, 10, 100, 1000].map(Int));
    let text =
        "name = \"x\"\nscenario = \"tour\"\nvariants = [\"go-back-n\"]\n[[axis]]\npath = \"impair.0.rate\"\n";
    let floats = |range: &str| -> Vec<AxisValue> {
        let plan = plan(&format!("{text}{range}\n"));
        plan.axes()[0].choices.iter().map(|choice| choice.value.clone()).collect()
    };
    assert_eq!(floats("from = 0.1\nto = 0.5\nstep = 0.1"), [0.1, 0.2, 0.3, 0.4, 0.5].map(Float));
    assert_eq!(
        floats("from = 1e-5\nto = 1e-2\npoints = 4\nspacing = \"log\""),
        [1e-5, 1e-4, 1e-3, 1e-2].map(Float)
    );
}

/// A unit makes quantities of numbers, and the column keeps the numbers.
#[test]
fn a_unit_makes_quantities() {
    let text = "name = \"x\"\nscenario = \"tail-packet\"\n[[axis]]\nname = \"delay_us\"\npath = \"topology.delay\"\n\
                from = 0.5\nto = 2.0\nstep = 0.5\nunit = \"us\"\n";
    let plan = plan(text);
    let sets: Vec<_> =
        plan.axes()[0].choices.iter().map(|choice| choice.sets[0].set.value.as_str()).collect();
    assert_eq!(sets, ["\"0.5us\"", "\"1us\"", "\"1.5us\"", "\"2us\""]);
    assert_eq!(plan.value(1, 0), &AxisValue::Float(1.0));
}

#[test]
fn zipped_axes_advance_together() {
    let text = SMALL.replace("[[axis]]\nname = \"dummies\"", "[[axis]]\nzip = \"z\"\nname = \"dummies\"");
    let text = format!(
        "{text}\n[[axis]]\nzip = \"z\"\nname = \"delay\"\npath = \"topology.delay\"\nvalues = [\"1us\", \"2us\", \"3us\"]\n"
    );
    let cells = cells(&plan(&text));
    assert_eq!(cells.len(), 12);
    assert_eq!(cells[2], "scheme go-back-n, dummies 1, delay 2us, seed 1");
}

#[test]
fn conditions_leave_cells_out() {
    let text = format!(
        "{SMALL}\n[[exclude]]\nscheme = \"irn\"\ndummies = {{ above = 0 }}\n[[exclude]]\nseed = [2, 9]\n"
    );
    let cells = cells(&plan(&text));
    assert_eq!(
        cells,
        [
            "scheme go-back-n, dummies 0, seed 1",
            "scheme go-back-n, dummies 1, seed 1",
            "scheme go-back-n, dummies 2, seed 1",
            "scheme irn, dummies 0, seed 1",
        ]
    );
}

#[test]
fn variants_of_the_scenario_are_cells_too() {
    let text = "name = \"x\"\nscenario = \"tour\"\nseeds = [7, 3]\nset = { \"workload.0.flows\" = 50 }\n";
    let all = plan(text);
    assert!(all.variants().len() > 2);
    assert_eq!(all.cells().len(), 2 * all.variants().len());
    assert_eq!(all.cells()[0].seed, 7);
    let one = plan(&format!("{text}variants = [\"Go-Back-N\"]\n"));
    assert_eq!(one.variants(), ["go-back-n"]);
    assert!(names(&one).is_subset(&names(&all)));
}

/// A cell is named by what it simulates, not by how the study is written.
#[test]
fn a_longer_axis_keeps_the_names_of_its_cells() {
    let (short, long) = (names(&plan(SMALL)), names(&plan(&SMALL.replace("[0, 1, 2]", "[3, 2, 1, 0]"))));
    assert_eq!((short.len(), long.len()), (12, 16));
    assert!(short.is_subset(&long));
    let default = names(&plan(&SMALL.replace("seeds = 2", "seeds = 2\nset = { \"transport.retry\" = 7 }")));
    assert_eq!(default, short, "a value that is the default changes nothing");
    assert!(
        names(&plan(&SMALL.replace("seeds = 2", "seeds = 2\nset = { \"transport.timeout\" = 9 }")))
            .is_disjoint(&short)
    );
}

/// An axis that changes nothing in one variant gives cells with one name, which run once.
#[test]
fn equal_cells_run_once() {
    let text = "name = \"x\"\nscenario = \"tour\"\nvariants = [\"clean\"]\nset = { \"workload.0.flows\" = 50 }\n\
                [[axis]]\nname = \"loss\"\npath = \"impair.0.rate\"\nvalues = [1e-4, 1e-3]\n";
    let plan = plan(text);
    assert_eq!((plan.cells().len(), plan.distinct().len()), (2, 1));
}

#[test]
fn a_scenario_inside_the_study_is_a_scenario() {
    let scenario = wiremend_scenario::builtin::get("tail-packet").unwrap();
    let inline: String = scenario
        .lines()
        .map(|line| match line.strip_prefix("[[") {
            Some(rest) => format!("[[scenario.{rest}\n"),
            None => line.strip_prefix('[').map_or(format!("{line}\n"), |rest| format!("[scenario.{rest}\n")),
        })
        .collect();
    let text = SMALL.replace("scenario = \"tail-packet\"\n", "");
    assert_eq!(names(&plan(&format!("{text}[scenario]\n{inline}"))), names(&plan(SMALL)));
}
