"""What becomes of addresses in a history of edits, with the register and as MkDocs does it.

Copies DOCS into a temporary git repository, stamps it and locks it (the first commit), and
makes commits of the kinds that authors make: each edit is told by the checks, repaired by
the commands, built and committed. A ledger that the edits themselves keep says what is true,
and every finding and every old address is compared with it. The same sources without ids
and without the plugin are built, too: how many of their addresses are broken at the end?
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from build import OURS, environment
from history_edits import Edits
from history_ledger import Change, Page, Place, begin_ledger, list_places, read_pages
from history_links import BuiltSite, End
from measure import MARKSTAY
from sites import copy_docs, find_config, stamp

SITE_URL = "https://docs.example.org/"
LOCK = "markstay.lock"
BUILD = [sys.executable, "-m", "mkdocs", "build", "-q"]
# Pages that a program writes; and proposals (two of them have one address).
LEFT_OUT = (
    "user-guide/commands",
    "operator-manual/server-commands",
    "proposals",
)
BRANCHES = "merge_branches"
COMMAND = "rename_with_command"
# What follows from an earlier move stands at the end.
KINDS = (
    "rename_headings",
    "reword_texts",
    "move_section",
    "move_section",
    "move_and_edit_section",
    "rename_ids",
    "rename_ids_and_headings",
    COMMAND,
    "insert_sections",
    "rename_page",
    "move_page",
    "delete_page",
    "delete_sections",
    "merge_pages",
    "split_page",
    "keep_page_id",
    "give_page_id",
    BRANCHES,
    "move_back",
    "rename_ids_again",
)
_LAST = KINDS[-2:]
_THEME = (
    '<!DOCTYPE html>\n<html lang="en"><head><title>{{ page.title|e }}</title></head>'
    "<body><main>{{ page.content }}</main></body></html>\n"
)
_CANDIDATE = re.compile(
    r"If it is now .+?:\d+ \((.+?)\)(?:, with its sections)?, run:"
    r" (.+?)(?: \(or |\. If it is gone)"
)
_LINE = re.compile(r"markstay\.lock:(\d+)\) was published")
_ALONG = "Its command takes this along"
_COUNT_AT_ONCE = 300

SAME = "same address"
NEW = "leads to the new place"
REASON = "says why it is gone"
NOWHERE = "leads nowhere"
OTHER = "leads to another text"
WRONG = ("missed", "false", "wrong_register", "wrong_addresses")


class Told(NamedTuple):
    """A finding, as the ledger can say it: its code, and the referent or the place."""

    code: str
    what: str


class Suggestion(NamedTuple):
    """What a finding of a lost referent proposes: the new referent, why, and the command."""

    referent: str
    why: str
    command: list[str]


@dataclass
class Totals:
    """What the history came to."""

    commits: int = 0
    lost: int = 0
    doubles: int = 0
    unordered: int = 0
    missed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)
    wrong_register: list[str] = field(default_factory=list)
    candidates: Counter[str] = field(default_factory=Counter)
    wrong_candidates: list[str] = field(default_factory=list)
    commands: Counter[str] = field(default_factory=Counter)


class History:
    """A site in a git repository, and its ledger.

    The site is in ``folder``; what stands beside it is built without the plugin.
    """

    def __init__(
        self, parent: Path, docs: Path, base: Path, seed: int, left_out: list[str]
    ) -> None:
        self.folder, self.base = parent / "ours", base
        self.docs = self.folder / "docs"
        self.chance = random.Random(seed)  # noqa: S311 (not for secrets)
        self.totals = Totals()
        self.earlier: dict[str, str] = {}
        copy_docs(docs, self.folder)
        for name in left_out:
            _remove(self.docs / name)
        config = write_config(self.folder, base, [OURS])
        (self.folder / ".gitignore").write_text("/site/\n/cache/\n", encoding="utf-8")
        (self.folder / ".gitattributes").write_text(f"{LOCK} merge=union\n", encoding="utf-8")
        self.git("init", "-q", "-b", "main")
        stamp(config)
        for page in read_pages(self.docs).values():
            if page.plain:
                page.write(self.docs)  # so that edits change what they mean to change alone
        self.run("lock")
        self.finish(self.start(BUILD))
        pages = read_pages(self.docs)
        self.ledger = begin_ledger(list_places(pages))
        # No edit touches what includes others, or is included.
        self.fixed = {path for path, page in pages.items() if not page.plain}
        for page in pages.values():
            self.fixed |= {path for path, _ in page.ids.values() if path != page.path}
        self.compare_register()
        self.commit("the site with ids")

    # -- the site

    def start(self, command: list[str], folder: Path | None = None) -> subprocess.Popen[str]:
        """Start a command in the site's folder, or another."""
        cache = str(self.folder / "cache")
        return subprocess.Popen(
            command,
            cwd=folder or self.folder,
            env={**environment(), "MARKSTAY_CACHE_DIR": cache},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )

    def finish(self, process: subprocess.Popen[str], codes: tuple[int, ...] = (0,)) -> str:
        """Wait for a command; returns what it printed. It must end with one of the codes."""
        out, err = process.communicate()
        if process.returncode not in codes or "Traceback (most recent call last)" in err:
            command = shlex.join(map(str, process.args))  # type: ignore[arg-type]
            raise SystemExit(f"{command} ended with exit code {process.returncode}:\n{out}{err}")
        return out

    def run(self, *arguments: str) -> str:
        """Run a command of ours that must succeed."""
        self.totals.commands[arguments[0]] += 1
        return self.finish(self.start([MARKSTAY, *arguments]))

    def git(self, *arguments: str) -> str:
        """Run git, whatever the machine's configuration of it is."""
        names = {
            f"GIT_{who}_{what}": "docs@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        env = {**os.environ, **names, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=env, check=True, capture_output=True, encoding="utf-8"
        )
        return done.stdout

    def commit(self, message: str) -> None:
        """Commit everything."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)

    # -- one commit

    def edits(self) -> Edits:
        """Prepare the edits of the next commit."""
        ledger = self.ledger
        used = ledger.now.keys() | ledger.reasons.keys()
        number = self.totals.commits + 1
        pages = read_pages(self.docs)
        return Edits(pages, self.chance, number, used, self.fixed, self.earlier)

    def write(self, edits: Edits, before: set[str]) -> None:
        """Write the pages that an edit touched, and remove those that are gone."""
        for path in before - edits.pages.keys():
            (self.docs / path).unlink()
        for path, page in edits.pages.items():
            if path in edits.touched or path not in before:
                page.write(self.docs)

    def make(self, kind: str) -> None:
        """Make one commit of a kind."""
        started, lost = time.perf_counter(), self.totals.lost
        if kind == BRANCHES:
            change = self.merge_branches()
        else:
            edits = self.edits()
            before = set(edits.pages)
            if kind == COMMAND:
                change = self.rename_with_command(edits)
            else:
                change = getattr(edits, kind)()
                self.write(edits, before)
        places = list_places(read_pages(self.docs))
        findings = self.check(change, places)
        self.repair(change, findings)
        self.ledger.record(change, places)
        self.run("lock")
        ended = [
            self.start([MARKSTAY, "lock", "--check"]),
            self.start(BUILD),
        ]
        for process in ended:
            self.finish(process)
        self.compare_register()
        self.commit(change.what)
        self.totals.commits += 1
        if kind.startswith("move_") and kind.endswith("section"):
            self.earlier |= change.moved
        print(
            f"{self.totals.commits:3} {change.what}: {self.totals.lost - lost} lost,"
            f" {time.perf_counter() - started:.0f} s",
            file=sys.stderr,
            flush=True,
        )

    def rename_with_command(self, edits: Edits) -> Change:
        """Two ids are changed by the command."""
        moved = {}
        for page, section in list(edits.pick_sections(2)):
            new = edits.make_id(page, f"{section.section_id} named anew")
            self.run("rename", f"docs/{page.path}", section.section_id, new)
            moved[page.referent(section)] = f"{page.page_id}#{new}"
        return Change("ids renamed with the command", moved=moved, said=moved)

    def merge_branches(self) -> Change:
        """Two branches add sections, one of them to the same page, and both run `lock`.

        What they add to that page, and a title that one of them changes there, are lines of
        the register side by side: merging leaves lines twice, or not in order.
        """
        edits = self.edits()
        both = edits.pick(lambda page: len(page.sections) > 5)
        others = [edits.pick() for _ in range(2)]
        branch, title = f"branch-{edits.number}", f"Zone {edits.number}"
        ids = [section.section_id for section in both.sections]
        nearest = ids.index(max((each for each in ids if each < "zone"), default=ids[0]))
        self.git("checkout", "-q", "-b", branch)
        pages = read_pages(self.docs)
        section = pages[both.path].sections[nearest]
        section.title = edits.retitle(section.title)
        self.add_on_branch(edits, [(pages[both.path], 0), (pages[others[0].path], 0)], f"{title} a")
        self.git("checkout", "-q", "main")
        pages = read_pages(self.docs)
        place = 2 if nearest not in (1, 2) else 4
        self.add_on_branch(
            edits, [(pages[both.path], place), (pages[others[1].path], 1)], f"{title} b"
        )
        self.git("merge", "-q", "--no-edit", branch)
        return Change("two branches merged")

    def add_on_branch(self, edits: Edits, places: list[tuple[Page, int]], title: str) -> None:
        """Add a section to pages, run `lock` and commit."""
        for page, number in places:
            edits.add_section(page, number, title)
            page.write(self.docs)
        self.run("lock")
        self.commit(f"{title} on a branch")

    # -- what is found

    def check(self, change: Change, places: dict[str, Place]) -> dict[str, Any]:
        """Compare what `check` and `lock --check` find with the truth; returns what is lost."""
        lines = self.read_register()
        runs = [
            self.start([MARKSTAY, "check", "--format", "json"]),
            self.start([MARKSTAY, "lock", "--check", "--format", "json"]),
        ]
        broken, new = self.expect(change, places, lines)
        lost: dict[str, Any] = {}
        for name, process, expected in (
            ("check", runs[0], broken),
            ("lock --check", runs[1], broken | new),
        ):
            commit = f"{change.what}, {name}"
            found = json.loads(self.finish(process, (0, 1)))["findings"]
            told = {_tell(each, lines): each for each in found}
            if len(told) != len(found):
                self.totals.false.append(f"{commit}: the same finding twice")
            for each in sorted(expected - told.keys()):
                self.totals.missed.append(f"{commit}: {each.code} {each.what}")
            for each in sorted(told.keys() - expected):
                message = told[each]["message"]
                self.totals.false.append(f"{commit}: {each.code} {each.what}: {message}")
            lost = {each.what: told[each] for each in told if each.code == "lost-referent"}
            again = {each.what: told[each] for each in told if each.code == "published-again"}
        self.totals.lost += len({each for each in broken if each.code == "lost-referent"})
        return {"lost": lost, "again": again}

    def expect(
        self, change: Change, places: dict[str, Place], lines: list[list[str]]
    ) -> tuple[set[Told], set[Told]]:
        """Say what has to be found: what breaks the build, and what `lock --check` adds."""
        ledger = self.ledger
        gone = ledger.places.keys() - places.keys() - change.said.keys()
        known = ledger.now.keys() | ledger.reasons.keys()
        again = (places.keys() & known) - ledger.places.keys()
        broken = {Told("lost-referent", each) for each in gone}
        broken |= {Told("published-again", _where(places[each])) for each in again}
        referents = [line[0] for line in lines if line]
        new = {
            Told("unregistered", _where(places[each])) for each in places.keys() - set(referents)
        }
        new |= {
            Told("unregistered", f"the line of {each}")
            for each in ledger.places.keys() & places.keys()
            if ledger.places[each].url != places[each].url and "#" not in each
        }
        seen: set[str] = set()
        for number, line in enumerate(lines, 1):
            if line and line[0] in seen:
                broken.add(Told("register-duplicate", f"line {number}"))
                self.totals.doubles += 1
            seen |= set(line[:1])
        if referents != sorted(referents) and len(seen) == len(referents):
            new.add(Told("unregistered", "line 1"))
            self.totals.unordered += 1
        return broken, new

    def read_register(self) -> list[list[str]]:
        """Read the values of each line of the register; none for a line without."""
        text = (self.folder / LOCK).read_text(encoding="utf-8")
        return [json.loads(line) if line.startswith("[") else [] for line in text.split("\n")]

    # -- what is repaired

    def repair(self, change: Change, findings: dict[str, Any]) -> None:
        """Say in the register what became of what is lost, with the commands.

        The findings of pages come first, as an author would: they take sections along.
        """
        for found in findings["again"].values():
            # What came back is told with what is lost by that: the same command for both.
            message = found["message"]
            command = shlex.split(message.rpartition("run: ")[2])
            if command[1] != "move" or change.moved.get(command[2]) != command[3]:
                self.totals.wrong_candidates.append(f"{change.what}: {message}")
        lost = findings["lost"]
        suggestions = {each: _read_suggestion(lost[each]["message"]) for each in sorted(lost)}
        for referent in [each for each in lost if lost[each]["message"].endswith(_ALONG)]:
            page, _, section_id = referent.partition("#")
            whole = suggestions[page]
            if whole is not None:
                new = f"{whole.referent.partition('#')[0]}#{section_id}"
                suggestions[referent] = Suggestion(new, "with its page", [])
        self.count_candidates(change, suggestions)
        for referent, suggestion in suggestions.items():
            if "#" not in referent:
                self.say(referent, change, suggestion)
        entries = {line[0]: line for line in self.read_register() if line}
        for referent, suggestion in suggestions.items():
            _, state, _, end, *_ = entries[referent]
            true = change.moved.get(referent) or change.retired[referent]
            if "#" not in referent or (state != "live" and end == true):
                continue
            if state != "live":
                self.totals.wrong_register.append(f"{referent} went to {end} with its page")
            self.say(referent, change, suggestion)

    def say(self, referent: str, change: Change, suggestion: Suggestion | None) -> None:
        """Give one command: the one that the finding prints if the ledger agrees."""
        new = change.moved.get(referent)
        if new is None:
            self.run("retire", referent, "--reason", change.retired[referent])
        elif suggestion is not None and suggestion.command and suggestion.referent == new:
            self.run(*suggestion.command[1:])
        else:
            self.run("move", referent, new)

    def count_candidates(self, change: Change, suggestions: dict[str, Suggestion | None]) -> None:
        """Count how often the first candidate is the true one."""
        for referent, suggestion in suggestions.items():
            new = change.moved.get(referent)
            if new is None:
                verdict = (
                    "none, and it is gone" if suggestion is None else "offered for what is gone"
                )
            elif suggestion is None:
                verdict = "none"
            else:
                verdict = "right" if suggestion.referent == new else "wrong"
            self.totals.candidates[verdict] += 1
            if verdict in ("wrong", "none", "offered for what is gone"):
                offered = suggestion and f"{suggestion.referent} ({suggestion.why})"
                self.totals.wrong_candidates.append(
                    f"{change.what}: {referent} is {new or 'gone'}, and the finding says {offered}"
                )

    def compare_register(self) -> None:
        """Compare what the register says of every referent with the ledger."""
        entries = {line[0]: line for line in self.read_register() if line}
        ledger = self.ledger
        for referent in sorted(entries.keys() ^ (ledger.now.keys() | ledger.reasons.keys())):
            self.totals.wrong_register.append(
                f"{referent} is in the register or in the ledger only"
            )
        for referent, entry in entries.items():
            end, steps = entry, 0
            while end[1] == "moved" and steps < 100:
                end, steps = entries[end[3]], steps + 1
            true = ledger.now.get(referent)
            said = end[0] if end[1] == "live" else end[3]
            if said != (true or ledger.reasons.get(referent)):
                self.totals.wrong_register.append(f"{referent} is {true}, and leads to {said}")

    # -- what is published

    def resolve_all(self) -> list[str]:
        """Compare what `resolve` says of each referent and address of the first commit.

        Returns what is wrong.
        """
        ledger, wrong, cited = self.ledger, [], {}
        for referent, place in ledger.addresses.items():
            section_id = referent.partition("#")[2]
            cited[referent] = referent
            cited[f"{SITE_URL}{place.url}{'#' * bool(section_id)}{section_id}"] = referent
        names = list(cited)
        for start in range(0, len(names), _COUNT_AT_ONCE):
            some = names[start : start + _COUNT_AT_ONCE]
            process = self.start([MARKSTAY, "resolve", "--format", "json", *some])
            for answer in json.loads(self.finish(process, (0, 1))):
                referent = cited[answer["cited"]]
                said = answer["referent"] or answer["reason"]
                if said != (ledger.now.get(referent) or ledger.reasons[referent]):
                    wrong.append(f"resolve {answer['cited']}: {answer['state']} {said}")
        return wrong

    def follow_all(self) -> tuple[Counter[str], list[str]]:
        """Follow each address of the first commit through the built pages.

        Returns how many came to what, and what is wrong.
        """
        ledger, wrong = self.ledger, []
        counts: Counter[str] = Counter()
        site = BuiltSite(self.folder / "site")
        for referent, place in ledger.addresses.items():
            section_id = referent.partition("#")[2]
            end = site.follow(place.url, section_id)
            now = ledger.now.get(referent)
            if not end.found:
                verdict = NOWHERE
            elif now is None:
                verdict = REASON if ledger.reasons[referent] in end.reason else OTHER
            elif end != End(ledger.places[now].url, now.partition("#")[2]):
                verdict = OTHER
            else:
                verdict = SAME if end == End(place.url, section_id) else NEW
            counts[verdict] += 1
            if verdict in (NOWHERE, OTHER):
                wrong.append(f"{place.url} {referent}: leads to {end}, true is {now or 'retired'}")
        return counts, wrong

    def read_plain(self, name: str) -> dict[tuple[str, str], str]:
        """Build the sources without ids and plugin; returns the referent at each address.

        The sections of both sites have the same headings in the same order.
        """
        folder = self.folder.parent / name
        copy_docs(self.docs, folder)
        pages = read_pages(self.docs)
        for page in pages.values():
            for path, line in page.ids.values():
                _strip(folder / "docs" / path, line)
        write_config(folder, self.base, [])
        self.finish(self.start(BUILD, folder))
        stamped, plain = BuiltSite(self.folder / "site"), BuiltSite(folder / "site")
        found = {}
        for page in pages.values():
            ours, theirs = stamped.read(page.url), plain.read(page.url)
            if ours is None or theirs is None or len(ours.headings) != len(theirs.headings):
                raise SystemExit(f"{page.path} has other headings without ids")
            found[page.url, ""] = page.page_id
            for (_, section_id), (_, slug) in zip(ours.headings, theirs.headings, strict=True):
                if section_id in page.ids:
                    found[page.url, slug] = f"{page.page_id}#{section_id}"
        return found

    def compare_plain(
        self, first: dict[tuple[str, str], str], last: dict[tuple[str, str], str], name: str
    ) -> Counter[str]:
        """Count what became of the addresses of the site without ids."""
        site = BuiltSite(self.folder.parent / name / "site")
        counts: Counter[str] = Counter()
        for address, referent in first.items():
            page = site.read(address[0])
            now = self.ledger.now.get(referent)
            if page is None or (address[1] and address[1] not in page.marks):
                counts["page gone" if page is None else "anchor gone"] += 1
                verdict = NOWHERE
            else:
                verdict = SAME if now is not None and last.get(address) == now else OTHER
            counts[verdict] += 1
            if verdict != SAME and now is None:
                counts[f"{verdict}, and the text is gone"] += 1
        return counts


def write_config(folder: Path, base: Path, plugins: list[Any]) -> Path:
    """Write a configuration: that of the corpus, with a theme that shows a page alone."""
    values = yaml.safe_load(base.read_text(encoding="utf-8"))
    # Colours cost a third of the time, and no address depends on them.
    plain = {"codehilite": {"use_pygments": False}}
    extensions = [plain if "codehilite" in each else each for each in values["markdown_extensions"]]
    values |= {
        "site_url": SITE_URL,
        "theme": {"name": None, "custom_dir": "theme"},
        "plugins": plugins,
        "markdown_extensions": [*extensions, {"pymdownx.highlight": {"use_pygments": False}}],
    }
    (folder / "theme").mkdir()
    (folder / "theme" / "main.html").write_text(_THEME, encoding="utf-8")
    path = folder / "mkdocs.yml"
    path.write_text(json.dumps(values), encoding="utf-8")  # JSON is YAML
    return path


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _strip(path: Path, line: int) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    lines[line - 1] = re.sub(r"\s*<#[^<>\s]+>\s*$", "", lines[line - 1])
    path.write_text("\n".join(lines), encoding="utf-8")


def _where(place: Place) -> str:
    return f"docs/{place.path}:{place.line}"


def _tell(found: dict[str, Any], lines: list[list[str]]) -> Told:
    """Say a finding as the ledger says it."""
    code, line = found["code"], found["line"]
    if code == "lost-referent":
        # In the page if it is still there; the message names the line of the register.
        line = int(_LINE.findall(found["message"])[0])
        return Told(code, lines[line - 1][0])
    if found["path"] != LOCK:
        return Told(code, f"{found['path']}:{line}")
    if code == "register-duplicate" or not lines[line - 1]:
        return Told(code, f"line {line}")
    referent = lines[line - 1][0]
    return Told(code, f"the line of {referent}" if code == "unregistered" else referent)


def _read_suggestion(message: str) -> Suggestion | None:
    match = _CANDIDATE.search(message)
    if match is None:
        return None
    command = shlex.split(match[2])
    return Suggestion(command[-1], match[1], command)


def plan_kinds(count: int, seed: int) -> list[str]:
    """Choose the kinds of the commits: each once before any comes again."""
    chance = random.Random(seed)  # noqa: S311 (not for secrets)
    kinds: list[str] = []
    while len(kinds) < count:
        first = [kind for kind in KINDS if kind not in _LAST]
        chance.shuffle(first)
        kinds += [*first, *_LAST]
    return kinds[:count]


def run_history(
    docs: Path, base: Path, folder: Path, kinds: list[str], seed: int, left_out: list[str]
) -> dict[str, Any]:
    """Make the history in a folder; returns what it came to, ready for JSON."""
    history = History(folder, docs, base, seed, left_out)
    first = history.read_plain("first")
    try:
        for kind in kinds:
            history.make(kind)
    except SystemExit:
        for each in history.totals.missed + history.totals.false:
            print(each, file=sys.stderr)  # why it cannot go on
        raise
    wrong = history.resolve_all()
    counts, lost = history.follow_all()
    last = history.read_plain("last")
    plain = history.compare_plain(first, last, "last")
    totals, ledger = history.totals, history.ledger
    return {
        "commits": totals.commits,
        "pages": len(read_pages(history.docs)),
        "addresses": len(ledger.addresses),
        "referents": len(ledger.now) + len(ledger.reasons),
        "lost_findings": totals.lost,
        "merged_doubles": totals.doubles,
        "merged_unordered": totals.unordered,
        "missed": totals.missed,
        "false": totals.false,
        "wrong_register": sorted(set(totals.wrong_register)),
        "wrong_addresses": wrong + lost,
        "candidates": dict(totals.candidates),
        "wrong_candidates": totals.wrong_candidates,
        "commands": dict(totals.commands),
        "with_register": dict(counts),
        "without": dict(plain),
    }


def show(result: dict[str, Any]) -> None:
    """Print the figures as a table."""
    ours, today = result["with_register"], result["without"]
    print(f"{result['commits']} commits; of {result['addresses']} addresses of the first:")
    print(f"{'':30}{'MkDocs alone':>14}{'with markstay':>15}")
    for name in (SAME, NEW, REASON, NOWHERE, OTHER):
        print(f"{name:30}{today.get(name, 0):>14}{ours.get(name, 0):>15}")
    gone = [today.get(f"{name}, and the text is gone", 0) for name in (NOWHERE, OTHER)]
    print(
        f"MkDocs alone: the text itself is gone for {gone[0]} of {NOWHERE}, {gone[1]} of {OTHER};"
    )
    print(f"  {today.get('page gone', 0)} pages not found, {today.get('anchor gone', 0)} anchors")
    print(f"lost and told: {result['lost_findings']}, the first candidate: {result['candidates']}")
    for name in WRONG:
        print(f"{name}: {len(result[name])}")
        for each in result[name][:20]:
            print(f"  {each}")


def main() -> None:
    """Read the arguments, make the history, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("docs", type=Path, help="the folder of Markdown files")
    parser.add_argument("--config", type=Path, help="base configuration (its plugins are not used)")
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--kinds", help="the kinds of the commits, with commas between")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print all figures as JSON")
    parser.add_argument(
        "--leave-out",
        action="append",
        default=list(LEFT_OUT),
        metavar="PATH",
        help="a file or folder of DOCS to leave out, besides those that always are",
    )
    arguments = parser.parse_args()
    base = arguments.config or find_config(arguments.docs)
    kinds = (
        arguments.kinds.split(",")
        if arguments.kinds
        else plan_kinds(arguments.commits, arguments.seed)
    )
    with tempfile.TemporaryDirectory() as name:
        result = run_history(
            arguments.docs, base, Path(name), kinds, arguments.seed, arguments.leave_out
        )
    if arguments.json:
        print(json.dumps(result, indent=2, ensure_ascii=False))
    else:
        show(result)
    sys.exit(any(result[name] for name in WRONG))


if __name__ == "__main__":
    main()
