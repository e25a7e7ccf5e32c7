"""Sites that ProperDocs builds, beside MkDocs and where MkDocs is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from site_builder import Ran, Site, write_site

if find_spec("properdocs") is None and not os.environ.get("MARKSTAY_ALL_NEIGHBOURS"):
    pytest.skip("not installed: properdocs", allow_module_level=True)

EXAMPLE = Path(__file__).parents[2] / "example_site"
SECONDS = 120

# Run by Python when it starts: nothing finds the package of these names, nor what it announces.
HIDING = """\
import sys
from importlib.machinery import PathFinder

HIDDEN = {hidden!r}

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, fullname, path=None, target=None):
        if fullname.partition(".")[0] in HIDDEN:
            return None
        return super().find_spec(fullname, path, target)

    @classmethod
    def find_distributions(cls, *args, **kwargs):
        found = super().find_distributions(*args, **kwargs)
        return (each for each in found if each.metadata["Name"] not in HIDDEN)

sys.meta_path[sys.meta_path.index(PathFinder)] = Finder
"""

GOOD = "# {0} <#top>\n\n## Part of {0} <#part>\n\nWords of {0}.\n\n## More {{#more}}\n\nWords.\n"
BAD = "# Home\n\n## Install <#install>\n\nText.\n\n## Use it\n\nText.\n"
STAMPED = BAD.replace("Use it", "Use it <#use-it>")
FINDING = "docs/index.md:7: error[missing-id] heading 'Use it' has no section id."
# What ProperDocs says itself, where it takes a file by the name that MkDocs has for it.
RENAME = ("The configuration file 'mkdocs.yml' should be", "Support for using this legacy file")
EXTENSION = {"plugins": [], "markdown_extensions": ["mkdocs_markstay"]}
# Says of which generator the module is that plugins import as `mkdocs`.
TELLTALE = """\
import logging, pathlib
from mkdocs.config.defaults import MkDocsConfig

def on_config(config):
    generator = MkDocsConfig.__module__.split(".")[0]
    pathlib.Path("used.txt").write_text(f"{generator} {isinstance(config, MkDocsConfig)}")
    for name in {"mkdocs", generator}:
        logging.getLogger(f"{name}.plugins.telltale").warning("a word of another plugin")
"""


@pytest.fixture(params=["both", "alone"])
def environ(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str]:
    """Environments of programs: one with both generators, and one without MkDocs."""
    return hide(tmp_path_factory, *(["mkdocs"] if request.param == "alone" else []))


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return hide(tmp_path_factory, "mkdocs")


def hide(tmp_path_factory: pytest.TempPathFactory, *hidden: str) -> dict[str, str]:
    environ = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}  # it is Material's
    # By this one ProperDocs' own advice to users of MkDocs would stay away, which plugins ask for.
    environ.pop("DISABLE_MKDOCS_2_WARNING", None)
    if hidden:
        folder = tmp_path_factory.mktemp("hiding")
        (folder / "sitecustomize.py").write_text(HIDING.format(hidden=hidden))
        environ["PYTHONPATH"] = str(folder)
    return environ


def run(folder: Path, environ: dict[str, str], module: str, *arguments: str) -> Ran:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=environ,
        capture_output=True,
        encoding="utf-8",
        timeout=SECONDS,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return Ran(done.returncode, done.stdout, done.stderr)


def markstay(folder: Path, environ: dict[str, str], *arguments: str) -> Ran:
    ran = run(folder, environ, "mkdocs_markstay", *arguments)
    assert "properdocs" not in (ran.out + ran.err).lower()
    return ran


def build(folder: Path, environ: dict[str, str], *arguments: str) -> Ran:
    ran = run(folder, environ, "properdocs", "build", *arguments)
    ours = [line for line in ran.err.splitlines() if not any(said in line for said in RENAME)]
    printed = "\n".join([ran.out, *ours]).replace(str(folder), "")
    assert "properdocs" not in printed.lower()
    return ran


def manifest(folder: Path) -> bytes:
    return (folder / "site" / "passages.json").read_bytes()


def rename(folder: Path) -> None:
    (folder / "mkdocs.yml").rename(folder / "properdocs.yml")


# -- builds


@pytest.mark.parametrize("name", ["mkdocs.yml", "properdocs.yml"])
def test_the_same_manifest_as_by_mkdocs(
    tmp_path: Path, environ: dict[str, str], alone: dict[str, str], name: str
) -> None:
    folder = tmp_path / "site"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("site", ".cache"))
    both = {key: value for key, value in alone.items() if key != "PYTHONPATH"}
    expected = run(folder, both, "mkdocs", "build", "--strict")
    assert expected.code == 0, expected.err
    printed = (expected.out + expected.err).replace(str(folder), "")
    assert "properdocs" not in printed.lower()
    wanted = manifest(folder)
    (folder / "mkdocs.yml").rename(folder / name)
    for strict in ((), ("--strict",)):
        shutil.rmtree(folder / "site")
        built = build(folder, environ, *strict)
        assert built.code == 0, built.err
        assert manifest(folder) == wanted
    assert markstay(folder, environ, "verify", "site").code == 0


def test_a_build_with_findings_fails(tmp_path: Path, environ: dict[str, str]) -> None:
    write_site(tmp_path, Site({"docs/index.md": BAD}))
    built = build(tmp_path, environ)
    assert built.code == 1
    assert f"ERROR   -  {FINDING}" in built.err
    assert not (tmp_path / "site" / "passages.json").exists()


def test_the_extension_alone_enforces(tmp_path: Path, environ: dict[str, str]) -> None:
    write_site(tmp_path, Site({"docs/index.md": BAD}, config=EXTENSION))
    built = build(tmp_path, environ)
    assert built.code == 1
    assert FINDING in built.err
    (tmp_path / "docs" / "index.md").write_text(STAMPED)
    built = build(tmp_path, environ, "--strict")
    assert built.code == 0, built.err
    html = (tmp_path / "site" / "index.html").read_text(encoding="utf-8")
    assert '<h2 id="use-it">Use it</h2>' in html


def test_a_strict_build_that_fails_leaves_no_manifest(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    write_site(tmp_path, Site({"docs/index.md": GOOD.format("A")}))
    assert build(tmp_path, environ).code == 0
    assert manifest(tmp_path)
    (tmp_path / "docs" / "index.md").write_text(GOOD.format("[A](no.md)"))
    built = build(tmp_path, environ, "--strict", "--dirty")
    assert built.code == 1
    assert "no.md" in built.err
    assert not (tmp_path / "site" / "passages.json").exists()


def test_quiet_builds_print_errors_alone(tmp_path: Path, environ: dict[str, str]) -> None:
    write_site(tmp_path, Site({"docs/index.md": GOOD.format("A")}))
    built = build(tmp_path, environ, "--quiet")
    assert (built.code, built.out, built.err) == (0, "", "")
    (tmp_path / "docs" / "index.md").write_text(BAD)
    assert FINDING in build(tmp_path, environ, "--quiet").err


# -- commands


@pytest.mark.parametrize("name", ["mkdocs.yml", "properdocs.yml", "properdocs.yaml"])
def test_check_says_what_a_build_says(tmp_path: Path, environ: dict[str, str], name: str) -> None:
    write_site(tmp_path, Site({"docs/index.md": BAD, "docs/b.md": GOOD.format("B")}))
    (tmp_path / "mkdocs.yml").rename(tmp_path / name)
    for rendered in (2, 0):
        ran = markstay(tmp_path, environ, "check")
        assert ran.code == 1
        assert ran.places == ["docs/index.md:7 error missing-id"]
        assert ran.out.startswith(FINDING)
        summary = f"1 error (missing-id 1) in 1 file (2 pages, {rendered} rendered now)\n"
        assert ran.err == summary
    assert ran.out.rstrip() in build(tmp_path, environ).err
    named = markstay(tmp_path, environ, "check", "-f", name)
    assert (named.code, named.out) == (1, ran.out)


def test_the_extension_alone_is_checked(tmp_path: Path, environ: dict[str, str]) -> None:
    write_site(tmp_path, Site({"docs/index.md": BAD}, config=EXTENSION))
    rename(tmp_path)
    assert markstay(tmp_path, environ, "check").places == ["docs/index.md:7 error missing-id"]


def test_stamp(tmp_path: Path, environ: dict[str, str]) -> None:
    write_site(tmp_path, Site({"docs/index.md": BAD}))
    rename(tmp_path)
    shown = markstay(tmp_path, environ, "stamp")
    assert shown.code == 0
    assert "+## Use it <#use-it>\n" in shown.out
    assert markstay(tmp_path, environ, "stamp", "--write").code == 0
    assert (tmp_path / "docs" / "index.md").read_text() == STAMPED
    assert build(tmp_path, environ, "--strict").code == 0


def test_baseline(tmp_path: Path, environ: dict[str, str]) -> None:
    write_site(tmp_path, Site({"docs/index.md": BAD}))
    rename(tmp_path)
    ran = markstay(tmp_path, environ, "baseline")
    assert (ran.code, ran.out) == (0, "markstay.baseline: 1 old finding (before: 0)\n")
    assert markstay(tmp_path, environ, "check", "--strict").code == 0
    assert build(tmp_path, environ, "--strict").code == 0


def test_parity(tmp_path: Path, environ: dict[str, str]) -> None:
    files = {"docs/index.md": GOOD.format("A"), "fr/index.md": "# A <#top>\n"}
    write_site(tmp_path, Site(files))
    rename(tmp_path)
    ran = markstay(tmp_path, environ, "parity", "--original", "docs", "--translation", "fr")
    assert ran.code == 1
    assert ran.places == [
        "fr/index.md:1 warning parity-missing",
        "fr/index.md:1 warning parity-missing",
    ]


def test_manifest_and_verify(tmp_path: Path, environ: dict[str, str]) -> None:
    write_site(tmp_path, Site({"docs/index.md": GOOD.format("A")}))
    rename(tmp_path)
    assert build(tmp_path, environ).code == 0
    arguments = ("site", "--config", "properdocs.yml", "-o", "other")
    (tmp_path / "other").mkdir()
    made = markstay(tmp_path, environ, "manifest", *arguments)
    assert made.code == 0, made.err
    assert (tmp_path / "other" / "passages.json").read_bytes() == manifest(tmp_path)
    assert markstay(tmp_path, environ, "verify", "site").code == 0
    page = tmp_path / "site" / "index.html"
    page.write_text(page.read_text().replace('id="part"', 'id="other"'))
    assert markstay(tmp_path, environ, "verify", "site").code == 1


@pytest.mark.parametrize(
    ("name", "used"), [("mkdocs.yml", "mkdocs"), ("properdocs.yml", "properdocs")]
)
def test_which_generator_a_command_reads_a_site_with(
    tmp_path: Path, alone: dict[str, str], name: str, used: str
) -> None:
    """What another plugin logs is for its generator's builds, whichever name it logs by."""
    files = {"docs/index.md": GOOD.format("A"), "telltale.py": TELLTALE}
    write_site(tmp_path, Site(files, config={"hooks": ["telltale.py"]}))
    (tmp_path / "mkdocs.yml").rename(tmp_path / name)
    both = {key: value for key, value in alone.items() if key != "PYTHONPATH"}
    for environ, expected in ((both, used), (alone, "properdocs")):
        ran = markstay(tmp_path, environ, "check", "--no-cache")
        assert (ran.code, ran.out) == (0, "")
        assert "a word of" not in ran.err
        assert (tmp_path / "used.txt").read_text() == f"{expected} True"


def test_a_file_for_properdocs_goes_before_the_other(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """As in a build; it may inherit from the other."""
    write_site(tmp_path, Site({"docs/index.md": GOOD.format("A"), "new/index.md": BAD}))
    (tmp_path / "properdocs.yml").write_text("INHERIT: mkdocs.yml\ndocs_dir: new\n")
    finding = FINDING.replace("docs/", "new/")
    ran = markstay(tmp_path, environ, "check")
    assert ran.out.startswith(finding)
    assert finding in build(tmp_path, environ).err


def test_without_any_generator(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    write_site(tmp_path, Site({"docs/index.md": BAD}))
    environ = hide(tmp_path_factory, "mkdocs", "properdocs", "zensical")
    for command in ("check", "stamp", "baseline"):
        ran = markstay(tmp_path, environ, command)
        message = "mkdocs-markstay: MkDocs, which mkdocs.yml is for, is not installed\n"
        assert (ran.code, ran.out, ran.err) == (2, "", message)
