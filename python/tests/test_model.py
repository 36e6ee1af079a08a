"""The model gives what the command line gives."""

import pytest

import wiremend
from wiremend import model

QUESTIONS = [
    {"beta": 1e-3},
    {"beta": 1e-2, "links": 4, "workload": "datamining", "dummies": 2, "nak_copies": 1},
    {"alpha": 1e-7, "size": "64KiB", "mtu": 4096, "retransmission_copies": 2, "next": "at-once"},
    {"drop": 1e-3, "access_links": 1, "operation": "send", "rto": "4ms", "gap": "50us", "dummies": 1, "hold": "5us"},
    {"beta": 1e-3, "load": 0.5, "rate": "400Gbps", "omega": 0.5, "nak_reaction": "once", "tail_copies": 1},
]


def words(question):
    names = {"size": "bytes"}
    return [f"--{names.get(name, name).replace('_', '-')}={value}" for name, value in question.items()]


@pytest.mark.parametrize("question", QUESTIONS)
def test_evaluate_equals_the_command(question, command_json):
    printed = command_json("model", *words(question))
    found = model.evaluate(**question)
    per_flow = printed["per_flow"]["mended"]
    for name in ("timeouts", "timeouts_all", "timeout_probability", "naks"):
        assert found[name] == per_flow[name], name
    assert found["time_lost_s"] == per_flow["time_lost_s"]["all"]
    assert found["bytes"] == printed["bytes_all"]["forward"]
    assert found["bytes_backward"] == printed["bytes_all"]["backward"]
    assert found["work_requests"] == printed["work_requests"]
    assert found["timeouts_all"] > 0


@pytest.mark.parametrize(
    ("target", "option"),
    [({"target_timeout": 1e-6}, "--target-timeout=1e-6"), ({"target_p999": "10ms"}, "--target-p999=10ms")],
)
def test_tune_equals_the_command(target, option, command_json):
    printed = command_json("tune", "--beta=1e-3", "--links=2", option)
    found = model.tune(beta=1e-3, links=2, **target)
    assert found.pop("reached") and printed["reached"]
    assert found == {name: printed["best"][name] for name in found}


def test_an_impossible_target_is_not_reached(command_json):
    printed = command_json("tune", "--beta=0.3", "--target-timeout=1e-30", status=1)
    found = model.tune(beta=0.3, target_timeout=1e-30)
    assert not found["reached"] and found["missed"] == printed["best"]["missed"]


def test_sizes_come_from_arrays():
    alone = model.evaluate(beta=1e-3, size="10kB")
    assert model.evaluate(beta=1e-3, sizes=[10_000]) == alone
    both = model.evaluate(beta=1e-3, sizes=[10_000, 2_000], shares=[3, 1])
    other = model.evaluate(beta=1e-3, sizes=[2_000])
    mean = 0.75 * alone["timeouts_all"] + 0.25 * other["timeouts_all"]
    assert both["timeouts_all"] == pytest.approx(mean)


@pytest.mark.parametrize(
    ("question", "pattern"),
    [
        ({}, "loss ratio: give one of .*"),
        ({"beta": 0.0}, "beta: 0e0 is out of range; .*"),
        ({"beta": 0.9}, "beta: 9e-1 is out of range; .*"),
        ({"beta": 1e-3, "alpha": 1e-7}, "loss ratio: give one of .*"),
        ({"alpha": 0.4}, "alpha: 4e-1 is out of range; .*"),
        ({"beta": 1e-3, "workload": "websaerch"}, "workload: .*websearch.*"),
        ({"beta": 1e-3, "mtu": 1500}, "mtu: 1500: expected 256, .*"),
        ({"beta": 1e-3, "rtt": "ten"}, "rtt: .*"),
        ({"beta": 1e-3, "rto": "0s"}, "rto: expected a time above zero, .*"),
        ({"beta": 1e-3, "links": 33}, "links: 33 are too many; at most 32"),
        ({"beta": 1e-3, "load": 1.5}, "load: 1.5: expected a load .*"),
        ({"beta": 1e-3, "dummies": 13}, "dummies: 13: expected a whole number from 0 to 12"),
        ({"beta": 1e-3, "sizes": [1], "shares": []}, "shares: 0 shares for 1 sizes"),
        ({"beta": 1e-3, "sizes": [1], "shares": [0]}, "sizes: no flow has a share above 0"),
        ({"beta": 1e-3, "next": "now"}, "next: 'now': expected .*"),
    ],
)
def test_bad_questions(question, pattern):
    with pytest.raises(wiremend.InputError, match=r"\A" + pattern + r"\Z"):
        model.evaluate(**question)


def test_a_target_is_one():
    with pytest.raises(wiremend.InputError, match="target: give one of"):
        model.tune(beta=1e-3)
