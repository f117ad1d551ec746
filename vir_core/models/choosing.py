"""Which embedder a vault uses."""

from __future__ import annotations

from collections.abc import Mapping

from vir_core.models.embedder import Embedder, EmbedderFailed

OFF = "off"
BUILT_IN = "minilm"


def open_embedder(choice: str, url: str, environment: Mapping[str, str]) -> Embedder | None:
    """The embedder that a vault's settings name: empty or `minilm` for the one that comes along, `ollama MODEL` or
    `openai MODEL` (with `url`, when it is not the usual one), `off` for none. `VIR_EMBEDDER` in the environment may say
    `off` or `minilm` for one machine; it cannot choose a service. Loads nothing. Raises `EmbedderFailed` for other words."""
    here = environment.get("VIR_EMBEDDER", "")
    words = (here if here in (OFF, BUILT_IN) else choice).split(maxsplit=1) or [BUILT_IN]
    if words == [OFF]:
        return None
    if words == [BUILT_IN]:
        from vir_core.models.minilm import MiniLM

        return MiniLM()
    kind = words[0]
    if len(words) == 2 and (kind == "ollama" or kind == "openai"):
        from vir_core.models.remote import RemoteEmbedder

        return RemoteEmbedder(kind, words[1], url, environment)
    raise EmbedderFailed(
        f"The setting `embedder: {' '.join(words)}` names no embedder.",
        'Write "minilm", "ollama MODEL", "openai MODEL" or "off" in store/config.yaml.',
    )
