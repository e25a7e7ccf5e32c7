"""A site that has changed for years: its sources, and its history made with the real commands.

`Sources.age` makes the site of today with its register; `RETIRED` and `MOVED` say what became
of old referents. Every page is long, so that a reader has to be taken to its headings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from site_builder import Site, run_markstay, write_site

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NEWS = 'No more <b>"news"</b> & rumours are published here.'
GONE = "The feature was removed in 3.0."
FILLER = "".join(f"Paragraph {number} of this section.\n\n" for number in range(12))

FIRST = {
    "index": ["Home <#home>", "Contact <#contact>", "News <#news>", "Last <#last>"],
    "guide/install": [
        "Install <#install>",
        "Setup <#setup>",
        "Deep *water* <#deep>",
        "Size <#größe>",
        "Dotted <#a.b:c>",
        "Removal <#removal>",
        "End <#end>",
    ],
    "guide/old": [
        "Old page <#old>",
        "Kept <#kept>",
        "Other id later <#other>",
        "Elsewhere <#elsewhere>",
        "Dropped <#dropped>",
    ],
    "gone": ["Gone <#gone>", "Saved <#saved>", "Lost <#lost>"],
    "stay": ["Stay <#stay>", "Here <#here>"],
    "über uns/größe maß": ["Über uns <#über>", "Maße <#maß>"],
    "start/usage": ["Usage <#usage>", "First <#first>"],
}
"""The pages of the first build, by their paths: the titles of their sections."""

RETIRED = {
    "index#news": NEWS,
    "gone": GONE,
    "gone#gone": GONE,
    "gone#lost": GONE,
    "guide/old#dropped": "Nobody needs it.",
}
"""What was retired, and why."""

MOVED = {
    # another id on the same page
    "guide/install#setup": "guide/install#set-up",
    "guide/install#größe": "guide/install#size",
    "guide/install#a.b:c": "guide/install#a.b:d",
    # a section on another page, which got another id there, twice
    "guide/install#deep": "start/usage#farthest",
    "start/usage#farther": "start/usage#farthest",
    # a page, twice, and its sections: one with another id, one on a third page
    "guide/old": "end/final",
    "guide/old#old": "end/final#old",
    "guide/old#kept": "end/final#kept",
    "guide/old#other": "end/final#another",
    "guide/old#elsewhere": "index#elsewhere",
    "start/new": "end/final",
    "start/new#old": "end/final#old",
    "start/new#kept": "end/final#kept",
    "start/new#other": "end/final#another",
    "gone#saved": "index#saved",
    "über uns/größe maß": "über alles/maß",
    "über uns/größe maß#über": "über alles/maß#über",
    "über uns/größe maß#maß": "über alles/maß#maß",
}
"""What moved, and where it is today."""


class Sources:
    """The files of the site while it changes.

    ``config`` is its configuration; with ``translations`` there is a page in German beside
    each, as mkdocs-static-i18n reads it.
    """

    def __init__(
        self, folder: Path, config: Mapping[str, Any] | None = None, *, translations: bool = False
    ) -> None:
        self.folder = folder
        self.ends = (".md", ".de.md") if translations else (".md",)
        files = {
            f"docs/{path}{end}": _write(path, titles)
            for path, titles in FIRST.items()
            for end in self.ends
        }
        write_site(folder, Site(files, config=config or {}))

    def run(self, *command: str) -> None:
        """Run a command of ours."""
        done = run_markstay(self.folder, *command)
        assert done.code == 0, done.out + done.err

    def cut(self, path: str, title: str) -> None:
        """Take a section out of a page."""
        section = f"## {title}\n\n{FILLER}"
        for file in self.files(path):
            text = file.read_text("utf-8")
            assert text.count(section) == 1, (path, title)
            file.write_text(text.replace(section, ""), "utf-8")

    def add(self, path: str, title: str) -> None:
        """Put a section into a page, before its last one."""
        for file in self.files(path):
            before, mark, last = file.read_text("utf-8").rpartition("## ")
            file.write_text(f"{before}## {title}\n\n{FILLER}{mark}{last}", "utf-8")

    def move_page(self, old: str, new: str) -> None:
        """Move the files of a page."""
        for source, target in zip(self.files(old), self.files(new), strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)

    def files(self, path: str) -> list[Path]:
        """List the files of a page."""
        return [self.folder / f"docs/{path}{end}" for end in self.ends]

    def age(self) -> Iterator[None]:
        """Do to the site what years do. Yields where it is published: at first, on the way, today."""
        self.run("lock")
        yield
        install, usage = "docs/guide/install.md", "docs/start/usage.md"
        self.run("rename", install, "setup", "set-up")
        self.run("rename", install, "größe", "size")
        self.run("rename", install, "a.b:c", "a.b:d")
        self.cut("guide/install", "Deep *water* <#deep>")
        self.add("start/usage", "Deeper *water* <#further>")
        self.run("move", "guide/install#deep", "start/usage#further")
        self.run("rename", usage, "further", "farther")
        self.cut("guide/old", "Dropped <#dropped>")
        self.run("retire", "guide/old#dropped", "--reason", RETIRED["guide/old#dropped"])
        self.cut("guide/old", "Elsewhere <#elsewhere>")
        self.add("index", "Elsewhere <#elsewhere>")
        self.run("move", "guide/old#elsewhere", "index#elsewhere")
        self.move_page("guide/old", "start/new")
        self.run("move", "guide/old", "start/new")
        self.run("lock")
        yield
        self.run("rename", usage, "farther", "farthest")
        self.run("rename", "docs/start/new.md", "other", "another")
        self.move_page("start/new", "end/final")
        self.run("move", "start/new", "end/final")
        self.cut("index", "News <#news>")
        self.run("retire", "index#news", "--reason", NEWS)
        self.cut("gone", "Saved <#saved>")
        self.add("index", "Saved <#saved>")
        self.run("move", "gone#saved", "index#saved")
        for file in self.files("gone"):
            file.unlink()
        self.run("retire", "gone", "--reason", GONE)
        self.move_page("stay", "end/stayed")
        self.move_page("über uns/größe maß", "über alles/maß")
        self.run("move", "über uns/größe maß", "über alles/maß")
        self.run("lock")
        self.run("lock", "--check")
        yield


def _write(path: str, titles: list[str]) -> str:
    first, *others = titles
    sections = "".join(f"## {title}\n\n{FILLER}" for title in others)
    start = "---\npage_id: lasting\n---\n" if path == "stay" else ""
    return f"{start}# {first}\n\n{FILLER}{sections}"
