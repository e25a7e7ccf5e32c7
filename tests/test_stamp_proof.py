"""Stamping is never wrong: the search for edits that do harm, and whole sites made at random."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import html5lib
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from site_builder import Built, Site, build_site, run_markstay, write_site

from mkdocs_markstay.findings import CODES, Finding
from mkdocs_markstay.headings import Heading, Place
from mkdocs_markstay.inspection import RenderedPage
from mkdocs_markstay.page_report import PageReport
from mkdocs_markstay.stamp_plan import Edit, Plan
from mkdocs_markstay.stamp_proof import Rendering, prove

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from xml.etree.ElementTree import Element

    from mkdocs.config.defaults import MkDocsConfig

_TRIES = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)

# -- documents

_WORDS = (
    "Alpha", "Alpha", "Beta", "Überblick", "安装", "2", "*em*", "`code`", "`<#c>`", "[l](#alpha)",
    "<b>x</b>", "&amp;", "\\#", "\\<#x>", "C#", "{x}", "{{", "}", "<x", "<", "x>", "\u00a0",
    "<!-- c -->", "\\", "`", "_", "e\u0301", "$x_{#a}$",
)  # fmt: skip
_ENDS = (
    *[""] * 6, " ", "\t", "  ", " #", " ##", " ## ", " {.cls}", " {: .cls }", " {k=v}", " {.cls} ",
    " <#own>", " {#own}", " {.cls} ##", " {", " <#", " \\#", ' {title="a b"}', " {hidden}", " { .a .b }",
)  # fmt: skip
_titles = st.lists(st.sampled_from(_WORDS), min_size=1, max_size=2).map(" ".join)
_headings = st.one_of(
    st.builds(
        "{}{}{}{}".format,
        st.sampled_from(["## ", "## ", "### ", "##", "# ", " ## ", "##\t", "####### "]),
        _titles,
        st.sampled_from(_ENDS),
        st.sampled_from(["", "", "\nmore"]),
    ),
    st.builds(
        "{}{}\n{}".format,
        _titles,
        st.sampled_from(_ENDS),
        st.sampled_from(["---", "===", "--- ", "-"]),
    ),
)
_AROUND = (
    *["{}"] * 8, "```\n{}\n```", "~~~~\n{}\n~~~~", "<!--\n{}\n-->", "    {}", "- {}", "> {}",
    "!!! note\n\n    {}", "<div markdown>\n{}\n</div>", "<div>\n{}\n</div>", "```\n{}", "<!-- {}",
    "- a\n\n    {}", "text\n{}", "[^1]:\n    {}", "1. {}", "<details>\n\n{}\n\n</details>",
)  # fmt: skip
_OTHERS = (
    "text", '--8<-- "part.md"', '--8<-- "part.md"', "<h2>Alpha</h2>", "[TOC]", "[l](#alpha)", "[l](b.md#alpha)",
    "---", "<div>", "</div>", "{: .cls }", "*[Alpha]: word", "a [^1]", "| ## a | b |\n|---|---|\n| x | y |",
    "<span id='alpha'></span>", "![i](i.png)", "---\ntitle: x\n---",
)  # fmt: skip
_blocks = st.one_of(
    st.builds(
        lambda around, heading: around.replace("{}", heading), st.sampled_from(_AROUND), _headings
    ),
    st.sampled_from(_OTHERS),
)
_documents = st.builds(
    lambda blocks, gap, newline, begin, end: (begin + gap.join(blocks) + end).replace(
        "\n", newline
    ),
    st.lists(_blocks, min_size=1, max_size=8),
    st.sampled_from(["\n\n", "\n\n", "\n"]),
    st.sampled_from(["\n", "\n", "\r\n", "\r"]),
    st.sampled_from(["", "", "# T\n\n", "\ufeff", "---\nx: y\n---\n\n", "\n\n"]),
    st.sampled_from(["\n", "", "\n\n"]),
)

EXTENSIONS: dict[str, tuple[str | dict[str, Any], ...]] = {
    "none": ({"pymdownx.snippets": {"base_path": ["parts"]}},),
    "stock": (
        "toc", "attr_list", "md_in_html", "admonition", "footnotes", "fenced_code", "abbr", "tables",
        {"pymdownx.snippets": {"base_path": ["parts"]}},
    ),
    "pymdownx": (
        {"toc": {"permalink": True}}, "pymdownx.extra", "admonition", "pymdownx.superfences",
        {"pymdownx.arithmatex": {"generic": True}}, "pymdownx.caret", "smarty",
        {"pymdownx.snippets": {"base_path": ["parts"]}},
    ),
}  # fmt: skip

# -- what must be true

_WARNINGS = dict.fromkeys(CODES, "warning")
_ADDED = re.compile(rb"(?=( <#[^<>\s]+>| \{#[^{}\s]+\}|#[^\s{}]+ ))")


def _publish(folder: Path, **overrides: Any) -> Built:
    """Build a site in which nothing fails."""

    def adapt(config: MkDocsConfig) -> None:
        if "markstay" in config.plugins:
            config.plugins["markstay"].config["findings"] = _WARNINGS

    built = build_site(folder, adapt=adapt, **overrides)
    assert built.passed, built.log
    return built


def _read(html: str) -> tuple[list[object], list[str]]:
    """Read a page with another parser: all but the ids of headings, and these ids."""
    tree: Element = html5lib.parse(html, namespaceHTMLElements=False)
    elements: list[object] = []
    ids = []
    for element in tree.iter():
        if element.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            ids.append(element.attrib.pop("id", ""))
        # The children, in number, tell where each element ends.
        elements.append((element.tag, element.attrib, element.text, element.tail, len(element)))
    return elements, ids


def _check_bytes(old: bytes, new: bytes) -> None:
    """A file differs in ids at the ends of lines only."""
    before, after = (re.split(rb"(\r\n|\r|\n)", content) for content in (old, new))
    assert len(before) == len(after)
    for was, line in zip(before, after, strict=True):
        if was != line:
            cuts = (line[: m.start(1)] + line[m.end(1) :] for m in _ADDED.finditer(line))
            assert was in cuts, (was, line)


def check_stamped(folder: Path, site: Site, *args: str) -> int:
    """Stamp a site, hold it to all that is promised, and count the new ids."""
    write_site(folder, site)
    before = _publish(folder)
    sources = {name: (folder / name).read_bytes() for name in site.files}

    ran = run_markstay(folder, "stamp", "--write", *args)
    assert ran.code in (0, 1), ran.err
    stamped = {name: (folder / name).read_bytes() for name in site.files}
    for name, old in sources.items():
        _check_bytes(old, stamped[name])

    after = _publish(folder)
    for path, html in before.pages().items():
        assert _read(html) == _read(after.html(path)), path
    told = {f"{found.path}:{found.line}" for found in ran.findings if found.level == "warning"}
    debts = {f"{found.path}:{found.line}" for found in after.findings if found.code == "missing-id"}
    assert debts <= told, "what is not stamped is listed"
    # A heading that nobody sees has no section, with an id or without one.
    grown = {found.place for found in after.findings if found.code != "lost-id"}
    assert grown <= {found.place for found in before.findings}

    again = run_markstay(folder, "stamp", "--write", *args)
    assert {name: (folder / name).read_bytes() for name in site.files} == stamped
    count = len(before.findings) - len(after.findings)
    assert "0 ids in 0 files" in again.err
    return count


def check_first_stamped(folder: Path, site: Site) -> None:
    """Stamp a site that does not have the plugin yet: no anchor of today is lost unheard."""
    write_site(folder, site)
    before = _publish(folder, plugins=[])
    ran = run_markstay(folder, "stamp", "--write")
    assert ran.code in (0, 1), ran.err
    left = len([found for found in ran.findings if found.level == "warning"])
    assert "does not name markstay yet" in ran.err

    after = _publish(folder, plugins=[{"markstay": {}}])
    lost = 0
    for path, html in before.pages().items():
        then, now = _read(html)[1], _read(after.html(path))[1]
        assert len(then) == len(now), path
        lost += sum(one != other for one, other in zip(then, now, strict=True))
    assert lost <= left
    again = run_markstay(folder, "stamp", "--write")
    assert "0 ids in 0 files" in again.err


_site_files = st.fixed_dictionaries(
    {"docs/index.md": _documents, "docs/b.md": _documents, "parts/part.md": _documents}
)


def test_these_checks_see_headings_stamped(tmp_path: Path) -> None:
    text = (
        "# T\r\n\r\n## Alpha\r\n\r\n```\r\n## Alpha\r\n```\r\n\r\n<!--\r\n## Alpha\r\n-->\r\n\r\n"
        '## Alpha {.cls} ##\r\n\r\nÜber\t\r\n---\r\n\r\n--8<-- "part.md"\r\n'
    )
    files = {"docs/index.md": text, "docs/b.md": "# B\n", "parts/part.md": "## Part\n"}
    count = check_stamped(tmp_path, Site(files, EXTENSIONS["stock"]), "--syntax", "brace")
    assert count == 4


@_TRIES
@given(
    _site_files,
    st.sampled_from(sorted(EXTENSIONS)),
    st.sampled_from(["auto", "angle", "brace"]),
)
def test_stamping_changes_nothing_but_ids(
    files: dict[str, str], extensions: str, syntax: str
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        site = Site(files, EXTENSIONS[extensions])
        check_stamped(Path(folder, "site"), site, "--syntax", syntax)


@_TRIES
@given(_site_files, st.sampled_from(sorted(EXTENSIONS)))
def test_a_first_stamp_keeps_what_is_published(files: dict[str, str], extensions: str) -> None:
    # What such a site shows of an id is text today.
    plain = {name: re.sub(r"[<{]#own[}>]", "", text) for name, text in files.items()}
    with tempfile.TemporaryDirectory() as folder:
        site = Site(plain, EXTENSIONS[extensions], config={"plugins": []})
        check_first_stamped(Path(folder, "site"), site)


# -- the search, without a site

Titles = dict[str, list[str]]


class FakeSite:
    """Pages of headings, and what ids do to them.

    ``titles`` are the headings of each page. ``shows`` says what else is in a page, given its
    name and the ids that are written; ``fails`` gives the findings. An id in ``unread`` is not
    read. Edits of titles that end in `!` stand in an included file.
    """

    def __init__(
        self,
        titles: Titles,
        shows: Callable[[str, set[str]], str] = lambda _name, _ids: "",
        fails: Callable[[set[str]], list[Finding]] = lambda _ids: [],
        unread: Collection[str] = (),
    ) -> None:
        self.titles, self.shows, self.fails, self.unread = titles, shows, fails, unread
        self.renderings = 0
        self.plan = Plan()
        for name, own in titles.items():
            for index, title in enumerate(own):
                shared = title.endswith("!")
                file = "part.md" if shared else f"{name}.md"
                via = Place(f"{name}.md", 99) if shared else None
                line = int(title.strip("x!"))
                edit = Edit(
                    file,
                    line,
                    title,
                    f"{title} <#{title}>",
                    title,
                    Place(file, line + 1, via),
                    title,
                )
                edit = self.plan.edits.setdefault((file, line), edit)
                self.plan.pages.setdefault(f"{name}.md|{name}.html", {})[index] = (file, line)
        self.edits = dict(self.plan.edits)

    def _page(self, name: str, ids: set[str]) -> RenderedPage:
        report = PageReport(f"{name}.md", f"{name}.html", f"{name}.md", "en")
        headings = tuple(
            Heading(2, title, title, explicit=title in ids - {*self.unread})
            for title in self.titles[name]
        )
        html = "".join(
            f'<h2 id="{heading.published_id}">{heading.title}</h2>' for heading in headings
        )
        anchors = tuple(heading.published_id for heading in headings)
        return RenderedPage(report, headings, anchors, None, False, html + self.shows(name, ids))

    def render(self, edits: Collection[Edit], keys: Collection[str] | None) -> Rendering:
        self.renderings += 1
        ids = {edit.section_id for edit in edits}
        pages = [self._page(name, ids) for name in self.titles]
        wanted = {
            page.report.key: page for page in pages if keys is None or page.report.key in keys
        }
        return Rendering(wanted, self.fails(ids))

    def prove(self) -> set[str]:
        """Prove the plan, and give the ids that are refused."""
        pages = [self._page(name, set()) for name in self.titles]
        prove(self.plan, {page.report.key: page for page in pages}, self.render)
        kept = {edit.section_id for edit in self.plan.edits.values()}
        refused = [found.heading for found in self.plan.left]
        everything = {edit.section_id for edit in self.edits.values()}
        assert sorted([*kept, *refused]) == sorted(everything), "each is kept, or told once"
        return set(refused)

    @property
    def reasons(self) -> list[str]:
        return [found.message for found in self.plan.left]


def _titles_of(count: int, letter: str = "x") -> list[str]:
    return [f"{letter}{number}" for number in range(count)]


def test_what_does_no_harm_is_rendered_once() -> None:
    site = FakeSite({"a": _titles_of(30), "b": ["x30", "x31!"]})
    assert site.prove() == set()
    assert site.renderings == 1


def test_an_empty_plan_is_not_rendered() -> None:
    site = FakeSite({"a": []})
    assert site.prove() == set()
    assert site.renderings == 0


def test_an_id_that_is_not_read() -> None:
    site = FakeSite({"a": _titles_of(30)}, unread=["x7"])
    assert site.prove() == {"x7"}
    assert "is not read as this heading's" in site.reasons[0]
    assert site.renderings == 2


@pytest.mark.parametrize("harmful", [{"x0"}, {"x31"}, {"x15", "x16"}, {"x3", "x9", "x27"}])
@pytest.mark.parametrize("which", ["one page", "the page beside it"])
def test_an_id_that_changes_more(harmful: set[str], which: str) -> None:
    def shows(name: str, ids: set[str]) -> str:
        return "harm" * len(ids & harmful) * (name == ("a" if which == "one page" else "b"))

    site = FakeSite({"a": _titles_of(32), "b": ["x32"], "c": ["x33"]}, shows)
    assert site.prove() == harmful
    assert "rendered differently in more than the id" in site.reasons[0]
    assert site.renderings < 40


@pytest.mark.parametrize(("one", "other"), [("x0", "x1"), ("x2", "x30"), ("x7", "x8")])
def test_two_ids_that_do_harm_together(one: str, other: str) -> None:
    """One of them may stay."""
    site = FakeSite({"a": _titles_of(32)}, lambda _name, ids: "harm" * ({one, other} <= ids))
    refused = site.prove()
    assert len(refused) == 1
    assert refused < {one, other}


def test_harm_that_one_id_repairs() -> None:
    """Without the first, the second does harm: both go, or none."""
    site = FakeSite(
        {"a": _titles_of(8)}, lambda _name, ids: "harm" * (("x2" in ids) != ("x5" in ids))
    )
    assert site.prove() in (set(), {"x2", "x5"})


def test_an_id_of_an_included_file_that_changes_a_page() -> None:
    """The pages share the file, so that none of them gets the id."""

    def shows(name: str, ids: set[str]) -> str:
        return "harm" * ("x3!" in ids and name == "c")

    site = FakeSite({"a": ["x0", "x3!", "x4!"], "b": ["x1", "x3!"], "c": []}, shows)
    refused = site.prove()
    assert "x3!" in refused
    assert not refused & {"x0", "x1"}


def test_a_page_that_is_another_one_each_time() -> None:
    site = FakeSite({"a": _titles_of(8), "b": ["x8"]})
    site.shows = lambda name, _ids: f"{site.renderings}" * (name == "a")
    assert site.prove() == set(), "its headings are the same each time"


def test_headings_that_are_others_each_time() -> None:
    site = FakeSite({"a": _titles_of(8), "b": ["x8"]})
    site.shows = lambda name, _ids: f"<h2>{site.renderings}</h2>" * (name == "a")
    assert site.prove() == set(_titles_of(8))


def test_a_restless_page_that_ids_change() -> None:
    site = FakeSite({"a": _titles_of(8)}, unread=["x6"])
    site.shows = lambda _name, ids: f"{site.renderings}" + "<h2>harm</h2>" * ("x3" in ids)
    assert site.prove() == {"x3", "x6"}


def test_a_build_that_fails() -> None:
    def fails(ids: set[str]) -> list[Finding]:
        return [Finding("a.md", 4, "malformed-id", "it is wrong", "error")] * ("x3" in ids)

    site = FakeSite({"a": _titles_of(8), "b": ["x8"]}, fails=fails)
    assert site.prove() == {"x3"}
    assert "the build fails: a.md:4: malformed-id: it is wrong" in site.reasons[0]


def test_a_build_that_fails_elsewhere() -> None:
    def fails(ids: set[str]) -> list[Finding]:
        return [Finding("b.md", 1, "page-id", "it is wrong", "error")] * ("x3" in ids)

    site = FakeSite({"a": _titles_of(8), "b": ["x8"]}, fails=fails)
    assert site.prove() == {"x3"}


def test_a_page_that_vanishes() -> None:
    site = FakeSite({"a": _titles_of(8), "b": ["x8"]})
    whole = site.render

    def render(edits: Collection[Edit], keys: Collection[str] | None) -> Rendering:
        pages, failing = whole(edits, keys)
        gone = "a.md|a.html" if any(edit.section_id == "x5" for edit in edits) else ""
        return Rendering({key: page for key, page in pages.items() if key != gone}, failing)

    site.render = render  # type: ignore[method-assign]
    assert site.prove() == {"x5"}


def test_harm_without_end_is_given_up() -> None:
    """Whatever is written, another page changes; nothing of it is written then."""
    site = FakeSite(
        {"a": _titles_of(200), "b": [f"x{number}" for number in range(200, 400)]},
        lambda _name, ids: "harm" * len(ids),
    )
    assert len(site.prove()) == 400
    assert site.renderings <= 20 * (3 + 2 * 40)


@settings(max_examples=100, deadline=None)
@given(
    st.sets(st.integers(0, 11), max_size=4),
    st.lists(st.sets(st.integers(0, 11), min_size=2, max_size=3), max_size=3),
    st.sets(st.integers(0, 11), max_size=2),
)
def test_what_is_kept_does_no_harm(
    alone: set[int], together: list[set[int]], unread: set[int]
) -> None:
    def harms(ids: set[str]) -> int:
        written = {int(each[1:]) for each in ids}
        return len(written & alone) + sum(each <= written for each in together)

    titles = {"a": _titles_of(6), "b": [f"x{number}" for number in range(6, 12)], "c": []}
    site = FakeSite(
        titles,
        lambda name, ids: "harm" * harms(ids) * (name != "b"),
        unread=[f"x{number}" for number in unread],
    )
    refused = {int(each[1:]) for each in site.prove()}
    kept = {f"x{number}" for number in set(range(12)) - refused}
    assert harms(kept) == 0
    assert alone | unread <= refused
    if not alone and not together:
        assert refused == unread
