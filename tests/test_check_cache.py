"""What is noted of a run's reading, and what is kept of a check from one time to the next."""

from __future__ import annotations

import importlib.util
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from types import BuiltinFunctionType
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mkdocs.config import load_config
from mkdocs.config.config_options import Hooks
from mkdocs.structure.files import get_files
from mkdocs.structure.pages import Page

from mkdocs_markstay import check_cache
from mkdocs_markstay.check_cache import Known, load
from mkdocs_markstay.read_files import (
    PageReads,
    Recording,
    digest_file,
    digest_folder,
    recording,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from types import ModuleType

READER = """\
import os

def read(path):
    with open(path, "rb") as file:
        return file.read()

def load(path):
    from importlib.util import module_from_spec, spec_from_file_location
    spec = spec_from_file_location("local", path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)

def exists(path):
    return os.path.exists(path)

def names(path):
    return os.listdir(path)

def walk(path):
    list(os.walk(path))
"""


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MARKSTAY_CACHE_DIR", raising=False)


@pytest.fixture
def reader(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ModuleType]:
    """Make a module of a given name that reads files."""
    path = tmp_path_factory.mktemp("readers") / "reader.py"
    path.write_text(READER)

    def make(name: str) -> ModuleType:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


def write(name: str, content: str | bytes = "text") -> str:
    """Write a file below the current folder and return its absolute path."""
    path = Path.cwd() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


# -- what is noted


def test_what_is_opened_outside_pages_is_the_sites() -> None:
    paths = [write(name, name) for name in ("a.yml", "b.yml", "c.yml", "d.yml")]
    with recording() as record:
        Path("a.yml").read_text(encoding="utf-8")
        Path(paths[1]).open("rb").close()
        os.close(os.open(os.fsencode(paths[2]), os.O_RDONLY))
        shutil.copyfile("d.yml", "copy.yml")
    assert record.site.files == {path: digest_file(path) for path in paths}
    assert len(set(record.site.files.values())) == 4
    assert record.pages == {}


def test_a_relative_path_is_that_of_its_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("deep/a.yml")
    with recording() as record:
        monkeypatch.chdir("deep")
        Path("a.yml").read_bytes()
        monkeypatch.chdir(tmp_path)
    assert list(record.site.files) == [path]


def test_a_path_behind_a_link_is_not_shortened() -> None:
    write("elsewhere/a.md", "the right one")
    write("a.md", "the wrong one")
    Path("elsewhere/docs").mkdir()
    Path("docs").symlink_to("elsewhere/docs")
    with recording() as record:
        Path("docs/../a.md").read_bytes()
    assert list(record.site.files.values()) == [digest_file("elsewhere/a.md")]


def test_the_digest_is_of_what_was_there_before_the_reading() -> None:
    path = write("a.yml", "old")
    old = digest_file(path)
    with recording() as record, Path(path).open("rb") as file:
        # Somebody else edits the file: another program, whose writing is not heard.
        code = f"open({path!r}, 'w').write('new')"
        subprocess.run([sys.executable, "-S", "-c", code], check=True)
        file.read()
    assert record.site.files == {path: old}


def test_a_pages_own_file_is_its_own_whoever_opens_it(
    reader: Callable[[str], ModuleType],
) -> None:
    path, plugin = write("docs/a.md"), reader("some_plugin")
    with recording() as record:
        record.begin_page("a.md", path)
        plugin.read(path)
    assert list(record.pages["a.md"].files) == [path]
    assert record.pages["a.md"].source == path
    assert record.site.files == {}


@pytest.mark.parametrize(
    ("module", "alone"),
    [
        ("pymdownx.snippets", True),
        ("markdown_include.include", True),
        ("mkdocs_include_markdown_plugin.process", True),
        ("mkdocs.structure.files", True),
        ("mkdocs_markstay.includes", True),
        ("jinja2.loaders", False),  # keeps templates
        ("griffe", False),  # keeps parsed modules
        ("some_plugin", False),
        ("pymdownx.other", False),
    ],
)
def test_what_is_opened_for_a_page_is_its_own_if_it_is_opened_each_time(
    reader: Callable[[str], ModuleType], module: str, alone: bool
) -> None:
    source, included, who = write("docs/a.md"), write("included.md"), reader(module)
    with recording() as record:
        record.begin_page("a.md", source)
        who.read(included)
        record.begin_page(None)
    assert (included in record.pages["a.md"].files) is alone
    assert (included in record.site.files) is not alone


def test_what_pages_share_is_noted_for_each(reader: Callable[[str], ModuleType]) -> None:
    snippets, included = reader("pymdownx.snippets"), write("included.md")
    with recording() as record:
        for key in ("a.md", "b.md"):
            record.begin_page(key, write(f"docs/{key}"))
            snippets.read(included)
    assert [included in page.files for page in record.pages.values()] == [True, True]


def test_what_is_read_in_both_ways_is_the_sites(reader: Callable[[str], ModuleType]) -> None:
    snippets, templates, path = reader("pymdownx.snippets"), reader("jinja2.loaders"), write("x.md")
    with recording() as record:
        record.begin_page("a.md", write("docs/a.md"))
        snippets.read(path)
        templates.read(path)
    assert path in record.site.files


def test_what_is_read_while_no_page_is_rendered(reader: Callable[[str], ModuleType]) -> None:
    plugin = reader("some_plugin")
    paths = [write(f"data/{name}.yml") for name in "abc"]
    with recording() as record:
        plugin.read(paths[0])
        record.begin_page("a.md", write("docs/a.md"))
        plugin.read(paths[1])
        record.begin_page(None)
        plugin.read(paths[2])
        plugin.names("data")
    assert list(record.site.files) == paths
    assert record.outside == {paths[0], paths[2], str(Path("data").absolute())}


@pytest.mark.parametrize("attempt", ["open", "exists", "lexists", "folder", "path", "listdir"])
def test_what_is_looked_for_and_missing_is_noted(attempt: str, tmp_path: Path) -> None:
    look: dict[str, Callable[[], Any]] = {
        "open": lambda: Path("no.md").open(),  # noqa: SIM115 (it is not there)
        "exists": lambda: os.path.exists("no.md"),  # noqa: PTH110
        "lexists": lambda: os.path.lexists("no.md"),
        "folder": lambda: os.path.isdir("no.md"),  # noqa: PTH112
        "path": lambda: os.stat("no.md"),  # noqa: PTH116
        "listdir": lambda: os.listdir("no.md"),  # noqa: PTH208
    }
    with recording() as record, suppress(FileNotFoundError):
        look[attempt]()
    assert record.site.files | record.site.folders == {str(tmp_path / "no.md"): None}


def test_a_snippet_that_is_missing_is_the_pages(reader: Callable[[str], ModuleType]) -> None:
    snippets, missing = reader("pymdownx.snippets"), str(Path("no.md").absolute())
    with recording() as record:
        record.begin_page("a.md", write("docs/a.md"))
        assert not snippets.exists(missing)
    assert record.pages["a.md"].files[missing] is None
    assert missing not in record.site.files


def test_folders_that_are_listed(reader: Callable[[str], ModuleType], tmp_path: Path) -> None:
    write("docs/deep/a.md")
    write("data/b.md")
    write("includes/c.md")
    names = ("mkdocs.structure.files", "pymdownx.snippets", "some_plugin")
    mkdocs, snippets, plugin = map(reader, names)
    with recording() as record:
        mkdocs.walk("docs")
        list(Path("data").iterdir())
        record.begin_page("a.md", None)
        snippets.names("includes")
        plugin.names(None)
    assert record.docs.keys() == {str(tmp_path / "docs"), str(tmp_path / "docs" / "deep")}
    assert list(record.pages["a.md"].folders) == [str(tmp_path / "includes")]
    assert list(record.site.folders) == [str(tmp_path / "data"), f"{tmp_path}/."]


def test_a_plugin_that_lists_the_docs_folder_makes_it_the_sites(
    reader: Callable[[str], ModuleType], tmp_path: Path
) -> None:
    write("docs/a.md")
    mkdocs, plugin = reader("mkdocs.structure.files"), reader("some_plugin")
    with recording() as record:
        mkdocs.names("docs")
        plugin.names("docs")
    assert str(tmp_path / "docs") in record.site.folders


def test_the_names_in_a_folder_are_what_counts() -> None:
    write("docs/a.md")
    before = digest_folder("docs")
    write("docs/a.md", "other")
    write("docs/__pycache__/x.pyc")
    write("docs/.cache/x")
    assert digest_folder("docs") == before
    write("docs/.pages")
    assert digest_folder("docs") != before


def test_what_is_left_out(tmp_path: Path) -> None:
    head = write(".git/HEAD")
    with recording() as record:
        Path(os.devnull).read_bytes()
        Path(head).read_bytes()
        os.listdir(".git")  # noqa: PTH208
        Path(pytest.__file__).read_bytes()
        Path(os.__file__).read_bytes()
        Path(check_cache.__file__).read_bytes()
        Path("written.md").write_text("x", encoding="utf-8")
        with Path("written.md").open("a") as file:
            file.write("y")
        # The site folder of the run, and pages that are generated into such a folder.
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            (Path(folder) / "page.md").write_text("x", encoding="utf-8")
            (Path(folder) / "page.md").read_bytes()
            list(Path(folder).iterdir())
            assert not (Path(folder) / "index.html").exists()
            record.begin_page("page.md", f"{folder}/page.md")
        record.begin_page(None)
    assert (record.site.files, record.site.folders) == ({}, {})
    assert record.pages["page.md"].source is None


def test_paths_below_a_descriptor_are_not_taken_for_others() -> None:
    write("site/deep/a.html")
    with recording() as record:
        descriptor = os.open("site", os.O_RDONLY)
        with pytest.raises(FileNotFoundError):
            os.stat("no.md", dir_fd=descriptor)
        os.close(descriptor)
        shutil.rmtree("site")
    assert record.site.files == {}


def test_a_folder_that_is_gone_can_be_listed_as_ever() -> None:
    Path("gone").mkdir()
    os.chdir("gone")
    Path("../gone").rmdir()
    with recording() as record:
        assert os.listdir() == []  # noqa: PTH208
    assert record.site.folders == {}


def test_what_the_run_writes_and_reads_is_noted_as_it_is_in_the_end() -> None:
    first, second = write("plugin.json", "1"), write("other.json", "1")
    with recording() as record:
        Path(first).read_bytes()
        for name in ("plugin.json", "new.json", "unread.json"):
            assert Path(name).exists() is (name == "plugin.json")
            Path(name).write_text("2", encoding="utf-8")
        Path("new.json").read_bytes()
        Path(second).read_bytes()
        write("other.json.part", "2")
        os.replace("other.json.part", second)  # noqa: PTH105
        with Path(first).open("r+") as file:
            file.write("3")
    paths = [str(Path("new.json").absolute()), first, second]
    assert record.site.files == {path: digest_file(path) for path in paths}


@pytest.mark.parametrize("prefix", [False, True])
def test_a_module_is_noted_as_its_source_and_serves_all_pages(
    prefix: bool, reader: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    hook, snippets = write("a.hook.py", "import os"), reader("pymdownx.snippets")
    if prefix:
        monkeypatch.setattr(sys, "pycache_prefix", str(Path("compiled").absolute()))
    py_compile.compile(hook, optimize=sys.flags.optimize)
    with recording() as record:
        record.begin_page("a.md", write("docs/a.md"))
        snippets.load(hook)
        snippets.load(hook)
    assert list(record.site.files) == [hook]


def test_threads_are_heard() -> None:
    path = write("a.yml")
    with recording() as record:
        thread = threading.Thread(target=Path(path).read_bytes)
        thread.start()
        thread.join()
    assert list(record.site.files) == [path]


def test_nothing_is_noted_afterwards_and_os_is_as_before() -> None:
    with pytest.raises(ZeroDivisionError), recording() as record:
        _ = 1 / (os.stat not in os.supports_follow_symlinks)  # as code asks before it calls
    assert all(isinstance(function, BuiltinFunctionType) for function in (os.stat, os.lstat))
    Path(write("a.yml")).read_bytes()
    assert not Path("no.md").exists()
    assert record.site.files == {}


def test_one_recording_at_a_time() -> None:
    with recording(), pytest.raises(RuntimeError, match="under way"), recording():
        pass
    with recording() as record:
        Path(write("a.yml")).read_bytes()
    assert len(record.site.files) == 1


def test_what_is_no_path_fails_as_ever() -> None:
    with recording() as record:
        with pytest.raises(ValueError, match="null"):
            Path("\0").open()  # noqa: SIM115
        with pytest.raises(OSError, match="descriptor"):
            os.fdopen(9999)
        with pytest.raises(OSError, match="descriptor"):
            os.stat(9999)
        with pytest.raises(TypeError):
            os.stat(1.5)  # type: ignore[arg-type]  # noqa: PTH116
        with pytest.raises(IsADirectoryError):
            Path().open()  # noqa: SIM115
    assert record.site.files == {f"{Path.cwd()}/.": ""}


def test_pipes_are_not_waited_for() -> None:
    os.mkfifo("pipe")
    assert digest_file("pipe") == ""


# -- what holds


def make_record(
    site: Iterable[str] = (),
    pages: Mapping[str, Iterable[str]] | None = None,
    *,
    docs: Iterable[str] = (),
    generated: Iterable[str] = (),
) -> Recording:
    """Make a record of files that were read: for the site, by page, and folders of docs."""
    record = Recording()
    record.site.files = {path: digest_file(path) for path in site}
    record.docs = {path: digest_folder(path) for path in docs}
    for key, paths in (pages or {}).items():
        page = PageReads(None if key in generated else key)
        page.files = {path: digest_file(path) for path in paths}
        record.pages[key] = page
    return record


def know(options: Mapping[str, Any] | None = None) -> Known:
    return load("mkdocs.yml", options or {})


def keep(record: Recording, options: Mapping[str, Any] | None = None) -> None:
    """Save a check in which every page was rendered."""
    reports = {key: {"page": key} for key in record.pages}
    assert know(options).save(record, reports, {"findings": []})


@pytest.fixture
def record() -> Recording:
    """A site that was checked and saved: two pages, which share an included file."""
    config, included = write("mkdocs.yml", "site_name: X"), write("included.md")
    pages = {key: [write(f"docs/{key}", key), included] for key in ("a.md", "b.md")}
    pages["c.md"] = [write("docs/c.md", "c")]
    record = make_record([config], pages, docs=[str(Path("docs").absolute())])
    keep(record)
    return record


@pytest.mark.usefixtures("record")
def test_with_nothing_changed_everything_holds() -> None:
    for _ in range(2):
        known = know()
        assert known.verdict == {"findings": []}
        assert known.reports == {key: {"page": key} for key in ("a.md", "b.md", "c.md")}


def test_nothing_is_known_of_a_new_site() -> None:
    write("mkdocs.yml")
    assert (know().verdict, know().reports) == (None, {})


@pytest.mark.usefixtures("record")
def test_times_do_not_count() -> None:
    os.utime("docs/a.md", (1, 1))
    assert know().verdict
    stat = Path("docs/b.md").stat()
    write("docs/b.md", "B.MD")
    os.utime("docs/b.md", ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert know().reports.keys() == {"a.md", "c.md"}


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize(
    ("changed", "holding"),
    [
        ("mkdocs.yml", set()),
        ("docs/a.md", {"b.md", "c.md"}),
        ("docs/c.md", {"a.md", "b.md"}),
        ("included.md", {"c.md"}),
    ],
)
@pytest.mark.parametrize("how", ["edited", "removed", "folder"])
def test_what_rests_on_a_changed_file_falls(changed: str, holding: set[str], how: str) -> None:
    if how == "edited":
        write(changed, "edited")
    else:
        Path(changed).unlink()
        if how == "folder":
            Path(changed).mkdir()
    known = know()
    assert known.verdict is None
    # A page that is gone makes the folder another one; these pages have files of their own.
    assert known.reports.keys() == holding


def test_a_page_that_is_also_read_by_no_page_is_the_sites() -> None:
    config, post = write("mkdocs.yml"), write("docs/post.md")
    other = write("docs/other.md")
    keep(make_record([config, post], {"post.md": [post], "other.md": [other]}))
    write("docs/post.md", "edited")
    assert know().reports == {}


def test_a_file_that_was_missing_and_appears() -> None:
    missing = str(Path("override.html").absolute())
    included = str(Path("included.md").absolute())
    record = make_record([write("mkdocs.yml"), missing], {"a.md": [included], "b.md": []})
    keep(record)
    assert know().verdict
    write("included.md")
    assert know().reports.keys() == {"b.md"}
    Path(included).unlink()
    Path(missing).mkdir()  # also if it is no file
    assert know().reports == {}


def test_new_pages_leave_pages_with_a_file_of_their_own() -> None:
    pages = {"a.md": [write("docs/a.md")], "made.md": [write("included.md")]}
    docs = str(Path("docs").absolute())
    keep(make_record([write("mkdocs.yml")], pages, docs=[docs], generated=["made.md"]))
    assert know().reports.keys() == {"a.md", "made.md"}
    write("docs/new.md")
    known = know()
    assert known.verdict is None
    assert known.reports.keys() == {"a.md"}


def test_new_files_that_a_plugin_reads_outdate_all_pages() -> None:
    config, docs = write("mkdocs.yml"), str(Path("docs").absolute())
    pages = {"a.md": [write("docs/a.md")]}
    missing = str(Path("docs/.other").absolute())

    def outdated(*read: str, outside: bool = True) -> bool:
        record = make_record([config, *read], docs=[docs])
        record.outside = {config, missing, *(read if outside else ())}
        record.site.files[missing] = None
        return know().is_outdated(record)

    assert not outdated(config)  # nothing was known
    keep(make_record([config], pages, docs=[docs]))
    assert not outdated()
    assert not outdated(write("elsewhere.yml"))  # with the same pages: for the verdict
    meta = write("docs/.meta.yml")
    assert not outdated()  # it is there, but no plugin reads it
    assert not outdated(meta, outside=False)
    assert outdated(meta)
    record = make_record([config], pages, docs=[docs])
    assert know().save(record, {}, None)
    write("docs/b.md")
    assert not outdated(meta)  # there is no report to be outdated


def test_only_folders_that_were_not_listed_before_outdate_pages() -> None:
    config, docs = write("mkdocs.yml"), str(Path("docs").absolute())
    data = str(Path(write("data/x")).parent)
    record = make_record([config], {"a.md": [write("docs/a.md")]}, docs=[docs])
    keep(record)
    write("docs/b.md")
    record = make_record([config], {"a.md": [write("docs/a.md")]}, docs=[docs])
    record.site.folders[data] = digest_folder(data)
    record.outside = {config, data}
    assert know().is_outdated(record)
    keep(record)
    write("docs/c.md")
    assert not know().is_outdated(record)


def test_folders_that_were_listed() -> None:
    config, data, includes = write("mkdocs.yml"), write("data/x"), write("includes/x")
    record = make_record([config], {"a.md": [], "b.md": []})
    record.site.folders = {str(Path(data).parent): digest_folder("data")}
    record.pages["a.md"].folders = {str(Path(includes).parent): digest_folder("includes")}
    keep(record)
    assert know().verdict
    write("includes/y")
    assert know().reports.keys() == {"b.md"}
    write("data/y")
    assert know().reports == {}


def test_pages_without_a_report_are_not_known_but_count_for_the_verdict() -> None:
    pages = {"a.md": [write("docs/a.md")], "tags.md": [write("docs/tags.md")]}
    record = make_record([write("mkdocs.yml")], pages)
    assert know().save(record, {"a.md": 1}, "verdict")
    assert (know().verdict, know().reports) == ("verdict", {"a.md": 1})
    write("docs/tags.md", "edited")
    assert (know().verdict, know().reports) == (None, {"a.md": 1})


def test_a_check_without_a_verdict_keeps_its_reports() -> None:
    record = make_record([write("mkdocs.yml")], {"a.md": [write("docs/a.md")]})
    know().save(record, {"a.md": 1}, None)
    assert (know().verdict, know().reports) == (None, {"a.md": 1})


def test_pages_that_are_not_rendered_again_stay_known(record: Recording) -> None:
    config = next(iter(record.site.files))
    for _ in range(3):
        known = know()
        write("docs/a.md", "edited")
        rendered = make_record([config], {"a.md": [write("docs/a.md", "edited")]})
        assert known.save(rendered, {"a.md": 1, "b.md": 2, "c.md": 3}, "new")
        assert (know().verdict, know().reports) == ("new", {"a.md": 1, "b.md": 2, "c.md": 3})
    write("included.md", "edited")
    assert know().reports.keys() == {"a.md", "c.md"}  # a.md does not include it any more


def test_pages_that_are_gone_are_forgotten(record: Recording) -> None:
    known = know()
    Path("docs/a.md").unlink()
    known.save(make_record(record.site.files), {"b.md": 2, "c.md": 3}, "new")
    assert (know().verdict, know().reports) == ("new", {"b.md": 2, "c.md": 3})


@pytest.mark.parametrize("again", [True, False])
def test_kept_pages_rest_on_what_was_read_when_they_were_rendered(again: bool) -> None:
    config, template = write("mkdocs.yml"), write("template.html")
    # Rendering a.md made a plugin read the template, and keep it in memory for b.md.
    pages = {"a.md": [write("docs/a.md")], "b.md": [write("docs/b.md")]}
    keep(make_record([config, template], pages))
    pages["a.md"] = [write("docs/a.md", "edited")]
    if not again:
        del pages["b.md"]
    known = know()
    known.save(make_record([config], pages), {"a.md": 1, "b.md": 2}, "new")
    assert know().verdict == "new"
    write("template.html", "edited")
    assert know().reports == ({"a.md": 1, "b.md": 2} if again else {})


def test_a_change_during_the_check_is_not_missed(record: Recording) -> None:
    config = next(iter(record.site.files))
    known = know()
    write("mkdocs.yml", "edited")  # after it was found unchanged, before it was read
    write("docs/b.md", "edited")
    rendered = make_record([config], {"a.md": [write("docs/a.md")]})
    known.save(rendered, {"a.md": 1, "b.md": 2}, "new")
    assert (know().verdict, know().reports) == (None, {})


# -- the environment


def test_options_count() -> None:
    record = make_record([write("mkdocs.yml")], {"a.md": []})
    keep(record, {"strict": False, "also": ["x"]})
    assert know({"also": ["x"], "strict": False}).verdict
    for other in ({"strict": True, "also": ["x"]}, {"strict": False}, {}):
        assert know(other).reports == {}


@pytest.mark.parametrize(
    "text",
    [
        "site_url: !ENV MARKSTAY_TEST\n",
        "site_url: !ENV 'MARKSTAY_TEST'\n",
        "site_url: !ENV [OTHER, MARKSTAY_TEST, 'a default']\n",
        "site_url: !ENV [\n  OTHER,\n  MARKSTAY_TEST,\n  false\n]\n",
        "site_url: !ENV\n  - OTHER\n  - MARKSTAY_TEST\n  - x\n",
        "site_url: !ENV\n- OTHER\n\n- MARKSTAY_TEST\nx: y\n",
        "a: !ENV A\nb:\n- !ENV [B, c]\n- {d: !ENV MARKSTAY_TEST}\n",
        "os.environ['MARKSTAY_TEST']",
        'os.environ.get("MARKSTAY_TEST", "x")',
        "from os import getenv\ngetenv( 'MARKSTAY_TEST' )",
        "if 'MARKSTAY_TEST' in environ: x",
    ],
)
def test_variables_that_the_site_names_count(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write("mkdocs.yml", "INHERIT: base.yaml")
    monkeypatch.setenv("MARKSTAY_TEST", "a secret")
    keep(make_record([str(Path("mkdocs.yml").absolute()), write("base.yaml", text)], {"a.md": []}))
    assert know().verdict
    monkeypatch.setenv("MARKSTAY_UNRELATED", "x")
    assert know().verdict
    monkeypatch.setenv("MARKSTAY_TEST", "other")
    assert know().reports == {}
    monkeypatch.delenv("MARKSTAY_TEST")
    assert know().reports == {}
    assert "secret" not in cache_file().read_text(encoding="utf-8")


def test_variables_are_those_from_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    config = write("mkdocs.yml", "x: !ENV MARKSTAY_TEST")
    known = know()
    with monkeypatch.context() as run:  # a hook sets it
        run.setenv("MARKSTAY_TEST", "x")
        run.syspath_prepend("hooks")
        known.save(make_record([config]), {}, "verdict")
    assert know().verdict == "verdict"


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize("change", ["version", "python", "folder", "language", "source", "path"])
def test_the_environment_counts(change: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Path("mkdocs.yml").absolute()
    if change == "version":
        monkeypatch.setattr(check_cache, "__version__", "99")
    elif change == "python":
        monkeypatch.setattr(sys, "version", "99")
    elif change == "folder":
        monkeypatch.chdir("docs")
    elif change == "language":
        monkeypatch.setenv("LC_ALL", "tlh")
    elif change == "path":
        monkeypatch.setattr(sys, "path", [*sys.path, "more"])
    else:
        package = Path(shutil.copytree(Path(check_cache.__file__).parent, "package"))
        monkeypatch.setattr(check_cache, "__file__", str(package / "check_cache.py"))
        assert load(str(config), {}).verdict
        (package / "checks.py").write_text("edited", encoding="utf-8")
    assert load(str(config), {}).reports == {}


def test_packages_count(monkeypatch: pytest.MonkeyPatch) -> None:
    local = write("packages/local-1.0.dist-info/RECORD", "one")
    write("packages/local-1.0.dist-info/direct_url.json", "{}")
    write("packages/other-1.0.dist-info/RECORD", "one")
    monkeypatch.setattr(sys, "path", [*sys.path, str(Path("packages").absolute())])
    record = make_record([write("mkdocs.yml")])
    keep(record)
    write("packages/unpacked.py")
    write("packages/other-1.0.dist-info/RECORD", "never looked at: the version tells")
    assert know().verdict
    write(local, "two")
    assert not know().verdict
    keep(record)
    Path("packages/other-1.0.dist-info").rename("packages/other-1.1.dist-info")
    assert not know().verdict


# -- the file


def cache_file() -> Path:
    (path,) = Path(".cache/mkdocs-markstay").absolute().glob("[!.]*.json")
    return path


def stored() -> Any:
    """Read the first line of the cache file, which has everything but the reports."""
    with cache_file().open("rb") as file:
        return json.loads(file.readline())


@pytest.mark.usefixtures("record")
def test_the_cache_is_beside_the_configuration_and_git_ignores_it() -> None:
    assert sorted(path.name for path in cache_file().parent.iterdir()) == [
        ".gitignore",
        cache_file().name,
    ]
    assert (cache_file().parent / ".gitignore").read_text(encoding="utf-8") == "*\n"
    shutil.rmtree(".cache")
    assert know().reports == {}


@pytest.mark.usefixtures("record")
def test_paths_in_the_site_are_stored_relative_to_it(tmp_path: Path) -> None:
    assert str(tmp_path) not in cache_file().read_text(encoding="utf-8").replace(
        json.dumps(str(Path.cwd())), ""
    )
    assert list(stored()["site"]["files"]) == ["mkdocs.yml"]


def test_the_cache_folder_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKSTAY_CACHE_DIR", "caches")
    record = make_record([write("mkdocs.yml")])
    keep(record)
    assert know().verdict
    assert [path.suffix for path in Path("caches").iterdir()] == [".json"]
    assert not Path(".cache").exists()


def test_the_cache_does_not_depend_on_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKSTAY_CACHE_DIR", "caches")
    write("caches/x")
    record = make_record([write("mkdocs.yml"), str(Path("caches/x").absolute())])
    record.site.folders = {str(Path("caches").absolute()): digest_folder("caches")}
    keep(record)
    write("caches/x", "edited")
    assert know().verdict


def test_each_configuration_has_its_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MARKSTAY_CACHE_DIR", str(Path("caches").absolute()))
    write("one/mkdocs.yml")
    write("one/other.yml")
    Path("two").mkdir()
    Path("two/mkdocs.yml").symlink_to("../one/mkdocs.yml")
    Path("three").symlink_to("one")
    for config in ("one/mkdocs.yml", "one/other.yml", "two/mkdocs.yml"):
        assert load(config, {}).verdict is None
        load(config, {}).save(make_record([str(Path(config).absolute())]), {}, config)
    for config in ("one/mkdocs.yml", "one/other.yml", "two/mkdocs.yml"):
        assert load(config, {}).verdict == config
    assert load("three/mkdocs.yml", {}).verdict == "one/mkdocs.yml"


@pytest.mark.parametrize("place", ["a file", "a folder in its place", "below a file"])
def test_a_cache_that_cannot_be_written_is_no_cache(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = make_record([write("mkdocs.yml")])
    if place == "a folder in its place":
        keep(record)
        name = cache_file()
        name.unlink()
        name.mkdir()
    else:
        write("caches")
        folder = "caches" if place == "a file" else "caches/deep"
        monkeypatch.setenv("MARKSTAY_CACHE_DIR", folder)
    assert know().save(record, {}, "verdict") is False
    assert know().verdict is None
    assert not [
        path
        for path in Path(".cache").rglob("*")
        if path.name.startswith(".") and path.name != ".gitignore"
    ]


@pytest.mark.usefixtures("record")
@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"null", b"[]", b"{}", b'"text"', b"\xff\xfe\x00", b"[" * 100_000,
        b'{"format": 1}', b'{"format": 0}',
    ],
)  # fmt: skip
def test_a_damaged_file_holds_nothing_and_is_replaced(content: bytes, record: Recording) -> None:
    cache_file().write_bytes(content)
    assert (know().verdict, know().reports) == (None, {})
    keep(record)
    assert know().verdict


def test_another_format_is_not_read(record: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr(check_cache, "FORMAT", 99)
        keep(record)
        assert know().verdict
    assert know().reports == {}


@pytest.mark.usefixtures("record")
def test_names_that_are_not_unicode(tmp_path: Path) -> None:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xff.md")
    write("mkdocs.yml")
    Path(path).write_bytes(b"x")
    record = make_record([write("mkdocs.yml")], {path: [path]}, docs=[str(tmp_path)])
    keep(record)
    assert know().verdict
    Path(path).write_bytes(b"y")
    assert know().reports == {}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)  # fmt: skip


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_no_wrong_value_in_the_file_is_a_traceback(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = f"{folder}/mkdocs.yml"
        record = make_record([config], {"a.md": [f"{folder}/a.md"]}, docs=[folder])
        assert load(config, {}).save(record, {"a.md": 1}, {})
        (path,) = Path(folder).rglob("*.json")
        head, reports = map(json.loads, path.read_bytes().splitlines())
        whole = {**head, "reports": reports}
        parent, key = whole, data.draw(st.sampled_from(sorted(whole)))
        while isinstance(parent[key], dict) and parent[key] and data.draw(st.booleans()):
            parent = parent[key]
            key = data.draw(st.sampled_from(sorted(parent)))
        if data.draw(st.booleans()):
            del parent[key]
        else:
            parent[key] = data.draw(VALUES)
        reports = whole.pop("reports", None)
        path.write_text(f"{json.dumps(whole)}\n{json.dumps(reports)}\n", encoding="utf-8")
        assert isinstance(load(config, {}).reports, dict)
        text = path.read_bytes()
        path.write_bytes(text[: data.draw(st.integers(0, len(text)))])
        assert isinstance(load(config, {}).reports, dict)


# -- properties


@st.composite
def sites(draw: st.DrawFn) -> tuple[dict[str, bytes], dict[str, set[str]]]:
    """Files with their contents, and who reads each: pages by name, or `site`."""
    names = [f"{number}.md" for number in range(draw(st.integers(1, 5)))]
    contents = {name: draw(st.binary(min_size=1, max_size=8)) for name in names}
    readers = st.sets(st.sampled_from(["site", "p", "q", "r"]), min_size=1)
    return contents, {name: draw(readers) for name in names}


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(site=sites(), data=st.data())
def test_any_change_of_a_byte_fells_what_rests_on_it_and_nothing_else(
    site: tuple[dict[str, bytes], dict[str, set[str]]], data: st.DataObject
) -> None:
    contents, readers = site
    with tempfile.TemporaryDirectory() as folder:
        for name, content in contents.items():
            (Path(folder) / name).write_bytes(content)

        def read_by(reader: str) -> list[str]:
            return [f"{folder}/{name}" for name in contents if reader in readers[name]]

        record = make_record(read_by("site"), {page: read_by(page) for page in "pqr"})
        config = f"{folder}/mkdocs.yml"
        reports: dict[str, Any] = {"p": 1, "q": [2], "r": {"x": None}}
        assert load(config, {}).save(record, reports, {"all": "well"})
        known = load(config, {})
        assert (known.verdict, known.reports) == ({"all": "well"}, reports)

        changed = data.draw(st.sampled_from(sorted(contents)))
        content = contents[changed]
        place = data.draw(st.integers(0, len(content) - 1))
        byte = data.draw(st.integers(0, 255).filter(lambda value: value != content[place]))
        middle = data.draw(st.sampled_from([b"", bytes([byte]), content[place : place + 1] * 2]))
        (Path(folder) / changed).write_bytes(content[:place] + middle + content[place + 1 :])
        known = load(config, {})
        fallen = set("pqr") if "site" in readers[changed] else readers[changed]
        assert known.verdict is None
        assert known.reports == {page: reports[page] for page in reports if page not in fallen}

        (Path(folder) / changed).write_bytes(content)
        assert load(config, {}).verdict == {"all": "well"}


# -- processes


WRITER = """\
import sys
from mkdocs_markstay.check_cache import load
from mkdocs_markstay.read_files import Recording, digest_file
record = Recording()
record.site.files = {"mkdocs.yml": digest_file("mkdocs.yml")}
known = load("mkdocs.yml", {})
print(flush=True)
for number in range(60):
    assert known.save(record, {}, [sys.argv[1]] * 2000)
"""


def test_many_processes_at_once_leave_a_whole_file() -> None:
    write("mkdocs.yml")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, name], stdout=subprocess.PIPE, env=environment
        )
        for name in ("one", "two")
    ]
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.readline()
    while any(writer.poll() is None for writer in writers):
        try:
            verdict = stored()["verdict"]
        except ValueError as error:
            if "unpack" in str(error):  # no file yet
                continue
            raise
        assert len(verdict) == 2000
        assert len(set(verdict)) == 1
    for writer in writers:
        assert writer.returncode == 0
        assert writer.stdout is not None
        writer.stdout.close()
    assert stored()["verdict"][0] in ("one", "two")
    assert len(list(cache_file().parent.iterdir())) == 2


@pytest.mark.usefixtures("record")
def test_a_check_with_nothing_changed_imports_next_to_nothing() -> None:
    code = (
        "import sys; before = set(sys.modules)\n"
        "from mkdocs_markstay.check_cache import load\n"
        "load('mkdocs.yml', {})\n"
        "heavy = {'mkdocs', 'markdown', 'click', 'yaml', 'logging', 'tempfile', 'inspect', 'dataclasses'}\n"
        "print(*sorted((set(sys.modules) - before) & heavy))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


# -- with MkDocs


HOOK = """\
from pathlib import Path

added = []

def on_files(files, config):
    added[:] = [Path(file.abs_src_path).read_text() for file in files if file.name == ".meta"]
    return files

def on_page_markdown(markdown, **_):
    return markdown + "added" + "".join(added)
"""


def render(known: Known, record: Recording) -> dict[str, str]:
    """Render the pages of a site whose reports are not known: the reports of all."""
    reports = {}
    Hooks._load_hook.cache_clear()  # as in a process of its own
    with tempfile.TemporaryDirectory() as site_dir:
        config = load_config("mkdocs.yml", site_dir=site_dir)
        files = config.plugins.on_files(get_files(config), config=config)
        for file in files.documentation_pages():
            key = file.src_uri
            if key in known.reports:
                reports[key] = known.reports[key]
                continue
            record.begin_page(key, file.abs_src_path)
            page = Page(None, file, config)
            page.read_source(config)
            assert page.markdown is not None
            page.markdown = config.plugins.on_page_markdown(
                page.markdown, page=page, config=config, files=files
            )
            page.render(config, files)
            reports[key] = page.content or ""
            record.begin_page(None)
    return reports


def check() -> list[str] | None:
    """Check a site as a command would: the pages that were rendered, None for none at all."""
    known = know()
    if known.verdict is not None:
        return None
    nothing = Known("elsewhere/mkdocs.yml", {})
    with recording() as record:
        reports = render(known, record)
        if known.is_outdated(record):
            reports = render(nothing, record)
    known.save(record, reports, list(reports.values()))
    # Nothing was taken over that is not as it would be rendered now.
    assert reports == render(nothing, Recording())
    return list(record.pages)


def test_a_site() -> None:
    config = {
        "site_name": "X",
        "docs_dir": "docs",
        "plugins": [],
        "hooks": ["hook.py"],
        "markdown_extensions": [{"pymdownx.snippets": {"base_path": ["first", "second"]}}],
    }
    write("mkdocs.yml", json.dumps(config))
    write("hook.py", HOOK)
    write("first/other.md")
    write("second/snippet.md", "of the second")
    for name in ("index", "a", "b"):
        write(f"docs/{name}.md", f"# {name}\n")
    write("docs/with.md", '--8<-- "snippet.md"\n')
    assert check() == ["index.md", "a.md", "b.md", "with.md"]
    assert check() is None
    write("docs/a.md", "# edited\n")
    assert check() == ["a.md"]
    assert check() is None
    write("second/snippet.md", "edited")
    assert check() == ["with.md"]
    write("first/snippet.md", "now this one is found first")
    assert check() == ["with.md"]
    write("docs/new/index.md", "# new\n")
    assert check() == ["new/index.md"]
    Path("docs/b.md").unlink()
    assert check() == []
    assert check() is None
    write("docs/.meta", "from the folder")
    assert sorted(check() or []) == ["a.md", "index.md", "new/index.md", "with.md"]
    assert check() is None
    write("hook.py", HOOK.replace('"added"', '"added in another way"'))
    assert check() == ["index.md", "a.md", "with.md", "new/index.md"]
    assert check() is None
