"""Input that nobody should write: it is told, or it is read right; nothing crashes or is lost."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from site_builder import Site, build_site, run_mkdocs, write_site

from mkdocs_markstay.verify import verify_site

if TYPE_CHECKING:
    from pathlib import Path

VERIFY = {"verify": True}


def built_texts(folder: Path, files: dict[str, str | bytes], **plugin: Any) -> dict[str, str]:
    """Build and verify a site; give its passages by referent."""
    built = build_site(folder, Site(files, plugin={**VERIFY, **plugin}))
    assert built.passed, built.log
    assert built.manifest is not None
    return {passage["referent"]: passage["text"] for passage in built.manifest["passages"]}


@pytest.mark.parametrize("attributes", ["hidden", 'class="furniture"', 'style="display:none"'])
@pytest.mark.parametrize("tag", ["html", "body"])
def test_the_document_itself_is_no_furniture(tmp_path: Path, tag: str, attributes: str) -> None:
    text = f"# A\n\n## B <#b>\n\nx\n\n<{tag} {attributes}>\n\ny\n"
    assert built_texts(tmp_path, {"docs/index.md": text})["index#b"] == "x\n\ny"


@pytest.mark.parametrize("tag", ["textarea", "iframe", "xmp", "title", "template", "noembed"])
def test_what_looks_like_an_anchor_in_inert_html(tmp_path: Path, tag: str) -> None:
    text = f'# A\n\n## T <#x>\n\nw\n\n<div><{tag}><p id="x">q</p></{tag}></div>\n'
    assert built_texts(tmp_path, {"docs/index.md": text})["index#x"].startswith("w")


def test_marks_that_an_author_wrote(tmp_path: Path) -> None:
    text = (
        "# A\n\n## B <#b>\n\none\n\n<span data-markstay-end hidden></span>\n\n"
        "<span data-markstay-begin hidden></span>\n\ntwo\n"
    )
    assert built_texts(tmp_path, {"docs/index.md": text})["index#b"] == "one\n\ntwo"


def test_a_page_about_encrypted_pages(tmp_path: Path) -> None:
    text = '# A\n\nSet `id="mkdocs-encrypted-content"` there.\n\n## B <#b>\n\nx\n'
    assert built_texts(tmp_path, {"docs/index.md": text})["index#b"] == "x"


def test_an_encrypted_page_is_left_out(tmp_path: Path) -> None:
    """What mkdocs-encryptcontent-plugin leaves between the marks is nobody's text."""
    hook = (
        "def on_page_context(context, page, **_):\n"
        "    page.content = '<form id=\"mkdocs-decrypt-form\">Password?</form>'"
        '\'<div id="mkdocs-encrypted-content" style="display:none">c1ph3r</div>\'\n'
    )
    files: dict[str, str | bytes] = {
        "docs/index.md": "# A\n\n## B <#b>\n\nsecret\n",
        "hook.py": hook,
    }
    site = Site(files, plugin=VERIFY, config={"hooks": ["hook.py"]})
    built = build_site(tmp_path, site)
    assert built.passed, built.log
    assert built.places == ["docs/index.md:1 not-published"]
    assert built.manifest is not None
    assert built.manifest["pages"] == built.manifest["passages"] == []


def test_upper_case_and_spaced_attributes(tmp_path: Path) -> None:
    text = '# A\n\n<H2 ID="x">T</H2>\n\none\n\n<h2 id = "y">U</h2>\n\ntwo\n'
    texts = built_texts(tmp_path, {"docs/index.md": text})
    assert texts == {"index#x": "one", "index#y": "two"}


@pytest.mark.parametrize(
    "html",
    [
        '<div class="mkdocstrings"><h2>Mine</h2></div>',
        '<h2 class="doc-heading">Mine</h2>',
        '<div class="jp-Notebook"><h2>Mine</h2></div>',
    ],
)
def test_a_heading_in_a_generators_clothes(tmp_path: Path, html: str) -> None:
    built = build_site(tmp_path, Site({"docs/index.md": f"# A\n\n{html}\n"}))
    assert built.places == ["docs/index.md:3 missing-id"]


def test_a_slug_that_is_another_headings_id(tmp_path: Path) -> None:
    text = '# Install\n\n<h2 id="install">Install</h2>\n'
    built = build_site(tmp_path, Site({"docs/index.md": text}))
    assert built.places == ["docs/index.md:3 id-taken"]


def test_two_pages_at_one_address(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docs/a.md": "# A\n\n## B <#b>\n",
        "docs/a/index.md": "---\npage_id: z\n---\n# Z\n",
    }
    built = build_site(tmp_path, Site(files))
    assert built.places == ["docs/a/index.md:1 same-url"]
    assert "docs/a.md are both published as a/index.html" in built.findings[0].message


@pytest.mark.parametrize("name", ["passages.json", "passages.jsonl"])
def test_a_file_of_the_manifests_name(tmp_path: Path, name: str) -> None:
    files: dict[str, str | bytes] = {"docs/index.md": "# A\n", f"docs/{name}": "x"}
    built = build_site(tmp_path, Site(files, plugin={"formats": ["json"]}))
    assert built.places == [f"docs/{name}:1 same-url"]


def test_a_folder_of_the_manifests_name(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"docs/index.md": "# A\n", "docs/passages.json/a.md": "# B\n"}
    built = build_site(tmp_path, Site(files))
    assert built.verdict == 1
    assert any("the manifest cannot be written" in line for line in built.log)


def test_a_path_that_makes_no_page_id(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"docs/index.md": "# A\n", "docs/a#b.md": "# Q\n"}
    built = build_site(tmp_path, Site(files))
    assert built.places == ["docs/a#b.md:1 page-id"]
    assert built.findings[0].message.endswith("page_id: a-b")


@pytest.mark.parametrize("selector", ["[hidden", "p:not(", "p:blank", "html|p", "p[", ""])
def test_selectors_that_only_one_extractor_reads(tmp_path: Path, selector: str) -> None:
    page = f"---\nmarkstay:\n  furniture: [{json.dumps(selector)}]\n---\n# A\n"
    assert build_site(tmp_path, Site({"docs/index.md": page})).places == [
        "docs/index.md:2 page-options"
    ]


@pytest.mark.parametrize("selector", ["*", ":root", "*|*", "body"])
def test_selectors_of_everything(tmp_path: Path, selector: str) -> None:
    page = f"---\nmarkstay:\n  furniture: [{json.dumps(selector)}]\n---\n# A\n\ntext\n"
    assert build_site(tmp_path, Site({"docs/index.md": page}, plugin=VERIFY)).verdict in (0, 1)


def test_hostile_ids_reach_no_output(tmp_path: Path) -> None:
    ids = ['"><script>alert(1)</script>', "../x", "a" * 10_000, "a\u202eb", "a\x01b", "<b>"]
    text = "# A\n\n" + "".join(
        f"## T <#{section_id}>\n\n## U {{#{section_id}}}\n\n" for section_id in ids
    )
    built = build_site(tmp_path, Site({"docs/index.md": text}))
    assert built.verdict == 1
    told = {found.line for found in built.findings}
    assert told == set(range(3, 3 + 4 * len(ids), 2))
    assert all(line.isprintable() and len(line) < 1000 for line in built.log)


# -- dirty builds


def touch(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    import os  # noqa: PLC0415

    later = time.time() + 10
    os.utime(path, (later, later))


def test_dirty_a_page_that_was_renamed(tmp_path: Path) -> None:
    page = "# A\n\n## B <#b>\n\nx\n"
    write_site(tmp_path, Site({"docs/index.md": "# H\n", "docs/a.md": page}, plugin=VERIFY))
    assert run_mkdocs(tmp_path).passed
    (tmp_path / "docs" / "a.md").unlink()
    touch(tmp_path / "docs" / "b.md", f"---\npage_id: a\n---\n{page}")
    built = run_mkdocs(tmp_path, "--dirty")
    assert built.passed, built.log
    assert built.manifest is not None
    assert [page["source"] for page in built.manifest["pages"]] == ["b.md", "index.md"]


def test_dirty_a_page_id_that_an_old_page_has(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docs/index.md": "# H\n",
        "docs/a.md": "# A\n",
        "docs/b.md": "# B\n",
    }
    write_site(tmp_path, Site(files))
    assert run_mkdocs(tmp_path).passed
    touch(tmp_path / "docs" / "b.md", "---\npage_id: a\n---\n# B\n")
    assert run_mkdocs(tmp_path, "--dirty").places == ["docs/b.md:2 duplicate-page-id"]


def test_dirty_a_page_that_opts_out(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "docs/index.md": "# H\n\nshown\n",
        "docs/a.md": "# A\n\nsecret\n",
    }
    write_site(tmp_path, Site(files, plugin=VERIFY))
    assert run_mkdocs(tmp_path).passed
    touch(tmp_path / "docs" / "a.md", "---\nmarkstay: false\n---\n# A\n\nsecret\n")
    built = run_mkdocs(tmp_path, "--dirty")
    assert built.passed, built.log
    assert b"secret" not in (built.manifest_bytes or b"")
    write_site(
        tmp_path, Site(files, plugin={**VERIFY, "exclude": ["index.md"], "formats": ["json"]})
    )
    touch(tmp_path / "docs" / "a.md", "# A\n\nback\n")
    excluded = run_mkdocs(tmp_path, "--dirty")
    assert excluded.passed, excluded.log
    assert excluded.manifest is not None
    assert [page["source"] for page in excluded.manifest["pages"]] == ["a.md"]
    assert not (tmp_path / "site" / "passages.jsonl").exists()


def test_dirty_and_strict_with_a_warning_of_mkdocs(tmp_path: Path) -> None:
    write_site(tmp_path, Site({"docs/index.md": "# H\n\nold\n"}))
    assert run_mkdocs(tmp_path).passed
    touch(tmp_path / "docs" / "index.md", "# H\n\n[new](nowhere.md)\n")
    built = run_mkdocs(tmp_path, "--dirty", "--strict")
    assert built.verdict == 1
    assert built.manifest is None  # the old one would speak of another page


# -- damaged manifests

DAMAGE: list[tuple[str, str, Any]] = [
    ("pages", "url", "\0"),
    ("pages", "furniture", None),
    ("pages", "title", 3),
    ("policy", "furniture", [1]),
    ("policy", "furniture", "p"),
    ("policy", "target_chars", None),
    ("passages", "text", None),
    ("passages", "text", "\ud800"),
    ("passages", "text_digest", None),
    ("passages", "chunk_id", []),
    ("passages", "position", []),
    ("passages", "record_digest", None),
    ("passages", "kinds", [1]),
    ("sections", "section_id", None),
    ("sections", "path", [None]),
    ("header", "publication", "\ud800"),
    ("header", "complete", "yes"),
]


@pytest.mark.parametrize(("part", "key", "value"), DAMAGE)
def test_a_damaged_manifest_is_told(tmp_path: Path, part: str, key: str, value: Any) -> None:
    build_site(tmp_path, Site({"docs/index.md": "# A <#a>\n\nx\n"}))
    path = tmp_path / "site" / "passages.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    row = data if part == "header" else data["policy"] if part == "policy" else data[part][0]
    row[key] = value
    path.write_text(json.dumps(data), encoding="utf-8")
    assert {found.code for found in verify_site(tmp_path / "site")} == {"bad-manifest"}


@pytest.mark.parametrize("name", ["passages.json", "passages.jsonl"])
def test_a_manifest_that_nests_without_end(tmp_path: Path, name: str) -> None:
    build_site(tmp_path, Site({"docs/index.md": "# A <#a>\n\nx\n"}))
    (tmp_path / "site" / name).write_text("[" * 200_000)
    assert {found.code for found in verify_site(tmp_path / "site")} == {"bad-manifest"}


def test_headings_that_are_hard_to_find_take_no_longer(tmp_path: Path) -> None:
    """Twice as many must not take four times as long; generous, for busy machines."""
    seconds = []
    for count in (400, 1600):
        text = "".join(f'<h2 id="a{n}">' + "\n" * 8 + f"x{n}</h2>\n\n" for n in range(count))
        loop = "".join(f"filler {n}\n\n" for n in range(count))
        start = time.process_time()
        assert build_site(tmp_path, Site({"docs/index.md": "# A\n\n" + text + loop})).passed
        seconds.append(time.process_time() - start)
    assert seconds[1] < 10 * seconds[0]
