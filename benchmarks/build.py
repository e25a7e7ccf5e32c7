"""Build one MkDocs site in this process and print what it cost, as JSON.

Used by the other scripts, each build in a process of its own. Handlers of the plugins
`markstay` and `search`, and the Markdown processors that `markstay` registers, run on
the CPU clock of the thread. A handler that runs inside another is not counted twice.
"""

from __future__ import annotations

import argparse
import cProfile
import functools
import json
import logging
import os
import pstats
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from markdown import Markdown
    from mkdocs.config.defaults import MkDocsConfig

HERE = Path(__file__).resolve().parent
OURS, SEARCH = "markstay", "search"
ATTR_LIST = "attr_list"
"""Processors of other extensions that are only there because markstay asks for them."""


class Clock:
    """CPU time by owner and name. The innermost function that is on the clock is charged."""

    def __init__(self, profile: cProfile.Profile | None = None) -> None:
        self.spent: dict[str, float] = defaultdict(float)
        self.profile = profile
        self._running: list[str] = []
        self._since = 0.0

    def wrap(self, owner: str, function: Callable[..., Any], name: str = "") -> Callable[..., Any]:
        """Put a function on the clock."""
        label = f"{owner} {name or function.__name__}"

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            profile = self.profile if owner == OURS and not self._running else None
            self._charge()
            self._running.append(label)
            if profile:
                profile.enable()
            try:
                return function(*args, **kwargs)
            finally:
                if profile:
                    profile.disable()
                self._charge()
                self._running.pop()

        return timed

    def _charge(self) -> None:
        now = time.thread_time()
        if self._running:
            self.spent[self._running[-1]] += now - self._since
        self._since = now


def time_handlers(clock: Clock, config: MkDocsConfig) -> None:
    """Put the handlers of both plugins on the clock."""
    owners = {id(plugin): _owner(name) for name, plugin in config.plugins.items()}
    for methods in config.plugins.events.values():
        for place, method in enumerate(methods):
            owner = owners.get(id(getattr(method, "__self__", None)))
            if owner in (OURS, SEARCH):
                methods[place] = clock.wrap(owner, method)


def time_processors(clock: Clock) -> None:
    """Put what our Markdown extension registers on the clock, and the registering itself."""
    from mkdocs_markstay.extension import MarkstayExtension  # noqa: PLC0415 (not in plain builds)

    register = clock.wrap(OURS, MarkstayExtension.extendMarkdown)

    def extend(extension: MarkstayExtension, md: Markdown) -> None:
        before = {id(processor) for processor in _processors(md)}
        register(extension, md)
        for processor in _processors(md):
            if id(processor) not in before:
                ours = type(processor).__module__.startswith("mkdocs_markstay")
                name = f"{type(processor).__name__}.run"
                processor.run = clock.wrap(OURS if ours else ATTR_LIST, processor.run, name)

    MarkstayExtension.extendMarkdown = extend  # type: ignore[assignment,method-assign]


def run(config_file: Path, **options: Any) -> dict[str, Any]:
    """Build a site in a fresh process and return what `main` prints there."""
    command = [sys.executable, str(HERE / "build.py"), str(config_file)]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    done = subprocess.run(command, env=environment(), check=True, stdout=subprocess.PIPE)
    # Extensions may print, too; the result is the last line.
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def environment() -> dict[str, str]:
    """Give the environment for a build: this one, without Material's notice."""
    return {**os.environ, "NO_MKDOCS_2_WARNING": "1"}


def peak_memory() -> float:
    """Give the highest resident size of this process so far, in MB.

    `ru_maxrss` would do, but on Linux it begins with the size of the process that started us.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _owner(name: str) -> str:
    return name.rpartition("/")[2]  # Material has a `material/search`


def _processors(md: Markdown) -> Iterator[Any]:
    for registry in (md.preprocessors, md.treeprocessors, md.postprocessors, md.inlinePatterns):
        yield from registry
    yield from md.parser.blockprocessors


def main() -> None:
    """Read the arguments, build, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("--profile", type=Path, help="profile our handlers alone, into this file")
    arguments = parser.parse_args()

    from mkdocs.commands.build import build  # noqa: PLC0415 (so that --help is quick)
    from mkdocs.config import load_config  # noqa: PLC0415

    logging.getLogger("mkdocs").setLevel(logging.ERROR)
    started = time.process_time()
    config = load_config(str(arguments.config))
    loading = time.process_time() - started
    clock = Clock(cProfile.Profile() if arguments.profile else None)
    if OURS in config.plugins:
        time_processors(clock)
    time_handlers(clock, config)
    started = time.process_time()
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    config.plugins.on_shutdown()
    result = {
        "loading": loading,
        "cpu": time.process_time() - started,
        "memory": peak_memory(),
        "pages": sum(1 for path in Path(config.docs_dir).rglob("*.md") if path.is_file()),
        "spent": clock.spent,
    }
    if clock.profile:
        pstats.Stats(clock.profile).dump_stats(arguments.profile)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
