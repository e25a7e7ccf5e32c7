"""Random changes of a site: what was ever published lands where it is now, or says that it went.

Each page and each section has a name in its text that stays with it, so that it is known
where it is, whatever its address.
"""

from __future__ import annotations

import posixpath
import random
import re
import shutil
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import count
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

import pytest
from site_builder import Site, build_site, run_markstay, write_site

from mkdocs_markstay.identity import page_id_from_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

GONE = "gone"


@dataclass
class Page:
    """A page: its name, its page id if it has one of its own, its sections (id, name)."""

    name: str
    page_id: str = ""
    sections: list[list[str]] = field(default_factory=list)

    def write(self) -> str:
        matter = f"---\npage_id: {self.page_id}\n---\n" if self.page_id else ""
        sections = "".join(f"## {name} <#{each}>\n\n{name}.\n\n" for each, name in self.sections)
        return f"{matter}# {self.name}\n\n{sections}"


class Walk:
    """A site that changes, and all addresses that it ever had, with the names there."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.numbers = folder, count()
        self.random = random.Random(seed)  # noqa: S311 (no secret)
        self.directories = seed % 2 == 0
        self.pages = {"index.md": self.make_page()}
        self.pages |= {f"{each}/{self.new()}.md": self.make_page() for each in ("a", "a/b", "c")}
        self.published: dict[tuple[str, str], str] = {}
        self.names: dict[str, str] = {}
        write_site(folder, Site({}, config={"use_directory_urls": self.directories}))

    def new(self) -> str:
        return f"x{next(self.numbers)}"

    def make_page(self) -> Page:
        page_id = self.new() if self.random.random() < 0.3 else ""
        return Page(self.new(), page_id, [[self.new(), self.new()] for _ in range(2)])

    def referents(self) -> Iterator[tuple[str, str]]:
        for path, page in self.pages.items():
            page_id = page.page_id or page_id_from_source(path)
            yield page_id, page.name
            yield from ((f"{page_id}#{section_id}", name) for section_id, name in page.sections)

    def write(self) -> None:
        shutil.rmtree(self.folder / "docs")
        for path, page in self.pages.items():
            (self.folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / "docs" / path).write_text(page.write(), "utf-8")

    def note(self) -> None:
        """Note what is published now."""
        self.names.update(self.referents())
        for path, page in self.pages.items():
            stem = path.removesuffix(".md")
            folder = self.directories and posixpath.basename(stem) != "index"
            target = f"{stem}/index.html" if folder else f"{stem}.html"
            self.published[target, ""] = page.name
            self.published |= {(target, each): name for each, name in page.sections}

    def step(self) -> None:
        """Change something."""
        path, page = self.random.choice([*self.pages.items()])
        other = self.random.choice([*self.pages.values()])
        kind = self.random.randrange(7)
        if kind == 0:
            page.page_id = self.new()
        elif kind == 1:
            page.sections.append([self.new(), self.new()])
        elif kind == 2 and page.sections:
            self.random.choice(page.sections)[0] = self.new()
        elif kind == 3 and page.sections:
            other.sections.append(page.sections.pop())
        elif kind == 4 and page.sections:
            page.sections.pop()
        elif path != "index.md":
            del self.pages[path]
            if kind == 5 or len(self.pages) < 3:
                name = self.random.choice(["index", self.new()])
                self.pages[f"{path.removesuffix('.md')}/{name}.md"] = page
            elif other is not page:
                other.sections += page.sections

    def repair(self) -> None:
        """Say what became of everything, in any order; of a page that went, last."""
        while True:
            found = run_markstay(self.folder, "check").findings
            if not found:
                return
            # What went back is published again, and where it was is lost.
            assert {each.code for each in found} <= {"lost-referent", "published-again"}, found
            lost = {f.message.split("'")[1] for f in found if f.code == "lost-referent"}
            now = {name: referent for referent, name in self.referents()}
            gone_pages = {each for each in lost if "#" not in each and self.names[each] not in now}
            referent = self.random.choice(sorted(lost - gone_pages) or sorted(gone_pages))
            to = now.get(self.names[referent])
            command = ("move", referent, to) if to else ("retire", referent, "--reason", GONE)
            ran = run_markstay(self.folder, *command)
            assert ran.code == 0, (command, ran.err)

    def land(self, target: str, fragment: str) -> str:
        """Give the name that a reader with JavaScript finds at an address."""
        for _ in range(3):
            page = Published((self.folder / "site" / target).read_text("utf-8"))
            assert len(page.ids) == len(set(page.ids)), target
            href, text = page.links.get(fragment, ""), page.texts.get(fragment, "")
            if not href and fragment not in page.ids:
                href = page.links.get("page", "")
                assert href or page.old or not fragment, (target, fragment)
                text = text or page.texts["h1"]
            if not href:
                return GONE if text.endswith(GONE) or page.old else text
            parts = urlsplit(urljoin(f"https://docs.example.org/{target}", href))
            target = unquote(parts.path).removeprefix("/")
            target += "index.html" if target.endswith("/") or not target else ""
            fragment = unquote(parts.fragment) or (fragment if fragment not in page.ids else "")
        raise AssertionError("it leads from page to page")


class Published(HTMLParser):
    """A published page: ids, texts at them, where its notes lead, and itself (as `page`)."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.texts: dict[str, str] = {}
        self.links: dict[str, str] = {}
        self.old = 'class="markstay-page"' in html
        self.at: set[str] = set()
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attributes}
        if re.fullmatch("h[1-6]|div", tag):
            self.at = {tag}
        if "id" in values:
            self.ids.append(values["id"])
            self.at.add(values["id"])
        if values.get("class") == "markstay-to":
            self.links |= dict.fromkeys(self.at - {"div"}, values["href"])
        if values.get("class") == "markstay-page-to":
            self.links["page"] = values["href"]

    def handle_endtag(self, tag: str) -> None:
        if re.fullmatch("h[1-6]|div", tag):
            self.at = set()

    def handle_data(self, data: str) -> None:
        for each in self.at:
            self.texts[each] = self.texts.get(each, "") + data


@pytest.mark.parametrize("seed", range(6))
def test_every_old_address_lands(tmp_path: Path, seed: int) -> None:
    walk = Walk(tmp_path, seed)
    for _ in range(8):
        walk.write()
        walk.repair()
        assert run_markstay(tmp_path, "lock").code == 0
        assert run_markstay(tmp_path, "lock", "--check").code == 0
        walk.note()
        walk.step()
        walk.step()
    walk.write()
    walk.repair()
    result = build_site(tmp_path)
    assert result.passed, result.log
    now = {name: referent for referent, name in walk.referents()}
    for (target, fragment), name in walk.published.items():
        assert walk.land(target, fragment) == (name if name in now else GONE), (target, fragment)
    for referent, name in walk.names.items():
        ran = run_markstay(tmp_path, "resolve", referent)
        assert ran.out.split(" ")[0] == now.get(name, ""), referent
    assert run_markstay(tmp_path, "verify", "site").code == 0
