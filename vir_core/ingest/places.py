"""Which project each folder of a session belongs to, remembered for the day the folder is gone."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from vir_core.machine import ANYTHING, MachineError, state_home, write_atomic
from vir_core.text import project_id
from vir_core.transcripts import Project, SessionFacts, look_again, named_project, normal_path, project_of

PLACES = "places"


class _Remembered(Struct):
    """Folder to (key, place) of the repository that was found there."""

    v: int = 1
    places: dict[str, tuple[str, str]] = {}


class Places:
    """Projects of the sessions of one machine. Codex writes down the remote of a repository and Claude Code does not: a
    folder that one of them names is the other's too. A folder that is gone counts for what was found there once.

    `formers` fills while projects are asked for: ids that a project may have gone by before this machine knew it better,
    with the id it has now. A folder becomes a repository, and a repository gets a remote; what was decided stays decided."""

    def __init__(self, sessions: Iterable[SessionFacts], device: str) -> None:
        look_again()
        self._device = device
        self._remotes = {normal_path(facts.cwd): facts.remote for facts in sessions if facts.remote}
        self._known = _load()
        self._learnt = False
        self.formers: dict[str, str] = {}
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
            known = self._known.get(path)
            if known != (found.key, found.place):
                self._known[path] = (found.key, found.place)
                self._learnt = True
                self._note_formers(found, known[0] if known else "")
        elif not remote and path in self._known:
            return named_project(*self._known[path])
        return found

    @property
    def learnt(self) -> bool:
        """Whether anything was found that is not written down yet."""
        return self._learnt

    def _note_formers(self, found: Project, before: str) -> None:
        """A remote that took the place of another one may be of another repository, and joins nothing."""
        keys = [f"{self._device}:{found.place}"]
        if before.startswith("root:") and not found.key.startswith("root:"):
            keys.append(before)
        self.formers.update((project_id(key), found.id) for key in keys if key != found.key)

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
