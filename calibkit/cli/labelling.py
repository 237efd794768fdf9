"""calibkit queue, import and agreement: what to label, labels from elsewhere, and how far people agree."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from calibkit import store
from calibkit.agreement import agreement
from calibkit.calibration import begin_set, region_queue
from calibkit.cli.options import (
    JsonOption,
    KindChoice,
    LabelsOption,
    MapOption,
    app,
    err_console,
    load_set,
    out_console,
    print_json,
    read_columns,
    read_pair_option,
    read_rules,
)
from calibkit.formats import KINDS, read_foreign
from calibkit.label_log import LabelLog, append_queue, read_set_labels
from calibkit.pairs import InputError, counted
from calibkit.review import Pool, Queue, by_model, by_tag, grown_groups
from calibkit.scorers import LEXICAL_SCORERS, score_pairs


class QueueKind(StrEnum):
    """How pairs are chosen."""

    random = "random"
    tags = "tags"
    models = "models"
    uncertainty = "uncertainty"
    region = "region"


@app.command("queue")
def queue_command(
    set_: Annotated[Path, typer.Argument(metavar="SET", help="A set's folder.")],
    n: Annotated[int, typer.Option("--n", help="How many pairs, one a question.", min=1)] = 200,
    by: Annotated[
        QueueKind,
        typer.Option(help="random certifies; region (from --at on) too; tags, models, uncertainty find faults."),
    ] = QueueKind.random,
    scorer: Annotated[str, typer.Option(help="For region and uncertainty: the scorer.")] = "token_recall",
    at: Annotated[float, typer.Option(help="For region and uncertainty: the threshold.")] = 0.5,
    rules: Annotated[str, typer.Option(help="For region: the hard rules, as for calibrate.")] = "default",
    locale: Annotated[str | None, typer.Option(help="For region: locale of the texts.")] = None,
    kind: Annotated[
        KindChoice | None, typer.Option(help="Were the answers collected or written? Fixed by the first run.")
    ] = None,
) -> None:
    """Choose which pairs to label next, and note how they were chosen. The notebook 01_label shows them one by one."""
    loaded = load_set(set_, read_columns(None, None, None, None))
    if not set_.is_dir():
        raise InputError(f"{set_}: labels and queues need a set; put the file as pairs.jsonl into a folder of its own")
    logs = read_set_labels(set_)
    pairs = loaded.original or loaded
    salt = begin_set(pairs, kind=kind.value if kind else None)
    pool = Pool(pairs, salt, logs.queues, grown_groups(pairs, logs.ever_added))
    now = datetime.now(UTC).replace(microsecond=0)
    queue: Queue
    if by == QueueKind.region:
        queue = region_queue(loaded, n, at, scorer=scorer, rules=read_rules(rules), locale=locale, now=now)
    elif by == QueueKind.random:
        queue = pool.random(n, at=now)
    elif by in (QueueKind.tags, QueueKind.models):
        queue = pool.stratified(n, by_tag(pairs) if by == QueueKind.tags else by_model(pairs), at=now, by=by.value)
    else:
        if scorer not in LEXICAL_SCORERS:
            raise InputError(f"--scorer {scorer}: name one that needs no model: {', '.join(LEXICAL_SCORERS)}")
        scores = score_pairs(pairs, scorer)
        place = {pair.id: value for pair, value in zip(pairs, scores.values.tolist(), strict=True)}
        queue = pool.uncertainty(n, place, [at], at=now)
    if by != QueueKind.region:
        append_queue(set_, queue)
    open_ones = sum(not pair.labelled for pair in loaded if pair.id in set(queue.ids))
    use = "its completed beginning certifies" if queue.certifies else "it finds faults and certifies nothing"
    out_console.print(
        f"{counted(len(queue.ids), 'pair')} drawn ({queue.kind}), {open_ones} without a label; {use}. "
        f"Label them in the notebook 01_label: calibkit lab {set_}",
        markup=False,
    )


@app.command("import")
def import_command(
    file: Annotated[Path, typer.Argument(help="A file of another tool.")],
    from_: Annotated[str, typer.Option("--from", help=f"The tool: {', '.join(KINDS)}.")],
    to: Annotated[Path, typer.Option(help="The set's folder; made where there is none.")],
    predictions: Annotated[Path | None, typer.Option(help="For squad: the file with the answers.")] = None,
    map_: MapOption = None,
    labels: LabelsOption = None,
) -> None:
    """Bring another tool's answers, or people's labels of answers that the set has, into a set."""
    words = dict(read_pair_option(part, "--labels", "WORD=yes") for part in labels.split(",")) if labels else {}
    mapping = dict(read_pair_option(part, "--map", "KEY=NAME") for part in map_ or ())
    foreign = read_foreign(file, from_, map=mapping, labels=words, predictions=predictions)
    for remark in foreign.remarks:
        err_console.print(f"{remark.outcome}: {remark.place}: {remark.reason}", markup=False)
    pairs_file = to / "pairs.jsonl"
    if not pairs_file.exists():
        to.mkdir(parents=True, exist_ok=True)
        bare = [{key: value for key, value in record.items() if key != "acceptable"} for record in foreign.records]
        with store.atomic_writer(pairs_file) as whole:
            store.write_records(whole, bare if foreign.labels else foreign.records)
        out_console.print(f"{counted(len(foreign.records), 'pair')} written to {pairs_file}", markup=False)
    known = {pair.id for pair in store.load_pairs(to)}
    strangers = 0
    written = 0
    for annotator, given in foreign.labels.items():
        name = re.sub(r"[^\w.-]+", "-", annotator).strip("-.") or "import"
        with LabelLog(to, name) as log:
            for pair_id, acceptable in given.items():
                if pair_id in known:
                    log.label(pair_id, acceptable, uid=f"{from_}:{file.name}:{pair_id}")
                    written += 1
                else:
                    strangers += 1
    if foreign.labels:
        out_console.print(
            f"{counted(written, 'label')} of {counted(len(foreign.labels), 'annotator')} in {to / 'labels'}"
            + (f"; {strangers} left out: their pairs are not in the set" if strangers else ""),
            markup=False,
        )


@app.command("agreement")
def agreement_command(
    set_: Annotated[Path, typer.Argument(metavar="SET", help="A set's folder.")], json_: JsonOption = False
) -> None:
    """Tell how far the annotators of a set agree, and on which pairs they do not."""
    loaded = load_set(set_, read_columns(None, None, None, None))
    if not set_.is_dir():
        raise InputError(f"{set_}: several people's labels stand in a set's folder, one log each")
    logs = read_set_labels(set_)
    found = agreement(logs.votes, {pair.id: pair.group_key for pair in loaded})
    open_ones = [pair_id for pair_id in found.disagreed if pair_id not in logs.decided]
    if json_:
        estimates = {"percent": found.percent, "beyond_chance": found.beyond_chance}
        print_json(
            {
                "annotators": list(found.annotators),
                "pairs": found.pairs,
                "measure": found.measure,
                **{
                    name: each and {"value": each.value, "interval": each.interval and list(each.interval)}
                    for name, each in estimates.items()
                },
                "disagreed": list(found.disagreed),
                "not_adjudicated": open_ones,
            }
        )
        return
    out_console.print(str(found), markup=False)
    out_console.print(
        f"{len(found.disagreed)} pairs on which they differ, {len(open_ones)} not adjudicated"
        + (f": {', '.join(open_ones[:10])}" if open_ones else ""),
        markup=False,
    )
