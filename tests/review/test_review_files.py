"""Between the history and the files: a property set by hand, a process that dies in between, an editor that is faster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

from tests.ingest.conftest import PROJECT
from tests.review.conftest import ABOUT, NOTE, TWIN, TWIN_ABOUT, Keyed

DYING = """
import os, signal, sys
from vir_core.review import committing
from vir_core.contract import ReviewRequest
from vir_core.review import review
from tests.review.conftest import Person

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

committing.keep = die
review(ReviewRequest(action=sys.argv[2], id=(sys.argv[3],), reason=sys.argv[4], vault=sys.argv[1]), Person())
"""


def trust(world: Keyed, id: str = NOTE) -> str:
    page = world.judge("show", id).note
    assert page is not None
    return page.trust


def test_a_note_called_wrong_in_its_properties_is_withheld_at_once_and_held_by_the_next_run(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    text = path.read_text("utf-8")
    path.write_text(text.replace("trust: New", "trust: New\nvir: wrong"), "utf-8")
    assert NOTE not in keyed.found() and keyed.found(TWIN_ABOUT)[0] == TWIN
    keyed.run()
    assert trust(keyed) == "suspended"
    assert keyed.judge("queue").items[0].reasons == ("marked",)
    lines = keyed.lines()
    keyed.run()
    assert keyed.lines() == lines
    keyed.decide("restore", NOTE)
    assert "vir: wrong" not in path.read_text("utf-8") and keyed.found()[0] == NOTE
    keyed.run()
    assert trust(keyed) == "unreviewed"


def test_a_property_of_another_value_is_the_persons_own(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    path.write_text(path.read_text("utf-8").replace("trust: New", "trust: New\nvir: wonderful"), "utf-8")
    keyed.run()
    assert keyed.found()[0] == NOTE and trust(keyed) == "unreviewed"


def test_a_verdict_killed_before_its_files_is_finished_by_whoever_comes_next(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    words = [sys.executable, "-c", DYING, str(keyed.vault), "reject", NOTE, "not-useful"]
    done = subprocess.run(words, cwd=PROJECT, env={**os.environ, "PYTHONPATH": str(PROJECT)}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.exists() and trust(keyed) == "rejected" and NOTE not in keyed.found()
    keyed.run()
    assert not path.exists() and (keyed.vault / "vir/store/rejected" / path.relative_to(keyed.vault)).exists()
    assert keyed.found(TWIN_ABOUT)[0] == TWIN and trust(keyed, TWIN) == "unreviewed"
    lines = keyed.lines()
    keyed.run()
    assert keyed.lines() == lines


def test_what_stands_in_the_way_of_a_file_is_not_overwritten(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    away = keyed.vault / "vir/store/rejected" / path.relative_to(keyed.vault)
    away.parent.mkdir(parents=True)
    away.write_text("mine", "utf-8")
    [done] = keyed.decide("reject", NOTE, reason="not-useful").done
    assert away.read_text("utf-8") == "mine" and (keyed.vault / done.path).exists() and not path.exists()
    path.write_text("mine too", "utf-8")
    [done] = keyed.decide("restore", NOTE).done
    assert path.read_text("utf-8") == "mine too" and keyed.vault / done.path == keyed.note(NOTE)
    assert NOTE in keyed.found(ABOUT)


def test_a_file_whose_properties_cannot_be_edited_is_left_and_the_verdict_stands(keyed: Keyed) -> None:
    path = keyed.note(NOTE)
    text = path.read_text("utf-8").replace("trust: New", "trust: &anchor New\nalso: *anchor")
    path.write_text(text, "utf-8")
    keyed.decide("approve", NOTE)
    assert path.read_text("utf-8") == text and trust(keyed) == "verified"


def test_a_file_edited_between_looking_and_signing_is_a_conflict_and_keeps_its_words(keyed: Keyed) -> None:
    import base64

    from tests.authority.test_authority_surfaces import signer_of  # the same way of signing
    from vir_core.contract import ReviewRequest
    from vir_core.review import review

    vault = str(keyed.vault)
    prepared = review(ReviewRequest(action="prepare", verb="approve", id=(NOTE, TWIN), vault=vault)).prepared
    assert prepared is not None and json.loads(prepared.items[0].payload)["verb"] == "approved"
    signature = base64.b64encode(signer_of(keyed).sign(base64.b64decode(prepared.bytes))).decode()
    path = keyed.note(NOTE)
    path.write_text(path.read_text("utf-8").replace(" hung ", " never hung "), "utf-8")
    text = path.read_bytes()
    items = tuple(item.payload for item in prepared.items)
    reply = review(ReviewRequest(action="commit", vault=vault, items=items, signature=signature))
    assert [one.id for one in reply.done] == [TWIN]
    assert [(one.id, one.reason) for one in reply.refused] == [(NOTE, "conflict")]
    assert path.read_bytes() == text and trust(keyed) == "unreviewed" and trust(keyed, TWIN) == "verified"
