"""`vir.base`: views over the notes for Obsidian Bases, written once and then the person's.

Syntax: obsidianmd/obsidian-help, "Bases syntax" and "Functions". The filter asks for the property, not the folder, because
notes may be moved. `date()` is a function there, so the property is written `note.date`.
"""

from __future__ import annotations

from vir_core.vault.frontmatter import property_name

BASE = "vir.base"

_TEXT = """\
filters:
  and:
    - file.hasProperty("vir_id")
formulas:
  month: {date}.format("YYYY-MM")
properties:
  file.name:
    displayName: Note
  {category}:
    displayName: Category
  {project}:
    displayName: Project
  {date}:
    displayName: Date
  {trust}:
    displayName: State
  formula.month:
    displayName: Month
views:
  - type: table
    name: All notes
    order:
      - file.name
      - {category}
      - {project}
      - {date}
      - {trust}
    sort:
      - property: {date}
        direction: DESC
  - type: table
    name: Needs you
    filters:
      and:
        - {trust} == "Needs another look"
    order:
      - file.name
      - {category}
      - {project}
      - {date}
    sort:
      - property: {date}
        direction: DESC
  - type: table
    name: By project
    groupBy:
      property: {project}
      direction: ASC
    order:
      - file.name
      - {category}
      - {date}
      - {trust}
    sort:
      - property: {date}
        direction: DESC
  - type: table
    name: By month
    groupBy:
      property: formula.month
      direction: DESC
    order:
      - file.name
      - {project}
      - {category}
      - {trust}
    sort:
      - property: {date}
        direction: DESC
  - type: table
    name: Rules
    filters:
      and:
        - {category} == "rule"
    order:
      - file.name
      - {project}
      - {date}
      - {trust}
"""


def base_text(prefix: str = "") -> bytes:
    """The file for a vault whose property names carry `prefix`."""
    names = {key: f"note.{property_name(key, prefix)}" for key in ("category", "project", "date", "trust")}
    return _TEXT.format(**names).encode()
