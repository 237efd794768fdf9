"""The labelling pad: alone in a page that plays the notebook, and in JupyterLab and Notebook 7."""

import json
import os
import random
import signal
from pathlib import Path

import pytest

from calibkit.label_log import LabelLog, read_set_labels
from calibkit.labelling import RUBRIC, LabelSession
from calibkit.pairs import AnswerPair

WIDGETS = Path(__file__).parents[2] / "calibkit" / "widgets"
SUPPORT_DESK = Path(__file__).parents[2] / "labelled_pairs" / "support_desk"
PAD = ".calibkit-pad"
SAID = {"1": True, "2": False, "3": None}

HOST = """
import definition from "./label_pad.js";
const listeners = [];
window.sent = [];
window.hear = (replies) => replies.forEach((reply) => listeners.forEach((listener) => listener(reply)));
window.leaked = [];
document.addEventListener("keydown", (event) => window.leaked.push(event.key));
const model = {
  get: () => window.start,
  send: (message) => window.sent.push(structuredClone(message)),
  on: (_, listener) => listeners.push(listener),
};
const widget = await definition();
await widget.initialize({ model });
window.close_view = await widget.render({ model, el: document.getElementById("here") });
"""


class LonePad:
    """The pad in a bare page. What it sends waits in the page until a test brings it to the session, or loses it."""

    def __init__(self, page, session):
        self.page = page
        self.session = session
        self.root = page.locator(PAD)
        files = {
            "/": ("text/html", "<!doctype html><html lang=en><title>pad</title><main id=here></main></html>"),
            "/host.js": ("text/javascript", HOST),
            "/label_pad.js": ("text/javascript", (WIDGETS / "label_pad.js").read_text()),
        }

        def answer(route):
            kind, text = files[route.request.url.removeprefix("http://pad.test")]
            route.fulfill(content_type=kind, body=text)

        page.route("http://pad.test/**", answer)
        page.clock.install()
        self.open()

    def open(self, session=None):
        """Load the page, as for the first time or again."""
        self.session = session or self.session
        self.page.goto("http://pad.test/")
        self.page.add_style_tag(path=WIDGETS / "label_pad.css")
        self.page.evaluate("start => { window.start = start }", json.loads(json.dumps(self.session.start())))
        self.page.add_script_tag(url="http://pad.test/host.js", type="module")
        self.root.wait_for()
        self.root.focus()

    def press(self, keys):
        for key in keys:
            self.page.keyboard.press(key)

    def take(self):
        """What the pad has sent since the last time."""
        return self.page.evaluate("window.sent.splice(0)")

    def deliver(self, messages=None):
        """Bring messages to the session, and its replies to the pad."""
        replies = [
            reply for one in (self.take() if messages is None else messages) for reply in self.session.receive(one)
        ]
        self.page.evaluate("replies => window.hear(replies)", json.loads(json.dumps(replies)))

    def wait(self, seconds):
        self.page.clock.run_for(seconds * 1000)

    @property
    def count(self):
        return self.page.locator(f"{PAD} .head strong").inner_text()

    @property
    def status(self):
        return self.page.locator(f"{PAD} .status").inner_text()

    @property
    def saving(self):
        return self.page.locator(f"{PAD} .saving").inner_text()

    def text(self, row):
        return self.page.locator(f"{PAD} .{row} .text").inner_text()


def pairs(n):
    return [
        AnswerPair(f"p{at}", (f"It costs {at} crowns.",), f"It costs {at + 1} crowns.", f"price {at}?")
        for at in range(n)
    ]


@pytest.fixture
def log(tmp_path):
    with LabelLog(tmp_path, "zoe") as opened:
        yield opened


@pytest.fixture
def open_pad(new_page, log):
    def open_it(items, **options):
        return LonePad(new_page(), LabelSession(items, [pair.id for pair in items], log, **options))

    return open_it


def said(log):
    return [(event.pair_id, event.acceptable) for event in log.events]


# --- alone ------------------------------------------------------------------------------------------


def test_labels_arrive_once_and_in_order_whatever_the_way_does_to_them(open_pad, log):
    pad = open_pad(pairs(40))
    chance = random.Random(1)
    keys = [chance.choice("123") for _ in range(40)]
    for start in range(0, 40, 8):
        pad.press(keys[start : start + 8])
        assert pad.count == f"{start + 8} of 40"  # it did not wait for Python
        on_the_way = [one for one in pad.take() for _ in range(chance.randrange(3))]  # lost, once, or twice
        chance.shuffle(on_the_way)
        pad.deliver(on_the_way)
    while pad.saving != "all saved":
        pad.wait(5)
        pad.deliver()
    assert said(log) == [(f"p{at}", SAID[key]) for at, key in enumerate(keys)]
    assert pad.page.evaluate("Object.keys(localStorage)") == []
    assert pad.page.locator(f"{PAD} .rest").inner_text() == "All 40 are labelled."


def test_what_was_not_acknowledged_outlives_the_page_and_the_kernel(open_pad, log):
    items = pairs(6)
    pad = open_pad(items)
    pad.press("1232")
    [first, *lost] = pad.take()
    pad.deliver([first])
    pad.session.receive(lost[0])  # on the disk; its acknowledgement is lost
    pad.wait(6)
    assert pad.status == (
        "3 entries are not saved yet, and kept in this browser. If the kernel was restarted, run the cells again."
    )
    pad.open(LabelSession(items, [pair.id for pair in items], log))
    assert (pad.count, pad.text("question")) == ("4 of 6", "price 4?")
    pad.press("u3")
    pad.deliver()
    assert (pad.saving, pad.count) == ("all saved", "4 of 6")
    assert {name: label.acceptable for name, label in log.labels.items()} == {
        "p0": True,
        "p1": False,
        "p2": None,
        "p3": None,
    }
    assert len(log.events) == 6  # four labels, one taken back, one more


def test_only_single_presses_of_plain_keys_label(open_pad):
    pad = open_pad(pairs(9))
    keyboard = pad.page.keyboard
    for _ in range(4):
        keyboard.down("1")  # held down
    keyboard.up("1")
    for chord in ("Control+2", "Alt+2", "Meta+2"):
        keyboard.press(chord)
    pad.press(["a", "x", "d", "d", "Enter", "Escape", "4", " "])
    assert pad.count == "1 of 9"
    assert not set(pad.page.evaluate("window.leaked")) & set("axd1")
    keyboard.press("Numpad2")
    assert pad.count == "2 of 9"
    # A keyboard of another alphabet, and one on which digits need shift: by the place of the key.
    for key, code, shift in (("г", "KeyU", False), ("&", "Digit1", False), ("&", "Digit7", True), ("g", "KeyU", False)):
        pad.root.evaluate(
            "(root, [key, code, shiftKey]) => root.dispatchEvent(new KeyboardEvent('keydown', {key, code, shiftKey}))",
            [key, code, shift],
        )
    assert [one["event"]["kind"] for one in pad.take()] == ["label", "label", "undo", "label"]


def test_a_click_labels_and_leaves_no_button_that_the_space_bar_presses(open_pad):
    pad = open_pad(pairs(3))
    pad.page.get_by_role("button", name="Not acceptable").click()
    pad.press([" ", "Enter"])
    assert pad.count == "1 of 3"
    pad.page.get_by_role("button", name="Cannot say").focus()
    pad.page.keyboard.down("Enter")
    pad.page.keyboard.down("Enter")
    assert pad.count == "2 of 3"


def test_comment_flag_and_rubric_go_with_the_label_and_come_back_with_undo(open_pad, log):
    pad = open_pad(pairs(2), rubric=RUBRIC)
    keyboard = pad.page.keyboard
    keyboard.press("c")
    keyboard.type("1 crown too much, u see")
    keyboard.press("Enter")
    pad.press("fr4513")  # the digits are points here, and leave the rubric after the last
    assert pad.count == "0 of 2"
    pad.press("2")
    pad.deliver()
    label = log.labels["p0"]
    assert (label.acceptable, label.comment, label.flag) == (False, "1 crown too much, u see", True)
    assert label.rubric == dict(zip(RUBRIC, (4, 5, 1, 3), strict=True))
    pad.open(LabelSession(pairs(2), ["p0", "p1"], log, rubric=RUBRIC))
    pad.press("u1")
    pad.deliver()
    again = log.labels["p0"]
    assert (again.acceptable, again.comment, again.flag, again.rubric) == (True, label.comment, True, label.rubric)
    assert pad.page.locator(f"{PAD} textarea").is_hidden()  # the next pair has no comment


def test_texts_are_shown_as_they_are_and_never_read_as_html(open_pad):
    trap = "<img src=x onerror=\"document.title = 'caught'\"> **bold** <script>document.title = 'caught'</script>"
    arabic = "السعر هو 30 يورو"
    items = [
        AnswerPair("a", (trap, "b"), trap + " more", question=trap, tags=("wrong_number",), meta={"score": 0.123}),
        AnswerPair("b", (arabic,), "السعر هو 20 يورو", question="كم السعر؟"),
        AnswerPair("c", (), "word " * 4000, question=""),
        AnswerPair("d", ("a\u202eb",), "c\x07d"),
    ]
    pad = open_pad(items, rule=trap)
    assert pad.text("question") == trap
    assert pad.text("answer") == trap + " more"
    assert pad.page.locator(f"{PAD} .answer mark").all_inner_texts() == ["more"]
    assert pad.page.locator(f"{PAD} img, {PAD} script").count() == 0
    sent = pad.page.evaluate("JSON.stringify(window.start)")
    assert "wrong_number" not in sent
    assert "0.123" not in sent
    pad.press("?")
    assert pad.page.locator(f"{PAD} .help .text").inner_text() == trap
    pad.press("?1")
    assert pad.page.locator(f"{PAD} .answer .text").evaluate("node => getComputedStyle(node).direction") == "rtl"
    assert pad.page.locator(f"{PAD} mark").all_inner_texts() == ["30", "20"]
    pad.press("1")
    assert pad.page.locator(f"{PAD} .question").is_hidden()
    assert pad.text("reference") == "None: the question has no answer."
    answer = pad.page.locator(f"{PAD} .answer .text")
    assert answer.evaluate("node => [node.clientHeight < 400, node.scrollHeight > 1000, node.tabIndex]") == [
        True,
        True,
        0,
    ]
    assert pad.root.evaluate("node => node.scrollWidth <= node.clientWidth")
    pad.press("1")
    assert (pad.text("reference"), pad.text("answer")) == ("a\ufffdb", "c\ufffdd")
    assert pad.page.title() == "pad"


def test_what_python_cannot_save_is_told_and_tried_again(open_pad, log, monkeypatch):
    pad = open_pad(pairs(3))

    def full(*_):
        raise OSError(28, "No space left on device")

    pad.press("1")
    with monkeypatch.context() as broken:
        broken.setattr("calibkit.event_log.EventFile._put", full)
        pad.deliver()
    assert pad.status.startswith("Not saved yet, will be tried again: ")
    assert "No space left on device" in pad.status
    pad.wait(5)
    pad.deliver()
    assert (pad.saving, said(log)) == ("all saved", [("p0", True)])
    pad.press("2")
    [message] = pad.take()
    message["event"]["pair_id"] = "gone"
    pad.deliver([message])
    assert pad.status.startswith("Not saved: the set holds no pair 'gone' any more")
    assert (pad.count, pad.text("question")) == ("1 of 3", "price 1?")  # it comes up again


def test_a_long_queue_comes_in_parts(open_pad, log):
    pad = open_pad(pairs(130))
    pad.press("1" * 130)
    assert pad.page.locator(f"{PAD} .rest").inner_text() == "Fetching the next pair…"
    assert pad.count == "100 of 130"  # nothing is labelled that was not seen
    pad.deliver()
    assert pad.text("question") == "price 100?"
    while pad.count != "130 of 130":
        pad.press("1" * 30)
        pad.deliver()
        pad.wait(3)
    assert [name for name, _ in said(log)] == [f"p{at}" for at in range(130)]


def test_two_windows_of_one_person_know_of_each_other(open_pad, log):
    items = pairs(4)
    one, two = open_pad(items), open_pad(items)
    two.session = one.session
    one.press("1")
    replies = [reply for message in one.take() for reply in one.session.receive(message)]
    two.page.evaluate("replies => window.hear(replies)", replies)
    assert (two.count, two.text("question")) == ("1 of 4", "price 1?")
    one.press("u")
    replies = [reply for message in one.take() for reply in one.session.receive(message)]
    two.page.evaluate("replies => window.hear(replies)", replies)
    assert two.count == "0 of 4"


# --- in Jupyter -------------------------------------------------------------------------------------

CELLS = [
    "import os\nfrom pathlib import Path\n\nfrom calibkit.labelling import open_queue\nfrom calibkit.widgets import LabelPad",
    "Path('pid').write_text(str(os.getpid()))",
    'LabelPad(open_queue("support_desk", annotator="zoe", n=40))',
]


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_forty_labels_over_the_death_of_the_kernel(open_notebook, app):
    notebook = open_notebook(app, CELLS, [SUPPORT_DESK])
    page, folder = notebook.page, notebook.folder / "support_desk"
    stored = notebook.cells()
    pad = page.locator(PAD)
    count, saving = pad.locator(".head strong"), pad.locator(".saving")

    def run():
        notebook.run_all()
        pad.wait_for()
        pad.focus()

    def press(some):
        for key in some:
            page.keyboard.press(key)

    keys = [random.Random(app).choice("123") for _ in range(40)]
    run()
    press(keys[:18])
    assert count.inner_text() == "18 of 40"
    press("axddbmyh00iizo")
    press(["Enter", "Escape", "ArrowDown", "Backspace", "Delete", "Shift+M"])
    press("c")
    page.keyboard.type("axdd 123")
    press(["Escape", "u", keys[17]])
    assert notebook.cells() == stored
    saving.get_by_text("all saved").wait_for()

    os.kill(int((notebook.folder / "pid").read_text()), signal.SIGKILL)
    press(keys[18:28])
    assert count.inner_text() == "28 of 40"
    pad.locator(".problem", has_text="kept in this browser").wait_for()
    notebook.await_restart()
    run()
    assert count.inner_text() == "28 of 40"
    press(keys[28:])
    pad.get_by_text("All 40 are labelled.").wait_for()
    saving.get_by_text("all saved").wait_for()
    assert notebook.cells() == stored

    known = read_set_labels(folder)
    [queue] = known.queues
    labels = sorted(known.labels["zoe"].values(), key=lambda label: label.order)
    assert [(label.pair_id, label.acceptable) for label in labels] == [
        (name, SAID[key]) for name, key in zip(queue.ids, keys, strict=True)
    ]
    assert [label.comment for label in labels if label.comment] == ["axdd 123"]
    assert len((folder / "labels" / "zoe.jsonl").read_text().splitlines()) == 42  # one label taken back, and said again
    assert known.intact


@pytest.mark.parametrize(("app", "rubric"), [("lab", ()), ("notebook", ("accuracy", "politeness"))])
def test_axe_finds_no_serious_violation(open_notebook, find_violations, screenshot, app, rubric):
    cells = [
        CELLS[0],
        f'session = open_queue("support_desk", annotator="zoe", n=40, rubric={rubric})',
        "said = [session.log.label(name, True, seconds=7.0) for name in session.ids[:3]]",
        "LabelPad(session)",
    ]
    notebook = open_notebook(app, cells, [SUPPORT_DESK], device_scale_factor=2)
    notebook.run_all()
    pad = notebook.page.locator(PAD)
    pad.focus()
    assert pad.locator(".head").inner_text().split("\n")[:2] == ["3 of 40", "7 s each, about 4 min left"]
    if app == "lab":
        screenshot(pad.locator(".."), "label_pad.png")  # with its focus ring
    for key in ("1", "f", "c", "Escape", "?"):
        notebook.page.keyboard.press(key)
    for theme in ("JupyterLab Light", "JupyterLab Dark"):
        notebook.set_theme(theme)
        assert find_violations(notebook.page, PAD) == []
