"""Sites of ProperDocs: by its modules, which the plugin then knows by the names of MkDocs'."""

from __future__ import annotations

# First: what is imported as `mkdocs` from here on, by whomever, is ProperDocs', as in a
# build of ProperDocs.
import properdocs.replacement  # noqa: F401

from mkdocs_markstay.plugin import inspect_site

__all__ = ["inspect_site"]
