"""Properties that hold for every document, looked for with documents made at random.

Most of the documents are wrong in many ways at once. Findings are made warnings, so that
the site is published and can be read by another parser (html5lib), which is asked whether
what the plugin said of it is true.
"""

from __future__ import annotations

import gc
import re
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import html5lib
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from site_builder import Built, Site, build_site, run_mkdocs

from mkdocs_markstay.extract_lexbor import find_region
from mkdocs_markstay.findings import CODES
from mkdocs_markstay.furniture import strip_annotations
from mkdocs_markstay.locate import align, find_candidates
from mkdocs_markstay.passages import Sizes, split_block, split_passages
from mkdocs_markstay.sectionids import check_id, read_heading
from mkdocs_markstay.sections import Block

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.etree.ElementTree import Element

    from hypothesis.strategies import SearchStrategy
    from mkdocs.config.defaults import MkDocsConfig

WARNINGS = {"findings": dict.fromkeys(CODES, "warning")}
_BUILDING_MARK = re.compile(r"data-markstay-(?!begin|end)")
OF_HEADINGS = {"missing-id", "empty-id", "malformed-id", "misplaced-id", "two-ids", "mangled-id"}

EXTENSIONS: dict[str, tuple[str | dict[str, Any], ...]] = {
    "none": (),
    "stock": (
        "attr_list", "md_in_html", "admonition", "footnotes", "def_list", "abbr", "smarty",
    ),
    "pymdownx": (
        "attr_list", "md_in_html", "admonition", "footnotes", "def_list", "pymdownx.superfences",
        "pymdownx.details", {"pymdownx.tabbed": {"alternate_style": True}}, "pymdownx.tasklist",
        "pymdownx.saneheaders", "pymdownx.highlight", "pymdownx.inlinehilite", "pymdownx.caret",
        "pymdownx.magiclink", "pymdownx.smartsymbols", {"pymdownx.arithmatex": {"generic": True}},
    ),
    "blocks": (
        "attr_list", "pymdownx.extra", "pymdownx.blocks.admonition", "pymdownx.blocks.details",
        {"pymdownx.blocks.tab": {"alternate_style": True}}, "pymdownx.blocks.html",
        "pymdownx.blocks.definition", "pymdownx.critic",
    ),
}  # fmt: skip

# Bugs that are known and not repaired yet: names of cases below.
OPEN: set[str] = set()


def _mark_open(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.xfail(reason="a bug that is known")] if name in OPEN else []


def _tries(count: int) -> settings:
    return settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# -- documents

_WORDS = (
    "Alpha", "Überblick", "安装", "two words", "*em*", "`code`", "`<#c>`", "``a ` <#c>``", "[l](u#x)",
    "<b>x</b>", "&amp;", "\\#", "\\<#x>", "#", "C#", "<br>", "{x}", "{{", "<x", "x>", "\u200b",
    "\u00a0", "\u2028", "\x0b", "\x02", "\x03", "\x00", "$x_{#a}$", "[^1]", "<!-- c -->", "|", "\\",
    "`", "*", "_", "e\u0301", "<h2>", "</h2>", "<#m>", "{#m}", "(#z)", "\x0c", "\x85", "\u202e",
    "\ufeff", "wzxhzdk:0", "\x02wzxhzdk:0\x03", "klzzwxh:0000",
)  # fmt: skip
_IDS = (
    "a", "b", "c", "intro", "x-1", "x.y", "x:z", "_u", "9", "Über", "安装", "e\u0301",
    "", "-a", "a b", "a/b", "<b", 'a"b', "x" * 201, "a\u00a0", "\u200bx", "__", "_a_", "a*b*", "a\x00",
    "../x", "a<b", "a>b", "\u202ea", "a`b`",
)  # fmt: skip
_SPELLINGS = (
    *["", " <#@>", " {#@}"] * 4, " {: #@}", " {:#@}", " { #@ }", " {#@ .cls}", " {.cls #@}",
    " <#@> {.cls}", " {.cls} <#@>", " {id=7}", ' {id="@"}', " <#@> <#b>", " {#@} {#b}", " <#@> {#b}",
    " {#@ #b}", "<#@>", "{#@}", " <# @>", " <#@ >", " < #@>", " {# @}", " <#@", " {#@", " \\<#@>",
    " \\{#@}", " `<#@>`", " `{#@}`", " <#@>.", " <#@> x", " {#@} x", "\t<#@>", "\u00a0<#@>",
    ' {.c data-x="{#@}"}', ' {#@ title="a b"}', ' {#@ title="}"}', " {.c}", " {k=v}", " {hidden}",
    " <!-- c --> <#@>", " <#@> <!-- c -->",
)  # fmt: skip
_RAW_ATTRIBUTES = (
    "", " class=x", ' id="@"', " id='@'", ' ID="@"', ' id = "@"', '\nid="@"', " id", ' id=""',
    ' data-id="q"', ' title="a>b" id="@"', " title=\"id='@'\"", ' markdown id="@"', " markdown",
    ' markdown="span"', ' id="@" id="zz"', ' x="<h2>"',
)  # fmt: skip
_RAW_FORMS = (
    "<h2{}>{}</h2>", "<H3{}>{}</H3>", "<h2{}>\n{}\n</h2>", "<h1{}>\n\n{}\n\n</h1>", "<h2{}>{}",
    "text <h2{}>{}</h2> text", "<div>\n<h2{}>{}</h2>\n</div>", "<h2{}\n>{}</h2\n>",
    "- <h2{}>{}</h2>", "<p><h2{}>{}</h2></p>", "<table><h2{}>{}</h2></table>",
    "<svg><h2{}>{}</h2></svg>", "<!-- x\n--><h2{}>{}</h2>", "`<h2{}>{}</h2>`",
)  # fmt: skip
_SINGLE = (
    "---", "***", "[TOC]", "{: #z}", "{#z}", "<#z>", "*[x]: # y", "\\# x", "<div>", "</div>", "<b>",
    "| # a | b |\n|---|---|\n| ## x | <#y> |", "[^1]: ## n", "\u00a0", "\x0b# x", "a\x85## q",
    "a\u2028## q", "</main>", "<span data-markstay-end hidden></span>", "---\ntitle: x\n---",
)  # fmt: skip

_titles = st.lists(st.sampled_from(_WORDS), max_size=3).map(" ".join)
_ids = st.builds("{}{}".format, st.sampled_from(_IDS), st.sampled_from(["", *map(str, range(99))]))
_written = st.builds(
    lambda title, spelling, section_id: title + spelling.replace("@", section_id),
    _titles,
    st.sampled_from(_SPELLINGS),
    _ids,
)
_atx = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["#", "##", "##", "###", "######", "#######", " ##", "     ##"]),
    st.sampled_from([" ", " ", "", "\t", "\u00a0"]),
    _written,
    st.sampled_from(["", "", "", " ##", "##", " # ", " \\#"]),
)
_setext = st.builds(
    "{}{}\n{}".format,
    st.sampled_from(["", "", "", "text\n", "- "]),
    _written,
    st.sampled_from(["-", "---", "=", "====", "--- ", "-- x"]),
)
_raw = st.builds(
    lambda form, attributes, section_id, title: form.format(
        attributes.replace("@", section_id), title
    ),
    st.sampled_from(_RAW_FORMS),
    st.sampled_from(_RAW_ATTRIBUTES),
    _ids,
    _titles,
)
_headings = st.one_of(_atx, _setext, _raw)


def _indent(first: str, others: str) -> Callable[[str], str]:
    return lambda text: first + text.replace("\n", "\n" + others)


def _between(begin: str, end: str) -> Callable[[str], str]:
    return lambda text: f"{begin}\n{text}\n{end}"


_DECOYS = [
    *(_between(f"{mark}{info}", mark) for mark in ("```", "````", "~~~") for info in ("", " py")),
    _between("```", ""),
    _between("````", "```"),
    *(_between(*pair) for pair in (("<!--", "-->"), ("<!--", ""), ("<pre>", "</pre>"), ("`", "`"))),
    *(
        _between(f"<{tag}>", f"</{tag}>")
        for tag in ("script", "style", "textarea", "title", "math")
    ),
    _indent("    ", "    "),
    _indent("\t", "\t"),
]
_CONTAINERS = [
    _indent("> ", "> "),
    _indent("> ", ""),
    *(_indent(mark, "    ") for mark in ("-   ", "* ", "1. ", "[^1]: ", "    ")),
    _indent("Term\n:   ", "    "),
    _indent("!!! note\n    ", "    "),
    _indent('??? note "T"\n\n    ', "    "),
    _indent('=== "One"\n\n    ', "    "),
    *(
        _between(f"/// {name}\n", "///")
        for name in ("note", "details | T", "tab | T", "html | div")
    ),
    *(_between(f"<{tag} markdown>", f"</{tag}>") for tag in ("div", "section", "p", "td")),
    *(_between(f"<{tag}>\n", f"\n</{tag}>") for tag in ("div", "details", "li")),
]
_decoys = st.builds(lambda wrap, text: wrap(text), st.sampled_from(_DECOYS), _headings)


def _blocks(inner: SearchStrategy[str]) -> SearchStrategy[str]:
    return st.lists(inner, min_size=1, max_size=5).flatmap(
        lambda parts: st.sampled_from(["\n\n", "\n\n", "\n"]).map(lambda joint: joint.join(parts))
    )


_leaves = st.one_of(_headings, _headings, _decoys, _titles, st.sampled_from(_SINGLE))
_bodies = _blocks(
    st.recursive(
        _leaves,
        lambda inner: st.builds(
            lambda wrap, text: wrap(text), st.sampled_from(_CONTAINERS), _blocks(inner)
        ),
        max_leaves=6,
    )
)
_documents = st.builds(
    lambda before, body, end: (before + body).replace("\n", end).encode(),
    st.sampled_from(["", "", "# Page\n\n", "\ufeff# Page\n\n", "---\ntitle: '# T <#t>'\n---\n"]),
    _bodies,
    st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]),
)


# -- what was published, read independently


def _slugify(text: str, separator: str) -> str:
    """Make slugs that cannot be mistaken for ids of an author."""
    del text, separator
    return "SLUG"


def _mark_slugs(config: MkDocsConfig) -> None:
    config.mdx_configs.setdefault("toc", {})["slugify"] = _slugify


def _published_headings(html: str) -> list[Element]:
    """All headings of a page that are not in its contents list."""
    tree = html5lib.parse(html, namespaceHTMLElements=False)
    return [
        element
        for element in tree.iter()
        if isinstance(element.tag, str) and re.fullmatch("h[1-6]", element.tag)
    ]


def _without_id(headings: list[Element]) -> list[Element]:
    """Tell which headings need an id and have none that somebody wrote."""
    first = next((heading for heading in headings if heading.tag == "h1"), None)
    return [
        heading
        for heading in headings
        if heading is not first and (heading.get("id") or "SLUG").startswith("SLUG")
    ]


def _all_text(built: Built) -> list[str]:
    return [*built.log, *(str(found) for found in built.findings)]


def _check_page(built: Built) -> None:
    """Judge a published page against what was said of it."""
    html = built.html()
    headings = _published_headings(html)
    told = [found for found in built.findings if found.code in OF_HEADINGS]
    assert not _without_id(headings) or told, html
    # What is there of such names was written by the author.
    source = (built.folder / "docs" / "index.md").read_text(encoding="utf-8", errors="replace")
    assert len(_BUILDING_MARK.findall(html)) <= len(_BUILDING_MARK.findall(source)), html
    for heading in headings:
        section_id = heading.get("id") or ""
        text = "".join(heading.itertext()).strip()
        shown = text.endswith((f" <#{section_id}>", f" {{#{section_id}}}", f" {{: #{section_id}}}"))
        # Unless it was code: then it is what the heading is about.
        assert not (shown and section_id and not told and not heading.findall(".//code")), html


@pytest.mark.parametrize("extensions", EXTENSIONS)
def test_no_heading_without_id_is_published_unnoticed(extensions: str) -> None:
    with tempfile.TemporaryDirectory() as folder:

        @_tries(50)
        @example(b"# P\n\n<h2>A</h2>\n\n<div><h2 id=''>B</h2></div>")
        @example(b"A {.c}\n---\n\nB {#b}x\n---\n\n- ## C \\<#c>")
        @given(_documents)
        def check(document: bytes) -> None:
            site = Site({"docs/index.md": document}, EXTENSIONS[extensions], WARNINGS)
            built = build_site(Path(folder), site, _mark_slugs)
            assert built.verdict == 0, built.error
            assert all(line.isprintable() for line in _all_text(built) if "[" in line)
            _check_page(built)

        check()


def test_a_build_fails_exactly_for_errors(tmp_path: Path) -> None:
    @_tries(60)
    @given(_documents)
    def check(document: bytes) -> None:
        site = Site({"docs/index.md": document}, EXTENSIONS["stock"])
        built = build_site(tmp_path, site, _mark_slugs)
        levels = {found.level for found in built.findings}
        assert built.verdict == (1 if "error" in levels else 0), built.error
        assert built.passed == (built.manifest is not None) == bool(built.pages())
        if built.passed:
            assert not _without_id(_published_headings(built.html()))

    check()


# -- the same bytes, the same manifest

_GOOD = {
    f"docs/{name}.md": f"# Page {name}\n\nIntro *{name}*.\n\n## One <#one>\n\n- a\n- b\n\n"
    f"### Zwei Ü <#zwei>\n\n```py\nx = 1  # (1)!\n```\n\n| a |\n|---|\n| {name} |\n\n"
    f"> ## In <#in>\n>\n> text[^n]\n\n[^n]: Note.\n\n{'long text. ' * 400}\n"
    for name in ("index", "b", "a/index", "a/z", "c-1", "Ä")
}


def test_the_manifest_depends_on_the_bytes_alone(tmp_path: Path) -> None:
    extensions = EXTENSIONS["stock"]
    first = build_site(tmp_path / "1", Site(_GOOD, extensions))
    assert first.manifest_bytes
    backwards = dict(reversed(_GOOD.items()))
    second = build_site(tmp_path / "2", Site(backwards, extensions))
    again = build_site(tmp_path / "1")
    assert first.manifest_bytes == second.manifest_bytes == again.manifest_bytes
    for seed in ("0", "4711"):
        other = run_mkdocs(tmp_path / "2", "--quiet", environ={"PYTHONHASHSEED": seed})
        assert other.manifest_bytes == first.manifest_bytes


def test_documents_at_random_have_one_manifest(tmp_path: Path) -> None:
    pages: list[bytes] = []

    @_tries(30)
    @given(_documents)
    def collect(document: bytes) -> None:
        pages.append(document)

    collect()
    files: dict[str, str | bytes] = {f"docs/{n:02}.md": page for n, page in enumerate(pages)}
    backwards = dict(reversed(files.items()))
    first = build_site(tmp_path / "1", Site(files, EXTENSIONS["stock"], WARNINGS))
    second = build_site(tmp_path / "2", Site(backwards, EXTENSIONS["stock"], WARNINGS))
    assert first.manifest_bytes == second.manifest_bytes
    assert first.findings == second.findings
    other = run_mkdocs(tmp_path / "2", environ={"PYTHONHASHSEED": "99"})
    assert first.manifest_bytes == other.manifest_bytes
    assert sorted(first.places) == sorted(other.places)


# -- hostile ids

_HOSTILE = [
    '"><script>alert(1)</script>', "'><img src=x onerror=alert(1)>", "../", "../../etc/passwd",
    "x" * 10_000, "a\x00b", "a\u202eb", "a\u2066b", "\u200b", "javascript:alert(1)/", "a\x1b[31mb",
    "a\x07b", "a\x85b", "a\u2028b", "%00", "{{7*7}}", "${x}", "a b", "a&b", "a\ufeffb", "\ue000",
]  # fmt: skip
_HOSTILE_SPELLINGS = ["## T <#@>", "## T {#@}", "## T {id='@'}", '<h2 id="@">T</h2>', "T <#@>\n---"]


@pytest.mark.parametrize("hostile", _HOSTILE, ids=ascii)
def test_hostile_ids_are_findings(hostile: str, tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {
        f"docs/{number}.md": "# P\n\n" + spelling.replace("@", hostile) + "\n\ntext\n"
        for number, spelling in enumerate(_HOSTILE_SPELLINGS)
    }
    failed = build_site(tmp_path, Site(pages))
    assert failed.verdict == 1
    assert {found.path for found in failed.findings if found.level == "error"} == set(pages)
    assert [line for line in _all_text(failed) if not line.isprintable()] == []
    assert max(map(len, failed.log)) < 1000
    # Even if that is allowed, it stays inside one attribute at most.
    warned = build_site(tmp_path, Site(pages, plugin=WARNINGS), _mark_slugs)
    assert warned.manifest is not None
    assert not {row["page_id"] for row in warned.manifest["sections"]} & {"0", "4"}
    for number in range(5):
        tree = html5lib.parse(warned.html(f"{number}/index.html"), namespaceHTMLElements=False)
        heading = next(tree.iter("h2"), None)
        if heading is not None and not set(hostile) & set("<>'\" "):
            assert set(heading.keys()) <= {"id"}
            assert len(heading) == 0
        if number in (0, 4):
            assert {element.get("id", "SLUG")[:4] for element in tree.iter()} == {"SLUG"}


@pytest.mark.parametrize(
    "page_id",
    [
        '"a\\0b"', '"a\\e[31mb"', '"\\ud800"', '"a\\u202eb"', "../x", "/x", "x/", "a/../b", "a b", "'a#b'",
        "''", "5", "[a]", "'\u200b'", '"a\\nb"', '"\\u2028"',
    ],
    ids=ascii,
)  # fmt: skip
def test_hostile_page_ids_are_findings(page_id: str, tmp_path: Path) -> None:
    page = f"---\nsome: thing\npage_id: {page_id}\n---\n# P\n"
    built = build_site(tmp_path, Site({"docs/index.md": page}))
    assert all(line.isprintable() for line in built.log)
    if "ud800" in page_id:  # no YAML: MkDocs takes it for text
        assert built.passed
        return
    assert built.places == ["docs/index.md:3 page-id"]


@_tries(300)
@given(st.text(min_size=1, max_size=30))
def test_an_id_that_is_accepted_is_harmless(text: str) -> None:
    if check_id(text) is None:
        assert text.isprintable()
        assert not set(text) & set("<>\"'&/\\#?%{}()[] `=*~")
        assert not text.startswith((".", "-", ":"))


# -- linear time


def _align(text: str) -> object:
    candidates = find_candidates(text)
    return align([candidate.text for candidate in candidates[::2]], candidates)


def _region(text: str) -> object:
    return find_region("<span data-markstay-begin hidden></span>" + text)


def _split_table(text: str) -> object:
    return split_block(Block("table", f"| a |\n| --- |\n{text}"), Sizes(0, 50, 100))


# Name: the function, a megabyte's part that it is tried with, what that part is made of.
_LINEAR: dict[str, tuple[Callable[[str], object], float, tuple[str, ...]]] = {
    "read": (
        read_heading,
        1,
        ("#", "<", "}", "`", "``a`b", "<!--", "<#a>", "\\", "{#", "{#a} ", '{a="b ', " ", "## a {.b} "),
    ),
    "read in braces": (lambda text: read_heading("{" + text + "}"), 1, ("{", "a", "#a ", "a=", '"')),
    "find": (
        find_candidates,
        1,
        ("#", "<", "<h2", "<h2>", "`", "```x\n", "~~~\n", "<!--", "<!-- x\n", "<pre\n", "- ", "> ", "1. ",
         "[^1]: ", "\n"),
    ),
    "find many": (find_candidates, 0.3, ("#\n", "<h2>\n", "a\n-\n", "-\n", "## a\n")),
    "align": (_align, 0.2, ("## a\n", "```x\n## a\n", "a\n=\n")),
    "region": (_region, 1, ("<", "<span ", "<span\n", "<span data-markstay-begin ", "</span>", "x")),
    "split prose": (
        lambda text: split_block(Block("paragraph", "x" + text), Sizes()),
        0.3,
        ("#", "`", "\n- ", "a. ", "x\n\n", "x"),
    ),
    "split code": (
        lambda text: split_block(Block("code", f"```\n{text}\n```"), Sizes()), 0.3, ("x\n", "`")
    ),
    "split table": (_split_table, 0.2, ("| --- |\n", "| a |\n", "|")),
    "strip": (strip_annotations, 1, ("#", "(", ")", "(1", "# (1)!\n", "-->", "<!-- (1) -->")),
    "read <": (read_heading, 0.5, ("(<#a> ", "\\<#a> ")),
    "region end": (_region, 0.5, ("data-markstay-end ", "<span data-markstay-end ")),
    "strip one line": (strip_annotations, 0.5, ("(1)", "# (1)! ")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        pytest.param(name, unit, marks=_mark_open(f"{name} {unit}"), id=f"{name} {unit!a}")
        for name, (_, _, units) in _LINEAR.items()
        for unit in units
    ],
)
def test_time_is_linear(name: str, unit: str) -> None:
    function, part, _ = _LINEAR[name]
    times = []
    for _ in range(3):  # what else the machine does can only make it slower
        whole = _time(function, unit, int(1e6 * part))
        # Small times say nothing of growth.
        half = _time(function, unit, int(5e5 * part)) if whole > 0.3 else whole
        times.append((half, whole))
        if whole < 3 * part and whole < 3 * half:
            return
    pytest.fail(f"seconds for half of it and for all of it: {times}")


def _time(function: Callable[[str], object], unit: str, size: int) -> float:
    text = unit * (size // len(unit))
    # The garbage collector looks at all that the other tests have left.
    gc.disable()
    try:
        before = time.process_time()
        function(text)
        return time.process_time() - before
    finally:
        gc.enable()


# -- passages

_KINDS = ("paragraph", "list", "table", "code", "quote")
_sizes = st.builds(
    lambda low, middle, high: Sizes(low, low + middle, max(low + middle + high, 100)),
    st.integers(0, 200),
    st.integers(0, 300),
    st.integers(0, 400),
)
_pieces = st.lists(
    st.text("ab .\n|-`: 1\u3002é", min_size=1, max_size=40), min_size=1, max_size=40
).map("".join)


def _as_kind(kind: str, text: str) -> str:
    if kind == "code":
        return f"```\n{text}\n```"
    if kind == "table":
        return "| h |\n| --- |\n| " + text.strip().replace("|", "").replace("\n", " |\n| ") + " |"
    return text.strip() or "x"


_block_lists = st.lists(
    st.builds(
        lambda kind, text, lead: Block(kind, _as_kind(kind, text), lead),
        st.sampled_from(_KINDS),
        _pieces,
        st.booleans(),
    ),
    max_size=12,
)


@_tries(200)
@given(_block_lists, _sizes)
def test_passages_hold_all_text_and_are_short_enough(blocks: list[Block], sizes: Sizes) -> None:
    passages = split_passages(blocks, sizes, "group")
    assert passages == split_passages(blocks, sizes, "group")
    for passage in passages:
        assert 0 < len(passage.text) <= sizes.max_chars
        assert all(block.text for block in passage.blocks)
    if all(len(block.text) <= sizes.max_chars for block in blocks):
        assert [block for passage in passages for block in passage.blocks] == blocks
    before = Counter("".join(block.text for block in blocks))
    after = Counter("".join(block.text for passage in passages for block in passage.blocks))
    # Split blocks lose white space at cuts; tables and listings repeat their frame.
    assert all(after[char] >= count for char, count in before.items() if not char.isspace())


@_tries(150)
@given(_block_lists, _sizes)
def test_split_blocks_keep_every_word(blocks: list[Block], sizes: Sizes) -> None:
    for block in blocks:
        parts = split_block(block, sizes)
        assert all(len(part.text) <= sizes.max_chars for part in parts)
        if block.kind in ("paragraph", "quote", "list"):
            joined = "".join("".join(part.text for part in parts).split())
            assert joined == "".join(block.text.split())


def _random_block(random: Random) -> Block:
    kind = random.choice(_KINDS) if random.random() < 0.4 else "paragraph"
    length = min(int(random.lognormvariate(5.3, 0.9)), 5000)
    text = random.randbytes(length // 2 + 1).hex(" ", 3)
    return Block(kind, _as_kind(kind, text + (":" if random.random() < 0.1 else ".")))


def test_an_inserted_block_changes_few_passages() -> None:
    changed: Counter[int] = Counter()
    for seed in range(600):
        random = Random(seed)  # noqa: S311 (no secret)
        blocks = [_random_block(random) for _ in range(random.randint(5, 80))]
        place = random.randint(0, len(blocks) // 4)
        longer = [*blocks[:place], _random_block(random), *blocks[place:]]
        before = Counter(passage.text for passage in split_passages(blocks, Sizes(), "group"))
        after = Counter(passage.text for passage in split_passages(longer, Sizes(), "group"))
        changed[(before - after).total()] += 1
    # Counted with the passage that the new block came into. A run of blocks that is longer
    # than the maximum is cut anew, which now and then moves a fourth or fifth passage.
    assert max(changed) <= 5, changed
    assert sum(count for number, count in changed.items() if number <= 2) >= 0.985 * 600, changed
    assert sum(count for number, count in changed.items() if number <= 3) >= 0.995 * 600, changed


# -- bugs that were found

FORGED = '# P\n\n## X <#x>\n\n<h2 data-markstay-n="1">Evil</h2>\n'
BUGS = {
    "a heading with the bare attribute id crashes": "## a {id}",
    "a heading with an empty attribute id crashes": "a {id=}\n-",
    "the mark of a heading that is none crashes": '<h2 data-markstay-n="0">A</h2>',
    "the mark as an attribute crashes": "## A <#a> {data-markstay-n=9}",
    "the mark as an attribute, no number, crashes": "## A <#a> {data-markstay-n=x}",
    "the mark of another heading": FORGED,
    "the mark of a slug": '# P\n\n<h2 data-markstay-slug="">Evil</h2>',
    "the number of another heading": "# P <#p>\n\n## Evil {data-markstay-n=0}",
    "a tag that does not end": "# P\n\n<div><h2 x",
    "a setext heading after a directive": "# P\n\n::: pkg.mod\n\n- Setup\n-----",
    "a tag over two lines after a directive": "# P\n\n::: pkg.mod\n\n<h2\nclass=x>A</h2>",
    "a tag with > in it after a directive": "# P\n\n::: pkg.mod\n\n<h2 title='a>b'>A</h2>",
    "a control character after a directive": "# P\n\n<!-- material/x -->\n\n## A\x02B",
}


@pytest.mark.parametrize("name", [pytest.param(name, marks=_mark_open(name)) for name in BUGS])
def test_bugs_that_were_found(name: str, tmp_path: Path) -> None:
    site = Site({"docs/index.md": BUGS[name]}, EXTENSIONS["stock"], WARNINGS)
    built = build_site(tmp_path, site, _mark_slugs)
    assert built.verdict == 0, built.error
    assert len(built.findings) == len(_without_id(_published_headings(built.html())))
    _check_page(built)


@pytest.mark.parametrize(
    "text", [pytest.param('<h2 data-markstay-n="1">', marks=_mark_open("code that shows a mark"))]
)
def test_code_stays_as_it_is(text: str, tmp_path: Path) -> None:
    built = build_site(tmp_path, Site({"docs/index.md": f"`{text}`\n"}))
    assert built.manifest is not None
    assert [row["text"] for row in built.manifest["passages"]] == [text]
