"""`python -m mkdocs_markstay`."""

from mkdocs_markstay.cli import main

main(prog_name="mkdocs-markstay")
