"""Write a section id into every heading that lacks one, as the plugin's own findings say.

Changes the files in place: use it on a copy.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

from build import environment

if TYPE_CHECKING:
    from pathlib import Path

_FINDING = re.compile(r"[A-Z]+ +- +(?P<path>.+?):(?P<line>\d+): \w+\[(?P<code>[\w-]+)\]")
_REPAIR = re.compile(
    r" Write: (?:.*(?P<token><#[^<>]+>)(?: (?P<attributes>\{.*\}))?"
    r"|<(?P<tag>h[1-6]) (?P<id>id=.*)>)(?: \(.*\))?$"
)
_PASSES = 3


def stamp(config_file: Path) -> Counter[str]:
    """Stamp the pages of a site; return how often each finding is left."""
    left: Counter[str] = Counter()
    for _ in range(_PASSES):
        output = find(config_file)
        left = count(output)
        if not _repair_all(output, config_file.parent):
            break
    return left


def find(config_file: Path) -> str:
    """Build a site and return what MkDocs logs, paths relative to the site's folder."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", config_file.name],
        cwd=config_file.parent,
        env=environment(),
        check=False,
        capture_output=True,
        encoding="utf-8",
    )
    return done.stderr


def count(output: str) -> Counter[str]:
    """Count the findings in what MkDocs logged, by code."""
    found = (_FINDING.match(line) for line in output.splitlines())
    return Counter(match["code"] for match in found if match)


def _repair_all(output: str, folder: Path) -> int:
    """Apply the repairs; return how many there were."""
    repairs: dict[Path, list[tuple[int, re.Match[str]]]] = {}
    for line in output.splitlines():
        found, repair = _FINDING.match(line), _REPAIR.search(line)
        if found and repair and found["code"] == "missing-id":
            path = (folder / found["path"]).resolve()
            if path.is_relative_to(folder.resolve()):
                repairs.setdefault(path, []).append((int(found["line"]), repair))
    for path, places in repairs.items():
        lines = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
        for number, repair in places:
            lines[number - 1] = _repair(lines[number - 1], repair)
        path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    return sum(map(len, repairs.values()))


def _repair(line: str, repair: re.Match[str]) -> str:
    if repair["tag"]:
        return re.sub(rf"<{repair['tag']}\b", f"<{repair['tag']} {repair['id']}", line, count=1)
    text = line.rstrip()
    attributes = repair["attributes"] or ""
    text = text.removesuffix(attributes).rstrip()
    if text.lstrip(" >-*").startswith("#"):
        text = text.rstrip("#").rstrip()
    end = "\r" if line.endswith("\r") else ""
    return f"{text} {repair['token']} {attributes}".rstrip() + end
