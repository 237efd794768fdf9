"""What decides the vectors of a sentence-transformers model, read from its files: fingerprint, window, prompt.

Only json and hashlib are needed: neither torch nor sentence-transformers is imported.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from calibkit.pairs import InputError

Dtype = Literal["float32", "bfloat16"]


def first_line(error: BaseException) -> str:
    """What an error of a library says first, or else its kind."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def _unreadable(file: Path, error: Exception) -> InputError:
    reason = "is missing" if isinstance(error, FileNotFoundError) else f"cannot be read ({first_line(error)})"
    return InputError(f"{file} {reason}; fetch the model again (in a git clone: git lfs pull)")


@dataclass(frozen=True)
class Recipe:
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


def read_recipe(folder: Path, dtype: Dtype, max_tokens: int | None) -> Recipe:
    """Read a model's folder; InputError where it is no model that can be known by a fingerprint."""
    kinds, folders = read_modules(folder)
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
    return Recipe(fingerprint, window, min(_dimensions(folder, modules), shorten or 2**31), prompt)


def _read_json(file: Path, default: Any = None) -> Any:
    if default is not None and not file.is_file():
        return default
    try:
        return json.loads(file.read_bytes())
    except (OSError, ValueError) as error:
        raise _unreadable(file, error) from None


def read_modules(folder: Path) -> tuple[list[str], list[Path]]:
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
        tokenizer = {place.name: hash_file(place) for place in files}
    tokens = {
        # A special token may be an object about its text.
        key: value["content"] if isinstance(value, dict) and "content" in value else value
        for key, value in settings.items()
        if key not in noise and value is not None
    }
    return {"settings": _TOKENIZER_DEFAULTS | tokens, "tokenizer": tokenizer}


def weight_files(folder: Path) -> list[Path]:
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
    for file in weight_files(folder):
        weights |= _hash_tensors(file) if file.suffix == ".safetensors" else {file.name: hash_file(file)}
    return weights


def hash_file(file: Path) -> str:
    """SHA-256 of a file's bytes."""
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
