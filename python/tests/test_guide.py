"""The snippets of the guide run, in one session."""

import re

import wiremend
from conftest import ROOT


def test_the_snippets_of_the_guide_run(tmp_path, monkeypatch):
    text = (ROOT / "docs" / "guide" / "python.md").read_text()
    snippets = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(snippets) >= 5
    monkeypatch.chdir(tmp_path)
    names = {}
    for snippet in snippets:
        exec(compile(snippet, "docs/guide/python.md", "exec"), names)


def test_the_stubs_name_what_the_module_has():
    stubs = (ROOT / "python" / "wiremend" / "_native.pyi").read_text()
    named = set(re.findall(r"^(?:def|class) (\w+)", stubs, re.MULTILINE)) - {"_Report", "_Cells"}
    held = {name for name in vars(wiremend._native) if not name.startswith("__")}
    assert named == held
