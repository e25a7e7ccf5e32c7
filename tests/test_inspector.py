"""What the inspector of `mkdocs serve` reads, compares and serves, without a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.config.defaults import MkDocsConfig
from selectolax.lexbor import LexborHTMLParser
from site_builder import Site, build_site, working_in, write_site

from mkdocs_markstay.extract_lexbor import extract
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.inspector import NO_PASSAGES
from mkdocs_markstay.inspector_bounds import find_bounds, insert_numbers, locate_pieces, number_tags
from mkdocs_markstay.inspector_changes import place_baseline
from mkdocs_markstay.inspector_server import add_files, inspect_app, target_of
from mkdocs_markstay.passages import Sizes, split_passages
from mkdocs_markstay.published import read_shown
from mkdocs_markstay.records import Policy
from mkdocs_markstay.sections import Block

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mkdocs_markstay.inspector import Inspector

SERVED = "http://127.0.0.1:8000/"
PAGE = "# Title\n\nFirst.\n\n## Part <#part>\n\nSecond.\n"


class Preview:
    """A site as `mkdocs serve` builds it, and the inspector in front of it."""

    def __init__(self, folder: Path, dirty: bool = False) -> None:
        self.folder, self.site, self.dirty = folder, folder / "served", dirty
        self.warnings: list[str] = []
        self.config = self.load()
        self.config.plugins.on_startup(command="serve", dirty=dirty)
        self.build()
        self.inspector._warn = self.warnings.append

    def load(self) -> Any:
        return load_config("mkdocs.yml", site_dir=str(self.site))

    @property
    def inspector(self) -> Inspector:
        found: Inspector | None = self.config.plugins["markstay"].inspector
        assert found is not None
        return found

    def build(self) -> None:
        self.config = self.load()
        self.config.site_url = SERVED
        build(self.config, serve_url=SERVED, dirty=self.dirty)

    def edit(self, name: str, old: str, new: str) -> None:
        path = self.folder / "docs" / name
        path.write_text(path.read_text("utf-8").replace(old, new), "utf-8")
        self.build()

    def changes(self, target: str = "index.html") -> dict[str, Any]:
        return self.inspector.describe_changes(target)


@contextmanager
def preview(folder: Path, site: Site | None = None, *, dirty: bool = False) -> Iterator[Preview]:
    if site is not None:
        write_site(folder, site)
    with working_in(folder):
        made = Preview(folder, dirty)
        try:
            yield made
        finally:
            made.config.plugins.on_shutdown()
            # MkDocs keeps plugins for all builds of one server.
            MkDocsConfig.plugins.plugin_cache.clear()  # type: ignore[attr-defined]


# -- bounds


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("<p>A</p><!-- <p> --><p>B</p>", '<p n="0">A</p><!-- <p> --><p n="1">B</p>'),
        ('<a title="<b>">x</a><b>', '<a n="0" title="<b>">x</a><b n="1">'),
        ("<script>'<p>'</script><p>", '<script n="0">\'<p>\'</script><p n="1">'),
        ("<P CLASS=x>a < b</P><br/>", '<P n="0" CLASS=x>a < b</P><br n="1"/>'),
        ("<textarea><p></textarea><p>", '<textarea n="0"><p></textarea><p n="1">'),
    ],
)
def test_start_tags_are_numbered(html: str, shown: str) -> None:
    _, places = number_tags(html)
    assert insert_numbers(html, places, dict.fromkeys(range(len(places)), ' n="')) == shown


PIECES = (
    "<p> </p> <div·class='a'> </div> text· <b> </b> <ul><li> </ul> <pre><code> </code></pre> <h2·id=x>"
    " </h2> <a·title='>'> </a> <!-- --> <nav> </nav> <a·class=headerlink> <br> <table><tr><td> </table>"
    " <· &lt;"
)
HTML = st.lists(st.sampled_from(PIECES.replace("·", "\xa0").split(" "))).map(
    lambda pieces: "".join(pieces).replace("\xa0", " ")
)


@settings(deadline=None, derandomize=True, database=None)
@given(HTML)
def test_marking_changes_nothing_but_attributes(html: str) -> None:
    sections = extract(html, {"x"}, FURNITURE)
    found = find_bounds(html, {"x"}, FURNITURE, sections, Policy(FURNITURE))
    if found is None:
        return
    tree = LexborHTMLParser(f"<body>{found.region}").body
    assert tree is not None
    for node in tree.css("[data-markstay-at], [data-markstay-furniture]"):
        for name in ("data-markstay-at", "data-markstay-furniture"):
            if name in node.attributes:
                del node.attrs[name]
    plain = LexborHTMLParser(f"<body>{html}").body
    assert plain is not None
    assert tree.html == plain.html
    assert extract(found.region, {"x"}, FURNITURE) == sections


SIZES = Sizes(0, 120, 200)
BLOCKS = st.lists(
    st.builds(
        Block,
        st.sampled_from(["paragraph", "list", "footnote"]),
        st.text("ab. \n", min_size=1, max_size=500).map(lambda text: f"x{text}x"),
    )
)


@settings(deadline=None, derandomize=True, database=None)
@given(BLOCKS, st.sampled_from(["group", "block", "section"]))
def test_every_passage_knows_its_blocks(blocks: list[Block], granularity: str) -> None:
    passages = split_passages(blocks, SIZES, granularity)
    located = locate_pieces(blocks, SIZES, granularity)
    assert [len(pieces) for pieces in located] == [len(each.blocks) for each in passages]
    for pieces, passage in zip(located, passages, strict=True):
        for piece, block in zip(pieces, passage.blocks, strict=True):
            assert block.kind == piece.block.kind
            assert piece.own in block.text
            assert block.text in piece.block.text
    parts = [piece.part for pieces in located for piece in pieces]
    assert parts.count(0) == len(blocks)


def test_elements_are_those_of_the_blocks() -> None:
    html = (
        '<h2 id="a">A<a class="headerlink" href="#a">P</a></h2><p>One.</p>'
        "<div>loose <b>text</b><p>Two.</p></div><ul><li>x</li></ul>"
    )
    sections = extract(html, {"a"}, FURNITURE)
    found = find_bounds(html, {"a"}, FURNITURE, sections, Policy(FURNITURE))
    assert found is not None
    assert [[piece[:2] for piece in pieces] for pieces in found.passages] == [
        [(2, 0), (None, 0), (5, 0), (6, 0)]
    ]
    assert found.passages[0][1].begin == "loose text"
    assert found.furniture == [1]
    assert '<p data-markstay-at="2">' in found.region
    assert '<a data-markstay-furniture="1" class' in found.region


# -- what is told of pages


def test_passages_are_those_of_the_manifest(tmp_path: Path) -> None:
    with preview(tmp_path, Site({"docs/index.md": PAGE, "docs/other.md": PAGE})) as made:
        manifest = json.loads((made.site / "passages.json").read_text("utf-8"))
        for page in manifest["pages"]:
            target = target_of(page["url"])
            told = made.inspector.describe_page(target)
            own = [p for p in manifest["passages"] if p["referent"].startswith(page["page_id"])]
            for key in ("chunk_id", "referent", "position", "text", "text_digest", "record_digest"):
                assert [each[key] for each in told["passages"]] == [each[key] for each in own]
            html = (made.site / target).read_text("utf-8")
            assert made.inspector.mark(target, html) != html


def test_pages_without_passages_say_why(tmp_path: Path) -> None:
    files = {
        "docs/index.md": PAGE,
        "docs/out.md": PAGE,
        "docs/draft.md": PAGE,
        "docs/left.md": f"---\nmarkstay: false\n---\n{PAGE}",
    }
    site = Site(files, plugin={"exclude": ["out.md"]}, config={"draft_docs": "draft.md"})
    with preview(tmp_path, site) as made:
        for page, why in [("out", "excluded"), ("draft", "draft"), ("left", "front-matter")]:
            told = made.inspector.describe_page(f"{page}/index.html")
            assert (told["why"], told["passages"]) == (NO_PASSAGES[why], [])
        assert made.inspector.describe_page("no.html")["why"] == NO_PASSAGES["unknown"]


def test_findings_are_told_with_their_lines(tmp_path: Path) -> None:
    files = {"docs/index.md": PAGE, "docs/other.md": "# Other\n\n## No id\n\nText.\n"}
    with preview(tmp_path, Site(files)) as made:
        told = made.inspector.describe_page("other/index.html")
        (found,) = told["findings"]
        place = found["path"], found["line"], found["code"], found["level"]
        assert place == ("docs/other.md", 3, "missing-id", "warning")
        other = made.inspector.describe_page("index.html")
        assert (other["findings"], other["other_count"]) == ([], 1)


def test_a_request_during_a_build_leaves_nothing_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with preview(tmp_path, Site({"docs/index.md": PAGE})) as made:

        def build_meanwhile(*known: Any) -> Any:
            monkeypatch.setattr("mkdocs_markstay.inspector.read_shown", read_shown)
            # The same HTML, two lines further down.
            made.edit("index.md", "## Part", "\n\n## Part")
            return read_shown(*known)

        before = made.inspector.describe_page("index.html")
        monkeypatch.setattr("mkdocs_markstay.inspector.read_shown", build_meanwhile)
        during = made.inspector.describe_page("index.html")
        after = made.inspector.describe_page("index.html")
        lines = [told["passages"][-1]["line"] for told in (before, during, after)]
        assert lines == [lines[0], lines[0], lines[0] + 2]
        assert (during["build"], after["build"]) == (before["build"], before["build"] + 1)


# -- what is compared


def test_changes_of_each_edit_are_told(tmp_path: Path) -> None:
    site = Site({"docs/index.md": PAGE, "docs/other.md": PAGE.replace("#part", "#rest")})
    assert build_site(tmp_path, site).passed
    with preview(tmp_path) as made:
        assert made.changes()["totals"] == {"passages": {}, "addresses": {}, "broken": 0}
        made.edit("index.md", "Second.", "Another second.")
        told = made.changes()
        assert told["totals"]["passages"] == {"edited": 1}
        (change,) = told["here"]
        assert (change["kind"], change["pieces"]) == (
            "edited",
            [("-", "Second"), ("+", "Another second"), ("=", ".")],
        )
        assert told["baseline"] == "site/passages.json"
        elsewhere = made.changes("other/index.html")
        assert (elsewhere["here"], elsewhere["elsewhere"][0]["url"]) == ([], "")
        made.edit("index.md", "<#part>", "<#renamed>")
        broken = [each["old"]["referent"] for each in made.changes()["here"] if each["broken"]]
        assert broken == ["index#part"]
        made.edit("index.md", "# Title\n\nFirst.", "# Title\n\nFirst.\n\n## New <#new>\n\nText.")
        added = [
            each["new"]["referent"] for each in made.changes()["here"] if each["kind"] == "added"
        ]
        assert "index#new" in added


def test_nothing_was_published_yet(tmp_path: Path) -> None:
    with preview(tmp_path, Site({"docs/index.md": PAGE})) as made:
        told = made.changes()
        assert (told["missing"], told["problem"]) == (True, "there is no site/passages.json")
        assert made.warnings == []


def test_a_folder_without_a_manifest_is_told(tmp_path: Path) -> None:
    site = Site({"docs/index.md": PAGE}, plugin={"baseline_manifest": "docs"})
    with preview(tmp_path, site) as made:
        problem = "there is no passages.json and no passages.jsonl in docs"
        assert made.changes()["problem"] == problem


@pytest.mark.parametrize("content", ["", "{", "[]", '{"schema": "mkdocs-markstay/passages-9"}'])
def test_a_damaged_baseline_is_told_once(tmp_path: Path, content: str) -> None:
    site = Site(
        {"docs/index.md": PAGE, "old.json": content}, plugin={"baseline_manifest": "old.json"}
    )
    with preview(tmp_path, site) as made:
        for _ in range(2):
            told = made.changes()
            assert told["problem"].startswith("old.json")
            made.build()
        assert made.warnings == [told["problem"]]


def test_a_baseline_may_be_committed(tmp_path: Path) -> None:
    site = Site({"docs/index.md": PAGE}, plugin={"baseline_manifest": "git:HEAD"})
    assert build_site(tmp_path, site).passed
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "Publish"]):
        identity = ["-c", "user.name=A", "-c", "user.email=a@docs.example.org"]
        subprocess.run(["git", *identity, *command], cwd=tmp_path, check=True)  # noqa: S607
    shutil.rmtree(tmp_path / "site")
    with preview(tmp_path) as made:
        made.edit("index.md", "Second.", "Another second.")
        told = made.changes()
        assert (told["problem"], told["totals"]["passages"]) == ("", {"edited": 1})


@pytest.mark.parametrize(
    ("option", "argument"),
    [
        (None, "/h/public"),
        ("old/passages.json", "/h/old/passages.json"),
        ("../other", "/other"),
        ("git:main", "git:main:./public"),
        ("git:gh-pages:passages.json", "git:gh-pages:passages.json"),
    ],
)
def test_where_the_baseline_is(option: str | None, argument: str) -> None:
    assert place_baseline(option, Path("/h"), "public").argument == argument


# -- builds


def test_a_dirty_build_keeps_what_it_did_not_read(tmp_path: Path) -> None:
    files = {"docs/index.md": PAGE, "docs/other.md": "# Other\n\n## No id\n\nText.\n"}
    with preview(tmp_path, Site(files), dirty=True) as made:
        made.edit("index.md", "Second.", "Another second.")
        first = made.inspector.describe_page("index.html")
        assert first["passages"][-1]["text"] == "Another second."
        other = made.inspector.describe_page("other/index.html")
        assert [each["code"] for each in other["findings"]] == ["missing-id"]
        assert other["passages"][0]["text"].endswith("Text.")


def test_a_build_knows_no_inspector(tmp_path: Path) -> None:
    sites = []
    for name, on in (("on", True), ("off", False)):
        site = Site({"docs/index.md": PAGE}, plugin={"inspector": on})
        assert build_site(tmp_path / name, site).passed
        folder = tmp_path / name / "site"
        files = [f for f in folder.rglob("*") if f.is_file() and f.suffix != ".gz"]
        sites.append({f.relative_to(folder).as_posix(): f.read_bytes() for f in files})
    assert sites[0] == sites[1]
    assert not any(b"inspector" in content for content in sites[0].values())


def test_a_preview_publishes_what_a_build_does(tmp_path: Path) -> None:
    site = Site({"docs/index.md": PAGE}, config={"site_url": "https://docs.example.org/"})
    assert build_site(tmp_path, site).passed
    with preview(tmp_path) as made:
        assert (made.site / "index.html").read_bytes() == (
            tmp_path / "site/index.html"
        ).read_bytes()


def test_readers_of_a_preview_cite_what_is_published(tmp_path: Path) -> None:
    site = Site(
        {"docs/index.md": PAGE},
        plugin={"cite": True},
        config={"site_url": "https://docs.example.org/a/"},
    )
    with preview(tmp_path, site) as made:
        script = (made.site / "assets/markstay/cite.js").read_text("utf-8")
        assert '"url": "https://docs.example.org/a/"' in script


# -- what is served


def ask(app: Any, path: str, query: str = "") -> tuple[str, dict[str, str], bytes]:
    begun: list[Any] = []
    environ = {"PATH_INFO": path, "QUERY_STRING": query, "REQUEST_METHOD": "GET"}
    parts = app(environ, lambda status, headers: begun.append((status, dict(headers))))
    return (*begun[-1], b"".join(parts))


def test_the_server_adds_the_inspector_to_pages_alone(tmp_path: Path) -> None:
    def app(environ: dict[str, Any], start: Any) -> list[bytes]:
        path = environ["PATH_INFO"].removeprefix("/docs/")
        file = made.site / (target_of(path))
        if not file.is_file():
            start("404 Not Found", [("Content-Type", "text/html")])
            return [b"none"]
        kind = "text/html" if file.suffix == ".html" else "application/json"
        start("200 OK", [("Content-Type", kind), ("Content-Length", "1")])
        return [file.read_bytes()]

    with preview(tmp_path, Site({"docs/index.md": PAGE})) as made:
        served = inspect_app(app, made.inspector, "/docs/")
        _, headers, content = ask(served, "/docs/")
        assert headers["Content-Length"] == str(len(content))
        assert b"/docs/assets/markstay/inspector/inspector.js" in content
        assert b"data-markstay-at=" in content
        raw = (made.site / "passages.json").read_bytes()
        assert ask(served, "/docs/passages.json")[2] == raw
        assert ask(served, "/docs/none/")[::2] == ("404 Not Found", b"none")
        base = "/docs/assets/markstay/inspector/"
        for name in ("inspector.js", "inspector-panel.js", "inspector-ranges.js", "inspector.css"):
            status, headers, content = ask(served, base + name)
            assert (status, headers["Cache-Control"]) == ("200 OK", "no-store")
            assert len(content) > 100
        assert ask(served, f"{base}../../plugin.py")[0] == "404 Not Found"
        told = json.loads(ask(served, f"{base}page.json", "page=")[2])
        assert told["page_id"] == "index"
        assert json.loads(ask(served, f"{base}page.json", "page=../../x")[2])["passages"] == []
        made.inspector.enabled = False
        assert b"inspector" not in ask(served, "/docs/")[2]


def test_pages_without_a_head_get_the_script_at_their_end() -> None:
    assert add_files("<p>A", "/").startswith("<p>A<link")
    assert add_files("<head></head><body>", "/a b/").startswith(
        '<head><link rel="stylesheet" href="/a%20b/'
    )
