"""Markers of blocks on built sites: included text, anchors, other plugins, hostile input."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from site_builder import (
    Built,
    Site,
    build_site,
    careless_plugins,
    run_markstay,
    run_mkdocs,
    write_site,
)

if TYPE_CHECKING:
    from pathlib import Path

HEAD = "# Page <#page>\n\n"
MARKED = "One.\n<!-- stay:a1 -->\n\nTwo.\n<!-- stay:a2 -->\n"


def build(folder: Path, files: dict[str, str], *extensions: Any, **plugin: Any) -> Built:
    options = {"stay_anchors": True, "verify": True, **plugin}
    named: dict[str, str | bytes] = {f"docs/{name}": text for name, text in files.items()}
    return build_site(folder, Site(named, ("attr_list", *extensions), options))


def blocks(built: Built) -> list[tuple[str, str, str]]:
    """Give the referent of each passage's section with the stay and the referent of its blocks."""
    assert built.manifest is not None
    return [
        (passage["referent"], block["stay"] or "", block.get("referent", ""))
        for passage in built.manifest["passages"]
        for block in passage["blocks"]
    ]


# -- included text

SNIPPETS: dict[str, Any] = {"pymdownx.snippets": {"base_path": ["parts"]}}


def test_markers_of_a_snippet_are_bound_in_the_pages_that_include_it(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "part.md").write_text(MARKED, encoding="utf-8")
    page = HEAD + 'Own.\n<!-- stay:o1 -->\n\n--8<-- "part.md"\n'
    nested = '# Other <#other>\n\n!!! note\n    --8<-- "part.md"\n'
    built = build(tmp_path, {"index.md": page, "b.md": nested}, "admonition", SNIPPETS)
    assert built.passed, built.log
    assert sorted(blocks(built)) == [
        ("b#other", "a1", "b#stay-a1"),
        ("b#other", "a2", "b#stay-a2"),
        ("index#page", "a1", "index#stay-a1"),
        ("index#page", "a2", "index#stay-a2"),
        ("index#page", "o1", "index#stay-o1"),
    ]


def test_what_is_wrong_in_a_snippet_is_told_there(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    text = "One.\n<!-- stay:a1 hash=sha256:0000 -->\n\nTwo.\n<!-- stay:a1 -->\n"
    (tmp_path / "parts" / "part.md").write_text(text, encoding="utf-8")
    page = HEAD + '--8<-- "part.md"\n'
    built = build(tmp_path, {"index.md": page}, SNIPPETS)
    assert built.places == ["parts/part.md:2 stay-drift", "parts/part.md:5 stay-duplicate"]


def test_a_file_that_is_included_twice_has_its_markers_on_no_block(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "part.md").write_text("One.\n<!-- stay:a1 -->\n", encoding="utf-8")
    page = HEAD + '--8<-- "part.md"\n\n--8<-- "part.md"\n'
    built = build(tmp_path, {"index.md": page}, SNIPPETS)
    assert built.places == ["parts/part.md:2 stay-duplicate"]


def test_a_plugin_that_includes(tmp_path: Path) -> None:
    site = Site(
        {
            "docs/index.md": HEAD + '{% include-markdown "../parts/part.md" %}\n',
            "parts/part.md": MARKED,
        },
        ("attr_list",),
        config={"plugins": ["include-markdown", {"markstay": {"stay_anchors": True}}]},
    )
    with careless_plugins():
        built = build_site(tmp_path, site)
    assert built.passed, built.log
    assert [stay for _, stay, _ in blocks(built)] == ["a1", "a2"]


def test_required_blocks_of_a_snippet_are_told_there(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "part.md").write_text(f"{MARKED}\nThree.\n", encoding="utf-8")
    page = HEAD + '--8<-- "part.md"\n'
    built = build(tmp_path, {"index.md": page}, SNIPPETS, stays="required")
    assert built.places == ["parts/part.md:7 stay-missing"]


# -- what must be true


def test_nothing_unmarked_or_drifted_is_published_where_markers_are_required(
    tmp_path: Path,
) -> None:
    drifted = HEAD + "One.\n<!-- stay:a1 hash=sha256:0000 -->\n\nTwo.\n"
    built = build(tmp_path / "a", {"index.md": drifted}, stays="required")
    assert built.places == ["docs/index.md:4 stay-drift", "docs/index.md:6 stay-missing"]
    assert (built.passed, built.manifest, built.pages()) == (False, None, {})
    assert build(tmp_path / "b", {"index.md": HEAD + MARKED}, stays="required").passed


def test_the_anchor_of_a_block_must_be_its_own(tmp_path: Path) -> None:
    page = HEAD + MARKED + "\n## Clash <#stay-a1>\n\n<p id='stay-a2'>x</p>\n"
    built = build(tmp_path, {"index.md": page})
    assert "docs/index.md:4 id-taken" in built.places
    assert "docs/index.md:7 id-taken" in built.places


def test_an_anchor_that_the_theme_has(tmp_path: Path) -> None:
    theme = '<html><head></head><body><i id="stay-a1"></i>{{ page.content }}</body></html>'
    files = {"docs/index.md": HEAD + MARKED, "theme/main.html": theme}
    site = Site(
        files,
        plugin={"stay_anchors": True},
        config={"theme": {"name": None, "custom_dir": "theme"}},
    )
    write_site(tmp_path, site)
    (tmp_path / "theme" / "main.html").write_text(theme, encoding="utf-8")
    assert build_site(tmp_path).places == ["docs/index.md:4 id-taken"]


def test_links_to_blocks_are_no_mistakes(tmp_path: Path) -> None:
    page = HEAD + MARKED + "\n[one](#stay-a1), [none](#stay-a3)\n"
    site = Site(
        {"docs/index.md": page},
        plugin={"stay_anchors": True},
        config={"validation": {"anchors": "warn"}},
    )
    log = "\n".join(build_site(tmp_path, site).log)
    assert "#stay-a3" in log
    assert "#stay-a1" not in log


def test_a_block_without_an_element_has_no_anchor(tmp_path: Path) -> None:
    page = HEAD + "<div>\n\nOne.\n<!-- stay:a1 -->\n\n</div>\n\nTwo.\n<!-- stay:a2 -->\n"
    built = build(tmp_path, {"index.md": page})
    assert [block[1:] for block in blocks(built)] == [("a1", ""), ("a2", "index#stay-a2")]
    assert built.places == ["docs/index.md:6 stay-unbound"]


def test_a_marker_that_was_copied_to_another_page(tmp_path: Path) -> None:
    pages = {"index.md": HEAD + MARKED, "b.md": "# B <#b>\n\nOne.\n<!-- stay:a1 -->\n"}
    built = build(tmp_path, pages)
    assert (built.passed, built.places) == (True, ["docs/b.md:4 stay-shared"])


def test_an_element_keeps_the_id_that_it_has(tmp_path: Path) -> None:
    page = HEAD + "One.\n{#one}\n<!-- stay:a1 -->\n\n## Two <#two>\n<!-- stay:a2 -->\n"
    html = build(tmp_path, {"index.md": page}).html()
    assert '<p id="one"><span id="stay-a1"></span>One.</p>' in html
    assert '<h2 id="two"><span id="stay-a2"></span>Two' in html


def test_markers_can_be_kept(tmp_path: Path) -> None:
    built = build(tmp_path, {"index.md": HEAD + MARKED}, keep_markers=True, stay_anchors=False)
    assert "<p><!-- stay:a1 -->One.</p>" in built.html()
    assert [stay for _, stay, _ in blocks(built)] == ["a1", "a2"]


def test_without_anchors_pages_are_as_without_markers(tmp_path: Path) -> None:
    page = HEAD + "- one\n<!-- stay:a1 -->\n\n- two\n\n    ```\n    x\n    ```\n<!-- stay:a2 -->\n"
    bare = "\n".join(line for line in page.split("\n") if not line.startswith("<!--"))
    marked = build(tmp_path / "a", {"index.md": page}, "fenced_code", stay_anchors=False)
    assert marked.passed, marked.log
    plain = build(tmp_path / "b", {"index.md": bare}, "fenced_code", stay_anchors=False)
    assert marked.pages() == plain.pages()


def test_left_out_pages_publish_no_markers(tmp_path: Path) -> None:
    pages = {"index.md": HEAD, "a.md": MARKED, "b.md": f"---\nmarkstay: false\n---\n{MARKED}"}
    built = build(tmp_path, pages, exclude=["a.md"])
    assert built.passed, built.log
    assert "stay:" not in "".join(built.pages().values())
    assert 'id="stay-' not in "".join(built.pages().values())


def test_markers_that_are_left_alone(tmp_path: Path) -> None:
    built = build(tmp_path, {"index.md": HEAD + MARKED}, stays=False)
    assert "<!-- stay:a1 -->" in built.html()
    assert blocks(built) == [("index#page", "", "")] * 2


def test_what_a_block_is_needs_its_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fence = HEAD + "```\na\n\nb\n```\n<!-- stay:a1 -->\n"
    built = build(tmp_path / "a", {"index.md": fence}, "fenced_code", stay_blocks="commonmark")
    assert [stay for _, stay, _ in blocks(built)] == ["a1"]
    monkeypatch.setattr("mkdocs_markstay.rule_options.find_spec", lambda _name: None)
    built = build(tmp_path / "b", {"index.md": fence}, stay_blocks="commonmark")
    assert not built.passed
    assert "pip install 'mkdocs-markstay[commonmark]'" in "\n".join(built.log)


def test_a_plugin_that_changes_pages(tmp_path: Path) -> None:
    """Blocks are known again by their place; a marker whose block is gone is told."""
    hook = (
        "def on_page_content(html, **_):\n"
        "    html = html.replace('Two.', 'Two, changed.')\n"
        "    return html.replace('<p>Four.</p>', '').replace('<p>One.', '<p>New.</p><p>One.')\n"
    )
    page = HEAD + MARKED + "\nThree.\n<!-- stay:a3 -->\n\nFour.\n<!-- stay:a4 -->\n"
    files: dict[str, str | bytes] = {"docs/index.md": page, "hook.py": hook}
    site = Site(files, config={"hooks": ["hook.py"]})
    write_site(tmp_path, site)
    built = run_mkdocs(tmp_path)
    assert built.passed, built.log
    assert [stay for _, stay, _ in blocks(built)] == ["", "a1", "a2", "a3"]
    assert built.places == ["docs/index.md:13 stay-unbound"]


def test_a_dirty_build_keeps_the_markers_of_other_pages(tmp_path: Path) -> None:
    site = Site({"docs/index.md": HEAD + MARKED, "docs/b.md": "# B <#b>\n\nB.\n<!-- stay:b1 -->\n"})
    write_site(tmp_path, site)
    before = run_mkdocs(tmp_path).manifest_bytes
    (tmp_path / "docs" / "b.md").touch()
    after = run_mkdocs(tmp_path, "--dirty").manifest_bytes
    assert before == after
    assert b'"stay":"a1"' in (before or b"")


def test_check_finds_what_a_build_finds(tmp_path: Path) -> None:
    page = HEAD + "<!-- stay:x y -->\n\n" + MARKED + MARKED
    files: dict[str, str | bytes] = {"docs/index.md": page}
    site = Site(files, plugin={"stay_anchors": True})
    write_site(tmp_path, site)
    built = build_site(tmp_path)
    assert [f"{f.path}:{f.line} {f.level} {f.code}" for f in built.findings] == (
        run_markstay(tmp_path, "check").places
    )
    assert run_markstay(tmp_path, "check").places  # what is known of pages says the same


def test_pages_to_be_encrypted_are_not_repeated(tmp_path: Path) -> None:
    page = '# Page <#page>\n\n<!-- stay:a"secret words" -->\n\nMore secret words.\n'
    hook = "def on_page_markdown(markdown, page, **_):\n    page.encryptcontent = {}\n"
    files: dict[str, str | bytes] = {"docs/index.md": page, "hook.py": hook}
    site = Site(files, plugin={"stays": "required"}, config={"hooks": ["hook.py"]})
    write_site(tmp_path, site)
    built = run_mkdocs(tmp_path)
    assert built.places == ["docs/index.md:3 stay-malformed", "docs/index.md:5 stay-missing"]
    assert "secret" not in "\n".join(built.log)


# -- hostile input

HOSTILE = {
    "markup in an id": ("One.\n<!-- stay:<b>x</b> -->\n", ["stay-malformed"]),
    "quotes in a value": ('One.\n<!-- stay:a1 x-v="<script>alert(1)</script>" -->\n', []),
    "not closed": ("One.\n<!-- stay:a1 hash=\n\nTwo.\n", ["stay-malformed"]),
    "closed otherwise": ("One.\n<!-- stay:a1 --!>\n\nTwo.\n", ["stay-malformed"]),
    "in code": ("One `<!-- stay:a1 -->`.\n", ["stay-in-code"]),
    "in a fence": ("```\n<!-- stay:a1 -->\n```\n", []),
    "thousands on a block": ("One.\n" + "<!-- stay:a1 -->\n" * 3000, ["stay-duplicate"] * 2999),
    "characters of tokens": ("One \ufdd00\ufdd1.\n<!-- stay:a1 -->\n", ["stay-unbound"]),
    "nested": ("One.\n<!-- stay:a <!-- stay:b -->\n", ["stay-malformed"]),
    "empty": ("One.\n<!-- stay: -->\n", ["stay-malformed"]),
}


@pytest.mark.parametrize(("text", "codes"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_markers(tmp_path: Path, text: str, codes: list[str]) -> None:
    built = build(tmp_path, {"index.md": HEAD + text}, "fenced_code")
    assert built.verdict < 2
    assert [found.code for found in built.findings] == codes
    published = "".join(built.pages().values())
    assert "\ufdd0" not in published.replace("\ufdd00\ufdd1", "")
    assert "data-markstay-" not in published.replace("data-markstay-begin", "").replace(
        "data-markstay-end", ""
    )
    assert "alert" not in published


def test_a_megabyte_of_markers(tmp_path: Path) -> None:
    """In time that grows with it: eight times as much takes less than 16 times as long."""

    def measure(count: int) -> float:
        text = "".join(f"Words {n}.\n<!-- stay:m{n} -->\n\n" for n in range(count))
        began = time.process_time()
        built = build(tmp_path / str(count), {"index.md": HEAD + text}, verify=False)
        assert built.passed
        assert len(blocks(built)) == count
        return time.process_time() - began

    small = measure(3500)
    assert measure(28_000) < 16 * small
