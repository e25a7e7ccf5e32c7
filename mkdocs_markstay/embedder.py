"""A model as a sync uses it: what it is given of a passage, and what it may give back."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from math import isfinite
from typing import TYPE_CHECKING

from mkdocs_markstay.identity import digest_values
from mkdocs_markstay.sync_errors import SyncError, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mkdocs_markstay.manifest import Passage

CONTENTS = ("text", "path")
"""What can be embedded: the text alone, or the titles that lead to it and the text."""

# Part of each receipt: to be raised when other metadata are written.
_LAYOUT = 1


@dataclass(frozen=True)
class Embedder:
    """A model that makes vectors.

    ``model`` names it: by this name its vectors are known later, so it has to change with all
    that changes them. ``embed`` gives the vectors of texts, in their order. ``content`` is one of
    `CONTENTS`. ``batch_size`` is how many texts are given at a time.
    """

    model: str
    embed: Callable[[list[str]], Iterable[Iterable[float]]]
    content: str = "text"
    batch_size: int = 64

    def __post_init__(self) -> None:
        if not self.model:
            raise SyncError("the embedding model has no name. Vectors are kept by it: give one")
        if self.content not in CONTENTS:
            raise SyncError(f"embedded can be {' or '.join(CONTENTS)}, not {self.content!r}")
        if self.batch_size < 1:
            raise SyncError(f"a model is given 1 text or more at a time, not {self.batch_size}")

    @property
    def fingerprint(self) -> str:
        """The digest of what a target's vectors were made with."""
        return digest_values({"model": self.model, "content": self.content, "layout": _LAYOUT})

    def prepare(self, passage: Passage) -> tuple[bytes, str]:
        """Give what is embedded of a passage, and before it its digest."""
        if self.content == "text":
            return bytes.fromhex(passage.text_digest.removeprefix("sha256:")), passage.text
        text = f"{' > '.join(passage.path)}\n\n{passage.text}"
        return sha256(text.encode()).digest(), text

    def make_vectors(self, texts: list[str], size: int | None) -> list[list[float]]:
        """Ask for the vectors of texts; ``size`` is that of its others, if there are any.

        Raises SyncError where the model fails, or gives what no store should get.
        """
        with told(f"the model {self.model} failed"):
            made = [_read_vector(vector) for vector in self.embed(texts)]
        _check_vectors(made, len(texts), size, self.model)
        return made


def _read_vector(vector: Iterable[float]) -> list[float]:
    if isinstance(vector, (str, bytes, dict, set)):
        # Each of them gives numbers, too, and other ones.
        raise TypeError(f"a vector is a list of numbers, not {type(vector).__name__}")
    return list(map(float, vector))


def _check_vectors(
    vectors: Sequence[Sequence[float]], count: int, size: int | None, model: str
) -> None:
    """Raise SyncError for vectors that no store should get."""
    if len(vectors) != count:
        raise SyncError(f"the model {model} gave {len(vectors)} vectors for {count} texts")
    for vector in vectors:
        size = size or len(vector)
        if not vector:
            raise SyncError(f"the model {model} gave an empty vector")
        if len(vector) != size:
            raise SyncError(
                f"the model {model} gave a vector of {len(vector)} numbers, and others of {size}."
                " A model that changes needs another name"
            )
        # The bound is that of the 32 bits in which numbers are kept.
        if not all(isfinite(number) and abs(number) < 3.4e38 for number in vector):
            raise SyncError(f"the model {model} gave a vector with numbers that are none (NaN)")
        # By the cosine it is near to nothing, or in some stores to all.
        if not any(vector):
            raise SyncError(f"the model {model} gave a vector of zeros, which has no direction")
