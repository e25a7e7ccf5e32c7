"""Write a synthetic site: the same PAGES pages into FOLDER/docs, every time.

A page has 5 to 10 KB: sections with ids, prose with links, nested lists, a table, code.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

_FOLDER_SIZE = 50
_TEXT = """
    access account agent alert archive backup branch broker bucket buffer build cache certificate
    channel client cluster command commit config container context control cursor daemon dataset
    default deploy device digest domain driver endpoint engine event export feature filter folder
    format gateway handler header host image import index input instance interface job journal
    kernel key label layer ledger library limit listener log manifest memory message metric mirror
    module monitor mount namespace network node notice object operator option output package page
    partition patch path payload peer permission pipeline plugin policy pool port process profile
    protocol provider proxy query queue quota range record region register release replica report
    request resource response restart retry role route rule runner schema scope script secret
    section selector server service session setting shard signal snapshot source stage state
    storage stream string subnet switch syntax table tag target task template tenant thread ticket
    timeout token topic trace transfer trigger update upload user value vault version view volume
    watch window worker workspace zone
"""
_WORDS = _TEXT.split()


def write_site(pages: int, folder: Path) -> None:
    """Write ``pages`` pages into ``folder/docs``."""
    docs = folder / "docs"
    docs.mkdir(parents=True)
    (docs / "index.md").write_text("# Synthetic site\n\nThe first page.\n", encoding="utf-8")
    for number in range(1, pages):
        path = docs / f"part-{number // _FOLDER_SIZE:03}" / f"page-{number:05}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(make_page(number), encoding="utf-8")


def make_page(number: int) -> str:
    """Make the Markdown of one page; only the number decides what is in it."""
    chance = random.Random(number)  # noqa: S311 (not for secrets)
    parts = [f"# {words(chance, 3).capitalize()} {number}", _prose(chance, 3)]
    size = chance.randrange(5_000, 9_000)
    section = 0
    while sum(map(len, parts)) < size:
        section += 1
        level = "##" if section % 3 else "###"
        parts.append(f"{level} {words(chance, 4).capitalize()} <#section-{section}>")
        parts.append(_prose(chance, 5))
        parts.append(_BLOCKS[section % len(_BLOCKS)](chance))
        parts.append(_prose(chance, 3))
    return "\n\n".join(parts) + "\n"


def words(chance: random.Random, count: int) -> str:
    """Give so many words in a row."""
    return " ".join(chance.choices(_WORDS, k=count))


def _prose(chance: random.Random, sentences: int) -> str:
    lines = []
    for _ in range(sentences):
        words = chance.choices(_WORDS, k=chance.randrange(8, 18))
        words[2], words[4] = f"`{words[2]}`", f"**{words[4]}**"
        words[6] = f"[{words[6]}](https://example.org/{words[6]})"
        lines.append(" ".join(words).capitalize() + ".")
    return "\n".join(lines)


def _list(chance: random.Random) -> str:
    lines = []
    for _ in range(5):
        lines.append(f"- {words(chance, 9)}")
        lines += [f"    - {words(chance, 6)}" for _ in range(chance.randrange(3))]
    return "\n".join(lines)


def _table(chance: random.Random) -> str:
    rows = [[words(chance, 1), f"`{words(chance, 1)}`", words(chance, 6)] for _ in range(7)]
    return "\n".join(["| Name | Type | Meaning |", "| --- | --- | --- |", *map(_row, rows)])


def _row(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(chance: random.Random) -> str:
    lines = []
    for _ in range(10):
        name, function, argument = chance.choices(_WORDS, k=3)
        lines.append(f'{name} = {function}("{argument}", {chance.randrange(100)})')
    return "\n".join(["```python", *lines, "```"])


def _admonition(chance: random.Random) -> str:
    return f"!!! note\n    {words(chance, 20)}"


_BLOCKS = (_list, _code, _table, _admonition)


def main() -> None:
    """Read the arguments, write the site."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", type=int)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    write_site(arguments.pages, arguments.folder)


if __name__ == "__main__":
    main()
