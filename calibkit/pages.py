"""What a report is made of, and its two renderings: one HTML page that needs nothing else, or plain text.

Every text is cut, cleaned and escaped on its way into a page, wherever it comes from.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import regex

from calibkit.mistakes import LONGEST, Segments, compare, cut, nearest_reference
from calibkit.pairs import AnswerPair

MARKS: Final = "Struck through: words that only the reference has. Underlined: words that only the answer has."
_MARKS_IN_TEXT: Final = "[-So-]: words that only the reference has. {+So+}: words that only the answer has."
_MANY: Final = 5
"""Further references that are shown."""
_LONGEST_LINE: Final = 3 * LONGEST
_WIDTH: Final = 100


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first cell of each names its row."""

    rows: Sequence[Sequence[str]]
    head: Sequence[str] = ()


@dataclass(frozen=True)
class Figure:
    """A drawing; plain text goes without it."""

    name: str
    """Tells its ids from those of the page's other figures."""
    alt: str
    caption: str
    draw: Callable[[], bytes]
    """Gives the SVG of matplotlib."""


@dataclass(frozen=True)
class Example:
    """One answer, taken apart."""

    facts: Sequence[str]
    texts: Sequence[tuple[str, Segments, str]]
    """What it is, its pieces, and a note on what was cut."""


@dataclass(frozen=True)
class Fold:
    """What a reader opens to see; plain text shows it all."""

    summary: str
    blocks: Sequence[str | list[str] | Table | Figure | Example | Fold]


Block = str | list[str] | Table | Figure | Example | Fold
"""Paragraphs, bullets, and what has a class of its own."""


@dataclass(frozen=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: Sequence[Block]
    level: int = 2


@dataclass(frozen=True)
class Page:
    """A whole report."""

    kind: str
    """What it is of the thing named, as in "Calibration of"."""
    name: str
    badges: Sequence[tuple[bool, str]]
    """Good or bad, and the words for it."""
    headline: str
    sections: Sequence[Section]


def share(part: int, whole: int) -> str:
    r"""Write a count with its share in percent.

    >>> share(1, 8), share(0, 0)
    ('1 (12.5\xa0%)', '0')
    """
    return f"{part} ({100 * part / whole:.1f}\u00a0%)" if whole else str(part)


def show_answer(pair: AnswerPair, facts: Iterable[str], more: Iterable[tuple[str, str]] = ()) -> Example:
    """Show an answer beside its nearest reference, with the words that differ marked.

    Parameters
    ----------
    pair
        The answer.
    facts
        What is told of it besides its id and its tags.
    more
        Further texts, each with its name.
    """
    told = [cut(pair.id, 80)[0], *facts]
    if pair.tags:
        told.append(f"tags: {', '.join(pair.tags)}")
    nearest = nearest_reference(pair) if pair.references else None
    (question, question_note), (answer, answer_note) = cut(pair.question), cut(pair.candidate)
    reference, reference_note = ("", "(none)") if nearest is None else cut(pair.references[nearest])
    left, right = ([], [(answer, False)]) if nearest is None else compare(reference, answer)
    texts: list[tuple[str, Segments, str]] = [("Question", [(question, False)], question_note)] if question else []
    texts += [("Reference", left, reference_note), ("Answer", right, answer_note)]
    others = [text[:LONGEST] for number, text in enumerate(pair.references) if number != nearest]
    if others:
        shown, note = cut(" | ".join(others[:_MANY]))
        rest = f" and {len(others) - _MANY} more" if len(others) > _MANY else ""
        texts.append(("Also accepted", [(shown, False)], f"{note}{rest}"))
    for name, text in more:
        shown, note = cut(text)
        texts.append((name, [(shown, False)], note))
    return Example(told, texts)


# --- plain text -------------------------------------------------------------------------------------


def text_page(page: Page) -> str:
    """Tell a report in plain text, without its figures."""
    badges = ", ".join(word.upper() for _, word in page.badges)
    lines = _filled(f"{page.kind} {cut(page.name, 80)[0]}{': ' if badges else ''}{badges}")
    lines += ["", *_filled(page.headline)]
    for section in page.sections:
        lines += ["", *_filled(section.title), ("=" if section.level == 2 else "-") * min(len(section.title), _WIDTH)]
        lines += _lines(section.blocks)
    return "\n".join(lines) + "\n"


def _filled(text: str, first: str = "", rest: str = "") -> list[str]:
    shown = "".join(cut(text, _LONGEST_LINE))
    return textwrap.wrap(shown, _WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False) or [
        first.rstrip()
    ]


def _lines(blocks: Sequence[Block]) -> list[str]:
    lines: list[str] = []
    number, shown = 0, [block for block in blocks if not isinstance(block, Figure)]
    for block in shown:
        if block is not shown[0] and not isinstance(block, Example):
            lines.append("")
        match block:
            case str():
                lines += _filled(_MARKS_IN_TEXT if block is MARKS else block)
            case list():
                for line in block:
                    lines += _filled(line, "- ", "  ")
            case Table(rows, head):
                table = [[_cell(cell) for cell in row] for row in ([head, *rows] if head else rows)]
                widths = [max(len(row[at]) for row in table) for at in range(len(table[0]) - 1)] if table else []
                indent = " " * min(sum(widths) + 2 * len(widths), _WIDTH // 2)
                for row in table:
                    cells = [cell.ljust(width) for cell, width in zip(row[:-1], widths, strict=True)]
                    lines += _filled("  ".join([*cells, row[-1]]), "", indent)
            case Example(facts, texts):
                number += 1
                lines += _filled("; ".join(facts), f"{number:>2}. ", "    ")
                for name, segments, note in texts:
                    mark = "[-{}-]" if name == "Reference" else "{{+{}+}}"
                    told = "".join(mark.format(text) if odd else text for text, odd in segments)
                    lines += _filled(f"{name}: {told} {note}", "    ", "      ")
            case Fold(summary, inner):
                lines += [*_filled(summary), *_lines(inner)]
    return lines


def _cell(text: str) -> str:
    return "".join(cut(text, _LONGEST_LINE)).replace("\n", " ")


# --- HTML -------------------------------------------------------------------------------------------

_PAGE: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<header>
<p class="badges">{kind} {name} {badges}</p>
<h1 dir="auto">{headline}</h1>
</header>
<main>
{main}</main>
</body>
</html>
"""


def html_page(page: Page) -> str:
    """Tell a report as one HTML page that needs nothing else: no script, no other file, no network."""
    name = _text(page.name, 80)
    main = []
    for section in page.sections:
        main.append(f"<h{section.level}>{_text(section.title)}</h{section.level}>\n")
        main += map(_block, section.blocks)
    look = {True: ("yes", "✓"), False: ("no", "✗")}
    badges = [
        f'<strong class="{look[good][0]}"><i>{look[good][1]}</i> {_text(word)}</strong>' for good, word in page.badges
    ]
    return _PAGE.format(
        title=": ".join(filter(None, [name, ", ".join(_text(word) for _, word in page.badges)])),
        style=files("calibkit").joinpath("report.css").read_text(encoding="utf-8"),
        kind=_text(page.kind),
        name=f"<bdi>{name}</bdi>",
        badges=" ".join(badges),
        headline=_text(page.headline),
        main="".join(main),
    )


def _text(text: str, most: int = _LONGEST_LINE) -> str:
    return html.escape("".join(cut(text, most)))


def _block(block: Block) -> str:
    match block:
        case str():
            return f'<p dir="auto">{_text(block)}</p>\n'
        case list():
            items = "".join(f'<li dir="auto">{_text(line)}</li>\n' for line in block)
            return f"<ul>\n{items}</ul>\n"
        case Table(rows, head):
            titles = "".join(f'<th scope="col">{_text(title)}</th>' for title in head)
            top = f"<thead><tr>{titles}</tr></thead>\n" if head else ""
            body = "".join(
                f'<tr><th scope="row">{_text(row[0])}</th>'
                + "".join(f'<td dir="auto">{_text(cell)}</td>' for cell in row[1:])
                + "</tr>\n"
                for row in rows
            )
            kind = "counts" if head else "facts"
            return f'<div class="wide"><table class="{kind}">\n{top}<tbody>\n{body}</tbody></table></div>\n'
        case Figure(name, alt, caption, draw):
            drawing = _inline(draw().decode(), name, alt)
            return f"<figure>{drawing}<figcaption>{_text(caption)}</figcaption></figure>\n"
        case Example(facts, texts):
            told = ""
            for name, segments, note in texts:
                tag = "del" if name == "Reference" else "ins"
                pieces = [(html.escape(text), odd) for text, odd in segments]
                marked = "".join(f"<{tag}>{text}</{tag}>" if odd else text for text, odd in pieces)
                marked += f" <small>{html.escape(note)}</small>" if note else ""
                told += f'<dt>{_text(name)}</dt><dd dir="auto">{marked}</dd>\n'
            tags = "".join(f"<li><bdi>{_text(fact)}</bdi></li>" for fact in facts)
            return f'<article><ul class="tags">{tags}</ul>\n<dl>\n{told}</dl></article>\n'
        case Fold(summary, inner):
            return f"<details><summary>{_text(summary)}</summary>\n{''.join(map(_block, inner))}</details>\n"


def _inline(svg: str, name: str, alt: str) -> str:
    """Make matplotlib's SVG part of a page: no prologue, no outside address, ids of its own."""
    svg = svg[svg.index("<svg") :]
    svg = regex.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", svg, flags=regex.DOTALL)
    svg = regex.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    svg = regex.sub(r'( id="|href="#|url\(#)', rf"\1{name}-", svg)
    svg = regex.sub(r' (width|height)="[^"]*"', "", svg, count=2)
    return svg.replace("<svg", f'<svg role="img" aria-label="{html.escape(alt)}"', 1)
