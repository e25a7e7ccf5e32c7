"""What somebody cites of a site: referents or URLs, and which of them changes touch."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING
from urllib.parse import unquote

from mkdocs_markstay.identity import STAY_PREFIX
from mkdocs_markstay.manifest_shapes import ManifestError
from mkdocs_markstay.manifest_stream import addresses
from mkdocs_markstay.stay_pairs import block_addresses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from mkdocs_markstay.diff import Change
    from mkdocs_markstay.manifest_files import ManifestFile


@dataclass(frozen=True)
class Citations:
    """Citations, and what they stand for.

    ``targets`` maps a referent and its language, "" for all languages, to the citations that
    stand for it. ``unknown`` are those that stand for nothing.
    """

    texts: tuple[str, ...]
    targets: Mapping[tuple[str, str], Sequence[str]]
    unknown: tuple[str, ...]

    def touched(self, change: Change) -> set[str]:
        """Give the citations that a change touches."""
        places = [place for place in (change.old, change.new) if place is not None]
        known = [*(place.key for place in places), *change.touched_blocks]
        keys = [key for referent, lang in known for key in ((referent, lang), (referent, ""))]
        return {text for key in keys for text in self.targets.get(key, ())}


def read_citations(path: Path) -> tuple[str, ...]:
    """Read a list: one referent or URL a line, each once; raise ManifestError.

    Lines that are blank or begin with a `#` and a space do not count.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise ManifestError(f"{path} cannot be read: {error}") from None
    texts = [line.strip() for line in lines if not line.startswith("# ")]
    return tuple(dict.fromkeys(text for text in texts if text not in ("", "#")))


def find_citations(texts: Sequence[str], old: ManifestFile, new: ManifestFile) -> Citations:
    """Find what citations stand for, in either manifest or by their redirects."""
    targets: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    bases = [base for manifest in (old, new) for base in _bases(manifest)]
    urls: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        urls[_simplify(text, bases)].append(text)
    cited = set(texts)
    blocks = any(f"#{STAY_PREFIX}" in text for text in urls)
    for manifest in (old, new):
        found = addresses(manifest)
        for referent, lang, url, former in chain(
            found, block_addresses(manifest) if blocks else ()
        ):
            if referent in cited:
                targets[referent, ""][referent] = None
            if former:
                _add_former(
                    urls, _simplify(url, bases), [_simplify(each, bases) for each in former]
                )
            for text in urls.get(_simplify(url, bases), ()):
                if text != referent:
                    targets[referent, lang][text] = None
    _follow(targets, urls, (old, new))
    known = {text for found in targets.values() for text in found}
    return Citations(
        tuple(texts),
        {key: tuple(found) for key, found in targets.items()},
        tuple(text for text in texts if text not in known),
    )


def _add_former(urls: dict[str, list[str]], url: str, former: Sequence[str]) -> None:
    """Let what is cited of a page by addresses at which it was stand for where it is."""
    for cited in list(urls):
        path, sign, fragment = cited.partition("#")
        if path in former:
            urls[url + sign + fragment] += urls[cited]


def _follow(
    targets: dict[tuple[str, str], dict[str, None]],
    urls: Mapping[str, Sequence[str]],
    manifests: Iterable[ManifestFile],
) -> None:
    """Add what citations lead to by redirects, and those of retired sections."""

    def find(referent: str, url: str) -> list[str]:
        # An address that no manifest has any more is read as a referent.
        keys = dict.fromkeys(_simplify(each, ()) for each in (referent, url) if each)
        return [text for key in keys for text in urls.get(key, ())]

    for manifest in manifests:
        header = manifest.header or {}
        for row in header.get("retired", ()):
            for text in find(row["referent"], row["url"]):
                targets[row["referent"], ""].setdefault(text)
        for row in header.get("redirects", ()):
            found = find(row["from"], row["url"])
            found += [
                text
                for (referent, _), each in targets.items()
                if referent == row["from"]
                for text in each
            ]
            for text in found:
                targets[row["from"], ""].setdefault(text)
                targets[row["to"], ""].setdefault(text)


def _bases(manifest: ManifestFile) -> list[str]:
    site_url = (manifest.header or {}).get("site_url")
    return [site_url.rstrip("/")] if site_url else []


def _simplify(url: str, bases: Iterable[str]) -> str:
    """Reduce a URL to what tells it apart: no address of the site, no escapes, no file name."""
    for base in bases:
        if url.startswith(base) and url[len(base) :][:1] in ("", "/", "#", "?"):
            url = url[len(base) :]
            break
    path, sign, fragment = url.partition("#")
    path = unquote(path.partition("?")[0]).strip("/")
    for end in ("index.html", ".html"):
        if path.endswith(end):
            path = path.removesuffix(end).rstrip("/")
            break
    return path + sign + unquote(fragment)
