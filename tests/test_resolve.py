"""A citation that somebody kept is followed to where it leads today."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from manifest_builder import build

from mkdocs_markstay.manifest_shapes import ManifestError
from mkdocs_markstay.resolve import resolve

if TYPE_CHECKING:
    from pathlib import Path

SITE = {"setup=Set up": {"": ["Read this."], "needs=What you need": ["A box."]}, "b": {"": ["B."]}}
REDIRECTS = [{"from": "install#needs", "to": "setup#needs", "url": "install/#needs"}]
RETIRED = [{"referent": "setup#old", "reason": "nobody has one", "url": "setup/#old"}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    content, _ = build(SITE, redirects=REDIRECTS, retired=RETIRED)
    (tmp_path / "passages.json").write_bytes(content)
    return tmp_path


@pytest.mark.parametrize(
    ("cited", "state", "referent"),
    [
        ("setup#needs", "live", "setup#needs"),
        ("https://docs.example.org/setup/#needs", "live", "setup#needs"),
        ("install#needs", "moved", "setup#needs"),
        ("https://docs.example.org/install/#needs", "moved", "setup#needs"),
        ("setup#old", "retired", ""),
        ("setup", "live", "setup"),
        ("elsewhere", "unknown", ""),
        ("https://other.example.org/setup/", "unknown", ""),
    ],
)
def test_a_citation_is_followed(folder: Path, cited: str, state: str, referent: str) -> None:
    for place in (folder, folder / "passages.json", str(folder)):
        found = resolve(place, cited)
        assert (found.cited, found.state, found.referent) == (cited, state, referent)
        assert bool(found.url) == bool(referent)
    assert resolve(folder, "install#needs").url == "https://docs.example.org/setup/#needs"
    assert resolve(folder, "setup#old").reason == "nobody has one"


def test_what_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=r"there is no passages\.json"):
        resolve(tmp_path, "a")
