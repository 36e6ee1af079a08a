"""Sweeps give what the command line gives."""

import json

import polars
import polars.testing
import pytest

import wiremend

STUDY = {
    "name": "dummies",
    "scenario": "tail-packet",
    "seeds": 2,
    "axis": [{"name": "dummies", "path": "mend.dummies", "values": [0, 2]}],
}
TEXT = """
name = "dummies"
scenario = "tail-packet"
seeds = 2
[[axis]]
name = "dummies"
path = "mend.dummies"
values = [0, 2]
"""


def test_the_table_is_that_of_the_command_line(tmp_path, command):
    path = tmp_path / "study.toml"
    path.write_text(TEXT)
    command("sweep", path, "--out", tmp_path / "printed")
    stored = polars.read_parquet(tmp_path / "printed" / "cells.parquet")
    found = wiremend.sweep(path, tmp_path / "own")
    assert (found.failed, found.missing, len(found.cells)) == ([], 0, stored.height)
    polars.testing.assert_frame_equal(polars.DataFrame(found.cells), stored)
    polars.testing.assert_frame_equal(polars.read_parquet(tmp_path / "own" / "cells.parquet"), stored)
    of_dict = wiremend.sweep(STUDY, tmp_path / "dict")
    polars.testing.assert_frame_equal(polars.DataFrame(of_dict.cells), stored)
    collected = wiremend.collect(tmp_path / "printed")
    polars.testing.assert_frame_equal(polars.DataFrame(collected.cells), stored)


def test_cells_that_have_run_are_not_run_again(tmp_path):
    wiremend.sweep(STUDY, tmp_path)
    results = {path: path.read_bytes() for path in (tmp_path / "results").iterdir()}
    more = {**STUDY, "axis": [{**STUDY["axis"][0], "values": [0, 1, 2]}]}
    assert len(wiremend.sweep(more, tmp_path).cells) == 6
    lines = [line for path in (tmp_path / "results").iterdir() for line in path.read_bytes().splitlines()]
    assert len(lines) == 6
    assert all(path.read_bytes() == content for path, content in results.items())


def test_a_cell_that_fails_is_listed(tmp_path):
    flows = tmp_path / "flows.csv"
    flows.write_bytes(wiremend.flow_list([0], [3], [1000], [0]))
    sets = {"workload": [{"kind": "list", "file": str(flows)}]}
    axis = {"name": "k", "path": "topology.k", "values": [4, 2]}
    study = {"name": "small", "scenario": "tour", "variants": ["go-back-n"], "set": sets, "axis": [axis]}
    found = wiremend.sweep(study, tmp_path / "out")
    assert (len(found.cells), found.missing, len(found.failed)) == (2, 0, 1)
    [(cell, message)] = found.failed
    assert "2" in cell and "dst 3 is not one of the 2 hosts" in message and "\n" not in message


@pytest.mark.parametrize(
    ("study", "pattern"),
    [
        ({**STUDY, "axis": [{**STUDY["axis"][0], "values": []}]}, ".*an axis needs at least one value"),
        ({**STUDY, "scenario": "tail-paket"}, ".*tail-packet.*"),
        ({**STUDY, "axis": [{"path": "mend.dumies", "values": [1]}]}, ".*dumies.*"),
    ],
)
def test_bad_studies(study, pattern, tmp_path):
    with pytest.raises(wiremend.InputError, match=pattern) as error:
        wiremend.sweep(study, tmp_path / "out")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "out").exists()


def test_folders_of_others(tmp_path):
    wiremend.sweep(STUDY, tmp_path / "own")
    with pytest.raises(wiremend.InputError, match='holds the sweep "dummies" and this study is "other"'):
        wiremend.sweep({**STUDY, "name": "other"}, tmp_path / "own")
    with pytest.raises(wiremend.InputError, match="does not exist"):
        wiremend.collect(tmp_path / "nowhere")
    plans = sorted((tmp_path / "own" / "plans").iterdir())
    plan = json.loads(plans[-1].read_text())
    plans[-1].write_text(json.dumps({**plan, "version": "0.1.0"}))
    with pytest.raises(wiremend.InputError, match="own: made by wiremend 0.1.0 and this is .*any_version=True"):
        wiremend.collect(tmp_path / "own")
    assert wiremend.collect(tmp_path / "own", any_version=True).version == "0.1.0"
