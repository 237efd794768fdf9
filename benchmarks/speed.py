"""How fast, as ratios within one run: token overlap, the cache of vectors, embedding, curve and certificate.

    python -m benchmarks.speed overlap PAIRS...      against the rouge-score package, without and with its stemmer
    python -m benchmarks.speed cache PAIRS           a cold calibration with cosine against a warm one
    python -m benchmarks.speed embedding PAIRS...    against one plain `encode` over all texts
    python -m benchmarks.speed curve                 10^6 scores and 10^5 labels against numpy's argsort

Labels are not needed; rows that are no pair are left out. Seconds depend on the machine and on what else it does: only
the ratios mean something.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from calibkit import AnswerPair, Columns, calibrate, certify, compute_curve, load_embedder, load_pairs
from calibkit.cascade import Fault
from calibkit.scorers import score_pairs
from calibkit.store import iter_answers

app = typer.Typer(add_completion=False, help=__doc__)
Files = Annotated[list[Path], typer.Argument(help="Files of answer pairs.")]
MapOption = Annotated[list[str] | None, typer.Option("--map", help="KEY=COLUMN, for files that have the column.")]
SplitOption = Annotated[str | None, typer.Option("--split-references")]


def timed(action: Callable[[], Any], repeats: int = 3) -> float:
    """The shortest of a few runs, in seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def read(path: Path, map_: list[str] | None, split_references: str | None) -> list[AnswerPair]:
    """The usable pairs of a file; a foreign table takes the mapping, the format's own files none."""
    mapped = dict(part.split("=", 1) for part in map_ or ())
    columns = Columns(mapped, split_references) if path.suffix in (".csv", ".tsv") else Columns()
    return [pair for pair in iter_answers(path, columns) if not isinstance(pair, Fault)]


@app.command()
def overlap(files: Files, map_: MapOption = None, split_references: SplitOption = None) -> None:
    """ROUGE-1 of the best reference, by both."""
    from rouge_score.rouge_scorer import RougeScorer

    totals = np.zeros(4)
    print(
        "| pairs | references | rouge-score | with its stemmer | calibkit | stemmed | faster | than with stemmer "
        "| both stemmed |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for path in files:
        pairs = [pair for pair in read(path, map_, split_references) if pair.references]

        def peer(stem: bool, pairs: list[AnswerPair] = pairs) -> list[float]:
            scorer = RougeScorer(["rouge1"], use_stemmer=stem)
            return [max(scorer.score(text, p.candidate)["rouge1"].fmeasure for text in p.references) for p in pairs]

        seconds = np.array([
            timed(lambda: peer(False)),
            timed(lambda: peer(True), 1),
            timed(lambda pairs=pairs: score_pairs(pairs, "rouge1")),
            timed(lambda pairs=pairs: score_pairs(pairs, "rouge1_stemmed"), 1),
        ])  # fmt: skip
        totals += seconds
        _overlap_row(f"{path.stem}, {len(pairs)}", sum(len(p.references) for p in pairs), seconds)
        ascii_only = [p.candidate.isascii() and all(text.isascii() for text in p.references) for p in pairs]
        differing = (np.array(peer(False)) != score_pairs(pairs, "rouge1").values)[ascii_only].sum()
        print(f"<!-- {differing} of {sum(ascii_only)} pairs of ASCII texts differ in any bit -->")
    _overlap_row("all", "", totals)


def _overlap_row(name: str, references: object, seconds: Any) -> None:
    plain, stemmed, own, own_stemmed = seconds
    print(
        f"| {name} | {references} | {plain:.2f} s | {stemmed:.2f} s | {own:.3f} s | {own_stemmed:.3f} s "
        f"| {plain / own:.1f} x | {stemmed / own:.1f} x | {stemmed / own_stemmed:.1f} x |"
    )


@app.command()
def cache(file: Path, leave_out: Annotated[str | None, typer.Option("--leave-out")] = None) -> None:
    """A whole calibration with cosine from the file on, twice: with an empty cache, then with a full one."""
    left, _, right = (leave_out or "").partition("=")
    columns = Columns(leave_out=[(left, right)] if leave_out else [])
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / file.name
        shutil.copy(file, own)

        def run() -> int:
            embedder = load_embedder(cache=Path(folder) / "cache")
            calibrate(load_pairs(own, columns), scorer="cosine", embedder=embedder)
            return embedder.embedded

        start = time.perf_counter()
        embedded = run()
        cold = time.perf_counter() - start
        warm = timed(run)
        print(
            f"cold {cold:.1f} s ({embedded} texts embedded), warm {warm:.2f} s ({run()} embedded): {cold / warm:.0f} x"
        )


@app.command()
def embedding(
    files: Files,
    map_: MapOption = None,
    split_references: SplitOption = None,
    dtype: Annotated[str, typer.Option(help="float32 or bfloat16.")] = "bfloat16",
) -> None:
    """All candidates and references, as often as they stand in the files."""
    from sentence_transformers import SentenceTransformer

    texts = []
    for path in files:
        for pair in read(path, map_, split_references):
            texts += [pair.candidate, *pair.references]
    with tempfile.TemporaryDirectory() as folder:
        embedder = load_embedder(dtype=dtype, cache=folder)  # type: ignore[arg-type]
        embedder.embed(["warm up"])
        own = timed(lambda: embedder.embed(list(dict.fromkeys(texts))), 1)
        model = SentenceTransformer(str(embedder._folder), device="cpu", local_files_only=True)
        model.encode(["warm up"])
        plain = timed(lambda: model.encode(texts), 1)
    print(
        f"{len(texts)} texts, {len(set(texts))} distinct: plain encode {plain:.0f} s, calibkit ({dtype}) {own:.0f} s: "
        f"{plain / own:.1f} x"
    )


@app.command()
def curve() -> None:
    """Random scores of six decimals, a tenth of the answers rejected."""
    rng = np.random.default_rng(2026)
    scores = rng.random(1_000_000).round(6)
    reject = rng.random(1_000_000) < 0.1 * (1 - scores)
    few = slice(0, 100_000)
    sort, sort_few = timed(lambda: np.argsort(scores)), timed(lambda: np.argsort(scores[few]))
    points = timed(lambda: compute_curve(scores, ~reject))
    promise = timed(lambda: certify(scores[few], reject[few], 0.05, 0.1), 1)
    print(f"curve of 10^6 scores: {points:.2f} s, {points / sort:.1f} x one argsort of them ({sort:.2f} s)")
    print(f"certificate of 10^5 labels: {promise:.1f} s (argsort of them {sort_few:.3f} s)")


if __name__ == "__main__":
    app()
