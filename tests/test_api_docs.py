"""The programs of the pages about the Python API, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from sync_cases import write_manifest

from mkdocs_markstay import diff, sync, targets

DOCS = Path(__file__).parents[1] / "docs" / "api"
MODULES = (diff, sync, targets)


@pytest.mark.parametrize("name", ["checks.md", "sync.md"])
def test_fields_of_tuples(name: str) -> None:
    text = (DOCS / name).read_text("utf-8")
    rows = re.findall(r"^\| `([A-Z]\w+)` \| (`.*`) \|$", text, re.MULTILINE)
    assert rows
    for tuple_name, fields in rows:
        (made,) = {getattr(each, tuple_name) for each in MODULES if hasattr(each, tuple_name)}
        assert tuple(fields.replace("`", "").split(", ")) == made._fields


def run(name: str) -> None:
    """Run the program of a page."""
    (program,) = re.findall(
        r"^```python\n(.*?)^```$", (DOCS / name).read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    exec(compile(program, name, "exec"), {"__name__": "__main__"})  # noqa: S102


def test_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_manifest(tmp_path / "old", {"a=A": {"x=One": ["First.", "Second."]}})
    write_manifest(tmp_path / "site", {"a=A": {"x=Uno": ["First.", "Third."]}})
    run("index.md")
    assert capsys.readouterr().out == "a#x First.\na#x Third.\n"
    run("checks.md")
    assert capsys.readouterr().out.splitlines() == [
        "metadata section a#x",
        "metadata passage a#x",
        "edited passage a#x",
    ]
