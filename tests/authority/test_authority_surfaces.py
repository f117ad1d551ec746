"""Every act that lets something in, over every way somebody could try it without being the person; each time the same act with
a real proof works afterwards."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.review.conftest import PASSPHRASE, Keyed
from tests.terminals import Typist
from vir_core.authority import KeyFolder, Signer
from vir_core.contract import ReviewReply, ReviewRequest
from vir_core.memory import memory_of
from vir_core.review import Conflict, HumanRequired, review
from vir_core.vault import open_journal, open_vault

ACTS: list[tuple[str, ...]] = [
    ("approve", "{plain}"),
    ("restore", "{flagged}"),
    ("restore", "{rejected}"),
    ("undo", "{rejected}"),
    ("undo", "{approved}"),
    ("supersede", "{approved}", "--by", "{plain}"),
    ("expire", "{approved}", "--on", "2026-01-01"),
    ("policy", "review_first=on"),
]
KEYS: list[tuple[str, ...]] = [
    ("enroll",),
    ("confirm",),
    ("revoke", "{root}", "--lost-since", "2026-01-01"),
    ("start-over",),
]


class Stage:
    """A vault with a note in each of the states that an act could change."""

    def __init__(self, world: Keyed) -> None:
        self.world = world
        ids = [item.id for item in world.judge("queue", limit=100).items]
        plain, flagged, rejected, approved = ids[:4]
        world.decide("reject", rejected, reason="wrong")
        world.decide("approve", approved)
        world.flag(flagged)
        root = next(key.id for key in world.enroll().keys if key.kind == "root")
        self.names = {"plain": plain, "flagged": flagged, "rejected": rejected, "approved": approved, "root": root}

    def words(self, act: tuple[str, ...]) -> list[str]:
        return [word.format(**self.names) for word in act]

    def request(self, act: tuple[str, ...]) -> dict[str, Any]:
        action, *rest = self.words(act)
        first = next((place for place, word in enumerate(rest) if word.startswith("--")), len(rest))
        ids, flags = rest[:first], dict(zip(rest[first::2], rest[first + 1 :: 2], strict=True))
        fields = {name[2:].replace("-", "_"): value for name, value in flags.items()}
        return {"action": action, "id": ids, "vault": str(self.world.vault), **fields}

    def trusts(self) -> dict[str, str]:
        """What each note is, and why no answer may hold it."""
        journal = open_journal(open_vault(self.world.vault))
        memory = journal.read(memory_of(journal)).projection
        served = {id: memory.withheld(id) for id in memory.notes}
        found = {name: f"{self.trust(id)} {served[id]}" for name, id in self.names.items() if name != "root"}
        return found | {"withheld": str(sorted(filter(None, served.values())))}

    def trust(self, id: str) -> str:
        page = self.world.judge("show", id).note
        assert page is not None
        return page.trust

    def really(self, act: tuple[str, ...]) -> ReviewReply:
        """The positive control: the same act by the person."""
        fields = self.request(act)
        return review(ReviewRequest(**{**fields, "id": tuple(fields["id"])}), self.world.person)

    def lines(self) -> list[dict[str, Any]]:
        return self.world.lines()

    def append(self, record: dict[str, Any]) -> None:
        """A line written by hand into the history of this device, as any program can."""
        [*_, last] = sorted((self.world.vault / "vir/store/journal").rglob("*.jsonl"))
        with last.open("ab") as file:
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    world = Keyed(tmp_path)
    world.run()
    world.enroll()
    return Stage(world)


def refused_everywhere(
    stage: Stage, attempt: Callable[[tuple[str, ...]], dict[str, Any]], acts: list[tuple[str, ...]]
) -> None:
    before, tree = stage.trusts(), stage.world.tree()
    for act in acts:
        assert attempt(act)["error"]["kind"] == "human_required", act
    assert stage.world.tree() == tree and stage.trusts() == before


def each_works_for_the_person(stage: Stage) -> None:
    before = stage.trusts()
    for act in ACTS:
        assert stage.really(act).done, act
        assert stage.trusts() != before, act
        if act[0] != "policy":
            stage.world.decide("undo", stage.words(act)[1])
        else:
            stage.world.decide("policy", "review_first=off")
        assert stage.trusts() == before, act


@pytest.mark.slow
def test_words_on_the_command_line_let_nothing_in(stage: Stage) -> None:
    def attempt(act: tuple[str, ...]) -> dict[str, Any]:
        said = stage.world.cli(
            "review", *stage.words(act), "--vault", str(stage.world.vault), "--json", start_new_session=True
        )
        assert said.returncode == 1
        return json.loads(said.stdout)

    refused_everywhere(stage, attempt, ACTS + KEYS)
    each_works_for_the_person(stage)


@pytest.mark.slow
def test_a_request_on_stdin_lets_nothing_in(stage: Stage) -> None:
    def attempt(act: tuple[str, ...]) -> dict[str, Any]:
        request = json.dumps(stage.request(act))
        return json.loads(stage.world.cli("review", "--json", "-", stdin=request, start_new_session=True).stdout)

    refused_everywhere(stage, attempt, ACTS + KEYS)


@pytest.mark.slow
def test_yes_piped_into_it_lets_nothing_in(stage: Stage) -> None:
    def attempt(act: tuple[str, ...]) -> dict[str, Any]:
        words = ["review", *stage.words(act), "--vault", str(stage.world.vault)]
        said = stage.world.cli(*words, stdin="y\n" * 1000, start_new_session=True)
        assert said.returncode == 1 and said.stdout == "" and "Only a person can" in said.stderr
        return {"error": {"kind": "human_required"}}

    refused_everywhere(stage, attempt, ACTS + KEYS)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="wants a pseudo-terminal")
def test_a_terminal_without_the_passphrase_lets_nothing_in(stage: Stage) -> None:
    def attempt(act: tuple[str, ...]) -> dict[str, Any]:
        words = ["review", *stage.words(act), "--vault", str(stage.world.vault)]
        # What is piped in beside the terminal does not answer either.
        typist = Typist(words, stdin=f"{PASSPHRASE}\ny\n".encode())
        for typed in ("yes\n", "y\n", "\n"):
            typist.until("passphrase: ")
            typist.type(typed)
        assert typist.end() == 1
        assert "Only a person" in typist.shown or "not the passphrase" in typist.shown
        return {"error": {"kind": "human_required"}}

    refused_everywhere(stage, attempt, ACTS)
    typist = Typist(["review", *stage.words(ACTS[0]), "--vault", str(stage.world.vault)])
    typist.until("passphrase: ")
    typist.type(PASSPHRASE + "\n")
    assert typist.end() == 0 and stage.trust(stage.names["plain"]) == "verified"


def test_properties_edited_by_hand_let_nothing_in(stage: Stage) -> None:
    before = stage.trusts()
    for name in ("plain", "flagged"):
        path = stage.world.note(stage.names[name])
        text = path.read_text("utf-8")
        for old in ("trust: New", "trust: Needs another look"):
            text = text.replace(old, "trust: Approved\nverified: true\nvir: approved")
        path.write_text(text, "utf-8")
    stage.world.run()
    assert stage.trusts() == before
    stage.really(("approve", "{plain}"))
    assert stage.trust(stage.names["plain"]) == "verified"


@pytest.mark.parametrize("at", ["2026-12-24T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"])
def test_a_line_written_by_hand_lets_nothing_in_whatever_its_date(stage: Stage, at: str) -> None:
    before = stage.trusts()
    [sample, *_] = [line for line in stage.lines() if line["action"] == "approved"]
    holds = {
        line["subject"]: line_hashes(stage)[json.dumps(line)] for line in stage.lines() if line["action"] == "held"
    }
    for name, action, data in (
        (
            "plain",
            "approved",
            {**sample["data"], "digest": stage.world.judge("show", stage.names["plain"]).note.digest},
        ),  # type: ignore[union-attr]
        ("flagged", "lifted", {"lifts": [holds[stage.names["flagged"]]], "after": "", "hold": ""}),
        (
            "rejected",
            "lifted",
            {"lifts": [stage.world.judge("show", stage.names["rejected"]).note.after], "after": "", "hold": ""},
        ),  # type: ignore[union-attr]
    ):
        record = {**sample, "at": at, "action": action, "subject": stage.names[name], "data": data, "prev": ""}
        record.pop("proof")
        stage.append(record)
        # Nor with a proof that was made for something else, nor with nonsense in its place.
        stage.append({**record, "at": at.replace("00Z", "01Z"), "proof": sample["proof"]})
        stage.append({**record, "at": at.replace("00Z", "02Z"), "proof": {"key": "x", "sig": [1]}})
    assert stage.trusts() == before
    assert stage.really(("approve", "{plain}")).done and stage.trust(stage.names["plain"]) == "verified"


def line_hashes(stage: Stage) -> dict[str, str]:
    from hashlib import sha256

    return {
        json.dumps(json.loads(raw)): sha256(raw).hexdigest()
        for path in (stage.world.vault / "vir/store/journal").rglob("*.jsonl")
        for raw in path.read_bytes().splitlines()
    }


def signer_of(world: Keyed) -> Signer:
    folder = KeyFolder(open_vault(world.vault).state)
    return folder.open(folder.list()[0], PASSPHRASE)


def prepared(stage: Stage, act: tuple[str, ...]) -> dict[str, Any]:
    fields = stage.request(act)
    verb = fields.pop("action")
    reply = review(ReviewRequest(**{**fields, "action": "prepare", "verb": verb, "id": tuple(fields["id"])}))
    assert reply.prepared is not None
    signature = base64.b64encode(signer_of(stage.world).sign(base64.b64decode(reply.prepared.bytes))).decode()
    return {"items": [item.payload for item in reply.prepared.items], "signature": signature}


def sent_back(stage: Stage, signed: dict[str, Any]) -> ReviewReply:
    return review(
        ReviewRequest(
            action="commit", vault=str(stage.world.vault), items=tuple(signed["items"]), signature=signed["signature"]
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("act", ACTS, ids=lambda act: "-".join(act[:2]))
def test_what_was_prepared_and_signed_counts_once_and_only_as_it_was_signed(stage: Stage, act: tuple[str, ...]) -> None:
    before, tree = stage.trusts(), stage.world.tree()
    signed = prepared(stage, act)
    assert stage.world.tree() == tree
    item = json.loads(signed["items"][0])
    altered = [
        {
            **item,
            "subject": stage.names["flagged"] if item["subject"] != stage.names["flagged"] else stage.names["plain"],
        },
        {**item, "vault": "v000000000000000"},
        {**item, "digest": "0" * 64},
        {**item, "args": {**item["args"], "reason": "other"}},
        {**item, "at": "2020-01-01T00:00:00.000000Z"},
        {**item, "verb": "lifted" if item["verb"] != "lifted" else "approved"},
        {**item, "key": Signer.make().public},
        {**item, "after": "0" * 64},
    ]
    for one in altered:
        canonical = json.dumps(one, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        with pytest.raises(HumanRequired):
            sent_back(stage, {**signed, "items": [canonical]})
    for signature in (base64.b64encode(bytes(64)).decode(), prepared(stage, ("approve", "{flagged}"))["signature"]):
        with pytest.raises(HumanRequired):
            sent_back(stage, {**signed, "signature": signature})
    assert stage.world.tree() == tree and stage.trusts() == before
    [done] = sent_back(stage, signed).done
    assert done.final and stage.trusts() != before
    after = stage.trusts()
    with pytest.raises(Conflict):
        sent_back(stage, signed)
    assert stage.trusts() == after


def test_a_key_that_does_not_count_here_lets_nothing_in(stage: Stage) -> None:
    before, tree = stage.trusts(), stage.world.tree()
    stranger = Signer.make()
    item = json.loads(prepared(stage, ("approve", "{plain}"))["items"][0]) | {"key": stranger.public}
    payload = json.dumps(item, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    signature = base64.b64encode(stranger.sign(b"vir/1\n" + payload.encode())).decode()
    with pytest.raises(HumanRequired, match="does not count"):
        sent_back(stage, {"items": [payload], "signature": signature})
    assert stage.world.tree() == tree and stage.trusts() == before
    assert sent_back(stage, prepared(stage, ("approve", "{plain}"))).done


def test_an_act_signed_for_another_vault_lets_nothing_in(stage: Stage) -> None:
    before, tree = stage.trusts(), stage.world.tree()
    item = json.loads(prepared(stage, ("approve", "{plain}"))["items"][0]) | {"vault": "v00000000000000f"}
    payload = json.dumps(item, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    signature = base64.b64encode(signer_of(stage.world).sign(b"vir/1\n" + payload.encode())).decode()
    with pytest.raises(HumanRequired, match="another vault"):
        sent_back(stage, {"items": [payload], "signature": signature})
    assert stage.world.tree() == tree and stage.trusts() == before


def test_a_verdict_replayed_after_it_was_taken_back_lets_nothing_in(stage: Stage) -> None:
    stage.really(("approve", "{plain}"))
    [line] = [
        line for line in stage.lines() if line["subject"] == stage.names["plain"] and line["action"] == "approved"
    ]
    stage.world.decide("undo", stage.names["plain"])
    before = stage.trusts()
    assert before["plain"] == "unreviewed "
    for at in ("2026-12-24T00:00:00.000000Z", "2020-01-01T00:00:00.000000Z"):
        stage.append({**line, "at": at, "prev": ""})
        stage.append({**line, "at": at, "prev": "", "subject": stage.names["flagged"]})
    assert stage.trusts() == before
    stage.really(("approve", "{plain}"))
    assert stage.trust(stage.names["plain"]) == "verified"


def test_a_newer_virs_act_withholds_when_it_binds_and_is_not_judged_over(stage: Stage) -> None:
    from vir_core.review import NewerData

    [sample, *_] = [line for line in stage.lines() if line["action"] == "approved"]
    base = {**sample, "at": "2026-12-24T00:00:00.000000Z", "prev": "", "by": {**sample["by"], "core": "9.0.0"}}
    base.pop("proof")
    stage.append({**base, "action": "blessed_by_notary", "subject": stage.names["flagged"], "must": False})
    assert stage.trust(stage.names["flagged"]) == "suspended"
    stage.append({**base, "action": "sealed_by_notary", "subject": stage.names["plain"], "must": True})
    assert stage.trust(stage.names["plain"]) == "suspended"
    with pytest.raises(NewerData, match=r"9\.0\.0"):
        stage.really(("approve", "{plain}"))
    assert stage.trust(stage.names["plain"]) == "suspended"
    assert stage.really(("restore", "{flagged}")).done and stage.trust(stage.names["flagged"]) == "unreviewed"


def test_no_passphrase_or_signature_can_be_given_as_a_word_or_in_the_environment(stage: Stage) -> None:
    help_page = stage.world.cli("review", "--help").stdout
    assert "--signature" not in help_page and "--proof" not in help_page and "--passphrase" not in help_page
    for words in (["--signature", "x"], ["--passphrase", PASSPHRASE], ["--items", "x"]):
        said = stage.world.cli("review", "approve", stage.names["plain"], *words, "--vault", str(stage.world.vault))
        assert said.returncode == 2
    assert "PASSPHRASE" not in "".join(path.read_text("utf-8") for path in Path("vir_core").rglob("*.py"))
