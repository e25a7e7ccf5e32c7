"""The inspector in front of a server of a site: it adds itself to pages, and answers its script.

What is in the folder of the site stays as it was built.
"""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from mkdocs_markstay.inspector import FOLDER, Inspector, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Answer = Callable[..., Any]
    App = Callable[[dict[str, Any], Answer], Iterable[bytes]]

# No page of another origin, and no cache, has any use for what is told here.
_HEADERS = [("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff")]


def inspect_app(app: App, inspector: Inspector, mount: str) -> App:
    """Put an inspector in front of a WSGI application that serves a site at the path ``mount``."""

    def answer(environ: dict[str, Any], start: Answer) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "").encode("latin-1").decode("utf-8", "ignore")
        if not inspector.enabled or not path.startswith(mount):
            return app(environ, start)
        inner = path.removeprefix(mount)
        if inner.startswith(FOLDER):
            asked = _answer_own(inspector, inner.removeprefix(FOLDER), environ)
            if asked is not None:
                kind, content = asked
                start("200 OK", _head(kind, content))
                return [content]
        return _serve_page(app, inspector, mount, inner, environ, start)

    return answer


def target_of(path: str) -> str:
    """Name the file of a site that a path in it leads to."""
    return f"{path}index.html" if not path or path.endswith("/") else path


def _answer_own(
    inspector: Inspector, name: str, environ: dict[str, Any]
) -> tuple[str, bytes] | None:
    describe = {
        "page.json": inspector.describe_page,
        "changes.json": inspector.describe_changes,
    }.get(name)
    if describe is None:
        return read_file(name)
    asked = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True).get("page", [""])
    try:
        told = describe(target_of(asked[0]))
    except OSError:  # the next build has begun, and will be told
        told = {"build": 0}
    text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
    return "application/json", text.encode("utf-8", "replace")


def _head(kind: str, content: bytes) -> list[tuple[str, str]]:
    kind = f"{kind}; charset=utf-8"
    return [("Content-Type", kind), ("Content-Length", str(len(content))), *_HEADERS]


def _serve_page(
    app: App,
    inspector: Inspector,
    mount: str,
    path: str,
    environ: dict[str, Any],
    start: Answer,
) -> Iterable[bytes]:
    """Serve what the application does, and pages with what the inspector needs."""
    begun: list[tuple[str, list[tuple[str, str]], tuple[Any, ...]]] = []

    def note(status: str, headers: list[tuple[str, str]], *rest: Any) -> None:
        begun.append((status, headers, rest))

    parts = app(environ, note)
    status, headers, rest = begun[-1]
    kind = next((value for name, value in headers if name.lower() == "content-type"), "")
    if not status.startswith("200") or not kind.startswith("text/html"):
        start(status, headers, *rest)
        return parts
    try:
        content = b"".join(parts)
    finally:
        getattr(parts, "close", bool)()
    content = _complete(content, inspector, mount, target_of(path))
    kept = [each for each in headers if each[0].lower() != "content-length"]
    start(status, [*kept, ("Content-Length", str(len(content)))], *rest)
    return [content]


def _complete(content: bytes, inspector: Inspector, mount: str, target: str) -> bytes:
    try:
        html = content.decode()
    except UnicodeDecodeError:
        return content
    return add_files(inspector.mark(target, html), mount).encode()


def add_files(html: str, mount: str) -> str:
    """Name the script and the style of the inspector in the head of a page."""
    base = escape(quote(f"{mount}{FOLDER}"))
    tags = (
        f'<link rel="stylesheet" href="{base}inspector.css">'
        f'<script src="{base}inspector.js" type="module"></script>'
    )
    head = html.find("</head>")
    if head < 0:
        head = len(html)
    return f"{html[:head]}{tags}{html[head:]}"
