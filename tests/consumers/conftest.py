"""What the tests write to. PostgreSQL has pgvector, listens on no port, and is gone with them."""

from __future__ import annotations

import os
import shutil
import sys
import uuid
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from store_cases import LIBRARIES, Opener, require

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = "MARKSTAY_ALL_CONSUMERS"
"""Set, so that a framework or store that is not installed is a failure."""


def pytest_configure(config: pytest.Config) -> None:
    # The first LlamaIndex that is supported says so of itself when it is imported.
    config.addinivalue_line(
        "filterwarnings", "ignore:The 'validate_default' attribute with value True"
    )
    # What frameworks would send or say on import.
    os.environ.update(
        ANONYMIZED_TELEMETRY="False",
        HAYSTACK_TELEMETRY_ENABLED="False",
        LANGSMITH_TRACING="false",
        RAY_USAGE_STATS_ENABLED="0",
    )


@pytest.fixture(scope="session")
def _server() -> Iterator[str]:
    if not os.environ.get(ALL) or sys.version_info >= (3, 13):  # there is none for these
        pytest.importorskip("pgserver")
    with warnings.catch_warnings():
        # What it imports misses a variable of the environment.
        warnings.simplefilter("ignore")
        import pgserver

    # The path of a socket may not be long.
    folder = Path(f"/tmp/markstay-{uuid.uuid4().hex[:8]}")  # noqa: S108
    server = pgserver.get_server(folder, cleanup_mode="delete")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture
def postgres(_server: str) -> Iterator[str]:
    """The URL of an empty database with pgvector."""
    import psycopg

    name = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(_server, autocommit=True) as connection:
        # What it writes need not outlive the computer.
        connection.execute("alter system set fsync = off")
        connection.execute("select pg_reload_conf()")
        connection.execute(f"create database {name}")
    url = _server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create extension vector")
    yield url
    with psycopg.connect(_server, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")


@pytest.fixture
def ram(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, if there is room: waiting for a disk takes most of the time."""
    memory = Path("/dev/shm")  # noqa: S108
    if not memory.is_dir() or shutil.disk_usage(memory).free < 1 << 30:
        yield tmp_path
        return
    with TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


@pytest.fixture(params=LIBRARIES)
def opener(request: pytest.FixtureRequest, ram: Path) -> Iterator[Opener]:
    """Each of the plain vector stores, empty."""
    kind: str = request.param
    require(kind)
    place = request.getfixturevalue("postgres") if kind == "pgvector" else ram / "store"
    opener = Opener(f"{kind}:{place}")
    yield opener
    opener.close()
