"""What a question means, as a vector, and which passages lie near it."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from vir_core.index import Index, Vectors, VectorsUnusable
from vir_core.models import Embedder, EmbedderFailed, Vector, open_embedder
from vir_core.search.ranking import Near
from vir_core.vault import Config

LEAST_NEAR = 64
"""Neighbours always asked for: how far the nearest stand out is judged against those behind them."""

_MOST_CHARACTERS = 2000
"""Of a question; no model reads more, and the beginning of a pasted error says which."""


class Meaning:
    """One question. Whatever fails here is kept in `why` and costs nothing but itself: the answer goes by words then."""

    def __init__(
        self, question: str, embedder: Embedder | None, vectors: Vectors, index: Index, why: str | None = None
    ) -> None:
        """With `why` it is known already that nothing will come of it."""
        self.why = why
        self.other_model = 0
        self._question = question[:_MOST_CHARACTERS]
        self._embedder = embedder
        self._vectors = vectors
        self._index = index
        self._vector: Vector | None = None
        self._asked = why is not None

    @property
    def used(self) -> bool:
        """Whether anything was looked for by meaning."""
        return self._vector is not None

    def prepare(self) -> None:
        """Makes the vector; raises nothing. Slow enough to be done while something else is waited for."""
        if self._asked or self._embedder is None:
            return
        self._asked = True
        try:
            meta = self._vectors.meta()
            if meta.model.name != self._embedder.name:
                self.other_model = meta.rows
                self.why = f"the notes were embedded by {meta.model.name}; run `vir_core index embed` to use {self._embedder.name}"
                return
            vector = self._embedder.embed_question(self._question)
            if self._embedder.model() != meta.model:
                self.other_model = meta.rows
                self.why = "the notes were embedded by another version of the model; run `vir_core index embed`"
                return
            self._vector = vector
            if not meta.covers or meta.covers != self._index.mark():
                self.why = "some notes are not embedded yet and were looked for by their words only"
        except VectorsUnusable as error:
            self.why = f"{error.why}; run `vir_core index embed`"
        except EmbedderFailed as error:
            self.why = error.message

    def near(
        self,
        limit: int,
        *,
        categories: Collection[str] = (),
        projects: Collection[str] = (),
        notes: Collection[str] = (),
        since: str = "",
    ) -> Near | None:
        """The passages nearest to the question, best first; `None` where there is no vector or nothing to hold it against."""
        self.prepare()
        if self._vector is None or self._embedder is None:
            return None
        limit = max(LEAST_NEAR, limit)
        try:
            found = self._vectors.near(
                self._vector, limit, categories=categories, projects=projects, notes=notes, since=since
            )
        except VectorsUnusable as error:
            self.why, self._vector = error.why, None
            return None
        return Near(
            cosines=dict(found), model=self._embedder.name, latin=is_latin(self._question), all=len(found) < limit
        )


def is_latin(text: str) -> bool:
    """Whether at least half of the letters belong to the scripts of Europe's west, which end before U+0250."""
    letters = [letter for letter in text if letter.isalpha()]
    return 2 * sum(letter < "\u0250" for letter in letters) >= len(letters) > 2


_embedders: dict[tuple[str, str, str], Embedder] = {}


def meaning_of(
    question: str, config: Config, environment: Mapping[str, str], vectors: Vectors, index: Index
) -> Meaning | None:
    """What a question means to the vault's embedder, which is kept for as long as the process lives; `None` where settings
    switch it off."""
    key = (environment.get("VIR_EMBEDDER", ""), config.embedder, config.embedder_url)
    try:
        embedder = _embedders.get(key) or open_embedder(config.embedder, config.embedder_url, environment)
    except EmbedderFailed as error:
        return Meaning(question, None, vectors, index, why=error.message)
    if embedder is None:
        return None
    _embedders[key] = embedder
    return Meaning(question, embedder, vectors, index)
