"""`mkdocs-markstay stats`: what a manifest holds, counted, and told alike in all formats."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifest_builder import Site, build
from site_builder import Ran, build_site, run_markstay
from site_builder import Site as Sources

from mkdocs_markstay.cli import main
from mkdocs_markstay.stats import Debts, make_buckets, make_excerpt, read_stats
from mkdocs_markstay.stats_formats import FORMATS, write_stats

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

SITE: Site = {
    "guide": {
        "": ["Lead."],
        "install=Install": ["Get it. ^b1#", "Run it."],
        "bare": [],
        "set": ["x" * 100 + " end"],
    },
    "guide@fr": {"": ["Lead."], "install=Installer": ["Get it."]},
    "more": {"a": [], "b": ["Get it."], "c": []},
    "nothing": {},
}
TEXT = """\
site: p

  pages                 4  1 without prose, 25 %
  sections              7  3 without prose, 43 %
  passages              7
  characters          142
  generated ids         0
  blocks with a stay    1  14 % of blocks
  repeated passages     3  43 % of passages

Characters per passage
  Half of the passages have 7 or fewer, nine of ten 104 or fewer. The mean is
  20.3.
     0\u201319  6  86 %  BAR
    20\u201339  0   0 %
""".replace("BAR", 40 * "\u2588")


def write(folder: Path, site: Mapping[str, Any], **options: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    as_json, as_lines = build(site, **options)
    (folder / "passages.json").write_bytes(as_json)
    (folder / "lines").mkdir()
    (folder / "lines" / "passages.jsonl").write_bytes(as_lines)
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Path:
    write(tmp_path / "site", SITE)
    return tmp_path


def stats(folder: Path, *arguments: str) -> Ran:
    return run_markstay(folder, "stats", *arguments)


def figures(folder: Path, *arguments: str) -> dict[str, Any]:
    ran = stats(folder, *arguments, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    found: dict[str, Any] = json.loads(ran.out)
    return found


# -- what is counted


def test_all_figures(site: Path) -> None:
    def size(referent: str, position: int, text: str, lang: str = "en") -> dict[str, Any]:
        where = {"referent": referent, "lang": lang, "position": position}
        return {**where, "characters": len(text), "excerpt": make_excerpt(text)}

    long = "x" * 100 + " end"
    found = figures(site, "site")
    assert found.pop("generator")["name"] == "mkdocs-markstay"
    assert found == {
        "schema": 1,
        "manifest": "site",
        "publications": ["p"],
        "listed": True,
        "pages": {"count": 4, "without_prose": 1},
        "sections": {
            "count": 7,
            "generated": 0,
            "without_prose": 3,
            "pages": [
                {"page_id": "more", "lang": "en", "sections": 3, "without": 2},
                {"page_id": "guide", "lang": "en", "sections": 3, "without": 1},
            ],
        },
        "passages": {"count": 7, "stable": 1},
        "blocks": {"count": 7, "marked": 1},
        "characters": {
            "total": 142,
            "mean": 20.3,
            "shortest": 5,
            "p10": 5,
            "median": 7,
            "p90": 104,
            "p99": 104,
            "longest": 104,
        },
        "histogram": [
            {"low": 20 * n, "high": 20 * n + 19, "passages": passages}
            for n, passages in enumerate([6, 0, 0, 0, 0, 1])
        ],
        "longest": [
            size("guide#set", 0, long),
            size("guide#install", 0, "Get it."),
            size("guide#install", 1, "Run it."),
            size("guide#install", 0, "Get it.", "fr"),
            size("more#b", 0, "Get it."),
        ],
        "shortest": [
            size("guide", 0, "Lead."),
            size("guide", 0, "Lead.", "fr"),
            size("guide#install", 0, "Get it."),
            size("guide#install", 1, "Run it."),
            size("guide#install", 0, "Get it.", "fr"),
        ],
        "duplicates": {
            "texts": 2,
            "repeats": 3,
            "largest": [
                {
                    "times": 3,
                    "characters": 7,
                    "excerpt": "Get it.",
                    "referents": ["guide#install", "more#b"],
                },
                {"times": 2, "characters": 5, "excerpt": "Lead.", "referents": ["guide"]},
            ],
        },
        "languages": {
            "en": {"pages": 2, "passages": 5, "characters": 130},
            "fr": {"pages": 1, "passages": 2, "characters": 12},
        },
        "kinds": {"paragraph": 7},
        "findings": None,
    }


def test_text(site: Path) -> None:
    ran = stats(site, "site")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(TEXT)
    assert "  2/3  more (en)\n" in ran.out
    assert "  3\u00d7  guide#install, more#b, and 1 more\n      Get it.\n" in ran.out


def test_what_lines_do_not_tell_is_not_told(site: Path) -> None:
    """Pages and sections without passages stand in `passages.json` alone."""
    whole, lines = figures(site, "site"), figures(site, "site/lines")
    assert lines["listed"] is False
    assert lines["pages"] == {"count": 3, "without_prose": None}
    assert lines["sections"] == {"count": 4, "generated": 0, "without_prose": None, "pages": None}
    others = whole.keys() - {"manifest", "listed", "pages", "sections"}
    assert {key: lines[key] for key in others} == {key: whole[key] for key in others}
    assert "4  with prose; others are not listed\n" in stats(site, "site/lines").out


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="pipes have no names here")  # noqa: PTH110
@pytest.mark.parametrize("name", ["passages.json", "lines/passages.jsonl"])
def test_a_pipe_is_read_once(name: str, site: Path) -> None:
    end, start = os.pipe()
    with open(end, "rb"):  # noqa: PTH123
        with open(start, "wb") as pipe:  # noqa: PTH123
            pipe.write((site / "site" / name).read_bytes())
        found = figures(site, f"/dev/fd/{end}")
    assert found == {**figures(site, f"site/{name}"), "manifest": f"/dev/fd/{end}"}


def test_other_manifests(site: Path) -> None:
    """A data set, and what a commit has."""
    ran = run_markstay(site, "export", "site", "-o", "data", "--shards", "2")
    assert ran.code == 0
    assert figures(site, "data") == {**figures(site, "site/lines"), "manifest": "data"}
    for command in (["init", "-q"], ["add", "site"], ["commit", "-qm", "A"]):
        names = ["-c", "user.name=A", "-c", "user.email=a@docs.example.org"]
        subprocess.run(["git", *names, *command], cwd=site, check=True)  # noqa: S607
    place = "git:HEAD:site/passages.json"
    assert figures(site, place) == {**figures(site, "site"), "manifest": place}


WRONG: list[tuple[str, bytes | None, str]] = [
    ("site/none", None, "site/none"),
    ("git:HEAD~9:site", None, "git:HEAD~9:site cannot be read: "),
    ("site/passages.json", b"{}", "site/passages.json is no manifest of the schema"),
    ("site/passages.json", b'{"schema": ', "site/passages.json:1: damaged, or no manifest: "),
]


@pytest.mark.parametrize(("path", "content", "message"), WRONG, ids=[each for _, _, each in WRONG])
def test_damaged_manifests(path: str, content: bytes | None, message: str, site: Path) -> None:
    if content is not None:
        (site / path).write_bytes(content)
    ran = stats(site, path, "-o", "out.txt")
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert not (site / "out.txt").exists()


def test_an_empty_manifest(tmp_path: Path) -> None:
    write(tmp_path / "site", {"a": {"x": []}})
    found = figures(tmp_path, "site")
    assert (found["passages"]["count"], found["characters"], found["histogram"]) == (0, None, [])
    assert (found["pages"]["without_prose"], found["sections"]["without_prose"]) == (1, 1)
    for style in FORMATS:
        assert stats(tmp_path, "site", "--format", style).code == 0


BUCKETS: list[tuple[dict[int, int], list[tuple[int, int | None, int]]]] = [
    ({}, []),
    ({0: 3}, [(0, 0, 3)]),
    ({7: 1}, [(n, n, int(n == 7)) for n in range(8)]),
    ({100: 1, 199: 2}, [(20 * n, 20 * n + 19, {5: 1, 9: 2}.get(n, 0)) for n in range(10)]),
    ({240: 1}, [(25 * n, 25 * n + 24, int(n == 9)) for n in range(10)]),
    # One that is far longer than all others does not make all others one bucket.
    ({9: 1000, 5000: 2}, [*((n, n, 1000 * (n == 9)) for n in range(10)), (10, None, 2)]),
]


@pytest.mark.parametrize(("lengths", "buckets"), BUCKETS)
def test_buckets(lengths: dict[int, int], buckets: list[tuple[int, int | None, int]]) -> None:
    assert make_buckets(lengths) == buckets


@given(st.dictionaries(st.integers(0, 10**6), st.integers(1, 10**6)))
def test_buckets_hold_every_passage_once(lengths: dict[int, int]) -> None:
    buckets = make_buckets(lengths)
    assert sum(bucket.passages for bucket in buckets) == sum(lengths.values())
    assert len(buckets) <= 11
    ends = [bucket.high for bucket in buckets]
    assert [bucket.low for bucket in buckets[1:]] == [
        end + 1 for end in ends[:-1] if end is not None
    ]
    for bucket in buckets:
        high = bucket.high if bucket.high is not None else float("inf")
        assert bucket.passages == sum(
            number for length, number in lengths.items() if bucket.low <= length <= high
        )


texts = st.lists(st.sampled_from(["A", "Same.", "Other text.", "B" * 90]), max_size=3)
sites = st.dictionaries(
    st.sampled_from(["a", "b", "c", "b@fr", "a/d"]),
    st.dictionaries(st.sampled_from(["", "x", "y=Y", "z"]), texts, max_size=4),
    min_size=1,
)


@settings(max_examples=50, deadline=None)
@given(sites)
def test_counts_add_up(tmp_path_factory: pytest.TempPathFactory, site: Site) -> None:
    folder = tmp_path_factory.mktemp("stats")
    data = json.loads(build(site)[0])
    (folder / "passages.json").write_text(json.dumps(data))
    found = read_stats(str(folder))
    all_texts = [passage["text"] for passage in data["passages"]]
    times = Counter(all_texts)
    assert (found.pages, found.sections) == (len(data["pages"]), len(data["sections"]))
    assert found.passages == len(all_texts)
    assert sum(bucket.passages for bucket in found.histogram) == len(all_texts)
    assert sum(each.passages for each in found.languages.values()) == len(all_texts)
    assert found.repeats == len(all_texts) - len(times)
    assert found.repeated_texts == sum(number > 1 for number in times.values())
    assert [each.times for each in found.repeated] == sorted(
        (number for number in times.values() if number > 1), reverse=True
    )
    with_prose = {(p["referent"], p["lang"]) for p in data["passages"] if "#" in p["referent"]}
    assert found.bare_sections == len(data["sections"]) - len(with_prose)
    assert sum(page.without for page in found.barest) == found.bare_sections
    lengths = sorted(map(len, all_texts))
    assert [each.characters for each in found.shortest] == lengths[:5]
    assert [each.characters for each in found.longest] == lengths[::-1][:5]
    if found.sizes is not None:
        assert found.sizes.total == sum(lengths)
        assert (found.sizes.shortest, found.sizes.longest) == (lengths[0], lengths[-1])
        assert found.sizes.median == lengths[(len(lengths) - 1) // 2]


# -- how it is told


class Reader(HTMLParser):
    """Reads what a person sees in a report, and what its markup loads or runs."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)
        self.inside = tag

    def handle_data(self, data: str) -> None:
        if self.inside != "style" and data.strip():
            self.words.append(" ".join(data.split()))


def read_html(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_formats_say_the_same(site: Path) -> None:
    """Each number of the text stands in the HTML, and those of the lists in the JSON."""
    found = read_stats(str(site / "site"))
    found.debts = Debts(7, 2, 1)
    text = write_stats(found, "text", "1")
    words = read_html(write_stats(found, "html", "1")).words
    assert re.findall(r"\d[\d,.]*", "\n".join(text.splitlines()[1:])) == re.findall(
        r"\d[\d,.]*", "\n".join(words[words.index("pages") : -1]).replace("\u2013", " \u2013 ")
    )
    data = json.loads(write_stats(found, "json", "1"))
    numbers = {name: int(value.replace(",", "")) for name, value in
               re.findall(r"^  (\S[a-z ]*?)  +([\d,]+)\b", text, re.MULTILINE)}  # fmt: skip
    assert numbers == {
        "pages": data["pages"]["count"],
        "sections": data["sections"]["count"],
        "passages": data["passages"]["count"],
        "characters": data["characters"]["total"],
        "generated ids": data["sections"]["generated"],
        "blocks with a stay": data["blocks"]["marked"],
        "repeated passages": data["duplicates"]["repeats"],
        "findings paid": data["findings"]["paid"],
        "paragraph": data["kinds"]["paragraph"],
        **{lang: each["passages"] for lang, each in data["languages"].items()},
    }
    for name in ("longest", "shortest"):
        for each in data[name]:
            assert f"{each['referent']} ({each['lang']}) [{each['position']}]" in words


HOSTILE = "<script>alert(1)</script>\"'&<img src=x onerror=y>"


def test_a_report_runs_and_loads_nothing(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "site", {"a<b": {"x": [HOSTILE, HOSTILE], "y": []}}, publication="<p>"
    )
    text = write_stats(read_stats(str(folder)), "html", "1")
    found = read_html(text)
    assert HOSTILE in found.words
    assert not found.tags & {"script", "img", "link", "iframe", "a"}
    assert not any(
        name in ("style", "src", "href") or name.startswith("on") for name in found.attributes
    )
    assert "content=\"default-src 'none'; style-src 'sha256-" in text


@pytest.mark.parametrize("width", [0, 60, 80, 200])
@pytest.mark.parametrize("ascii_only", [False, True])
def test_text_fits(width: int, site: Path, *, ascii_only: bool) -> None:
    found = read_stats(str(site / "site"))
    text = write_stats(found, "text", "1", width=width, ascii_only=ascii_only)
    # What the manifest is called may be longer.
    assert max(map(len, text.splitlines()[1:])) <= min(max(60, width), 100)
    assert text.isascii() == ascii_only


def test_what_a_terminal_cannot_show_is_written_otherwise(site: Path) -> None:
    def write_as(encoding: str) -> bytes:
        from click.testing import CliRunner  # noqa: PLC0415

        result = CliRunner(charset=encoding).invoke(main, ["stats", str(site / "site")])
        assert result.exit_code == 0
        return result.stdout_bytes

    assert "\u2588" in write_as("utf-8").decode("utf-8")
    assert "####" in write_as("ascii").decode("ascii")
    assert "####" in write_as("latin-1").decode("latin-1")
    assert "\u2588" in write_as("gb18030").decode("gb18030")


def test_nobody_reads_it(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)  # as `>&-` does
        with pytest.raises(SystemExit) as exit_:
            main(["stats", str(site / "site")])
    assert exit_.value.code == 0


def test_a_file_is_written_whole_or_not_at_all(site: Path) -> None:
    ran = stats(site, "site", "-o", "figures.txt")
    summary = "figures.txt: the figures of 4 pages, 7 sections and 7 passages\n"
    assert (ran.code, ran.out, ran.err) == (0, "", summary)
    assert (site / "figures.txt").read_text("utf-8").startswith(TEXT)
    ran = stats(site, "site", "-o", "none/figures.txt")
    assert (ran.code, ran.out) == (2, "")
    assert (
        ran.err
        == "mkdocs-markstay: none/figures.txt cannot be written: No such file or directory\n"
    )


def test_excerpts_are_one_short_line() -> None:
    assert make_excerpt("One\ntwo   three") == "One two three"
    assert make_excerpt("word " * 40) == "word " * 15 + "word\u2026"
    assert len(make_excerpt("x" * 10_000)) == 80


# -- findings of the site


def test_findings_that_are_paid(tmp_path: Path) -> None:
    pages = {"docs/a.md": "# A\n\n## One\n\nText.\n\n## Two\n\nText.\n"}
    built = build_site(tmp_path, Sources(pages, plugin={"findings": {"missing-id": "info"}}))
    assert built.passed
    (tmp_path / "mkdocs.yml").write_text(
        (tmp_path / "mkdocs.yml").read_text().replace("missing-id: info", "missing-id: error")
    )
    assert figures(tmp_path)["findings"] is None
    assert run_markstay(tmp_path, "baseline").code == 0
    assert figures(tmp_path)["findings"] == {"recorded": 2, "left": None, "new": None, "paid": None}
    assert re.search("old findings +2  in markstay.baseline\n", stats(tmp_path).out)
    (tmp_path / "docs" / "a.md").write_text("# A\n\n## One <#one>\n\nText.\n\n## Two\n\n## New\n")
    expected = {"recorded": 2, "left": 1, "new": 1, "paid": 1}
    assert figures(tmp_path, "--findings")["findings"] == expected
    assert re.search("findings paid +1  of 2; 1 left, 1 new\n", stats(tmp_path, "--findings").out)
    ran = stats(tmp_path, "--findings", "site")
    assert (ran.code, ran.out) == (2, "")
    assert "-f path/to/mkdocs.yml" in ran.err
    assert figures(tmp_path, "--findings", "-f", "mkdocs.yml", "site")["findings"] == expected


def test_without_a_site_there_is_nothing_to_count(tmp_path: Path) -> None:
    ran = stats(tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "there is no mkdocs.yml in this folder" in ran.err
    assert "mkdocs-markstay stats site" in ran.err
