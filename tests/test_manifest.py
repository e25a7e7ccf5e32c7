"""The manifest: its fields, its bytes, and what dirty and translated builds make of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.resources import files as package_files
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from site_builder import Built, Site, build_site, run_mkdocs, write_site

from mkdocs_markstay.manifest_shapes import ManifestError
from mkdocs_markstay.manifest_writer import ManifestWriter, digest_passages
from mkdocs_markstay.records import Policy, Publication
from mkdocs_markstay.whole_manifest import read_manifest

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = json.loads(
    (package_files("mkdocs_markstay") / "passages-1.schema.json").read_text(encoding="utf-8")
)
FILES = {
    "docs/index.md": "# Home <#home>\n\nLead with a note[^1].\n\n## Facts <#facts>\n\n- a\n- b\n\n[^1]: Note.\n",
    "docs/guide/install.md": "Before any heading.\n\n## Need & care {#ανάγκη}\n\n> quoted\n\n    code\n",
    "docs/lead.md": "# Only a lead\n\nNothing else.\n",
}
SITE = Site(
    FILES,
    ("footnotes", "tables"),
    {"version": "2.0"},
    {"site_name": "Field Guide", "site_url": "https://docs.example.org/base"},
)


def manifest_of(built: Built) -> dict[str, Any]:
    assert built.passed, built.log
    manifest = built.manifest
    assert manifest is not None
    jsonschema.validate(manifest, SCHEMA)
    return manifest


def lines_of(built: Built) -> list[dict[str, Any]]:
    text = (built.folder / "site" / "passages.jsonl").read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.split("\n")[:-1]]


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_records(tmp_path: Path) -> None:
    built = build_site(tmp_path, SITE)
    manifest = manifest_of(built)
    assert manifest["publication"] == "field-guide"
    assert manifest["version"] == "2.0"
    assert manifest["site_url"] == "https://docs.example.org/base/"
    assert manifest["complete"] is True
    assert manifest["preview"] is False
    assert [page["page_id"] for page in manifest["pages"]] == ["guide/install", "index", "lead"]
    assert manifest["sections"][0] == {
        "referent": "guide/install#ανάγκη",
        "page_id": "guide/install",
        "section_id": "ανάγκη",
        "lang": "en",
        "title": "Need & care",
        "path": ["Install", "Need & care"],
        "level": 2,
        "url": "guide/install/#%CE%B1%CE%BD%CE%AC%CE%B3%CE%BA%CE%B7",
        "source": "guide/install.md",
        "line": 3,
        "aliases": [],
        "generated": False,
    }
    assert [
        (p["referent"], p["position"], p["kinds"], p["text"]) for p in manifest["passages"]
    ] == [
        ("guide/install", 0, ["paragraph"], "Before any heading."),
        ("guide/install#ανάγκη", 0, ["quote", "code"], "> quoted\n\n```\ncode\n```"),
        ("index", 0, ["footnote"], "Note."),
        ("index#home", 0, ["paragraph"], "Lead with a note."),
        ("index#facts", 0, ["list"], "- a\n- b"),
        ("lead", 0, ["paragraph"], "Nothing else."),
    ]
    assert manifest["digest"] == digest_passages(lines_of(built))


def test_lines_stand_alone(tmp_path: Path) -> None:
    """Every key in every record, one type a key, no list that is ever empty."""
    built = build_site(tmp_path, SITE)
    lines = lines_of(built)
    manifest = manifest_of(built)
    assert [line["chunk_id"] for line in lines] == [p["chunk_id"] for p in manifest["passages"]]
    keys = list(lines[0])
    types = {key: type(lines[0][key]) for key in keys}
    for line in lines:
        assert list(line) == keys
        assert {key: type(line[key]) for key in keys} == types
        assert all(line[key] for key in keys if isinstance(line[key], list))
        for block in line["blocks"]:
            assert {key: type(value) for key, value in block.items()} == {
                "stay": str,
                "digest": str,
                "body_hash": str,
                "referent": str,
            }
    home = next(line for line in lines if line["referent"] == "index#home")
    assert home["url"] == "https://docs.example.org/base/#home"
    assert home["page_url"] == "https://docs.example.org/base/"
    lead = next(line for line in lines if line["referent"] == "lead")
    assert (lead["section_id"], lead["title"], lead["path"]) == ("", "Only a lead", ["Only a lead"])


def test_every_page_links_to_the_manifest(tmp_path: Path) -> None:
    built = build_site(tmp_path, SITE)
    link = '<link rel="alternate" type="application/json" href="{}" title="passages"></head>'
    assert link.format("passages.json") in built.html("index.html")
    assert link.format("../../passages.json") in built.html("guide/install/index.html")


def test_formats(tmp_path: Path) -> None:
    built = build_site(tmp_path, Site(FILES, plugin={"formats": ["jsonl"]}))
    assert built.manifest is None
    assert lines_of(built)
    assert "alternate" not in built.html()


def test_the_same_bytes_from_other_processes(tmp_path: Path) -> None:
    """Neither the order of files, nor hash seeds, clocks or time zones are in the manifest."""
    written = []
    for number, names in enumerate((list(FILES), list(FILES)[::-1])):
        folder = tmp_path / f"copy{number}"
        write_site(
            folder,
            Site({name: FILES[name] for name in names}, SITE.extensions, SITE.plugin, SITE.config),
        )
        environ = {"PYTHONHASHSEED": str(number), "TZ": ["UTC", "Asia/Kathmandu"][number]}
        built = run_mkdocs(folder, environ=environ)
        manifest_of(built)
        written.append((built.manifest_bytes, (folder / "site" / "passages.jsonl").read_bytes()))
    assert written[0] == written[1]


def test_use_directory_urls_moves_urls_alone(tmp_path: Path) -> None:
    plain = manifest_of(build_site(tmp_path / "a", SITE))
    site = Site(FILES, SITE.extensions, SITE.plugin, {**SITE.config, "use_directory_urls": False})
    flat = manifest_of(build_site(tmp_path / "b", site))
    assert [s["url"] for s in flat["sections"]][1] == "index.html#home"
    for old, new in zip(plain["passages"], flat["passages"], strict=True):
        assert (old["chunk_id"], old["text_digest"]) == (new["chunk_id"], new["text_digest"])
        assert old["record_digest"] != new["record_digest"]


def test_mike_names_the_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIKE_DOCS_VERSION", "3.1")
    assert manifest_of(build_site(tmp_path, Site(FILES)))["version"] == "3.1"


def test_a_translation_moves_nothing(tmp_path: Path) -> None:
    """The default language is not in the chunk ids, so that another one can be added."""
    alone = manifest_of(build_site(tmp_path / "a", Site(FILES)))
    options = {"language": "de", "default_language": "en"}
    german = manifest_of(build_site(tmp_path / "b", Site(FILES, plugin=options)))
    assert {page["lang"] for page in german["pages"]} == {"de"}
    assert [p["referent"] for p in german["passages"]] == [p["referent"] for p in alone["passages"]]
    assert not {p["chunk_id"] for p in german["passages"]} & {
        p["chunk_id"] for p in alone["passages"]
    }
    own = manifest_of(build_site(tmp_path / "c", Site(FILES, plugin={"language": "de"})))
    assert [p["chunk_id"] for p in own["passages"]] == [p["chunk_id"] for p in alone["passages"]]


@pytest.mark.parametrize("granularity", ["block", "section"])
def test_granularity(tmp_path: Path, granularity: str) -> None:
    site = Site(FILES, plugin={"granularity": granularity, "verify": True})
    manifest = manifest_of(build_site(tmp_path, site))
    kinds = [p["kinds"] for p in manifest["passages"] if p["referent"] == "guide/install#ανάγκη"]
    assert kinds == ([["quote"], ["code"]] if granularity == "block" else [["quote", "code"]])


# -- dirty builds


def touch_later(path: Path) -> None:
    stat = path.stat()
    os.utime(path, (stat.st_atime + 10, stat.st_mtime + 10))


def test_a_dirty_build_keeps_the_other_pages(tmp_path: Path) -> None:
    write_site(tmp_path, SITE)
    first = manifest_of(run_mkdocs(tmp_path))
    lead = tmp_path / "docs" / "lead.md"
    lead.write_text("# Only a lead\n\nAnother.\n\n## New <#new>\n\nPart.\n")
    touch_later(lead)
    dirty = run_mkdocs(tmp_path, "--dirty")
    second = manifest_of(dirty)
    assert second["complete"] is True
    assert second["pages"] == first["pages"]
    assert second["passages"][:5] == first["passages"][:5]
    assert [p["text"] for p in second["passages"][5:]] == ["Another.", "Part."]
    whole = run_mkdocs(tmp_path)
    assert whole.manifest_bytes == dirty.manifest_bytes
    assert lines_of(whole) == lines_of(dirty)


def test_a_dirty_build_without_a_manifest_says_so(tmp_path: Path) -> None:
    write_site(tmp_path, SITE)
    run_mkdocs(tmp_path)
    (tmp_path / "site" / "passages.json").unlink()
    touch_later(tmp_path / "docs" / "lead.md")
    built = run_mkdocs(tmp_path, "--dirty")
    manifest = manifest_of(built)
    assert manifest["complete"] is False
    assert [page["page_id"] for page in manifest["pages"]] == ["lead"]
    assert any("only the pages that are built now" in line for line in built.log)


def test_a_dirty_build_with_other_options_says_so(tmp_path: Path) -> None:
    write_site(tmp_path, SITE)
    run_mkdocs(tmp_path)
    write_site(tmp_path, Site(FILES, SITE.extensions, {"granularity": "block"}, SITE.config))
    touch_later(tmp_path / "docs" / "lead.md")
    assert manifest_of(run_mkdocs(tmp_path, "--dirty"))["complete"] is False


def test_a_dirty_build_drops_pages_that_are_gone(tmp_path: Path) -> None:
    write_site(tmp_path, SITE)
    run_mkdocs(tmp_path)
    (tmp_path / "docs" / "lead.md").unlink()
    (tmp_path / "site" / "lead" / "index.html").unlink()
    manifest = manifest_of(run_mkdocs(tmp_path, "--dirty"))
    assert [page["page_id"] for page in manifest["pages"]] == ["guide/install", "index"]


# -- reading and writing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no passages.json"),
        ("{", "cannot be read"),
        ("[]", "is no manifest"),
        ('{"schema": "other"}', "is no manifest"),
        ('{"schema": "https://mkdocs-markstay/schema/passages-1.json"}', "is damaged"),
    ],
)
def test_a_manifest_that_cannot_be_read(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "passages.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ManifestError, match=message):
        read_manifest(path)


def test_round_trip(tmp_path: Path) -> None:
    built = build_site(tmp_path, SITE)
    path = tmp_path / "site" / "passages.json"
    manifest = read_manifest(path)
    writer = ManifestWriter(manifest.publication)
    for records in manifest.pages[::-1]:
        page = records.page
        writer.add(page["url"], page["page_id"], page["lang"], records.to_text())
    before = built.manifest_bytes
    path.unlink()
    writer.write(tmp_path / "site", ["json"], manifest.policy, complete=True, preview=False)
    writer.close()
    assert path.read_bytes() == before


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "passages.json"
    path.write_text("old")
    writer = ManifestWriter(Publication("p", "en"))
    writer.close()  # so that reading the records fails
    writer._index["x/"] = (("x", "en"), (0,) * 6)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "index.html").touch()
    with pytest.raises(ValueError, match="closed"):
        writer.write(tmp_path, ["json"], Policy(()), complete=True, preview=False)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir() if entry.is_file()] == ["passages.json"]


def test_python_m(tmp_path: Path) -> None:
    build_site(tmp_path, SITE)
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs_markstay", "verify", "site"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "site: the site and its manifest agree\n"


def test_titles_are_text(tmp_path: Path) -> None:
    files = {
        "docs/index.md": "# A & B < C `<d>`\n\nText.\n\n## E & F `<g>` <#e>\n\nText.\n",
        "docs/named.md": "---\ntitle: A & B &amp; <c>\n---\n\nText.\n",
    }
    manifest = manifest_of(build_site(tmp_path, Site(files)))
    titles = [page["title"] for page in manifest["pages"]]
    assert titles == ["A & B < C <d>", "A & B &amp; <c>"]
    assert manifest["sections"][0]["path"] == ["A & B < C <d>", "E & F <g>"]
