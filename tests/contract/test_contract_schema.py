from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from vir_core.contract import CONTRACT, VERBS, Progress, encode_error, errors, replies, requests
from vir_core.contract.schema import TYPESCRIPT, drift, generate

ROOT = Path(__file__).resolve().parents[2]


def write_all(root: Path) -> None:
    for path, content in generate().items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content)


def test_the_committed_files_agree_with_the_structs() -> None:
    assert drift(ROOT) == []


def test_generating_twice_gives_the_same_bytes() -> None:
    assert generate() == generate()


def test_there_is_one_schema_for_each_verb_and_one_file_of_types() -> None:
    assert sorted(generate()) == sorted([*(f"schemas/{verb}.json" for verb in VERBS), TYPESCRIPT])


@pytest.mark.parametrize("path", sorted(generate()))
def test_files_end_with_one_line_end_and_have_no_other_kind(path: str) -> None:
    content = generate()[path]
    assert content.endswith(b"\n") and not content.endswith(b"\n\n")
    assert b"\r" not in content
    content.decode("utf-8")


def test_drift_names_what_is_missing_changed_or_left_over_and_nothing_else(tmp_path: Path) -> None:
    write_all(tmp_path)
    (tmp_path / "schemas/vectors").mkdir()
    (tmp_path / "schemas/vectors/digest.json").write_text("{}")
    assert drift(tmp_path) == []
    (tmp_path / "schemas/query.json").unlink()
    (tmp_path / "schemas/gone.json").write_text("{}")
    with (tmp_path / TYPESCRIPT).open("ab") as file:
        file.write(b"// by hand\n")
    assert drift(tmp_path) == sorted([TYPESCRIPT, "schemas/gone.json", "schemas/query.json"])


def test_a_checkout_with_windows_line_ends_has_not_drifted(tmp_path: Path) -> None:
    write_all(tmp_path)
    path = tmp_path / TYPESCRIPT
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert drift(tmp_path) == []


def test_drift_of_an_empty_folder_is_everything(tmp_path: Path) -> None:
    assert drift(tmp_path) == sorted(generate())


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_schema_refuses_unknown_fields_of_a_request_and_allows_them_in_a_reply(verb: str) -> None:
    schema = json.loads(generate()[f"schemas/{verb}.json"])
    request, reply = (schema["$defs"][struct.__name__] for struct in VERBS[verb])
    assert request["additionalProperties"] is False
    for name, definition in schema["$defs"].items():
        if name != VERBS[verb][0].__name__:
            assert "additionalProperties" not in definition
    assert "contract" in reply["required"]


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_reference_of_a_schema_leads_somewhere(verb: str) -> None:
    schema = json.loads(generate()[f"schemas/{verb}.json"])
    for name in re.findall(r'"#/\$defs/(\w+)"', json.dumps(schema)):
        assert name in schema["$defs"]
    assert {"request", "reply", "error"} <= set(schema["properties"])


def fits(schema: dict[str, Any], value: object, definitions: dict[str, Any]) -> bool:
    """As much of JSON Schema as the contract uses."""
    if "$ref" in schema:
        return fits(definitions[schema["$ref"].rpartition("/")[2]], value, definitions)
    if "anyOf" in schema:
        return any(fits(choice, value, definitions) for choice in schema["anyOf"])
    if "enum" in schema:
        return value in schema["enum"]
    match schema["type"]:
        case "string":
            return isinstance(value, str)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "boolean":
            return isinstance(value, bool)
        case "null":
            return value is None
        case "array":
            return isinstance(value, list) and all(
                fits(schema["items"], item, definitions) for item in cast("list[object]", value)
            )
        case "object":
            if not isinstance(value, dict):
                return False
            fields = cast("dict[str, object]", value)
            known = schema.get("properties", {})
            others = schema.get("additionalProperties", True)
            return (
                all(name in fields for name in schema.get("required", ()))
                and all(fits(known[name], item, definitions) for name, item in fields.items() if name in known)
                and all(
                    others if isinstance(others, bool) else fits(others, item, definitions)
                    for name, item in fields.items()
                    if name not in known
                )
            )
        case other:
            raise AssertionError(other)


REPLIES: list[tuple[str, replies.Reply]] = [
    (
        "query",
        replies.QueryReply(
            vault="/v",
            folder="vir",
            hits=(
                replies.Hit(
                    id="n1",
                    type="note",
                    path="vir/a.md",
                    title="A",
                    category="tool",
                    project="p",
                    date="2026-01-02",
                    score=1.5,
                    trust="unreviewed",
                    confidence=0.5,
                    snippet="s",
                    block="",
                ),
            ),
            excluded={"rejected": 1},
        ),
    ),
    (
        "doctor",
        replies.DoctorReply(
            version="0.1.0",
            python="3.11",
            vault=None,
            journal=None,
            index=replies.IndexStatus(state="ready", passages=3),
            sources=(replies.SourceStatus(source="codex", path="/c", found=True, files=2, oldest_days=None),),
            last_run=None,
            problems=(),
        ),
    ),
    (
        "run",
        replies.RunReply(
            vault="/v",
            folder="vir",
            drivers={"human": 2},
            failed=(replies.Failure(path="/x", stage="read", message="m"),),
        ),
    ),
]


@pytest.mark.parametrize(("verb", "reply"), REPLIES)
def test_what_is_sent_fits_the_schema(verb: str, reply: replies.Reply) -> None:
    schema = json.loads(generate()[f"schemas/{verb}.json"])
    value = json.loads(msgspec.json.encode(reply))
    assert fits(schema["properties"]["reply"], value, schema["$defs"])
    assert not fits(schema["properties"]["reply"], {**value, "contract": "1"}, schema["$defs"])
    assert fits(schema["properties"]["error"], json.loads(encode_error("busy", "m")), schema["$defs"])
    assert not fits(schema["properties"]["error"], {"error": {"kind": "odd", "message": "m"}}, schema["$defs"])


def test_progress_is_described_with_the_run() -> None:
    schema = json.loads(generate()["schemas/run.json"])
    value = json.loads(msgspec.json.encode(Progress(stage="read", done=1, total=2)))
    assert fits(schema["properties"]["progress"], value, schema["$defs"])


def structs() -> list[type[msgspec.Struct]]:
    found: list[type[msgspec.Struct]] = []
    for module in (requests, replies, errors):
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, msgspec.Struct) and value.__module__ == module.__name__:
                found.append(value)
    bases = (requests.Request, requests.Asking, replies.Reply)
    return [struct for struct in found if struct not in bases]


@pytest.mark.parametrize("struct", structs(), ids=lambda struct: struct.__name__)
def test_every_struct_and_field_reaches_the_plugin(struct: type[msgspec.Struct]) -> None:
    text = generate()[TYPESCRIPT].decode()
    match = re.search(rf"^export interface {struct.__name__} {{\n(.*?)^}}", text, re.MULTILINE | re.DOTALL)
    assert match, f"{struct.__name__} is not part of any request or reply"
    assert re.findall(r"readonly (\w+)\??:", match[1]) == list(struct.__struct_encode_fields__)


def test_types_say_what_may_be_left_out_and_have_no_index_signature() -> None:
    text = generate()[TYPESCRIPT].decode()
    assert f"export const CONTRACT = {CONTRACT};" in text
    query = re.search(r"^export interface QueryRequest {\n(.*?)^}", text, re.MULTILINE | re.DOTALL)
    assert query and "\treadonly text: string;\n" in query[1] and "\treadonly vault?: string;\n" in query[1]
    assert "readonly degraded: string | null;" in text
    assert "[key: string]" not in text and "any" not in re.findall(r": (\w+)", text)


def test_a_comment_cannot_end_early() -> None:
    for comment in re.findall(r"^/\*\*(.*)", generate()[TYPESCRIPT].decode(), re.MULTILINE):
        assert comment.count("*/") == 1 and comment.endswith("*/")
