"""Words for synthetic sessions and notes: drawn by rank with Zipf frequencies, so that searching them feels like text.

What it does not show: real prose repeats whole phrases and sticks to one topic for a page; these sentences do neither
beyond their project's own identifiers.
"""

from __future__ import annotations

import random
from bisect import bisect
from itertools import accumulate


def _listed(words: str) -> list[str]:
    return words.split()


NOUNS = _listed(
    """
connection pool request timeout transaction index migration cache key token session worker queue batch retry
lock thread process container probe deployment secret certificate header cookie redirect route handler
middleware schema column constraint query planner cursor replica backup snapshot segment offset partition
consumer producer topic message event loop callback promise closure module bundle import export type interface
generic trait lifetime borrow mutex channel goroutine context deadline signal socket buffer stream parser lexer
grammar encoder decoder charset timezone calendar locale font layout viewport hydration state store selector
reducer effect hook component fixture mock assertion coverage linter formatter compiler linker symbol package
registry lockfile workspace submodule branch rebase merge conflict pipeline runner artifact image layer volume
mount permission role policy bucket object archive checksum digest signature nonce salt cipher proxy gateway
balancer cluster node shard quorum leader election heartbeat metric histogram label alert dashboard trace span
log level sampler budget quota limit throttle webhook payload envelope version tag release changelog flag
rollout canary toggle experiment
"""
)

VERBS = _listed(
    """
holds drops retries blocks rejects swallows copies rewrites shadows leaks ignores truncates escapes resolves
loads commits rolls flushes invalidates reuses duplicates reorders races waits returns raises closes opens reads
writes parses compiles caches expires overrides inherits depends fails
"""
)

ADJECTIVES = _listed(
    """
stale empty missing duplicate unbounded nested shared global local remote slow idle pending broken partial
concurrent lazy eager optional required default hidden invalid expired cyclic implicit explicit
"""
)

HEADS = _listed(
    """
get set load save parse build make read write find open close start stop check apply plan merge split send
"""
)
TAILS = _listed(
    """
pool cache index token config session user order batch chunk path route event state store client lock stream
"""
)
ERRORS = _listed(
    """
TimeoutError ConnectionResetError KeyError TypeError ReferenceError EADDRINUSE ENOENT EACCES ECONNREFUSED
SQLSTATE40001 SQLSTATE23505 ERR_MODULE_NOT_FOUND E0382 E0499 OOMKilled CrashLoopBackOff ImagePullBackOff TS2307
TS2345 ERR_REQUIRE_ESM UnicodeDecodeError BrokenPipeError DeadlineExceeded
"""
)
TOOLS = _listed(
    """
postgres redis kafka vite webpack pytest playwright cargo clippy terraform helm kubectl nginx docker git npm uv
"""
)
PROJECTS = _listed(
    """
atlas basalt cedar drift ember fjord garnet heron isle juniper kestrel larch mallow nimbus osprey pebble quartz
reed sorrel thistle umber vale willow yarrow
"""
)


class Zipf:
    """Draws from a list, the word of rank r with weight 1/r."""

    def __init__(self, words: list[str], rng: random.Random) -> None:
        self._words = list(dict.fromkeys(words))
        rng.shuffle(self._words)
        self._sums = list(accumulate(1 / rank for rank in range(1, len(self._words) + 1)))
        self._rng = rng

    def __call__(self) -> str:
        return self._words[bisect(self._sums, self._rng.random() * self._sums[-1])]


class Author:
    """Sentences about faults and choices, in the manner of working sessions. Equal seeds write equal words."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(seed)
        self.rng = rng
        self.noun = Zipf(NOUNS, rng)
        self.verb = Zipf(VERBS, rng)
        self.adjective = Zipf(ADJECTIVES, rng)
        self.error = Zipf(ERRORS, rng)
        self.tool = Zipf(TOOLS, rng)
        snake = [f"{head}_{tail}" for head in HEADS for tail in TAILS]
        camel = [f"{head}{tail.title()}" for head in HEADS for tail in TAILS]
        numbered = [f"{tail}_{number}" for tail in TAILS for number in range(200)]
        self.name = Zipf(snake + camel + numbered, rng)

    def identifier(self) -> str:
        return self.name()

    def finding(self) -> str:
        """A sentence that states a cause, a choice or a rule."""
        rng, noun, adjective = self.rng, self.noun, self.adjective
        name, tool = self.identifier(), self.tool()
        return rng.choice(
            (
                f"The root cause was that `{name}` {self.verb()} the {adjective()} {noun()} before the {noun()} is ready.",
                f"Use `{name}` instead of the {adjective()} {noun()}, because {tool} {self.verb()} the {noun()} otherwise.",
                f"Decision: keep the {noun()} in {tool} over a {adjective()} {noun()}, since the {noun()} must survive a restart.",
                f"`{self.error()}` from {tool} means that the {noun()} was {adjective()}, not that the {noun()} is gone.",
                f"Never call `{name}` while the {noun()} holds a {noun()}; the {adjective()} {noun()} waits for ever.",
                f"Fixed by passing the {noun()} to `{name}` and closing the {noun()} on every path.",
                f"{tool.title()} {self.verb()} a {adjective()} {noun()} without a warning, so check the {noun()} with `{name}` first.",
            )
        )

    def chatter(self) -> str:
        """A sentence that states nothing lasting."""
        return self.rng.choice(
            (
                f"Let me look at `{self.identifier()}` next.",
                f"Now I'll run the tests for the {self.noun()}.",
                f"The {self.noun()} looks fine so far.",
                f"Reading the {self.adjective()} {self.noun()} in {self.tool()}.",
            )
        )

    def ask(self) -> str:
        return self.rng.choice(
            (
                f"why does `{self.identifier()}` fail with {self.error()} when the {self.noun()} is {self.adjective()}?",
                f"the {self.noun()} is {self.adjective()} after a deploy, please find out why before you change `{self.identifier()}`",
                f"no, keep the {self.noun()}. we never {self.rng.choice(HEADS)} a {self.adjective()} {self.noun()} in {self.tool()}",
                f"add a test for the {self.adjective()} {self.noun()} in `{self.identifier()}`",
            )
        )

    def title(self) -> str:
        return self.rng.choice(
            (
                f"{self.adjective().title()} {self.noun()} in {self.tool()} after {self.identifier()}",
                f"{self.identifier()} {self.verb()} the {self.noun()}",
                f"{self.error()} when the {self.noun()} {self.verb()} a {self.noun()}",
            )
        )

    def output(self, size: int) -> str:
        """Lines of a program's output, about `size` characters."""
        rng = self.rng
        lines: list[str] = []
        left = size
        while left > 0:
            line = f"{rng.randrange(1, 900)}: {self.identifier()} = {self.identifier()}({rng.randrange(9999)})  # {self.noun()} {self.adjective()}"
            lines.append(line)
            left -= len(line) + 1
        return "\n".join(lines)
