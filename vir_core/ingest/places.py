"""Which project each folder of a session belongs to, remembered for the day the folder is gone."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, MachineError, state_home, write_atomic
from vir_core.transcripts import Project, SessionFacts, named_project, normal_path, project_of

PLACES = "places"


class _Remembered(Struct):
    """Folder to (key, place) of the repository that was found there."""

    v: int = 1
    places: dict[str, tuple[str, str]] = {}


class Places:
    """Projects of the sessions of one machine. Codex writes down the remote of a repository and Claude Code does not: a
    folder that one of them names is the other's too. A folder that is gone counts for what was found there once."""

    def __init__(self, sessions: Iterable[SessionFacts], device: str) -> None:
        self._device = device
        self._remotes = {normal_path(facts.cwd): facts.remote for facts in sessions if facts.remote}
        self._known = _load()
        self._learnt = False
        self._answers: dict[tuple[str, str, str], Project] = {}

    def project(self, facts: SessionFacts) -> Project:
        asked = (facts.cwd, facts.remote, facts.home)
        found = self._answers.get(asked)
        if found is None:
            found = self._answers[asked] = self._find(facts)
        return found

    def _find(self, facts: SessionFacts) -> Project:
        path = normal_path(facts.cwd)
        remote = facts.remote or self._remotes.get(path, "")
        found = project_of(facts.cwd, device=self._device, remote=remote, home=facts.home)
        if found.repository:
            if self._known.get(path) != (found.key, found.place):
                self._known[path] = (found.key, found.place)
                self._learnt = True
        elif not remote and path in self._known:
            return named_project(*self._known[path])
        return found

    def keep(self) -> None:
        """Writes down what was learnt. A folder that cannot be written to costs only that."""
        if not self._learnt or not state_home().is_dir():
            return
        try:
            content = msgspec.json.encode(_Remembered(places=self._known), order="sorted")
            write_atomic(state_home() / PLACES, content + b"\n", expected=ANYTHING, private=True)
        except MachineError:
            return
        self._learnt = False


def _load() -> dict[str, tuple[str, str]]:
    try:
        return msgspec.json.decode((state_home() / PLACES).read_bytes(), type=_Remembered).places
    except (OSError, msgspec.MsgspecError, UnicodeError):
        return {}
