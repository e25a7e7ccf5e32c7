"""The edits of `history.py`: what authors do to a site, each with the truth about it.

Every edit changes the pages that it is given and says what it moved and what it took away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from history_ledger import Change, Page, Section, make_page_id

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterator

_MOST_MOVED = 5
_TITLES = ("Using {}", "{} in practice", "About {}", "What to know about {}", "{}, step by step")


@dataclass
class Edits:
    """What the edits of one commit work on.

    ``pages`` are all of the site, by path, ``used`` the referents that were ever published,
    ``fixed`` the files that stay as they are. ``earlier`` are moves of sections of earlier
    commits. ``touched`` are the pages of this one: no two edits share one.
    """

    pages: dict[str, Page]
    chance: random.Random
    number: int
    used: set[str]
    fixed: set[str]
    earlier: dict[str, str]
    touched: set[str] = field(default_factory=set)

    # -- choosing

    def pick(self, wants: Callable[[Page], object] = bool) -> Page:
        """Pick a page that may be edited and that no other edit of this commit touches."""
        fit = [
            page
            for path, page in sorted(self.pages.items())
            if path not in self.fixed
            and path not in self.touched
            and make_page_id(path) != "index"
            and page.sections
            and wants(page)
        ]
        if not fit:
            raise SystemExit("the site is too small for this history")
        page = self.chance.choice(fit)
        self.touched.add(page.path)
        return page

    def pick_sections(self, count: int) -> Iterator[tuple[Page, Section]]:
        """Pick sections with text, each in a page of its own."""
        for _ in range(count):
            page = self.pick(lambda page: any(map(_has_text, page.sections)))
            yield page, self.chance.choice([s for s in page.sections if _has_text(s)])

    def make_id(self, page: Page, title: str) -> str:
        """Make a section id that the page never had."""
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-") or "section"
        section_id, count = slug, 1
        while section_id in page.ids or f"{page.page_id}#{section_id}" in self.used:
            count += 1
            section_id = f"{slug}-{count}"
        return section_id

    def retitle(self, title: str) -> str:
        """Word a title otherwise."""
        return self.chance.choice(_TITLES).format(title)

    def reword(self, section: Section) -> None:
        """Word the text of a section otherwise."""
        section.body[:] = [
            line if line.startswith((" ", "`", "|")) else line.replace(" the ", " this ", 1)
            for line in section.body
        ]
        section.body += ["", f"This was worded anew in change {self.number}.", ""]

    def rename_file(self, page: Page, path: str) -> dict[str, str]:
        """Give a page another path; returns what its referents become."""
        before = _referents(page)
        del self.pages[page.path]
        page.path = path
        self.pages[path] = page
        return _pair(before, _referents(page))

    def is_free(self, path: str) -> bool:
        """Whether a page at this path is new, by its address and by its referent."""
        page_id = make_page_id(path)
        others = {make_page_id(other) for other in self.pages}
        return page_id not in self.used and page_id not in others

    # -- the edits

    def rename_headings(self) -> Change:
        """Give five headings other titles, and a page another one; the ids stay."""
        for _, section in self.pick_sections(5):
            section.title = self.retitle(section.title)
        page = self.pick(lambda page: _find_title(page) is not None)
        number = _find_title(page)
        assert number is not None
        page.head[number] = f"# {self.retitle(page.head[number][2:])}"
        return Change("headings renamed, ids kept")

    def reword_texts(self) -> Change:
        """Give six sections other texts, and some of them other titles; the ids stay."""
        for number, (_, section) in enumerate(self.pick_sections(6)):
            self.reword(section)
            if number % 2:
                section.title = self.retitle(section.title)
        return Change("texts reworded")

    def insert_sections(self) -> Change:
        """Add four sections, one of them with the title of the one that it stands before."""
        for count, (page, section) in enumerate(self.pick_sections(4)):
            title = f"Added in {self.number}" if count else section.title
            self.add_section(page, page.sections.index(section), title)
        return Change("sections added")

    def add_section(self, page: Page, number: int, title: str) -> None:
        """Add a section before the one with a number."""
        level = page.sections[min(number, len(page.sections) - 1)].level
        body = ["", f"This text of change {self.number} is on {page.page_id}: {title}.", ""]
        section = Section(level, title, self.make_id(page, title), body)
        page.sections.insert(number, section)
        page.ids[section.section_id] = (page.path, 0)

    def move_section(self) -> Change:
        """Move a section to another page as it is, with those below it."""
        return Change("a section moved", moved=self._move(edited=False))

    def move_and_edit_section(self) -> Change:
        """Move a section to another page, with another title and other words."""
        return Change("a section moved and edited", moved=self._move(edited=True))

    def _move(self, *, edited: bool) -> dict[str, str]:
        def fits(page: Page) -> list[int]:
            return [
                number
                for number in range(len(page.sections))
                if page.span(number) - number <= _MOST_MOVED
                and page.span(number) - number < len(page.sections)
                and any(map(_has_text, page.sections[number : page.span(number)]))
            ]

        source = self.pick(fits)
        number = self.chance.choice(fits(source))
        moving = source.sections[number : source.span(number)]

        target = self.pick()
        before = [source.referent(each) for each in moving]
        del source.sections[number : number + len(moving)]
        for section in moving:
            self.take(target, section)
        if edited:
            moving[0].title = self.retitle(moving[0].title)
            for section in moving:
                self.reword(section)
        return _pair(before, [target.referent(each) for each in moving])

    def take(self, page: Page, section: Section) -> None:
        """Put a section at the end of a page, with another id if the page had its id ever."""
        if section.section_id in page.ids or page.referent(section) in self.used:
            section.section_id = self.make_id(page, section.section_id)
        page.ids[section.section_id] = (page.path, 0)
        page.sections.append(section)

    def move_back(self) -> Change:
        """Move a section back that an earlier commit moved to another page."""
        for old, new in sorted(self.earlier.items()):
            home = self._page_of(old)
            now = self._page_of(new)
            if home is None or now is None or home.path in self.fixed or now.path in self.fixed:
                continue
            section_id = old.partition("#")[2]
            section = next((s for s in now.sections if now.referent(s) == new), None)
            if section is not None and section_id not in home.ids:
                self.touched |= {home.path, now.path}
                now.sections.remove(section)
                section.section_id = section_id
                home.sections.append(section)
                return Change("a moved section moved back", moved={new: old})
        return Change("a moved section moved back: there was none")

    def _page_of(self, referent: str) -> Page | None:
        page_id = referent.partition("#")[0]
        return next((page for page in self.pages.values() if page.page_id == page_id), None)

    def rename_ids(self) -> Change:
        """Change three section ids by hand."""
        moved: dict[str, str] = {}
        for page, section in self.pick_sections(3):
            moved |= self._change_id(page, section, f"{section.section_id} {self.number}")
        return Change("ids renamed by hand", moved=moved)

    def rename_ids_and_headings(self) -> Change:
        """Give two headings other titles, and ids that fit these."""
        moved: dict[str, str] = {}
        for page, section in self.pick_sections(2):
            section.title = self.retitle(section.title)
            moved |= self._change_id(page, section, section.title)
        return Change("ids renamed by hand, with their headings", moved=moved)

    def rename_ids_again(self) -> Change:
        """Give a section another id that an earlier commit moved."""
        for new in sorted(self.earlier.values()):
            page = self._page_of(new)
            if page is None or page.path in self.fixed:
                continue
            for section in page.sections:
                if page.referent(section) == new:
                    self.touched.add(page.path)
                    again = f"{section.section_id} again"
                    return Change("a moved id renamed again", self._change_id(page, section, again))
        return Change("a moved id renamed again: there was none")

    def _change_id(self, page: Page, section: Section, title: str) -> dict[str, str]:
        before = page.referent(section)
        section.section_id = self.make_id(page, title)
        return {before: page.referent(section)}

    def delete_sections(self) -> Change:
        """Take a section out, with those below it."""
        page = self.pick(lambda page: any(page.span(n) - n < 4 for n in _numbers(page)))
        number = self.chance.choice([n for n in _numbers(page) if page.span(n) - n < 4])
        gone = page.sections[number : page.span(number)]
        del page.sections[number : number + len(gone)]
        reason = f"What it told of was removed in change {self.number}."
        return Change("a section deleted", retired=dict.fromkeys(map(page.referent, gone), reason))

    def rename_page(self) -> Change:
        """Give the file of a page another name."""
        page = self.pick(lambda page: self.is_free(_named(page.path, "-guide")))
        return Change("a page renamed", moved=self.rename_file(page, _named(page.path, "-guide")))

    def move_page(self) -> Change:
        """Put the file of a page into another folder."""
        page = self.pick(lambda page: self.is_free(_placed(page.path, "topics")))
        return Change(
            "a page moved to a folder", moved=self.rename_file(page, _placed(page.path, "topics"))
        )

    def delete_page(self) -> Change:
        """Delete a page."""
        page = self.pick(lambda page: len(page.sections) < 15)
        del self.pages[page.path]
        reason = f"The page was of no use any more in change {self.number}."
        return Change("a page deleted", retired=dict.fromkeys(_referents(page), reason))

    def keep_page_id(self) -> Change:
        """Write a page's id into its front matter, and put its file into another folder."""
        page = self.pick(
            lambda page: page.head[:1] != ["---"] and self.is_free(_placed(page.path, "kept"))
        )
        page.head[:0] = ["---", f"page_id: {page.page_id}", "---"]
        moved = self.rename_file(page, _placed(page.path, "kept"))
        assert not moved
        return Change("a page moved that keeps its page_id")

    def give_page_id(self) -> Change:
        """Give a page another page id in its front matter; its address stays."""
        page = self.pick(lambda page: page.head[:1] != ["---"])
        before = _referents(page)
        page_id = f"named/{page.page_id.rpartition('/')[2]}-{self.number}"
        page.head[:0] = ["---", f"page_id: {page_id}", "---"]
        return Change("a page given a page_id", moved=_pair(before, _referents(page)))

    def merge_pages(self) -> Change:
        """Make a page a part of another; ids that both have are changed."""
        source = self.pick(lambda page: len(page.sections) < 15 and _find_title(page) is not None)
        ids = source.ids.keys()
        target = self.pick(lambda page: ids & page.ids.keys())
        before = _referents(source)
        number = _find_title(source)
        assert number is not None
        title = source.head[number][2:]
        intro = Section(2, title, self.make_id(target, title), source.head[number + 1 :])
        target.ids[intro.section_id] = (target.path, 0)
        target.sections.append(intro)
        after = [target.page_id]
        for section in source.sections:
            self.take(target, section)
            after.append(target.referent(section))
        del self.pages[source.path]
        return Change("two pages merged", moved=_pair(before, after))

    def split_page(self) -> Change:
        """Make the second half of a page a page of its own."""
        page = self.pick(
            lambda page: len(page.sections) > 3 and self.is_free(_named(page.path, "-more"))
        )
        half = len(page.sections) // 2
        new = Page(_named(page.path, "-more"), [f"# More on {page.page_id}", ""], [])
        new.sections = page.sections[half:]
        before = [page.referent(section) for section in new.sections]
        del page.sections[half:]
        self.pages[new.path] = new
        self.touched.add(new.path)
        after = [new.referent(section) for section in new.sections]
        return Change("a page split", moved=_pair(before, after))


def _pair(before: list[str], after: list[str]) -> dict[str, str]:
    return {old: new for old, new in zip(before, after, strict=True) if old != new}


def _referents(page: Page) -> list[str]:
    return [page.page_id, *map(page.referent, page.sections)]


def _numbers(page: Page) -> range:
    return range(1, len(page.sections))


def _has_text(section: Section) -> bool:
    return any(line[:1].isalpha() for line in section.body)


def _find_title(page: Page) -> int | None:
    return next((n for n, line in enumerate(page.head) if line.startswith("# ")), None)


def _named(path: str, suffix: str) -> str:
    stem = make_page_id(path)
    return f"{stem}{suffix}.md"


def _placed(path: str, folder: str) -> str:
    return f"{folder}/{make_page_id(path).replace('/', '-')}.md"
