"""How near two statements are by the words they share: cheap, without a model, and blind to negation on purpose."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import sqrt
from typing import TypeAlias

from vir_core.text.said import said
from vir_core.text.tokens import query_tokens

Weights: TypeAlias = Mapping[str, float]

# Words that say nothing about the subject. Negations and words of obligation are among them: "always use X" and "never use
# X" are near each other, so that a correction is shown beside what it corrects.
_STOP = frozenset(
    [
        "a",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "but",
        "by",
        "can",
        "could",
        "did",
        "do",
        "does",
        "doing",
        "done",
        "for",
        "from",
        "get",
        "gets",
        "got",
        "had",
        "has",
        "have",
        "having",
        "here",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "let",
        "like",
        "make",
        "makes",
        "made",
        "may",
        "me",
        "might",
        "more",
        "most",
        "must",
        "my",
        "need",
        "needs",
        "of",
        "on",
        "only",
        "or",
        "our",
        "out",
        "over",
        "own",
        "same",
        "shall",
        "should",
        "so",
        "some",
        "still",
        "such",
        "than",
        "that",
        "the",
        "their",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "use",
        "used",
        "uses",
        "using",
        "very",
        "via",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "why",
        "will",
        "with",
        "would",
        "you",
        "your",
        "not",
        "no",
        "never",
        "always",
        "dont",
        "don't",
        "doesnt",
        "doesn't",
        "didnt",
        "didn't",
        "cannot",
        "cant",
        "can't",
        "isnt",
        "isn't",
        "arent",
        "aren't",
        "wont",
        "won't",
        "wasnt",
        "wasn't",
        "shouldnt",
        "shouldn't",
        "without",
        "instead",
        "rather",
        "avoid",
        "nor",
        "neither",
        "ever",
        "all",
        "every",
        "each",
        "also",
        "now",
        "already",
        "yet",
        "before",
        "after",
        "der",
        "die",
        "das",
        "den",
        "dem",
        "des",
        "ein",
        "eine",
        "einen",
        "einem",
        "einer",
        "eines",
        "und",
        "oder",
        "aber",
        "nicht",
        "kein",
        "keine",
        "nie",
        "niemals",
        "immer",
        "ist",
        "sind",
        "war",
        "waren",
        "wird",
        "werden",
        "mit",
        "von",
        "zu",
        "zum",
        "zur",
        "im",
        "in",
        "auf",
        "für",
        "bei",
        "aus",
        "nach",
        "wenn",
        "weil",
        "dass",
        "man",
        "sich",
        "es",
        "er",
        "sie",
        "wir",
        "ich",
        "muss",
        "soll",
        "le",
        "la",
        "les",
        "un",
        "une",
        "des",
        "du",
        "de",
        "et",
        "ou",
        "mais",
        "pas",
        "ne",
        "jamais",
        "toujours",
        "est",
        "sont",
        "dans",
        "sur",
        "pour",
        "par",
        "avec",
        "que",
        "qui",
        "il",
        "elle",
        "on",
        "nous",
        "el",
        "los",
        "las",
        "una",
        "unos",
        "unas",
        "y",
        "o",
        "pero",
        "no",
        "nunca",
        "siempre",
        "es",
        "son",
        "en",
        "con",
        "por",
        "para",
        "que",
        "se",
        "su",
        "lo",
        "al",
        "del",
        "и",
        "или",
        "но",
        "не",
        "нет",
        "никогда",
        "всегда",
        "в",
        "на",
        "с",
        "к",
        "из",
        "для",
        "это",
        "что",
        "как",
        "по",
        "от",
        "до",
    ]
)
_SUFFIXES = (
    "ations",
    "ation",
    "ments",
    "ment",
    "ingly",
    "ings",
    "ing",
    "edly",
    "ied",
    "ies",
    "ed",
    "ers",
    "er",
    "es",
    "ly",
    "s",
    "e",
)


def weights(text: str) -> Weights:
    """The telling terms of a statement, each with its weight in (0, 2]: identifiers and long words tell more. A text of
    nothing but stop words is weighed by them; empty only for a text without letters and digits."""
    plain = said(text)
    terms = query_tokens(plain)
    kept = [term for term in terms if term not in _STOP] or terms
    found: dict[str, float] = {}
    for term in kept:
        found[_stem(term)] = _weight(term)
    return found


def closeness(one: Weights, other: Weights) -> float:
    """Between 0 (no term shared) and 1 (the same terms): the mean of cosine and containment, so that a statement drowned in
    a longer one is near it too. Symmetric."""
    if not one or not other:
        return 0.0
    shared = sum(min(weight, other[term]) for term, weight in one.items() if term in other)
    if not shared:
        return 0.0
    mine, theirs = sum(one.values()), sum(other.values())
    return (shared / sqrt(mine * theirs) + shared / min(mine, theirs)) / 2


def nearest(text: Weights, others: Mapping[str, Collection[Weights]]) -> tuple[str, float]:
    """The name in `others` whose nearest statement is nearest to `text`, and how near; ("", 0.0) when there is none."""
    best = ("", 0.0)
    for name in sorted(others):
        for other in others[name]:
            found = closeness(text, other)
            if found > best[1]:
                best = (name, found)
    return best


def _weight(term: str) -> float:
    if not term.isalpha():
        return 1.6
    if not term.isascii():
        return 1.0
    return min(1.4, 0.6 + len(term) / 12)


def _stem(term: str) -> str:
    if not term.isascii() or not term.isalpha() or len(term) < 4:
        return term
    for suffix in _SUFFIXES:
        if term.endswith(suffix) and len(term) - len(suffix) >= 3:
            stem = term[: -len(suffix)]
            return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem
    return term
