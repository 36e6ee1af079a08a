"""The command line of the same commit, to compare with."""

import json
import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def command():
    """Calls the program `wiremend` and returns its standard output."""

    def call(*arguments, status=0):
        program = os.environ["WIREMEND_PROGRAM"]
        done = subprocess.run([program, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == status, done.stderr
        return done.stdout

    return call


@pytest.fixture
def command_json(command):
    """The same with `--json`."""
    return lambda *arguments, status=0: json.loads(command(*arguments, "--json", status=status))
