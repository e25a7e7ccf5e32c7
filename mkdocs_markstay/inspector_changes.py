"""What is different from the last published manifest, as the inspector tells it page by page."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from mkdocs_markstay.diff import KINDS, compare
from mkdocs_markstay.diff_texts import read_texts
from mkdocs_markstay.diff_words import SAME, Piece, compare_words
from mkdocs_markstay.findings import name_path
from mkdocs_markstay.manifest_files import open_manifest
from mkdocs_markstay.manifest_shapes import JSON_NAME, JSONL_NAME, ManifestError

if TYPE_CHECKING:
    from mkdocs_markstay.diff import Change, Comparison, Field, Place
    from mkdocs_markstay.diff_texts import Texts
    from mkdocs_markstay.manifest_files import ManifestFile

PageKey = tuple[str, str]
"""A page: its id and its language."""

GIT = "git:"
# A change of a text that is longer is told without the text.
_LONGEST = 20_000
# What is told of one page, and how many other pages are listed.
_TOLD, _PAGES = 500, 200


class BaselinePlace(NamedTuple):
    """Where the last published manifest is: an argument as `diff` takes it.

    ``name`` is for people, ``home`` the folder of the configuration. ``chosen``: the site says
    so itself; else it is where a build puts it.
    """

    argument: str
    name: str
    home: Path
    chosen: bool


def place_baseline(option: str | None, home: Path, site_dir: str) -> BaselinePlace:
    """Say where the manifest to compare with is; ``site_dir`` is that of a build."""
    site = Path(os.path.normpath(home / site_dir))
    if option is None:
        return BaselinePlace(os.fspath(site), name_path(site / JSON_NAME), home, chosen=False)
    if option.startswith(GIT):
        _, _, path = option.removeprefix(GIT).partition(":")
        inside = f"{option.rstrip(':')}:./{name_path(site, home)}"
        return BaselinePlace(option if path else inside, option, home, chosen=True)
    path = os.path.normpath(home / option)
    return BaselinePlace(path, option, home, chosen=True)


@dataclass(frozen=True)
class SiteChanges:
    """The comparison of a site with the last published manifest.

    ``problem`` says why there is none; ``missing``: nothing was published yet, which is no
    mistake. ``changes`` are those of each page, ``elsewhere`` says of a page of the old
    manifest what its title was.
    """

    place: BaselinePlace
    problem: str = ""
    missing: bool = False
    built: float = 0
    notes: tuple[str, ...] = ()
    facts: tuple[Field, ...] = ()
    moving: bool = False
    totals: dict[str, Any] = field(default_factory=dict)
    pages: dict[PageKey, list[dict[str, Any]]] = field(default_factory=dict)
    sources: dict[PageKey, str] = field(default_factory=dict)

    def to_record(self, page: PageKey | None, urls: dict[PageKey, str]) -> dict[str, Any]:
        """Say what is different on a page, and how much elsewhere; ``urls`` are those of pages."""
        here = self.pages.get(page, []) if page else []
        others = [key for key in self.pages if key != page]
        return {
            "baseline": self.place.name,
            "chosen": self.place.chosen,
            "problem": self.problem,
            "missing": self.missing,
            "built": self.built,
            "notes": list(self.notes),
            "facts": [{"name": f.name, "old": f.old, "new": f.new} for f in self.facts],
            "moving": self.moving,
            "totals": self.totals,
            "here": [_tell(each) for each in here[:_TOLD]],
            "more": max(0, len(here) - _TOLD),
            "elsewhere": [
                {
                    "page_id": key[0],
                    "lang": key[1],
                    "url": urls.get(key),
                    "source": self.sources.get(key, ""),
                    "count": len(self.pages[key]),
                    "broken": sum(each["broken"] for each in self.pages[key]),
                }
                for key in others[:_PAGES]
            ],
            "pages": len(others),
        }


def compare_site(place: BaselinePlace, site: Path) -> SiteChanges:
    """Compare a built site with the last published manifest. Raises OSError, never for that."""
    if not place.argument.startswith(GIT):
        path = Path(place.argument)
        files = [path / JSON_NAME, path / JSONL_NAME] if path.is_dir() else [path]
        found = next((each for each in files if each.exists()), None)
        if found is None:
            lacking = (
                f"{JSON_NAME} and no {JSONL_NAME} in " if place.chosen and path.is_dir() else ""
            )
            problem = f"there is no {lacking}{place.name}"
            return SiteChanges(place, problem, missing=not place.chosen)
    if not any((site / name).is_file() for name in (JSON_NAME, JSONL_NAME)):
        return SiteChanges(place, "the site writes neither passages.json nor passages.jsonl")
    try:
        with TemporaryDirectory() as first, TemporaryDirectory() as second:
            old = open_manifest(place.argument, "", Path(first), place.home)
            new = open_manifest(os.fspath(site), "", Path(second))
            return _gather(place, compare(old, new), old, new)
    except ManifestError as error:
        return SiteChanges(place, _shorten(str(error), place))


def _shorten(message: str, place: BaselinePlace) -> str:
    """Name files as the configuration does."""
    name = place.name if place.chosen else place.name.rpartition("/")[0]
    message = message.replace(place.argument, name)
    return message.replace(f"{place.home.as_posix()}/", "")


def _gather(
    place: BaselinePlace, found: Comparison, old: ManifestFile, new: ManifestFile
) -> SiteChanges:
    shown = [c for c in found.changes if c.what == "passage" and c.kind in ("edited", "removed")]
    texts = read_texts(shown, old, new, paths=False)
    pages: dict[PageKey, list[dict[str, Any]]] = defaultdict(list)
    sources: dict[PageKey, str] = {}
    counts: dict[str, Counter[str]] = {"passages": Counter(), "addresses": Counter()}
    broken = 0
    for change in found.changes:
        record = _to_record(change, texts)
        broken += record["broken"]
        counts["passages" if change.what == "passage" else "addresses"][change.kind] += 1
        for side in dict.fromkeys(filter(None, (change.new, change.old))):
            key = (side.referent.partition("#")[0], side.lang)
            sources.setdefault(key, side.source)
            if not pages[key] or pages[key][-1] is not record:
                pages[key].append(record)
    path = Path(place.argument)
    file = old.path if not path.is_dir() else path / old.path.name
    built = 0 if place.argument.startswith(GIT) or old.rewritten else file.stat().st_mtime
    return SiteChanges(
        place,
        built=built,
        # What is compared is a preview, and has its own address: that is no news.
        notes=tuple(note for note in found.notes if "written by a preview" not in note),
        facts=tuple(fact for fact in found.facts if fact.name != "site_url"),
        moving=found.moving,
        totals={
            **{name: {k: count[k] for k in KINDS if count[k]} for name, count in counts.items()},
            "broken": broken,
        },
        pages=dict(sorted(pages.items())),
        sources=sources,
    )


def _to_record(change: Change, texts: tuple[Texts, Texts]) -> dict[str, Any]:
    sides = zip(texts, (change.old, change.new), strict=True)
    return {
        "kind": change.kind,
        "what": change.what,
        "old": _side(change.old),
        "new": _side(change.new),
        "texts": [known.find(side) if side is not None else "" for known, side in sides],
        "fields": [each.name for each in change.fields],
        "broken": change.what != "passage" and "removed-referent" in change.failures,
        "reason": change.reason,
    }


def _tell(record: dict[str, Any]) -> dict[str, Any]:
    """Say what a change did to the words of a text: null if the text is not shown."""
    old, new = record["texts"]
    pieces = None
    if record["what"] == "passage" and max(len(old), len(new)) <= _LONGEST:
        if record["kind"] == "edited":
            pieces = compare_words(old, new)
        elif record["kind"] == "removed":
            pieces = [Piece(SAME, old)]
    return {**{k: v for k, v in record.items() if k != "texts"}, "pieces": pieces}


def _side(place: Place | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {
        "referent": place.referent,
        "lang": place.lang,
        "title": place.title,
        "source": place.source,
        "line": place.line,
        "position": place.position,
        "chunk_id": place.chunk_id,
        "excerpt": place.excerpt,
    }
