"""What may go wrong around `stamp`: it is told in a line, and every file is whole, old or new."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from site_builder import Ran, Site, build_site, run_markstay, write_site

from mkdocs_markstay.cli import _choose
from mkdocs_markstay.plugin import inspect_site
from mkdocs_markstay.stamp_site import StampOptions, Stamps, stamp_site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TEXT = "# A\n\n## One\n\nx\n\n## Two\n\ny\n"
NEW = "# A\n\n## One <#one>\n\nx\n\n## Two <#two>\n\ny\n"


def make_site(folder: Path, files: dict[str, str | bytes] | None = None, **config: Any) -> Path:
    """Write a site with the page TEXT and others."""
    return write_site(folder, Site({"docs/index.md": TEXT, **(files or {})}, config=config))


def hook(folder: Path, code: str, **files: str | bytes) -> None:
    """Write a site with a hook."""
    make_site(folder, {"hook.py": code, **files}, hooks=["hook.py"])


def write(folder: Path, *args: str) -> Ran:
    ran = run_markstay(folder, "stamp", "--write", *args)
    assert "Traceback" not in ran.out + ran.err
    assert not list(folder.rglob(".markstay-*"))
    return ran


def read(folder: Path, name: str = "docs/index.md") -> str:
    return (folder / name).read_bytes().decode()


def messages(ran: Ran) -> list[str]:
    return [f"{found.path}:{found.line} {found.code} {found.message}" for found in ran.findings]


@pytest.fixture
def no_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """See that nothing stays in the folder of temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", os.fspath(folder))
    yield
    assert list(folder.iterdir()) == []


# -- files that cannot be written


@pytest.fixture
def restored(tmp_path: Path) -> Iterator[Path]:
    """Give a folder whose rights are given back in the end."""
    yield tmp_path
    for path in [tmp_path / "docs", *(tmp_path / "docs").rglob("*")]:
        if not path.is_symlink():
            path.chmod(0o755)


def test_a_read_only_file(restored: Path) -> None:
    make_site(restored, {"docs/b.md": TEXT})
    (restored / "docs/b.md").chmod(0o444)
    ran = write(restored)
    assert ran.code == 1
    assert messages(ran) == ["docs/b.md:1 not-written the file is read-only"]
    assert (read(restored), read(restored, "docs/b.md")) == (NEW, TEXT)
    assert (restored / "docs/b.md").stat().st_mode & 0o777 == 0o444


def test_a_read_only_folder(restored: Path) -> None:
    make_site(restored, {"docs/x/b.md": TEXT})
    (restored / "docs/x").chmod(0o555)
    ran = write(restored)
    assert ran.code == 1
    assert messages(ran) == ["docs/x/b.md:1 not-written the file is in a folder that is read-only"]
    assert (read(restored), read(restored, "docs/x/b.md")) == (NEW, TEXT)


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    make_site(tmp_path)
    (tmp_path / "docs/index.md").chmod(0o640)
    assert write(tmp_path).code == 0
    assert (tmp_path / "docs/index.md").stat().st_mode & 0o777 == 0o640


def test_a_file_that_is_not_utf_8(tmp_path: Path) -> None:
    latin = "# B\n\n## Ähnlich\n".encode("latin-1")
    make_site(tmp_path, {"docs/b.md": latin})
    ran = write(tmp_path)
    assert ran.code == 1
    assert messages(ran) == [
        "docs/b.md:1 not-written the file is not UTF-8 (line 3). Save it as UTF-8"
    ]
    assert (tmp_path / "docs/b.md").read_bytes() == latin
    assert read(tmp_path) == NEW


def find_stamps(folder: Path) -> Stamps:
    config = folder / "mkdocs.yml"
    choose = _choose(os.fspath(config), None, fresh=False)
    return stamp_site(config, StampOptions((), "angle", choose), inspect_site)


@pytest.mark.parametrize("change", ["edited", "removed", "folder"])
def test_a_file_that_changes_before_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    make_site(tmp_path, {"docs/b.md": TEXT})
    monkeypatch.chdir(tmp_path)
    stamps = find_stamps(tmp_path)
    page = tmp_path / "docs/index.md"
    if change == "edited":
        page.write_text(f"{TEXT}z\n")
    else:
        page.unlink()
    if change == "folder":
        page.mkdir()
    stamps.write()
    (found,) = stamps.findings
    assert (found.path, found.code) == ("docs/index.md", "not-written")
    assert read(tmp_path, "docs/b.md") == NEW
    if change == "edited":
        assert found.message == "the file was changed by someone else meanwhile"
        assert read(tmp_path) == f"{TEXT}z\n"


@pytest.mark.parametrize(
    "other", ["# A\n\nmore\n\n## One\n\nx\n\n## Two\n", "# A\n\n## One\n\nx\n\n## Three\n", ""]
)
def test_a_file_that_changes_after_it_is_rendered(tmp_path: Path, other: str) -> None:
    code = (
        "from pathlib import Path\n"
        "def on_page_content(html, page, **_):\n"
        "    path = Path('docs/index.md').resolve()\n"
        f"    if page.file.src_uri == 'index.md': path.write_text({other!r})\n"
        "    return html\n"
    )
    hook(tmp_path, code)
    ran = write(tmp_path)
    assert ran.code == 1
    assert {found.code for found in ran.findings} <= {"not-stamped", "not-written"}
    assert read(tmp_path) == other


# -- links


def test_a_link_within_the_docs_folder(tmp_path: Path) -> None:
    make_site(tmp_path, {"docs/real.md": TEXT})
    (tmp_path / "docs/link.md").symlink_to("real.md")
    ran = write(tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert read(tmp_path, "docs/real.md") == NEW
    assert os.fspath((tmp_path / "docs/link.md").readlink()) == "real.md"
    assert "4 ids in 2 files written" in ran.err
    assert write(tmp_path).err.startswith("0 ids")


def test_a_link_that_leaves_the_docs_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    make_site(folder)
    (tmp_path / "other.md").write_text(TEXT)
    (folder / "docs/b.md").symlink_to("../../other.md")
    ran = write(folder)
    assert ran.code == 1
    assert messages(ran) == [
        (
            "docs/b.md:1 not-written the file is outside the folder docs."
            " Write the ids where it belongs"
        )
    ]
    assert (read(folder), (tmp_path / "other.md").read_text()) == (NEW, TEXT)


def test_a_folder_that_is_a_link_out_of_the_docs_folder(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    make_site(folder)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/b.md").write_text(TEXT)
    (folder / "docs/shared").symlink_to("../../shared")
    ran = write(folder)
    assert [found.place for found in ran.findings] == ["docs/shared/b.md:1 not-written"]
    assert (read(folder), (tmp_path / "shared/b.md").read_text()) == (NEW, TEXT)


def test_a_docs_folder_that_is_a_link(tmp_path: Path) -> None:
    folder = tmp_path / "project"
    make_site(folder)
    (folder / "docs").rename(tmp_path / "real")
    (folder / "docs").symlink_to("../real")
    ran = write(folder)
    assert (ran.code, ran.out) == (0, "")
    assert (tmp_path / "real/index.md").read_text() == NEW
    assert (folder / "docs").is_symlink()


@pytest.mark.parametrize("target", ["nothing.md", "b.md"])
def test_a_link_to_nothing_or_to_itself(tmp_path: Path, target: str) -> None:
    """MkDocs cannot build such a site either."""
    make_site(tmp_path)
    (tmp_path / "docs/b.md").symlink_to(target)
    ran = write(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mkdocs-markstay: ")
    assert "docs/b.md" in ran.err
    assert read(tmp_path) == TEXT


# -- where things are


def test_a_docs_folder_elsewhere(tmp_path: Path) -> None:
    make_site(tmp_path / "project", docs_dir="../text")
    (tmp_path / "project/docs").rename(tmp_path / "text")
    ran = write(tmp_path / "project")
    assert (ran.code, ran.out) == (0, "")
    assert read(tmp_path, "text/index.md") == NEW


def test_a_configuration_in_a_folder_that_is_a_link(tmp_path: Path) -> None:
    make_site(tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    ran = write(tmp_path, "-f", "link/mkdocs.yml")
    assert (ran.code, ran.out) == (0, "")
    assert read(tmp_path, "real/docs/index.md") == NEW


def test_a_configuration_that_is_a_link(tmp_path: Path) -> None:
    """For MkDocs, the site is where the link is: nothing is there."""
    make_site(tmp_path / "real")
    (tmp_path / "mkdocs.yml").symlink_to("real/mkdocs.yml")
    ran = write(tmp_path, "-f", "mkdocs.yml")
    assert (ran.code, ran.out) == (2, "")
    assert read(tmp_path, "real/docs/index.md") == TEXT


@pytest.mark.parametrize("where", ["docs", "elsewhere"])
def test_from_another_folder(tmp_path: Path, where: str) -> None:
    make_site(tmp_path / "project")
    folder = tmp_path / "elsewhere" if where == "elsewhere" else tmp_path / "project/docs"
    folder.mkdir(exist_ok=True)
    config = os.path.relpath(tmp_path / "project/mkdocs.yml", folder)
    ran = write(folder, "-f", config)
    assert (ran.code, ran.out) == (0, "")
    assert read(tmp_path / "project") == NEW


def test_empty_docs(tmp_path: Path) -> None:
    make_site(tmp_path)
    (tmp_path / "docs/index.md").unlink()
    ran = write(tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "0 ids in 0 files written\n"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("docs", None, "docs"),
        ("mkdocs.yml", "site_name: [", "mkdocs.yml"),
        ("mkdocs.yml", "site_name: T\nplugins: [no-such-plugin]\n", "no-such-plugin"),
        ("mkdocs.yml", "site_name: T\nmarkdown_extensions: [no_such]\n", "no_such"),
        ("mkdocs.yml", "site_name: T\ntheme: no-such-theme\n", "no-such-theme"),
        ("mkdocs.yml", "site_name: T\nhooks: [no_such.py]\n", "no_such.py"),
        ("mkdocs.yml", "", "site_name"),
    ],
)
def test_a_site_that_cannot_be_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, text: str | None, told: str
) -> None:
    make_site(tmp_path, {} if text is None else {name: text})
    if text is None:
        (tmp_path / "docs").rename(tmp_path / "away")
    else:
        (tmp_path / name).write_text(text)
    ran = write(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mkdocs-markstay: ")
    assert told in caplog.text + ran.err


def test_no_place_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_site(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", os.fspath(tmp_path / "nowhere"))
    ran = write(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mkdocs-markstay: ")
    assert "nowhere" in ran.err
    assert read(tmp_path) == TEXT


def test_names_of_any_kind(tmp_path: Path) -> None:
    names = ["docs/ü ä.md", "docs/a'b.md", "docs/[x] {y}.md", "docs/-n.md"]
    make_site(tmp_path, dict.fromkeys(names, TEXT))
    ran = write(tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert {read(tmp_path, name) for name in names} == {NEW}


def test_a_strict_site_gets_no_id_that_fails_it(tmp_path: Path) -> None:
    """A hidden heading has no section: an id there is a warning."""
    text = TEXT.replace("## Two", "## Two {hidden}")
    make_site(tmp_path, {"docs/index.md": text}, strict=True)
    ran = write(tmp_path)
    assert [found.place for found in ran.findings] == ["docs/index.md:7 not-stamped"]
    assert "with the id, the build fails: docs/index.md:7: lost-id" in ran.findings[0].message
    assert read(tmp_path) == text.replace("## One", "## One <#one>")


# -- hooks that do harm


@pytest.mark.usefixtures("no_temporary_files")
@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("raise ValueError('it broke')", "ValueError: it broke"),
        ("raise ValueError", "ValueError"),
        ("import sys; sys.exit(3)", "a plugin ended the program: 3"),
        ("import sys; sys.exit()", "a plugin ended the program"),
        ("from mkdocs.exceptions import Abort; raise Abort('stop here')", "stop here"),
        ("from mkdocs.exceptions import PluginError; raise PluginError('it cannot')", "it cannot"),
    ],
)
@pytest.mark.parametrize("when", ["first", "later"])
def test_a_hook_that_ends_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, statement: str, told: str, when: str
) -> None:
    condition = "'<#one>' in markdown" if when == "later" else "True"
    code = f"def on_page_markdown(markdown, **_):\n    if {condition}:\n        {statement}\n"
    hook(tmp_path, code)
    ran = write(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mkdocs-markstay: ")
    assert told in caplog.text + ran.err
    assert read(tmp_path) == TEXT


@pytest.mark.usefixtures("no_temporary_files")
def test_hooks_that_print(tmp_path: Path) -> None:
    code = (
        "import os, sys\nprint('imported')\n"
        "def on_page_markdown(markdown, **_):\n"
        "    print('printed')\n"
        "    sys.__stdout__.write('written')\n"
        "    os.system('echo started')\n"
    )
    hook(tmp_path, code)
    done = run_command(tmp_path, "stamp")
    assert done.returncode == 0
    assert done.stdout.startswith("--- a/docs/index.md\n+++ b/docs/index.md\n@@")
    assert not re.search("imported|printed|written|started", done.stdout)
    assert read(tmp_path) == TEXT
    git = shutil.which("git")
    assert git is not None
    subprocess.run([git, "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run([git, "apply"], input=done.stdout, text=True, cwd=tmp_path, check=True)
    assert read(tmp_path) == NEW


def test_a_page_that_is_rendered_differently_each_time(tmp_path: Path) -> None:
    """Its headings are the same each time, so that they are compared, and get their ids."""
    code = (
        "import uuid\n"
        "def on_page_markdown(markdown, **_):\n"
        "    return f'{markdown}\\n\\nRendered as {uuid.uuid4()}.\\n'\n"
    )
    hook(tmp_path, code)
    ran = write(tmp_path)
    assert (ran.code, ran.out) == (0, "")
    assert read(tmp_path) == NEW


def test_headings_that_are_rendered_differently_each_time(tmp_path: Path) -> None:
    code = (
        "import uuid\n"
        "def on_page_markdown(markdown, **_):\n"
        "    return f'{markdown}\\n\\n## Rendered as {uuid.uuid4()}\\n'\n"
    )
    hook(tmp_path, code, **{"docs/b.md": "# B\n"})
    ran = write(tmp_path)
    assert ran.code == 1
    assert {found.code for found in ran.findings} == {"not-stamped"}
    assert read(tmp_path) == TEXT


@pytest.mark.parametrize("which", ["three", "one", "six"])
def test_one_heading_that_would_change_the_page(tmp_path: Path, which: str) -> None:
    names = ("one", "two", "three", "four", "five", "six")
    text = "# B\n\n" + "".join(f"## {name.capitalize()}\n\nx\n\n" for name in names)
    code = (
        "def on_page_markdown(markdown, **_):\n"
        f"    return markdown + '\\n\\nharm\\n' * ('# B' in markdown and '<#{which}>' in markdown)\n"
    )
    hook(tmp_path, code, **{"docs/b.md": text})
    ran = write(tmp_path)
    assert ran.code == 1
    (found,) = ran.findings
    assert (found.path, found.line, found.code) == (
        "docs/b.md",
        3 + 4 * names.index(which),
        "not-stamped",
    )
    assert "rendered differently in more than the id" in found.message
    for name in names:
        assert (f"<#{name}>" in read(tmp_path, "docs/b.md")) == (name != which)
    assert read(tmp_path) == NEW


def test_a_hook_that_removes_an_id(tmp_path: Path) -> None:
    code = "def on_page_markdown(markdown, **_):\n    return markdown.replace(' <#two>', '')\n"
    hook(tmp_path, code)
    ran = write(tmp_path)
    assert [found.place for found in ran.findings] == ["docs/index.md:7 not-stamped"]
    assert read(tmp_path) == NEW.replace(" <#two>", "")
    built = build_site(tmp_path)
    assert built.places == ["docs/index.md:7 missing-id"]


# -- ended at any moment


def run_command(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-m", "mkdocs_markstay", *args],
        cwd=folder,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


_SLOW = """\
import os, time
from mkdocs_markstay.cli import main
replace = os.replace
def slow(*args):
    time.sleep(0.005)
    replace(*args)
    time.sleep(0.005)
os.replace = slow
main(["stamp", "--write"])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9")
def test_killed_while_writing(tmp_path: Path) -> None:
    names = [f"docs/p{number}.md" for number in range(30)]
    make_site(tmp_path, dict.fromkeys(names, TEXT))
    process = subprocess.Popen(
        [sys.executable, "-c", _SLOW],
        cwd=tmp_path,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        stderr=subprocess.DEVNULL,
    )
    last = time.monotonic() + 60
    while sum(read(tmp_path, name) == NEW for name in names) < 10 and time.monotonic() < last:
        time.sleep(0.001)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    texts = [read(tmp_path, name) for name in names]
    assert set(texts) == {TEXT, NEW}, "it was killed in the middle"

    for left in (tmp_path / "docs").glob(".markstay-*.tmp"):
        left.unlink()  # it is all that a killed process may leave
    assert write(tmp_path).code == 0
    assert {read(tmp_path, name) for name in names} == {NEW}
