"""The manifest of a published site, made from its HTML alone.

Whoever built the site, its pages are read as they are published: see ``docs/any-site.md``.
"""

from __future__ import annotations

import json
import os
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from mkdocs_markstay.charset import decode_html
from mkdocs_markstay.extract_lexbor import find_region_span
from mkdocs_markstay.findings import Finding, name_path
from mkdocs_markstay.furniture import FURNITURE
from mkdocs_markstay.html_page import HtmlPage
from mkdocs_markstay.manifest_shapes import NAMES, SCHEMA
from mkdocs_markstay.manifest_writer import ManifestWriter
from mkdocs_markstay.marks import END
from mkdocs_markstay.page_report import PageReport
from mkdocs_markstay.progress import SILENT
from mkdocs_markstay.published import check_leaks, check_lost, is_encrypted
from mkdocs_markstay.records import Page, Policy, Publication, write_page
from mkdocs_markstay.rule_options import OptionError, read_patterns
from mkdocs_markstay.sectionids import show
from mkdocs_markstay.site_addresses import OldAddresses
from mkdocs_markstay.sources import Sources
from mkdocs_markstay.unmarked import FURNITURE_ELSEWHERE, NOT_PROSE, SEARCH

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mkdocs_markstay.html_page import AnchoredHeading, Head, Prose
    from mkdocs_markstay.progress import Progress
    from mkdocs_markstay.sections import Section
    from mkdocs_markstay.site_options import SiteOptions
    from mkdocs_markstay.sources import PageSource

_MARK = re.compile(r"data-markstay-begin", re.IGNORECASE)
_ROBOTS = re.compile(r"""\bname\s{0,9}=\s{0,9}["']?robots\b""", re.IGNORECASE)
_NOINDEX = re.compile(r"\bnoindex\b|\bnone\b", re.IGNORECASE)
# Behind the last, some servers add a comment.
_CLOSED = re.compile(r"</html\s{0,9}>", re.IGNORECASE)
_LAST_CHARACTERS = 4096
_DOCUMENT = re.compile(r"\s*<(?:!doctype|html)\b", re.IGNORECASE)
# An anchor that a generator made because it could make none of the title.
_POSITIONAL = re.compile(r"_\d+|id\d+")
_REPETITION = re.compile(r"[-_]\d+$")
_IN_SLUG = frozenset("-_")
_BETWEEN_TITLES = " \t-|\u2013\u2014\u00b7\u2022\u00ab\u00bb:"
_FIRST_BYTES = 4096
# How many pages that were left out are told one by one.
_TOLD = 20


class SiteError(Exception):
    """A site that cannot be read. The message is for people."""


@dataclass
class SiteManifest:
    """The manifest of a site before it is written, and what was found on the way.

    ``pages`` counts its pages, ``unknown`` those of which nothing tells who wrote their ids,
    ``sourceless`` those without a source where there are sources.
    """

    site: Path
    formats: Sequence[str]
    writer: ManifestWriter
    policy: Policy
    findings: list[Finding] = field(default_factory=list)
    pages: int = 0
    unknown: int = 0
    sourceless: int = 0

    def write(self, folder: Path) -> None:
        """Write the files into a folder. Raises OSError."""
        policy, formats = self.policy, self.formats
        self.writer.write(folder, formats, policy, complete=True, preview=False, site=self.site)

    def close(self) -> None:
        """Give back what was needed for writing."""
        self.writer.close()


def read_site(site: Path, options: SiteOptions, progress: Progress = SILENT) -> SiteManifest:
    """Read the pages of a published site. Raises SiteError.

    ``progress`` is told of each file, once when it is looked at and once when it was read.
    """
    reader = _Reader(site, options, progress)
    try:
        reader.read(progress)
    except BaseException:
        reader.made.close()
        raise
    return reader.made


def join_left_out(findings: Sequence[Finding], site: Path) -> list[Finding]:
    """Make one finding of all pages that were left out for one reason, if they are many."""
    left_out = [found for found in findings if found.code == "left-out"]
    if len(left_out) <= _TOLD:
        return list(findings)
    counts = Counter(found.message for found in left_out)
    joined = []
    for found in findings:
        count = counts.pop(found.message, 0) if found.code == "left-out" else 1
        if count > 1:
            message = f"{count} pages, the first of them {found.path}: {found.message}"
            joined.append(replace(found, path=name_path(site), message=message))
        elif count:
            joined.append(found)
    return joined


def check_free(folder: Path) -> list[Finding]:
    """Find files that stand where the manifest is written, and are none."""
    findings = []
    for kind, name in NAMES.items():
        path = folder / name
        try:
            with path.open("rb") as file:
                ours = _is_ours(file, kind)
        except FileNotFoundError:
            continue
        except OSError:
            ours = False
        if not ours:
            message = "the file was not written by this program, so it is left. Rename it"
            findings.append(Finding(name_path(path), 1, "not-written", message))
    return findings


def _is_ours(file: IO[bytes], kind: str) -> bool:
    begin = file.read(_FIRST_BYTES)
    if kind == "parquet":
        # At the end stand what is known of the file, the length of that, and four letters.
        end = max(8, file.seek(0, os.SEEK_END)) - 8
        file.seek(end)
        last = file.read()
        if begin[:4] != b"PAR1" or last[4:] != b"PAR1":
            return False
        length = int.from_bytes(last[:4], "little")
        file.seek(max(0, end - length))
        return SCHEMA.encode() in file.read(length)
    if kind == "json":
        return SCHEMA.encode() in begin
    # The lines have no name for their form; a file without passages is empty.
    return not begin or begin.startswith(b'{"chunk_id":"')


class _Survey(NamedTuple):
    """What has to be known of all files of a site before one is read.

    ``marked`` are those with both marks, ``cut_off`` those with the first alone, ``open`` those
    that are empty, or not closed where others are, ``noindex`` those that ask to be in no
    index, where others do not.
    """

    files: list[str]
    marked: frozenset[str]
    cut_off: frozenset[str]
    open: frozenset[str]
    noindex: frozenset[str]
    versions: frozenset[str]

    @property
    def has_marks(self) -> bool:
        """Whether the site was built with the plugin, which marks what belongs in the manifest."""
        return bool(self.marked or self.cut_off)


class _Reader:
    """Reads the pages of one site, one after the other."""

    def __init__(self, site: Path, options: SiteOptions, progress: Progress) -> None:
        self.site = site
        self.options = options
        self.survey = _survey(site, progress)
        elsewhere = () if self.survey.has_marks else FURNITURE_ELSEWHERE
        self.policy = Policy(
            (*FURNITURE, *elsewhere, *options.furniture), options.sizes, options.granularity
        )
        # What the home page, or else the first one, says of its language.
        first = "index.html" if "index.html" in self.survey.files else self.survey.files[0]
        self.own_language = self.parse(first)[0].read_head().language
        language = options.language or self.own_language or "en"
        self.language = language
        publication = Publication(
            options.publication,
            options.default_language or language,
            options.version,
            options.site_url,
        )
        try:
            self.exclude = read_patterns(list(options.exclude))
        except OptionError as error:
            raise SiteError(f"what is to be left out: {error}") from None
        self.sources = None
        if options.sources is not None:
            page_ids = {_page_id(path) for path in self.survey.files}
            try:
                self.sources = Sources(options.sources, options.roots, page_ids)
            except OSError as error:
                raise _unreadable(error) from None
        self.page_ids: dict[tuple[str, str], str] = {}
        # The first page in each folder with some prose, by its digest.
        self.prose: dict[tuple[str, str], str] = {}
        writer = ManifestWriter(publication)
        self.old = OldAddresses(options.register, directory_urls=options.directory_urls)
        writer.redirects, writer.retired = self.old.redirects, self.old.retired
        self.made = SiteManifest(site, options.formats, writer, self.policy)

    def read(self, progress: Progress) -> None:
        def order(path: str) -> tuple[str, bool, str]:
            # Behind those beside it, an index page that repeats one of them is known as a copy.
            return _folder(path), _is_index(path), path

        progress.begin("Reading pages", len(self.survey.files))
        for path in sorted(self.survey.files, key=order):
            self.read_page(path)
            progress.advance()

    def parse(self, path: str) -> tuple[HtmlPage, str]:
        text, problem = decode_html(_read(self.site / path))
        return HtmlPage(text), problem

    def find(self, path: str, code: str, message: str) -> None:
        self.made.findings.append(Finding(name_path(self.site / path), 1, code, message))

    def read_page(self, path: str) -> None:
        """Read a file, if its path is that of a page of prose."""
        if self.exclude.match_file(path):
            return
        if path in self.survey.cut_off:
            self.find(path, "cut-off", _CUT_OFF)
            return
        page, problem = self.parse(path)
        head = page.read_head()
        empty = self.survey.has_marks and not page.html.strip()
        opened = path in self.survey.open and (empty or _DOCUMENT.match(page.html))
        if opened and not head.redirect:
            self.find(path, "cut-off", _OPEN)
            return
        if why := self.why_not(path):
            self.find(path, "left-out", why)
            return
        page_id, language = self.place(path, head)
        source = self.find_source(page_id, language)
        # Patterns may be those of a site's configuration, which are for sources.
        names = [source.source] if source else [f"{page_id}.md", f"{page_id}/index.md"]
        if any(map(self.exclude.match_file, names)):
            return
        read = self.read_prose(_Page(path, page_id, language, head, page, source), problem)
        if read is not None:
            self.add(read)

    def find_source(self, page_id: str, language: str) -> PageSource | None:
        """Find and read the source of a page. Raises SiteError."""
        try:
            return self.sources.find(page_id, language) if self.sources is not None else None
        except OSError as error:
            raise _unreadable(error) from None

    def read_prose(self, file: _Page, problem: str) -> _Read | None:
        """Find the prose of a page, or say why there is none; ``problem`` is that of its bytes."""
        path, source, page = file.path, file.source, file.page
        if source is not None and not source.options.included:
            self.find(path, "left-out", "its source says: markstay: false")
            return None
        if source is not None:
            self.made.findings += source.findings
        marked = path in self.survey.marked
        furniture = (*self.policy.furniture, *(source.options.furniture if source else ()))
        prose = (
            page.find_marked(furniture)
            if marked
            else page.find_content(self.options.content, furniture)
        )
        if not marked and (why := _why_no_prose(path, file.head, prose)):
            self.find(path, "left-out", why)
        elif prose is None:
            self.find(path, "no-content", _NO_CONTENT)
        elif problem:
            self.find(path, "not-utf-8", f"{problem}. Save it in the charset that it declares")
        elif marked and is_encrypted(prose.html):
            self.find(path, "not-published", "the page's content is encrypted")
            self.made.writer.hide(file.page_id)
        elif not marked and page.is_cut_off(prose):
            self.find(path, "cut-off", _CUT_OFF)
        else:
            return _Read(file, prose, marked)
        return None

    def why_not(self, path: str) -> str:
        """Say why a file is no page of prose, as far as its path tells; else ""."""
        survey, parts = self.survey, PurePosixPath(path).with_suffix("").parts
        reasons = [(bool(survey.versions.intersection(parts[:1])), _OTHER_VERSION)]
        if path not in survey.marked:
            reasons += [
                (survey.has_marks, "the build of this site left it out"),
                (any(part.startswith("_") for part in parts), _OWN_FOLDER),
                (_name(parts) == "404", _NOT_FOUND),
                (path in survey.noindex, "it asks to be in no index"),
            ]
        return next((reason for holds, reason in reasons if holds), "")

    def place(self, path: str, head: Head) -> tuple[str, str]:
        """Give the page id that the path makes, and the language of the page."""
        own = head.language.lower() in ("", self.own_language.lower())
        language = self.language if own else head.language
        first, slash, rest = path.partition("/")
        names = {name.lower().replace("_", "-") for name in (first, language)}
        if not own and slash and len(names) == 1:
            path = rest
        return _page_id(path), language

    def add(self, read: _Read) -> None:
        """Make the records of a page."""
        file, prose = read.file, read.prose
        path, source = file.path, file.source
        chosen = _choose(read, self.options)
        title, sections = prose.read(chosen.opens)
        for anchor in sorted(chosen.ambiguous):
            message = (
                f"anchor {show(anchor)} stands more than once in the page, so its heading opens no"
                " section. Give the heading another id"
            )
            self.find(path, "ambiguous-anchor", message)
        if not read.marked and self.is_copy(path, sections):
            self.find(path, "left-out", "it repeats a page beside it")
            return
        if not self.take(read):
            return
        given = (self.options.titles.get(source.source), source.title) if source else ()
        others = (title, self.clean(file.head.title), read.page_id)
        title = next(each for each in (*given, *others) if each)
        shown = source.path if source else name_path(self.site / path)
        lines = source.headings if source else {}
        report = PageReport(path, path, shown, file.language, lines=lines)
        self.made.findings += check_lost(report, sections)
        self.made.findings += check_leaks(report, prose.html, sections, title)
        self.made.pages += 1
        self.made.unknown += chosen.unknown
        self.made.sourceless += self.sources is not None and source is None
        default = file.language == self.made.writer.publication.default_language
        page = Page(
            read.page_id,
            title,
            _url(path, directories=self.options.directory_urls),
            file.language,
            source.source if source else path,
            furniture=source.options.furniture if source else (),
            lines=chosen.lines,
            content=prose.selector,
            unknown=chosen.unknown,
            aliases=self.old.aliases_of(read.page_id),
            former_urls=self.old.former_urls_of(read.page_id) if default else (),
        )
        text = write_page(page, sections, self.made.writer.publication, self.policy)
        self.made.writer.add(page.url, page.page_id, page.language, text)

    def clean(self, title: str) -> str:
        """Take the name of the site off the end of a title."""
        name = self.options.site_name
        if name and title.endswith(name) and len(title) > len(name):
            return title.removesuffix(name).rstrip(_BETWEEN_TITLES) or title
        return title

    def take(self, read: _Read) -> bool:
        """Take the page id for a page, if it can be one and is free."""
        path, page_id = read.file.path, read.page_id
        if "#" in page_id or not page_id.isprintable():
            message = (
                f"the path makes the page id {show(page_id)}, which cannot be one. Rename the page,"
                " or leave it out: --exclude"
            )
            self.find(path, "page-id", message)
            return False
        first = self.page_ids.setdefault((page_id, read.file.language), path)
        if first == path:
            return True
        message = (
            f"page id {show(page_id)} is already that of {name_path(self.site / first)}. Leave one"
            " of them out (--exclude), or write a page_id into the front matter of its source"
        )
        self.find(path, "duplicate-page-id", message)
        return False

    def is_copy(self, path: str, sections: Sequence[Section]) -> bool:
        """Whether an index page says what another page in its folder says."""
        digest = sha256()
        for section in sections:
            for text in (section.section_id, *(block.text for block in section.blocks)):
                digest.update(f"{len(text)}:{text}".encode())
        key = _folder(path), digest.hexdigest()
        first = self.prose.setdefault(key, path)
        return _is_index(path) and first != path and any(section.blocks for section in sections)


_OTHER_VERSION = "it belongs to a version of its own"
_OWN_FOLDER = "it is in a folder of the generator's own"
_NOT_FOUND = "it is shown where there is no page"
_CUT_OFF = "the file ends before its prose does. Build the site again"
_OPEN = (
    "the file ends without </html>, which other pages have. Build the site again, or leave the"
    " file out: --exclude"
)
_NO_CONTENT = (
    "the page has no main content: no <main>, no role=main, and not just one <article>. Name the"
    " element that holds it (--content), or leave the page out (--exclude)"
)


class _Page(NamedTuple):
    """A file of the site that may be a page of prose.

    ``path`` is its path in the site, and ``page_id`` the one that this makes.
    """

    path: str
    page_id: str
    language: str
    head: Head
    page: HtmlPage
    source: PageSource | None


class _Read(NamedTuple):
    """A page whose prose was found, between the marks if it is ``marked``."""

    file: _Page
    prose: Prose
    marked: bool

    @property
    def page_id(self) -> str:
        """The page id: that of the source's front matter, if there is one."""
        source = self.file.source
        return (source.options.page_id if source else "") or self.file.page_id


class _Chosen(NamedTuple):
    """Which headings of a page open sections.

    ``opens`` are their ids, ``lines`` the lines of those that somebody wrote. ``ambiguous``
    are those of headings that cannot, because they lead to other places as well.
    ``unknown``: nothing tells who wrote them.
    """

    opens: set[str]
    lines: dict[str, int]
    ambiguous: set[str]
    unknown: bool


def _choose(read: _Read, options: SiteOptions) -> _Chosen:
    """Choose the headings that open sections, each with one of the ids that lead to it."""
    source = read.file.source
    certain = source is not None and not options.explicit
    unknown = source is None and not read.marked and not options.explicit
    chosen = _Chosen(set(), {}, set(), unknown)
    first_h1 = True
    for heading in read.prose.headings:
        # Without a source, the text under the first h1 is taken for the page's.
        is_title = heading.level == 1 and first_h1 and not certain
        first_h1 = first_h1 and heading.level != 1
        enforced = heading.level in options.levels and heading.of_tool is None
        explicit = options.explicit or (read.marked and not certain and enforced)
        anchors = [each for each in heading.anchors if each not in read.prose.repeated]
        lines = {each: source.find_line(each, heading.title) for each in anchors} if source else {}
        found = next((each for each in anchors if lines.get(each) is not None), "")
        if found or (explicit and not is_title):
            found = found or next(iter(anchors), "")
            chosen.lines.update({found: lines.get(found) or 1} if found else {})
        elif not is_title and (unknown or heading.of_tool or not _is_slug(heading)):
            found = next(iter(anchors), "")
        else:
            continue
        if found:
            chosen.opens.add(found)
        else:
            chosen.ambiguous.update(heading.anchors[:1])
    return chosen._replace(unknown=unknown and bool(chosen.opens))


def _is_slug(heading: AnchoredHeading) -> bool:
    """Whether one of the ids of a heading is only its title, spelled as an address."""
    if heading.of_tool is False:
        return True
    title = _letters(heading.title)
    titles = {title, "".join(char for char in title if char.isascii())}
    for anchor in heading.anchors:
        if _POSITIONAL.fullmatch(anchor):
            return True
        for spelled in (anchor, _REPETITION.sub("", anchor)):
            if all(char.isalnum() or char in _IN_SLUG for char in spelled):
                letters = _letters(spelled)
                if letters and letters in titles:
                    return True
    return False


def _letters(text: str) -> str:
    spelled = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in spelled if char.isalnum())


def _why_no_prose(path: str, head: Head, prose: Prose | None) -> str:
    """Say why a page without marks is no prose, as far as its HTML tells; else ""."""
    if head.redirect == "always" or (head.redirect and prose is None):
        return "it leads on to another page"
    parts = PurePosixPath(path).with_suffix("").parts
    # Docusaurus calls what is to be the next version the current one.
    if {"current": "next"}.get(head.version, head.version) in parts[:-1]:
        return _OTHER_VERSION
    if prose is None:
        return ""
    if _name(parts) == "search" and SEARCH in prose.signs:
        return "it is a search page"
    return next((why for sign, why in NOT_PROSE if sign in prose.signs), "")


def _name(parts: tuple[str, ...]) -> str:
    """Give the name of a page: that of its file, or of its folder."""
    return parts[-2] if parts[-1] == "index" and len(parts) > 1 else parts[-1]


# -- the files of a site


def _survey(site: Path, progress: Progress) -> _Survey:
    files = sorted(_list_pages(site))
    if not files:
        raise SiteError(f"there is no HTML file in {name_path(site)}")
    marked, cut_off, opened, noindex = set(), set(), set(), set()
    progress.begin("Looking at pages", len(files))
    for path in files:
        text = decode_html(_read(site / path))[0]
        mark = _MARK.search(text)
        if mark and _is_shown(text, mark.start()):
            if find_region_span(text) is not None:
                marked.add(path)
            elif find_region_span(text + END) is not None:
                cut_off.add(path)
        if not _CLOSED.search(text[-_LAST_CHARACTERS:]):
            opened.add(path)
        if _ROBOTS.search(text) and _NOINDEX.search(HtmlPage(text).read_head().robots):
            noindex.add(path)
        progress.advance()
    # What all pages lack says nothing of one of them.
    if len(noindex) == len(files):
        noindex.clear()
    if len(opened) == len(files):
        opened.clear()
    sets = map(frozenset, (marked, cut_off, opened, noindex, _find_versions(site)))
    return _Survey(files, *sets)


def _is_shown(text: str, place: int) -> bool:
    """Whether a place in a page is neither in a comment nor in a script."""
    return not any(
        text.rfind(begin, 0, place) > text.rfind(end, 0, place)
        for begin, end in (("<!--", "-->"), ("<script", "</script"))
    )


def _list_pages(site: Path) -> Iterator[str]:
    def refuse(error: OSError) -> None:
        raise _unreadable(error) from None

    for here, folders, names in os.walk(site, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in names:
            path = Path(here, name)
            if name.endswith(".html") and not name.startswith(".") and not _is_device(path):
                yield path.relative_to(site).as_posix()


def _is_device(path: Path) -> bool:
    """Whether reading a path would wait for somebody to write."""
    return path.exists() and not path.is_file()


def _find_versions(site: Path) -> frozenset[str]:
    """Find the folders that mike keeps versions of a site in."""
    try:
        listed = json.loads((site / "versions.json").read_bytes())
        names = [name for each in listed for name in (each["version"], *each.get("aliases", ()))]
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return frozenset()
    return frozenset(name for name in names if isinstance(name, str) and (site / name).is_dir())


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(error) from None


def _unreadable(error: OSError) -> SiteError:
    return SiteError(f"{name_path(error.filename)} cannot be read: {error.strerror}")


def _page_id(path: str) -> str:
    """Give the page id that the path of a page makes: that of a source of the same name."""
    path = path.removesuffix(".html")
    if _is_index(path + ".html"):
        return path.removesuffix("index").removesuffix("/") or "index"
    return path


def _is_index(path: str) -> bool:
    return path == "index.html" or path.endswith("/index.html")


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _url(path: str, *, directories: bool) -> str:
    if directories and _is_index(path):
        path = path.removesuffix("index.html")
    return quote(path)
