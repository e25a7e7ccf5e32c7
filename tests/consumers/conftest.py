"""A PostgreSQL for the tests, with pgvector: it listens on no port, and is gone with them."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = "MARKSTAY_ALL_CONSUMERS"
"""Set, so that a framework or store that is not installed is a failure."""


def pytest_configure() -> None:
    # What frameworks would send or say on import.
    os.environ.update(
        ANONYMIZED_TELEMETRY="False",
        HAYSTACK_TELEMETRY_ENABLED="False",
        LANGSMITH_TRACING="false",
        RAY_USAGE_STATS_ENABLED="0",
    )


@pytest.fixture(scope="session")
def _server() -> Iterator[str]:
    if not os.environ.get(ALL):
        pytest.importorskip("pgserver")
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
        connection.execute(f"create database {name}")
    url = _server.replace("/postgres?", f"/{name}?")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create extension vector")
    yield url
    with psycopg.connect(_server, autocommit=True) as connection:
        connection.execute(f"drop database {name} with (force)")
