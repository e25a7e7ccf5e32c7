"""The hooks of `.pre-commit-hooks.yaml`, run by pre-commit itself in a repository.

Nothing is installed: `language: system` runs the command that is being tested.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from site_builder import Site, write_site

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

MANIFEST = Path(__file__).parents[1] / ".pre-commit-hooks.yaml"
GOOD = "# Home\n\n## Install <#install>\n\nText.\n"
BAD = "# Home\n\n## Install <#install>\n\nText.\n\n## Use it\n\nText.\n"
FINDING = "docs/index.md:7: error[missing-id] heading 'Use it' has no section id."


@dataclass(frozen=True)
class Done:
    """What a command left: its exit code and all that it printed."""

    code: int
    output: str


@dataclass(frozen=True)
class Repository:
    """A repository, and an environment in which git and pre-commit know no other."""

    folder: Path
    environment: dict[str, str]

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def run(self, *command: str) -> Done:
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout)

    def git(self, *arguments: str) -> str:
        done = self.run("git", *arguments)
        assert done.code == 0, done.output
        return done.output.strip()

    def pre_commit(self, *arguments: str) -> Done:
        return self.run(sys.executable, "-m", "pre_commit", *arguments)

    def commit(self, *names: str) -> Done:
        """Stage these files, then commit what is staged."""
        self.git("add", *names)
        return self.run("git", "commit", "--message", "A change")

    def stamp(self, *arguments: str) -> Done:
        return self.pre_commit("run", "markstay-stamp", "--hook-stage", "manual", *arguments)


def make_repository(folder: Path, home: Path) -> Repository:
    scripts = sysconfig.get_path("scripts")
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GIT_", "PRE_COMMIT")) and name != "SKIP"
    }
    environment |= {
        "PATH": os.pathsep.join([scripts, os.environ["PATH"]]),
        "HOME": str(home),
        "PRE_COMMIT_HOME": str(home / "pre-commit"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        **{f"GIT_{who}_NAME": "Somebody" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "somebody@example.org" for who in ("AUTHOR", "COMMITTER")},
    }
    folder.mkdir()
    repository = Repository(folder, environment)
    repository.git("init", "--quiet")
    return repository


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A site whose ids are in order, with both hooks, committed."""
    hooks = make_repository(tmp_path / "hooks", tmp_path)
    shutil.copy(MANIFEST, hooks.folder)
    assert hooks.commit(MANIFEST.name).code == 0
    site = make_repository(tmp_path / "site", tmp_path)
    write_site(site.folder, Site({"docs/index.md": GOOD, "README.md": "# Read me\n\n## Use it\n"}))
    hook_ids = ("markstay-check", "markstay-stamp")
    config = {
        "repos": [
            {
                "repo": str(hooks.folder),
                "rev": hooks.git("rev-parse", "HEAD"),
                "hooks": [{"id": hook_id, "language": "system"} for hook_id in hook_ids],
            }
        ]
    }
    site.write(".pre-commit-config.yaml", yaml.safe_dump(config))
    site.git("add", ".")
    site.git("commit", "--quiet", "--message", "A site")
    assert site.pre_commit("install").code == 0
    return site


def test_a_commit_is_refused_until_its_headings_have_ids(repository: Repository) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.write("docs/index.md", BAD)
    refused = repository.commit("docs/index.md")
    assert refused.code == 1
    assert "check section ids" in refused.output
    assert "- exit code: 1" in refused.output
    assert FINDING in refused.output
    assert repository.git("rev-parse", "HEAD") == first
    assert repository.read("docs/index.md") == BAD

    repository.write("docs/index.md", BAD.replace("Use it", "Use it <#use-it>"))
    passed = repository.commit("docs/index.md")
    assert passed.code == 0, passed.output
    assert re.search(r"check section ids\.+Passed", passed.output)
    # Nothing is left that the next commit could take up.
    assert repository.git("status", "--porcelain") == ""


def test_what_is_staged_is_judged_and_not_what_is_beside_it(repository: Repository) -> None:
    repository.write("docs/index.md", BAD)
    repository.git("add", "docs/index.md")
    repository.write("docs/index.md", GOOD)
    refused = repository.run("git", "commit", "--message", "A change")
    assert refused.code == 1
    assert FINDING in refused.output
    assert repository.read("docs/index.md") == GOOD


def test_what_a_change_breaks_in_another_page_is_told(repository: Repository) -> None:
    repository.write("docs/more.md", "# More\n")
    assert repository.commit("docs/more.md").code == 0
    repository.write("docs/index.md", f"---\npage_id: more\n---\n{GOOD}")
    refused = repository.commit("docs/index.md")
    assert refused.code == 1
    assert "docs/more.md:1: error[duplicate-page-id]" in refused.output


def test_a_commit_without_pages_is_not_checked(repository: Repository) -> None:
    # Committed past the hook: a check would find it.
    repository.write("docs/index.md", BAD)
    repository.git("add", "docs/index.md")
    repository.git("commit", "--no-verify", "--message", "A change")
    repository.write("tool.py", "pass\n")
    passed = repository.commit("tool.py")
    assert passed.code == 0, passed.output
    assert re.search(r"check section ids\.+\(no files to check\)Skipped", passed.output)


def test_ids_are_stamped_when_asked_for(repository: Repository) -> None:
    repository.write("docs/index.md", BAD)
    repository.write("README.md", "# Read me\n\n## Use it\n\n## Install\n")
    repository.write("docs/draft.md", "# Draft\n\n## Use it\n")
    repository.git("add", "docs/index.md", "README.md")
    done = repository.stamp()
    assert "- files were modified by this hook" in done.output
    assert repository.read("docs/index.md") == BAD.replace("Use it", "Use it <#use-it>")
    # Neither what is not staged nor what is no page.
    assert repository.read("docs/draft.md") == "# Draft\n\n## Use it\n"
    assert repository.read("README.md") == "# Read me\n\n## Use it\n\n## Install\n"

    repository.git("add", "docs/index.md")
    again = repository.stamp()
    assert again.code == 0, again.output
    assert re.search(r"write section ids\.+Passed", again.output)


@pytest.mark.parametrize(
    ("hook_id", "name", "starts"),
    [
        ("markstay-check", "docs/guide/install.md", True),
        ("markstay-check", "docs/install.de.markdown", True),
        ("markstay-check", "mkdocs.yml", True),
        ("markstay-check", "site/mkdocs.yaml", True),
        ("markstay-check", "mkdocs.en.yml", True),
        ("markstay-check", "site/zensical.toml", True),
        ("markstay-check", "markstay.baseline", True),
        ("markstay-check", "markstay.lock", True),
        ("markstay-check", "docs/readme.md.txt", False),
        ("markstay-check", "docs/about-mkdocs.yml", False),
        ("markstay-check", ".github/workflows/docs.yml", False),
        ("markstay-check", "src/tool.py", False),
        ("markstay-stamp", "docs/guide/install.md", True),
        ("markstay-stamp", "mkdocs.yml", False),
    ],
)
def test_which_files_start_a_hook(hook_id: str, name: str, starts: bool) -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))}
    assert bool(re.search(hooks[hook_id]["files"], name)) is starts
