"""The programs of the page about vector stores, run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from store_cases import LIBRARIES, require
from sync_cases import CHANGES, SITE, Held, run_change, write_manifest

from mkdocs_markstay.stores import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = (Path(__file__).parents[2] / "docs" / "stores.md").read_text(encoding="utf-8")
ASKED = "Get the box. https://docs.example.org/guide/#install\n"


def extract(section_id: str) -> str:
    """Take the program out of a section; "" is what stands before the first one."""
    parts = re.split(r"^## .* <#([\w-]+)>$", PAGE, flags=re.MULTILINE)
    text = dict(zip(["", *parts[1::2]], parts[::2], strict=True))[section_id]
    (program,) = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return str(program)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], dict[str, Any]]:
    write_manifest(tmp_path / "site", SITE)
    monkeypatch.chdir(tmp_path)

    def execute(section_id: str) -> dict[str, Any]:
        names: dict[str, Any] = {"__name__": "__main__"}
        exec(compile(extract(section_id), section_id or "stores.md", "exec"), names)  # noqa: S102
        return names

    return execute


@pytest.mark.parametrize("kind", KINDS)
def test_program(
    kind: str,
    run: Callable[[str], Any],
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    require(kind)
    if kind == "pgvector":
        monkeypatch.setenv("DATABASE_URL", request.getfixturevalue("postgres"))
    run(kind)
    assert capsys.readouterr().out == ASKED


def test_program_of_a_store_by_its_name(
    run: Callable[[str], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    require("lancedb")
    run("")
    printed = "Counts(added=11, reused=3, rewritten=0, skipped=0, deleted=0, embedded=8)\n"
    assert capsys.readouterr().out == printed
    assert Path("index/markstay.sqlite").is_file()


def test_a_target_of_ones_own(
    run: Callable[[str], Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = run("protocol")
    assert (
        capsys.readouterr().out == "Differences(missing=[], ghosts=[], pending=[], listed=True)\n"
    )
    target = names["MyTarget"]("other.sqlite")

    def hold() -> dict[str, Held]:
        rows = target.database.execute("select id, text, metadata, vector from mine")
        loads = names["json"].loads
        return {row[0]: Held(row[1], loads(row[2]), loads(row[3])) for row in rows}

    run_change(tmp_path / "own", CHANGES[3], target, hold)
    target.database.close()
    names["target"].database.close()


def test_the_page_names_every_store() -> None:
    for kind in KINDS:
        assert f"`pip install 'mkdocs-markstay[{kind}]'`" in PAGE
        assert f"`--target {kind}:" in PAGE
    assert list(LIBRARIES) == list(KINDS)
