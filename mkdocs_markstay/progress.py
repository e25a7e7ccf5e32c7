"""How far long work is: a line that changes on a terminal, lines now and then in CI, else nothing.

The core is handed a `Progress` and tells it what is done; only an edge makes one that writes. A
terminal's line is written here and not by Click, which takes the width of standard output, and
leaves its bar on the screen. Tqdm would save some forty lines, because logs need the numbers and
the time, too; it would be one more dependency, with a thread, and takes 70 ms to import.
"""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import TextIO

    from typing_extensions import Self


class Progress:
    """Is told how far some work is, and shows it to nobody."""

    def begin(self, step: str, total: int | None = None, *, in_bytes: bool = False) -> None:
        """Begin a step, which ends the one before. ``total`` is its parts, if that is known."""

    def advance(self, count: int = 1) -> None:
        """Note that so many more parts are done."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass


SILENT = Progress()


def make_progress(
    stream: TextIO | None, environ: Mapping[str, str], *, quiet: bool = False
) -> Progress:
    """Make what shows progress on a stream, in the way that suits it."""
    if quiet or stream is None:
        return SILENT
    if stream.isatty():
        return _Lines(stream) if environ.get("TERM") == "dumb" else _Bar(stream)
    is_ci = environ.get("CI", "").lower() not in ("", "0", "false")
    return _Lines(stream) if is_ci else SILENT


# Before there is as much to go by, no time is told.
_SURE = 1.0
_MINUTE, _HOUR = 60, 3600


class _Step:
    """A step, how far it is, and what is to be said of it."""

    def __init__(self, name: str, total: int | None, *, in_bytes: bool) -> None:
        self.name = name
        self.total = total
        self.in_bytes = in_bytes
        self.done = 0
        self.start = _now()

    def advance(self, count: int) -> None:
        self.done += count
        if self.total is not None and self.done > self.total:
            # Of bytes, some may be read twice; if there are more pages than were known of,
            # nobody knows how many.
            self.done, self.total = (self.total, self.total) if self.in_bytes else (self.done, None)

    @property
    def share(self) -> float | None:
        return self.done / self.total if self.total else None

    def percent(self) -> str:
        return f"{100 * self.done // self.total} %" if self.total else ""

    def count(self, between: str) -> str:
        """Say what is done of what; ``between`` stands between the two."""
        if self.in_bytes:
            done = _megabytes(self.done)
            return f"{done}{between}{_megabytes(self.total)} MB" if self.total else f"{done} MB"
        if self.total is None:
            return f"{self.done:,}" if self.done else ""
        return f"{self.done:,}{between}{self.total:,}"

    def left(self) -> str:
        """Say how long the step will take, by what it has taken."""
        elapsed = _now() - self.start
        if not self.share or self.share == 1 or elapsed < _SURE:
            return ""
        seconds = elapsed / self.share - elapsed
        if seconds < _MINUTE:
            return f"about {max(1, round(seconds))} s left"
        if seconds < _HOUR:
            return f"about {round(seconds / _MINUTE)} min left"
        return f"about {seconds / _HOUR:.1f} h left"


def _megabytes(number: int) -> str:
    return f"{number / 1_000_000:,.0f}"


class _Shown(Progress):
    """Writes to a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._step: _Step | None = None

    def begin(self, step: str, total: int | None = None, *, in_bytes: bool = False) -> None:
        self._step = _Step(step, total, in_bytes=in_bytes)

    def __exit__(self, *_: object) -> None:
        self._step = None


# Often enough for a person.
_REDRAWN = 0.1
_WIDEST, _NARROWEST = 30, 8
_BLOCKS, _PLAIN = "\u2588\u2591", "#-"


class _Bar(_Shown):
    """One line at the end of what a terminal shows. Nothing is left of it in the end."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._drawn = 0
        self._next = 0.0
        # Whether the cursor is at the start of a line, or on the bar's.
        self.is_free = True
        self._saved: Any = None
        try:
            _BLOCKS.encode(stream.encoding)
            self._signs = _BLOCKS
        except (UnicodeEncodeError, LookupError, TypeError):
            self._signs = _PLAIN

    def __enter__(self) -> Self:
        # What others write to standard error takes the bar away first.
        if sys.stderr is self._stream:
            self._saved = sys.stderr
            sys.stderr = _Guard(self, self._stream)
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        self.hide()
        if self._saved is not None:
            sys.stderr, self._saved = self._saved, None

    def begin(self, step: str, total: int | None = None, *, in_bytes: bool = False) -> None:
        super().begin(step, total, in_bytes=in_bytes)
        self._draw()

    def advance(self, count: int = 1) -> None:
        if self._step is not None:
            self._step.advance(count)
            if _now() >= self._next:
                self._draw()

    def hide(self) -> None:
        """Take the bar away, so that something else can be written there."""
        if self._drawn:
            self._write("\r" + " " * self._drawn + "\r")
            self._drawn = 0

    def _draw(self) -> None:
        self._next = _now() + _REDRAWN
        if self._step is None or not self.is_free:
            return
        text = format_line(self._step, _width(self._stream) - 1, self._signs)
        self._write("\r" + text.ljust(self._drawn))
        self._drawn = len(text)

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def format_line(step: _Step, width: int, signs: str) -> str:
    """Write how far a step is in one line of at most so many characters."""
    numbers = "  ".join(filter(None, (step.count("/"), step.percent(), step.left())))
    room = min(_WIDEST, width - len(step.name) - len(numbers) - 4)
    shorter = [f"{step.name}  {numbers}", f"{step.name}  {step.percent() or step.count('/')}"]
    if step.share is not None and room >= _NARROWEST:
        full = int(room * step.share)
        shorter.insert(0, f"{step.name}  {signs[0] * full}{signs[1] * (room - full)}  {numbers}")
    fitting = (text for text in (*shorter, step.percent()) if len(text) <= width)
    return next(fitting, "").rstrip()


def _width(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


class _Guard:
    """Standard error while there is a bar."""

    def __init__(self, bar: _Bar, stream: TextIO) -> None:
        self._bar = bar
        self._stream = stream

    def write(self, text: str) -> int:
        """Write below the bar's line, which comes back behind the next whole line."""
        if text:
            self._bar.hide()
            self._bar.is_free = text.endswith("\n")
        return self._stream.write(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


# A log has a line for each tenth of a step, but none sooner than so many seconds after the last.
_PAUSE = 10.0
_MOST_LINES = 20


class _Lines(_Shown):
    """A line now and then, for a log."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self._next = _now() + _PAUSE
        self._pause = _PAUSE
        self._tenth = 0
        self._lines = 0

    def begin(self, step: str, total: int | None = None, *, in_bytes: bool = False) -> None:
        super().begin(step, total, in_bytes=in_bytes)
        self._tenth = 0

    def advance(self, count: int = 1) -> None:
        step = self._step
        if step is None:
            return
        step.advance(count)
        if _now() < self._next or self._lines == _MOST_LINES:
            return
        if not step.total:
            # As nobody knows how many there will be.
            self._pause *= 2
        elif (tenth := 10 * step.done // step.total) > self._tenth:
            self._tenth = tenth
        else:
            return
        self._next = _now() + self._pause
        self._lines += 1
        others = ", ".join(filter(None, (step.percent(), step.left())))
        extra = f" ({others})" if others else ""
        self._stream.write(f"{step.name}: {step.count(' of ')}{extra}\n")
        self._stream.flush()


def _now() -> float:
    return time.monotonic()
