"""Long commands show how far they are: on a terminal, in a log of CI, and nowhere else."""

from __future__ import annotations

import io
import os
import re
import sys
from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from manifest_builder import build
from site_builder import Ran, Site, build_site, working_in, write_site
from sync_cases import MemoryTarget

from mkdocs_markstay import progress, stores
from mkdocs_markstay.cli import main
from mkdocs_markstay.diff import compare
from mkdocs_markstay.export import export_manifest
from mkdocs_markstay.inspection import Inspection
from mkdocs_markstay.manifest import Manifest
from mkdocs_markstay.manifest_files import open_manifest
from mkdocs_markstay.progress import SILENT, Progress, make_progress
from mkdocs_markstay.stores import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pty = pytest.importorskip("pty")
import fcntl  # noqa: E402 (not on Windows, as pty)
import struct  # noqa: E402
import termios  # noqa: E402

PAGES = {f"docs/p{n}.md": f"# Page {n}\n\nText.\n\n## A <#a>\n\nMore of {n}.\n" for n in range(6)}
MODEL = "def embed(texts):\n    return [[1.0, float(len(text))] for text in texts]\n"


# -- terminals


class Terminal:
    """A pseudo terminal to write to, and what was written there."""

    def __init__(self, columns: int = 80, encoding: str = "utf-8") -> None:
        self._main, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.stream = open(other, "w", encoding=encoding, buffering=1)  # noqa: PTH123, SIM115
        self._parts: list[bytes] = []
        self._reader = Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                self._parts.append(os.read(self._main, 4096))
            except OSError:  # nobody has the terminal open any more
                return
            if not self._parts[-1]:
                return

    def close(self) -> str:
        """Give what was written."""
        self.stream.close()
        self._reader.join()
        os.close(self._main)
        return b"".join(self._parts).decode().replace("\r\n", "\n")


def look(written: str) -> str:
    """Give what is on the screen once all of this is written."""
    lines = []
    for line in written.split("\n"):
        screen: list[str] = []
        for part in line.split("\r"):
            screen[: len(part)] = part
        lines.append("".join(screen).rstrip())
    return "\n".join(lines)


class Clock:
    """Shows ``now``, in seconds, and goes on by ``tick`` whenever somebody looks at it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.tick = 0.0

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "_now", made)
    return made


def show(terminal: Terminal, environ: dict[str, str], work: Callable[[Progress], None]) -> str:
    shown = make_progress(terminal.stream, environ)
    with shown:
        work(shown)
    return terminal.close()


def render(shown: Progress) -> None:
    shown.begin("Rendering pages", 4)
    for _ in range(4):
        shown.advance()


@pytest.mark.parametrize(
    ("columns", "encoding", "last"),
    [
        (80, "utf-8", "Rendering pages  " + 30 * "\u2588" + "  4/4  100 %"),
        (80, "ascii", "Rendering pages  " + 30 * "#" + "  4/4  100 %"),
        (45, "ascii", "Rendering pages  ###############  4/4  100 %"),
        (32, "ascii", "Rendering pages  4/4  100 %"),
        (25, "ascii", "Rendering pages  100 %"),
        (10, "ascii", "100 %"),
        (3, "ascii", ""),
    ],
)
def test_a_bar_fits_its_terminal_and_is_gone_in_the_end(
    columns: int, encoding: str, last: str, clock: Clock
) -> None:
    clock.tick = 0.2
    written = show(Terminal(columns, encoding), {}, render)
    drawn = [part.rstrip() for part in written.split("\r") if part.strip()]
    assert ([drawn[-1]] if drawn else []) == ([last] if last else [])
    assert look(written) == ""
    assert "\n" not in written
    assert "\x1b" not in written


@pytest.mark.parametrize(
    ("total", "seconds", "told"),
    [
        (1000, 0.5, "10/1,000  1 %"),
        (1000, 0.9, "10/1,000  1 %"),
        (1000, 1, "10/1,000  1 %  about 2 min left"),
        (20, 30, "10/20  50 %  about 30 s left"),
        (11, 1, "10/11  90 %  about 1 s left"),
        (1000, 60, "10/1,000  1 %  about 1.6 h left"),
        (10, 60, "10/10  100 %"),
        (None, 60, "10"),
    ],
)
def test_the_time_that_is_left_is_that_of_what_was_done(
    total: int | None, seconds: float, told: str, clock: Clock
) -> None:
    def work(shown: Progress) -> None:
        shown.begin("Work", total)
        clock.now += seconds
        shown.advance(10)

    drawn = show(Terminal(), {}, work).split("\r")
    last = [part.rstrip() for part in drawn if part.strip()][-1]
    assert re.sub("[\u2588\u2591]+  ", "", last) == f"Work  {told}"


def test_more_than_there_was_to_be_is_no_percentage(clock: Clock) -> None:
    def work(shown: Progress) -> None:
        shown.begin("Pages", 1)
        shown.advance(2)
        shown.begin("Bytes", 3_000_000, in_bytes=True)
        shown.advance(9_000_000)

    clock.tick = 0.2
    drawn = show(Terminal(), {}, work).split("\r")
    assert [part.rstrip() for part in drawn if "2" in part or "3/3" in part] == [
        "Pages  2",
        "Bytes  " + 30 * "\u2588" + "  3/3 MB  100 %",
    ]


@pytest.mark.parametrize("whole", [True, False])
def test_what_others_write_stands_on_lines_of_its_own(
    monkeypatch: pytest.MonkeyPatch, clock: Clock, *, whole: bool
) -> None:
    clock.tick = 0.2
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal.stream)

    def work(shown: Progress) -> None:
        render(shown)
        sys.stderr.writelines(["a plugin", " says\n"] if whole else ["it asks: "])
        render(shown)

    written = show(terminal, {}, work)
    assert look(written) == ("a plugin says\n" if whole else "it asks:")
    assert sys.stderr is terminal.stream


def fail(shown: Progress, error: type[BaseException]) -> None:
    shown.begin("Work", 2)
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, SystemExit])
def test_a_bar_is_gone_when_work_ends_early(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    with pytest.raises(error), make_progress(terminal.stream, {}) as shown:
        fail(shown, error)
    sys.stderr.write("what went wrong\n")
    assert look(terminal.close()) == "what went wrong\n"


@pytest.mark.parametrize(
    ("environ", "is_terminal", "quiet", "kind"),
    [
        ({}, True, False, "_Bar"),
        ({"CI": "true"}, True, False, "_Bar"),
        ({"NO_COLOR": "1"}, True, False, "_Bar"),
        ({"TERM": "dumb"}, True, False, "_Lines"),
        ({"CI": "true"}, False, False, "_Lines"),
        ({"CI": "1"}, False, False, "_Lines"),
        ({"CI": "false"}, False, False, "Progress"),
        ({"CI": ""}, False, False, "Progress"),
        ({}, False, False, "Progress"),
        ({"CI": "1"}, False, True, "Progress"),
        ({}, True, True, "Progress"),
    ],
)
def test_who_sees_what(
    environ: dict[str, str], kind: str, *, is_terminal: bool, quiet: bool
) -> None:
    terminal = Terminal()
    stream = terminal.stream if is_terminal else io.StringIO()
    assert type(make_progress(stream, environ, quiet=quiet)).__name__ == kind
    assert make_progress(None, environ) is SILENT  # standard error is closed
    terminal.close()


# -- logs


@pytest.mark.parametrize(
    ("seconds", "total", "steps", "lines"),
    [
        (5, 8, 8, ["2 of 8 (25 %, about 30 s left)", "4 of 8 (50 %, about 20 s left)",
                   "6 of 8 (75 %, about 10 s left)", "8 of 8 (100 %)"]),
        # None but for another tenth,
        (100, 1000, 200, ["100 of 1,000 (10 %, about 25.0 h left)",
                          "200 of 1,000 (20 %, about 22.2 h left)"]),
        # and none for what takes no time.
        (1, 9, 9, []),
        # Nobody knows how many there will be.
        (1, None, 80, ["10", "30", "70"]),
    ],
)  # fmt: skip
def test_lines_of_a_log_are_few(
    seconds: float, total: int | None, steps: int, lines: list[str], clock: Clock
) -> None:
    stream = io.StringIO()
    shown = make_progress(stream, {"CI": "1"})
    with shown:
        shown.begin("Work", total)
        for _ in range(steps):
            clock.now += seconds
            shown.advance()
    assert stream.getvalue() == "".join(f"Work: {line}\n" for line in lines)


def test_many_steps_have_no_more_lines(clock: Clock) -> None:
    clock.tick = 100
    stream = io.StringIO()
    shown = make_progress(stream, {"CI": "1"})
    with shown:
        for _ in range(10):
            render(shown)
    assert len(stream.getvalue().splitlines()) == 20


# -- what is told


class Told(Progress):
    """Keeps what it is told: each step with its total, and how much of it was done."""

    def __init__(self) -> None:
        self.steps: list[list[Any]] = []

    def begin(self, step: str, total: int | None = None, *, in_bytes: bool = False) -> None:
        del in_bytes
        self.steps.append([step, total, 0])

    def advance(self, count: int = 1) -> None:
        self.steps[-1][2] += count


@pytest.mark.parametrize("module", ["plugin", "zensical_site"])
def test_all_pages_of_a_site_are_told(module: str, tmp_path: Path) -> None:
    if module == "zensical_site":
        pytest.importorskip("zensical")
    inspect = import_module(f"mkdocs_markstay.{module}").inspect_site
    write_site(tmp_path, Site({**PAGES, "docs/.left/out.md": "# Out\n"}))
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "Test"\n')
    told = Told()
    run = Inspection(progress=told, wants=lambda key, _path: "p3" not in key)
    with working_in(tmp_path):
        inspect("mkdocs.yml" if module == "plugin" else "zensical.toml", run)
    assert told.steps == [["Rendering pages", 5, 5]]


@pytest.mark.parametrize("kind", ["passages.json", "passages.jsonl", "data"])
def test_all_of_a_manifest_is_told(kind: str, tmp_path: Path) -> None:
    site = {f"p{n:03}": {"a": ["Text " * 50, "More."]} for n in range(300)}
    for name, content in zip(("passages.json", "passages.jsonl"), build(site), strict=True):
        (tmp_path / name).write_bytes(content)
    told = Told()
    with Manifest.open(tmp_path / "passages.json") as manifest:
        told.begin("Writing", manifest.count)
        export_manifest(manifest, tmp_path / "data", 3, told.advance)
    assert told.steps == [["Writing", 600, 600]]
    paths = [tmp_path / kind] if kind != "data" else list((tmp_path / kind).glob("*.parquet"))
    size = sum(path.stat().st_size for path in paths)
    with Manifest.open(tmp_path / kind, progress=told):
        step, total, done = told.steps[-1]
        assert (step, total) == ("Checking the manifest", size)
        assert 0.97 * size < done <= size


@pytest.mark.parametrize("number", [0, 1])
def test_all_of_two_manifests_is_told(number: int, tmp_path: Path) -> None:
    paths = []
    for name, last in (("old", 2999), ("new", 3000)):
        site = {f"p{n:04}": {"a": ["Text " * 50]} for n in range(last)}
        (tmp_path / name).mkdir()
        paths.append(tmp_path / name / "passages")
        paths[-1].write_bytes(build(site)[number])
    told = Told()
    old, new = (open_manifest(str(path), "", path.parent) for path in paths)
    assert len(compare(old, new, told).changes) == 3
    size = sum(path.stat().st_size for path in paths)
    # What is read ahead is counted, too: of each list at most so much.
    done = told.steps[0].pop()
    assert size - 3000 < done < size + 6 * (1 << 18)
    assert told.steps == [["Comparing", size], ["Looking for what moved", None, 0]]


# -- commands


COMMANDS: list[tuple[str, str]] = [
    ("check --no-cache", "Rendering pages"),
    ("check --no-cache docs/p1.md", "Rendering pages"),
    ("stamp", "Rendering pages with the edits"),
    ("stamp --write --fresh", "Rendering pages with the edits"),
    ("stamp --stays", "Rendering pages with the edits"),
    ("verify site", "Verifying pages"),
    ("manifest site -f mkdocs.yml", "Reading pages"),
    ("diff site other", "Comparing"),
    ("diff site other --format markdown", "Comparing"),
    ("export site -o data", "Writing passages"),
    ("sync site --target chroma:x --embedder my_model:embed", "Embedding and writing"),
    ("baseline", "Rendering pages"),
    ("parity --original docs", "Rendering pages"),
    ("lock", "Rendering pages"),
    ("stats site", "Counting passages"),
    ("stats site -o stats.html --format html", "Counting passages"),
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A site that was built, and has a page without ids since."""
    folder = tmp_path_factory.mktemp("built")
    site = build_site(folder, Site(PAGES))
    assert site.passed
    (folder / "docs" / "new.md").write_text("# New\n\n## Without\n\nText.\n\n## Another\n")
    (folder / "other").mkdir()
    (folder / "other" / "passages.json").write_bytes(build({"p1": {"": ["New."]}})[0])
    (folder / "my_model.py").write_text(MODEL)
    return folder


@pytest.fixture
def run(
    built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str, str], Ran]]:
    """Run a command in a copy of the site, with standard error as it is `shown`."""
    from shutil import copytree  # noqa: PLC0415

    class Target(MemoryTarget):
        def close(self) -> None:
            pass

    path = sys.path.copy()

    def run(command: str, shown: str) -> Ran:
        folder = tmp_path / shown
        copytree(built, folder)
        receipts = str(folder / "receipts.sqlite")
        monkeypatch.setattr(stores, "open_store", lambda *_: Store(Target(), receipts))
        monkeypatch.setenv("CI", "1" if shown == "log" else "")
        monkeypatch.setenv("TERM", "xterm")
        arguments = [*command.split(), *(["-q"] if shown == "quiet" else [])]
        terminal = Terminal(200) if shown in ("terminal", "quiet") else None
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with monkeypatch.context() as patch, working_in(folder):
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", terminal.stream if terminal else err)
            with pytest.raises(SystemExit) as exit_:
                main(arguments, prog_name="mkdocs-markstay")
        for stream in (out, err):
            stream.flush()
        written = terminal.close() if terminal else read(err)
        written = re.sub(r"in [\d.]+ s$", "in 0.1 s", written, flags=re.MULTILINE)
        # Ids of markers are made up.
        shown_out = re.sub(r"stay:\w+", "stay:ID", read(out))
        return Ran(int(exit_.value.code or 0), shown_out, written)

    yield run
    sys.path[:] = path
    sys.modules.pop("my_model", None)


def read(stream: io.TextIOWrapper) -> str:
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


@pytest.mark.parametrize(("command", "step"), COMMANDS, ids=[each for each, _ in COMMANDS])
def test_commands(command: str, step: str, run: Callable[[str, str], Ran], clock: Clock) -> None:
    """Four ways to look on: what is done, and what standard output gets, is the same in all."""
    clock.tick = 11
    pipe, terminal, log, quiet = (
        run(command, each) for each in ("pipe", "terminal", "log", "quiet")
    )
    assert {ran.code for ran in (terminal, log, quiet)} == {pipe.code}
    assert {ran.out for ran in (terminal, log, quiet)} == {pipe.out}
    assert "\r" not in pipe.err
    assert f"{step}: " not in pipe.err
    assert f"\r{step}  " in terminal.err
    assert look(terminal.err) == pipe.err
    lines = [
        line
        for line in log.err.splitlines(keepends=True)
        if not re.match(r"[A-Z][a-z ]+: \d", line)
    ]
    assert "".join(lines) == pipe.err
    assert len(lines) < len(log.err.splitlines())
    # What is left without progress and summary are findings and what else is wrong.
    told = pipe.err.splitlines()
    assert quiet.err.splitlines() == [line for line in told if not is_summary(line)]
    assert command.startswith(
        ("verify", "diff site other", "export", "baseline", "stats site")
    ) or any(map(is_summary, told))


def is_summary(line: str) -> bool:
    return bool(
        re.match(
            r"\d+ (error|change|id|marker|added|translated)|no findings|\S+passages|stats\.html:",
            line,
        )
        or re.match(r"markstay\.lock: |site: ", line)
    )
