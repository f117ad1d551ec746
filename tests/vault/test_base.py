from __future__ import annotations

from pathlib import Path

from ruamel.yaml import YAML

from vir_core.vault import base_text

FIXTURE = Path(__file__).resolve().parents[2] / "fixtures" / "vir.base"


def test_the_view_is_the_one_that_was_looked_at() -> None:
    # Bases runs inside Obsidian only, so these views cannot be run here. The fixture is the text to paste into a vault; it
    # was checked against the syntax in obsidianmd/obsidian-help. That `groupBy` takes a formula is not documented there.
    assert base_text() == FIXTURE.read_bytes()


def test_it_is_yaml_with_the_keys_bases_knows() -> None:
    for prefix in ("", "vir_"):
        view = YAML(typ="safe").load(base_text(prefix))
        assert set(view) == {"filters", "formulas", "properties", "views"}
        assert view["filters"] == {"and": ['file.hasProperty("vir_id")']}
        assert view["formulas"]["month"] == f'note.{prefix}date.format("YYYY-MM")'
        assert [one["name"] for one in view["views"]] == ["All notes", "Needs you", "By project", "By month", "Rules"]
        known = {"file.name", *view["properties"], *(f"formula.{name}" for name in view["formulas"])}
        for one in view["views"]:
            assert set(one) <= {"type", "name", "filters", "groupBy", "order", "sort", "limit"}
            assert set(one["order"]) <= known
            assert one.get("groupBy", {"property": "file.name"})["property"] in known
    assert f"note.{'vir_'}trust" in base_text("vir_").decode()
