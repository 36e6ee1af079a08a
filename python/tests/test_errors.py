"""Every error is one line that names place and remedy."""

import json
import re
import tomllib

import pytest

import wiremend
from conftest import ROOT


def raises(pattern, kind=wiremend.InputError):
    return pytest.raises(kind, match=r"\A" + pattern + r"\Z", check=lambda error: "\n" not in str(error))


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        ({"scenario": "tuor"}, ".*did you mean `tour`.*"),
        ({"scenario": "none.toml"}, "none.toml: cannot be read: .*"),
        ({"overrides": {"topology.kk": 8}}, ".*topology.kk.*"),
        ({"overrides": {"workload.0.flows": -1}}, ".*workload.0.flows.*expected a whole number.*"),
        ({"overrides": {"mend.dummies": object()}}, "mend.dummies: a object cannot be a value; use a .*"),
        ({"overrides": {"mend.dummies": float("nan")}}, "mend.dummies: nan is not a number"),
        ({"variants": "go-back"}, ".*unknown variant.*"),
        ({"scenario": "title = 1\n"}, "scenario:1:9: .*"),
        ({"seeds": 0}, "seeds: 0 is out of range; .*"),
        ({"seed": -1}, "seed: -1: expected a whole number from 0"),
        ({"threads": "two"}, "threads: 'two': expected a whole number from 0"),
        ({"files": {"a.csv": 5}}, "files: a.csv: expected a str or bytes, not int"),
        ({"flows": [1, 2]}, "flows: expected a list made by wiremend.flow_list"),
        ({"flows": b"0,99,1,0\n"}, ".*line 1, column 3: dst 99 is not one of the .* hosts.*"),
    ],
)
def test_bad_arguments_of_a_run(arguments, pattern):
    with raises(pattern):
        wiremend.run(**{"scenario": "tour", **arguments})


@pytest.mark.parametrize(
    ("columns", "pattern"),
    [
        (([0], [1], [5], []), "flow_list: columns differ in length: src 1, dst 1, bytes 1, start_ns 0"),
        (([0], [1], [1.5], [0]), "flow_list: bytes, row 0: 1.5 is not a whole number"),
        (([0, -1], [1, 1], [1, 1], [0, 0]), "flow_list: src, row 1: -1 is below 0"),
        (([0], [True], [1], [0]), "flow_list: dst, row 0: True is not a whole number"),
    ],
)
def test_bad_flow_lists(columns, pattern):
    with raises(pattern):
        wiremend.flow_list(*columns)


def test_nothing_is_written_by_a_run_that_fails(tmp_path):
    out = tmp_path / "results"
    with raises(".*dst 99.*"):
        wiremend.run("tour", flows=b"0,99,1,0\n", out=out)
    assert not out.exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "summary.json").write_text("{}")
    with raises(".*holds a `summary.json` that is not of a run.*"):
        wiremend.run("nak", out=other)


def test_results_of_another_version(tmp_path):
    out = tmp_path / "results"
    wiremend.run("nak", out=out)
    summary = out / "summary.json"
    made = json.loads(summary.read_text())
    summary.write_text(json.dumps({**made, "version": "0.1.0"}))
    with raises(f".*results: made by wiremend 0.1.0 and this is {re.escape(wiremend.__version__)}; install .*"):
        wiremend.rerun(out)
    assert all(again.is_equal for again in wiremend.rerun(out, any_version=True))
    summary.write_text(json.dumps({**made, "schema": 1}))
    with raises(".*summary.json: its layout is 1, and this version reads layout .*"):
        wiremend.rerun(out)
    with raises(".*nowhere.*cannot be read.*"):
        wiremend.rerun(tmp_path / "nowhere")


def test_the_version_is_that_of_the_workspace():
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert wiremend.__version__.split()[0] == workspace


def test_an_exception_in_the_progress_stops_the_run():
    def refuse(share):
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        wiremend.run("tour", seeds=1000, progress=refuse)
