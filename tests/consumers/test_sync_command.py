"""`mkdocs-markstay sync` with a store of its own folder, as a person runs it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sync_cases import SITE, write_manifest

if TYPE_CHECKING:
    from collections.abc import Callable

pytest.importorskip("lancedb")

DOCS = Path(__file__).parents[2] / "docs"
MODEL = """\
import os
from pathlib import Path

def embed(texts):
    with Path("asked.txt").open("a") as file:
        file.writelines(f"{text}\\n" for text in texts)
    if os.environ.get("DIE") and "Because." in texts:
        os._exit(9)
    return [[float(len(text)), float(text.count(" "))] for text in texts]

class Deep:
    embed = staticmethod(embed)

number = 5
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    (tmp_path / "my_model.py").write_text(MODEL)
    (tmp_path / "broken.py").write_text("raise RuntimeError('no key')")
    write_manifest(tmp_path / "site", SITE)
    monkeypatch.chdir(tmp_path)

    def call(
        *arguments: str, embedder: str | None = "my_model:embed", target: str = "lancedb:./index"
    ) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "mkdocs_markstay", "sync", "--target", target]
        command += ["--embedder", embedder] if embedder else []
        done = subprocess.run(
            [*command, *(arguments or ("site",))], check=False, capture_output=True, text=True
        )
        return done.returncode, done.stdout, done.stderr

    return call


def asked() -> list[str]:
    path = Path("asked.txt")
    texts = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return texts


def test_a_plan_and_a_summary(run: Any) -> None:
    code, out, err = run("site", "--dry-run")
    plan = (
        "site -> lancedb:./index\n"
        "  embed    8  by my_model:embed\n"
        "  add     11  3 with a vector that is known\n"
        "  rewrite  0  other titles, addresses and the like\n"
        "  skip     0  as they should be\n"
        "  delete   0  of 0 that the target holds of these sites\n"
    )
    assert (code, out, err) == (0, plan, "nothing was done: --dry-run\n")
    assert asked() == []
    code, out, err = run("site")
    assert (code, out) == (0, plan)
    assert re.fullmatch(
        r"11 added \(3 reused\), 0 rewritten, 0 deleted, 0 skipped; 8 texts embedded in [\d.]+ s\n",
        err,
    )
    assert len(asked()) == 8
    code, out, err = run("site/passages.json")
    assert (code, err) == (0, "nothing to do: 11 passages as they should be\n")
    assert asked() == []
    assert run("site", "--check", embedder=None) == (
        0,
        "",
        "lancedb:./index holds what its receipts say\n",
    )


def test_what_the_documentation_shows_has_this_form(run: Any) -> None:
    text = (DOCS / "sync.md").read_text(encoding="utf-8")
    shown = text.partition("```text\nsite -> ")[2].partition("\n```")[0].splitlines()
    _, out, err = run("site", "--model", "my-model-1")

    def form(line: str) -> str:
        return re.sub(r" *[\d.]+", " N", line).replace("1 text ", "1 texts ")

    assert [form(line) for line in shown[1:-1]] == [form(line) for line in out.splitlines()[1:]]
    assert form(shown[-1]).replace("text ", "texts ") == form(err.strip())


def test_a_run_that_was_killed(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIE", "1")
    assert run("site")[0] == 9
    asked()
    monkeypatch.delenv("DIE")
    assert run("site")[0] == 0
    assert run("site", "--check", embedder=None)[0] == 0


def test_much_is_deleted_by_force_only(run: Any) -> None:
    run("site")
    write_manifest(Path("site"), {"faq": {"why": ["Because."]}})
    code, out, err = run("site", "--max-delete", "80%")
    assert code == 2
    assert "delete  10  of 11" in out
    assert "10 of 11 records would be deleted, more than 80%. " in err
    assert "--force" in err
    assert run("site", "--force")[0] == 0
    assert run("site", "--check", embedder=None)[0] == 0


def test_a_lost_target_is_rebuilt(run: Any) -> None:
    import shutil

    run("site", "--receipts", "receipts.sqlite")
    shutil.rmtree("index")
    code, _, err = run("site", "--receipts", "receipts.sqlite")
    assert code == 2
    assert "rebuild it: --rebuild" in err
    code, out, err = run("site", "--receipts", "receipts.sqlite", "--check", embedder=None)
    assert code == 1
    assert out.startswith("missing: 11 (")
    assert "Repair it: --rebuild" in err
    assert run("site", "--receipts", "receipts.sqlite", "--rebuild")[0] == 0
    assert run("site", "--receipts", "receipts.sqlite", "--check", embedder=None)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((), {"embedder": None}, "a sync needs a model. Name it: --embedder MODULE:FUNCTION"),
        ((), {"embedder": "my_model"}, "write it as MODULE:FUNCTION"),
        ((), {"embedder": "nowhere:embed"}, "ModuleNotFoundError: No module named 'nowhere'"),
        ((), {"embedder": "my_model:absent"}, "AttributeError"),
        ((), {"embedder": "my_model:number"}, "that is no function"),
        ((), {"embedder": "broken:embed"}, "RuntimeError: no key"),
        ((), {"target": "cupboard:./index"}, "cupboard"),
        ((), {"target": "lancedb"}, "lancedb"),
        (("site", "--namespace", "a/b"), {}, "a/b"),
        (("absent",), {}, "there is no file or folder absent"),
        (("site", "site"), {}, "are both of the publication p"),
        (("site", "--check", "--rebuild"), {}, "--check only compares"),
        (("site", "--max-delete", "101"), {}, "'101' is no percentage from 0 to 100"),
        (("site", "--max-delete", "much"), {}, "'much' is no percentage from 0 to 100"),
        (("site", "--receipts", "site"), {}, "the receipts in"),
    ],
)
def test_what_cannot_be_done(run: Any, arguments: Any, options: Any, message: str) -> None:
    code, _, err = run(*arguments, **options)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_a_function_can_be_in_a_class(run: Any) -> None:
    assert run("site", embedder="my_model:Deep.embed")[0] == 0


def test_namespaces_are_apart(run: Any) -> None:
    run("site")
    write_manifest(Path("site"), {"faq": {"why": ["Because."]}})
    code, out, _ = run("site", "--namespace", "v2")
    assert (code, "add     1" in out) == (0, True)
    assert run("site", "--namespace", "v2", "--check", embedder=None)[0] == 0


def test_no_password_is_printed(run: Any) -> None:
    code, out, err = run("site", target="pgvector:postgresql://me:secret@localhost:1/none")
    assert code == 2
    assert "secret" not in out + err
