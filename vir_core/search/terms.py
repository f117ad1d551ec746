"""From a question to terms."""

from __future__ import annotations

from vir_core.index import Terms, tokens
from vir_core.text import lazy_pattern

_WORD = lazy_pattern(r"[^\W_]+")
_HUMP = lazy_pattern(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
MOST_CHARACTERS = 4000
"""Of a longer question the two ends are kept: a pasted error says what broke at one of them."""
MOST_TERMS = 40
"""Per column, again from both ends. BM25 gains nothing from more, and each costs a count."""


def question_terms(question: str) -> Terms:
    """The terms of a question. Anything may be asked: there is no query syntax.

    `ConfigurationManager` and "configuration manager" find each other, because the parts of an identifier are looked for
    as words, and plain words as parts of identifiers. Stop words are looked for only where there is nothing else.
    """
    from vir_core.text import clean, identifier_tokens, query_tokens

    # `clean` drops a NUL; between two words it stands for a break.
    text = _ends_of_text(clean(question.replace("\0", " ")))
    stems: dict[str, str] = {}
    stops: set[str] = set()
    for word in _WORD.findall(text):
        if not word.isascii() and _unspaced(word):
            continue
        for form in (word, *_humps(word)):
            found = tokens(form, "words")
            if not found:
                stops.add(form.casefold())
            for stem in found:
                stems.setdefault(stem, form.casefold())
    words = tuple(stems.values())
    idents = tuple(query_tokens(text))
    telling = tuple(token for token in idents if token not in stops)
    marked = frozenset(identifier_tokens(text)) - {word for word in words if word.isalpha()}
    return Terms(words=_ends(words), idents=_ends(telling or idents), marked=marked)


def _unspaced(word: str) -> bool:
    """A run in a script without spaces is no word: the identifier column has its pairs, the other knows only the run."""
    from vir_core.text import identifier_tokens

    return bool(identifier_tokens(word))


def _humps(word: str) -> list[str]:
    parts = _HUMP.findall(word)
    return parts if len(parts) > 1 else []


def _ends(terms: tuple[str, ...]) -> tuple[str, ...]:
    if len(terms) <= MOST_TERMS:
        return terms
    half = MOST_TERMS // 2
    return (*terms[:half], *terms[-half:])


def _ends_of_text(text: str) -> str:
    if len(text) <= MOST_CHARACTERS:
        return text
    half = MOST_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"
