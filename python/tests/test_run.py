"""Runs give what the command line gives."""

import array

import numpy
import pandas
import polars
import polars.testing
import pyarrow
import pytest

import wiremend

TWO_HOSTS = """
title = "two hosts"
[topology]
kind = "pair"
[[workload]]
kind = "ping-pong"
bytes = "1kB"
iterations = 5
"""


@pytest.mark.parametrize("name", ["nak", "tail-packet", "tour", "tcp"])
def test_digests_are_those_of_the_command_line(name, command_json):
    printed = command_json("run", name)
    result = wiremend.run(name)
    assert result.digests == {variant["name"]: variant["digest"] for variant in printed["variants"]}
    for variant, expected in zip(result.summary["variants"], printed["variants"]):
        assert variant == expected
    assert result.summary["origin"]["command"] == printed["origin"]["command"]
    assert result.sentences


def test_tables_equal_the_files(tmp_path):
    changes = {"workload.0.flows": 500, "series.every": "100us", "series.links": ["edge0-0-agg0-0"], "series.flows": 3}
    result = wiremend.run("tour", changes, seeds=2, out=tmp_path / "results")
    stored = polars.read_parquet(tmp_path / "results" / "flows.parquet")
    flows = polars.DataFrame(result.flows)
    assert flows.height == len(result.flows) == (500 + 16) * 2 * len(result.digests)
    polars.testing.assert_frame_equal(flows, stored)
    assert flows["path"].dtype == polars.List(polars.String) and flows["path"].list.len().min() >= 2
    others = {"links": result.links, "series": result.series, "flow_series": result.flow_series}
    for name, table in others.items():
        stored = polars.read_parquet(tmp_path / "results" / f"{name}.parquet")
        rows = polars.DataFrame(table)
        assert rows.height == len(table) > 0
        polars.testing.assert_frame_equal(rows, stored)


def test_a_result_is_shown_in_a_line():
    assert repr(wiremend.run("nak")) == "<wiremend.Result of nak: base; rows of flows: 1>"


def test_every_library_takes_the_table_and_shares_its_memory():
    flows = wiremend.run("nak").flows
    first, second = pyarrow.table(flows), pyarrow.table(flows)
    addresses = [
        [buffer.address for column in table.columns for chunk in column.chunks for buffer in chunk.buffers() if buffer]
        for table in (first, second)
    ]
    assert addresses[0] and addresses[0] == addresses[1], "both see the columns of the run"
    assert pyarrow.schema(flows) == first.schema
    assert pandas.DataFrame.from_arrow(flows).shape == (len(flows), len(flows.column_names))
    assert polars.DataFrame(flows).columns == flows.column_names == first.column_names
    # The table lives as long as what was made of it.
    del flows, second
    assert first.validate(full=True) is None


def test_overrides_are_python_values(command_json):
    overrides = {
        "workload.0.flows": numpy.int64(200),
        "mend.dummies": 2,
        "impair.0.rate": 3e-7,
        "transport.timeout": 10,
    }
    words = [f"--set={path}={value}" for path, value in overrides.items()]
    printed = command_json("run", "tour", "--variant", "go-back-n", "--seed", 7, *words)
    result = wiremend.run("tour", overrides, variants="go-back-n", seed=7)
    assert result.digests == {"go-back-n": printed["variants"][0]["digest"]}
    assert result.digests != wiremend.run("tour", variants=["go-back-n"], seed=7).digests


def test_scenarios_are_names_paths_texts_and_dicts(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(TWO_HOSTS)
    table = {
        "title": "two hosts",
        "topology": {"kind": "pair"},
        "workload": [{"kind": "ping-pong", "bytes": "1kB", "iterations": 5}],
    }
    digests = [wiremend.run(scenario).digests for scenario in (path, str(path), TWO_HOSTS, table)]
    assert all(each == digests[0] for each in digests)
    assert "tour" in wiremend.scenarios()


def columns(kind):
    src, dst, size, start = [0, 1, 2, 3], [3, 2, 1, 0], [1000, 2000, 30_000, 0], [0, 10, 5000, 20]
    return [kind(column) for column in (src, dst, size, start)]


@pytest.mark.parametrize(
    "kind",
    [
        list,
        tuple,
        iter,
        lambda column: numpy.array(column, dtype="uint32"),
        lambda column: array.array("q", column),
        lambda column: memoryview(array.array("q", column)),
        polars.Series,
        pandas.Series,
        pyarrow.array,
    ],
)
def test_flow_lists_come_from_arrays(kind):
    result = wiremend.run("tour", variants="go-back-n", flows=wiremend.flow_list(*columns(kind)))
    flows = polars.DataFrame(result.flows).sort("src")
    assert flows["src"].to_list() == [0, 1, 2, 3]
    assert flows["dst"].to_list() == [3, 2, 1, 0]
    assert flows["bytes"].to_list() == [1000, 2000, 30_000, 0]
    assert flows["start_ps"].to_list() == [0, 10_000, 5_000_000, 20_000]


def test_a_run_of_a_flow_list_is_repeated_from_its_files(tmp_path, command):
    flows = wiremend.flow_list(*columns(list))
    out = tmp_path / "results"
    result = wiremend.run("tour", variants="go-back-n", flows=flows, out=out)
    copies = list((out / "inputs").iterdir())
    assert [copy.read_bytes() for copy in copies] == [flows]
    repeated = wiremend.rerun(out)
    assert [again.digest for again in repeated] == list(result.digests.values())
    assert all(again.is_equal for again in repeated)
    assert "equal" in command("rerun", out)


def test_files_that_a_scenario_names_are_given_as_text():
    sizes = "999,0\n1000,100\n"
    changes = {"workload.0.sizes": "mine.csv", "workload.0.flows": 50, "workload.1.bytes": "1kB"}
    result = wiremend.run("tour", changes, variants="go-back-n", files={"mine.csv": sizes})
    assert polars.DataFrame(result.flows)["bytes"].to_list() == [1000] * (50 + 16)


def test_progress_ends_with_the_run(capsys):
    shares = []
    wiremend.run("tour", {"workload.0.flows": 3000}, seeds=3, progress=shares.append)
    assert shares and all(0 <= share <= 1 for share in shares) and shares == sorted(shares)
    wiremend.run("nak", progress=True)
    assert capsys.readouterr().err.endswith("\r100 %\n")
