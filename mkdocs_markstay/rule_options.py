"""The options that say what is enforced: the same under the plugin and under the extension.

Each `read_` function takes a value as a configuration file has it, of any type, and raises
OptionError.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pathspec.gitignore import GitIgnoreSpec

from mkdocs_markstay.checks import STAYS, Rules
from mkdocs_markstay.findings import CODES, LEVELS
from mkdocs_markstay.stays import SEGMENTATIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Patterns = GitIgnoreSpec
"""Patterns as in `.gitignore`: ``match_file`` takes a path relative to the docs folder."""


class OptionError(ValueError):
    """An option cannot be read; the message is for a person."""


def read_levels(value: Any) -> frozenset[int]:
    """Read heading levels."""
    if not isinstance(value, list) or not all(type(level) is int for level in value):
        raise OptionError(f"Expected a list of numbers, not {value!r}")
    wrong = [level for level in value if not 1 <= level <= 6]
    if wrong:
        raise OptionError(f"Heading levels are 1 to 6, not {wrong[0]}")
    return frozenset(value)


def read_pattern(value: Any) -> re.Pattern[str]:
    """Read a regular expression."""
    if not isinstance(value, str):
        raise OptionError("Expected a regular expression as text")
    try:
        return re.compile(value)
    except re.error as error:
        raise OptionError(f"Not a regular expression: {error}") from None


def read_patterns(value: Any) -> Patterns:
    """Read a list of patterns."""
    if not isinstance(value, list) or not all(isinstance(pattern, str) for pattern in value):
        raise OptionError(f"Expected a list of patterns, not {value!r}")
    try:
        return GitIgnoreSpec.from_lines(value)
    except ValueError as error:
        raise OptionError(f"Not a pattern as in .gitignore: {error}") from None


def read_switch(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise OptionError(f"Expected true or false, not {value!r}")
    return value


def read_choice(value: Any, choices: Sequence[str]) -> str:
    """Read one of some words. YAML reads `off` as false if it is not in quotes."""
    word = "off" if value is False else value
    if word not in choices:
        raise OptionError(f"Expected one of {', '.join(choices)}, not {value!r}")
    return str(word)


def read_segmentation(value: Any) -> str:
    """Read what a block of the source is; nodes of CommonMark need a parser of it."""
    word = read_choice(value, SEGMENTATIONS)
    if word == "commonmark" and find_spec("markdown_it") is None:
        raise OptionError(
            "'commonmark' needs markdown-it-py. Run: pip install 'mkdocs-markstay[commonmark]'"
        )
    return word


def read_severities(value: Any) -> dict[str, str]:
    """Read a mapping of finding codes to levels."""
    if not isinstance(value, dict):
        raise OptionError(f"Expected finding codes with their levels, not {value!r}")
    for code, level in value.items():
        if code not in CODES:
            raise OptionError(f"There is no finding code {code!r}")
        if level not in LEVELS:
            raise OptionError(f"{level!r} is none of the levels {', '.join(LEVELS)}")
    return dict(value)


@dataclass(frozen=True)
class RuleOptions:
    """What is enforced in a site without the plugin. The fields are the options, read."""

    levels: frozenset[int] = Rules.levels
    id_pattern: re.Pattern[str] | None = None
    exclude: Patterns = field(default_factory=lambda: read_patterns([]))
    enforce_generated: bool = False
    findings: Mapping[str, str] = field(default_factory=dict)
    stays: str = Rules.stays
    stay_blocks: str = Rules.stay_blocks
    stay_anchors: bool = Rules.stay_anchors
    keep_markers: bool = Rules.keep_markers

    def make_rules(self, stamp: str) -> Rules:
        """Make the rules of a site; ``stamp`` is the command that writes ids into its files."""
        return Rules(
            self.levels,
            self.id_pattern,
            self.enforce_generated,
            stamp,
            self.stays,
            self.stay_blocks,
            self.stay_anchors,
            self.keep_markers,
        )


_READERS: dict[str, Callable[[Any], Any]] = {
    "levels": read_levels,
    "id_pattern": read_pattern,
    "exclude": read_patterns,
    "enforce_generated": read_switch,
    "findings": read_severities,
    "stays": partial(read_choice, choices=STAYS),
    "stay_blocks": read_segmentation,
    "stay_anchors": read_switch,
    "keep_markers": read_switch,
}


def read_rule_options(values: Mapping[str, Any]) -> RuleOptions:
    """Read the options of the Markdown extension, by their names. Raises OptionError."""
    read: dict[str, Any] = {}
    for name, value in values.items():
        if name not in _READERS:
            known = ", ".join(_READERS)
            raise OptionError(
                f"mkdocs_markstay: the extension has no option {name!r}. It has: {known}"
            )
        if value is None:  # named, and left empty
            continue
        try:
            read[name] = _READERS[name](value)
        except OptionError as error:
            raise OptionError(f"mkdocs_markstay: option {name!r}: {error}") from None
    return RuleOptions(**read)
