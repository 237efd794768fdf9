"""The band tuner in a real browser: what it shows is what Python computes, by mouse, by touch and by keyboard."""

import json
import shutil
from pathlib import Path

import nbformat
import pytest

from calibkit import Cascade, load_pairs, load_policy
from calibkit.lab import prepare_lab
from calibkit.tuning import Prices, Tuning

WIDGETS = Path(__file__).parents[2] / "calibkit" / "widgets"
SUPPORT_DESK = Path(__file__).parents[2] / "labelled_pairs" / "support_desk"
TUNER = ".calibkit-tuner"
OPTIONS = 'scorer="token_recall_f1", precision=0.9, fail_precision=0.85, confidence=0.8, kind="constructed", locale="en_US", exact_rung=4'
PATH = 'scorer="token_recall_f1", precision=0.9, kind="constructed", locale="en_US", exact_rung=4'
CELL = """
from pathlib import Path
from calibkit import load_pairs
from calibkit.tuning import Tuning
from calibkit.widgets.band_tuner import BandTuner
sent, added = [], []
tuning = Tuning(load_pairs("support_desk"), OPTIONS).declare()
tuner = BandTuner(tuning, on_label=sent.extend, on_reference=added.append)
tuner
"""
TELL = "Path('told.txt').write_text(repr((tuner.pass_at, tuner.fail_below, sent, added)))"


@pytest.fixture
def fresh_set(tmp_path):
    """The shipped set without the looks that were taken at it."""
    folder = tmp_path / "set" / "support_desk"
    folder.mkdir(parents=True)
    shutil.copy(SUPPORT_DESK / "pairs.jsonl", folder)
    return folder


@pytest.fixture
def own(fresh_set, tmp_path):
    """Python's own tuning of the same answers."""
    copy = shutil.copytree(fresh_set, tmp_path / "own" / "support_desk")
    return Tuning(load_pairs(copy), **eval(f"dict({OPTIONS})")).declare()


class Screen:
    """A band tuner in an open notebook."""

    def __init__(self, book):
        self.book, self.page = book, book.page
        book.set_theme("JupyterLab Light")  # a server keeps it from one test to the next
        book.run_all()
        self.root = self.page.locator(TUNER)
        self.handles = {side: self.root.locator(f".handle.{side}") for side in ("pass", "fail")}
        self.root.locator(".mistakes h3").first.wait_for()
        self.root.locator(".stage").scroll_into_view_if_needed()

    @property
    def place(self):
        return tuple(int(self.handles[side].get_attribute("aria-valuenow")) for side in ("pass", "fail"))

    def figures(self):
        """Every figure that the screen shows, by name; one that it shows twice must read alike."""
        told = self.root.locator("[data-figure]").evaluate_all(
            "found => found.map(each => [each.dataset.figure, each.textContent])"
        )
        assert len(set(map(tuple, told))) == len({name for name, _ in told})
        return dict(told)

    def frame(self):
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def drag(self, side, to, steps=6):
        """Drag a handle to a share of the picture's width, looking at the figures on the way."""
        self.root.locator(".stage").scroll_into_view_if_needed()
        grip, stage = self.handles[side].locator("b").bounding_box(), self.root.locator(".stage").bounding_box()
        start, end = grip["x"] + grip["width"] / 2, stage["x"] + to * stage["width"]
        y = grip["y"] + grip["height"] / 2
        self.page.mouse.move(start, y)
        self.page.mouse.down()
        for step in range(1, steps + 1):
            self.page.mouse.move(start + (end - start) * step / steps, y)
            self.frame()
            yield self.place, self.figures()
        self.page.mouse.up()

    def status(self, text):
        self.root.locator(".status").filter(has_text=text).wait_for()

    def told(self):
        """What the kernel knows of the handles and of what was sent on, once it has heard all."""
        self.page.wait_for_timeout(600)
        self.page.evaluate(
            """code => {
                const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                return kernel.requestExecute({ code }).done;
            }""",
            TELL,
        )
        return eval((self.book.folder / "told.txt").read_text())


@pytest.fixture
def open_tuner(open_notebook, fresh_set):
    def open_it(app="lab", configuration=OPTIONS, **options):
        options = {"viewport": {"width": 1280, "height": 1500}, **options}
        return Screen(open_notebook(app, [CELL.replace("OPTIONS", configuration)], files=[fresh_set], **options))

    return open_it


# --- the two must always agree ----------------------------------------------------------------------


def test_every_figure_of_every_place_is_pythons_own(new_page, own):
    page = new_page()
    files = {
        "/": ("text/html", "<!doctype html><title>figures</title>"),
        "/band_tuner.js": ("text/javascript", (WIDGETS / "band_tuner.js").read_text()),
    }

    def answer(route):
        kind, text = files[route.request.url.removeprefix("http://tuner.test")]
        route.fulfill(content_type=kind, body=text)

    page.route("http://tuner.test/**", answer)
    page.goto("http://tuner.test/")
    for prices in (Prices(), Prices(0.0125, 3.3, 0.07, votes=3), Prices(99_999.99, 1e6, 1e6, votes=99)):
        places = [(high, low) for high in range(own.table.last + 1) for low in range(0, high + 1, 5)]
        shown = page.evaluate(
            """async ([table, prices, places]) => {
                const { tellFigures } = await import("/band_tuner.js");
                return places.map(place => tellFigures(table, prices, place));
            }""",
            [json.loads(json.dumps(own.table.to_record())), prices.in_millionths(), places],
        )
        assert len(shown) > 1000
        for place, texts in zip(places, shown, strict=True):
            assert texts == own.table.figures(*place, prices).texts()


@pytest.mark.parametrize("app", ["lab", "notebook"])
def test_dragging_shows_pythons_figures_at_once(open_tuner, own, app):
    screen = open_tuner(app)
    seen = set()
    moves = [("pass", 0.3), ("fail", 0.25), ("pass", 0.97), ("fail", 0.6), ("pass", 0.1), ("fail", 0.0), ("pass", 0.8)]
    for side, to in moves:
        for place, texts in screen.drag(side, to):
            assert {name: own.table.figures(*place).texts()[name] for name in texts} == texts
            assert place[1] <= place[0]
            seen.add(place)
        assert len(texts) == 20
    assert len(seen) > 20
    bands = own.move(*screen.place).bands
    assert screen.told()[:2] == (bands.pass_at_or_above, bands.fail_below)
    assert screen.handles["pass"].get_attribute("aria-valuetext").startswith(texts["pass_cut"])


def test_a_finger_drags_too(open_tuner, own):
    screen = open_tuner(has_touch=True)
    box = screen.handles["pass"].locator("b").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = screen.page.context.new_cdp_session(screen.page)
    finger.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for at in range(1, 9):
        finger.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": [{"x": x - 40 * at, "y": y}]})
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    screen.frame()
    assert screen.place[0] < own.place.pass_step
    assert screen.figures()["pass_why"] == own.table.passes[screen.place[0]].why


# --- what surrounds the handles ---------------------------------------------------------------------


def test_mistakes_follow_and_are_sent_on(open_tuner, own):
    screen = open_tuner()
    list(screen.drag("pass", 0.4))
    own.move(*screen.place)
    title = own.mistakes("pass").title
    screen.root.locator(".mistakes h3").first.filter(has_text=title).wait_for()
    shown = screen.root.locator(".mistakes h4").all_inner_texts()
    due = [own.mistakes(side).by_kind() for side in ("pass", "fail")]
    assert shown == [f"{kind} ({len(some)})" for groups in due for kind, some in groups.items()]
    first = next(iter(due[0].values()))[0]
    assert screen.root.locator(".mistakes li mark").count() > 0
    screen.root.get_by_role("button", name=f"Send {first.pair.id} to labelling").click()
    screen.status(f"Sent to labelling: {first.pair.id}")
    adding = screen.root.get_by_role("button", name="to the references").first
    assert "certifies no more" in screen.root.locator(".mistakes").inner_text()
    name = adding.get_attribute("aria-label").split()[1]
    adding.click()
    screen.status("certifies no more")
    assert screen.told()[2:] == ([first.pair.id], [name])


def test_switches_show_the_development_part_and_say_what_declaring_costs(open_tuner, own):
    screen = open_tuner()
    assert screen.root.locator(".standing").inner_text().startswith("Declared: shown on the 247 certifying labels")
    screen.root.get_by_label("Scorer").select_option("token_f1")
    standing = screen.root.locator(".standing").filter(has_text="Not declared: shown on the development part")
    standing.wait_for()
    own.switch(scorer="token_f1")
    assert own.standing in standing.inner_text()
    assert screen.figures() == own.table.figures(*screen.place).texts()
    screen.root.get_by_role("button", name="Declare …").click()
    screen.root.get_by_role("button", name="Declare and look now").click()
    screen.root.locator(".standing").filter(has_text="No look was granted").wait_for()
    screen.root.get_by_label("Scorer").select_option("token_recall_f1")
    screen.root.locator(".standing").filter(has_text="Declared: shown").wait_for()
    screen.root.get_by_role("button", name="Lowest expected cost").click()
    screen.status("The lowest expected cost among")


def test_export_grade_and_load(open_tuner, own, fresh_set):
    screen = open_tuner()
    list(screen.drag("pass", 0.55))
    place = screen.place
    screen.root.get_by_role("button", name="Export policy").click()
    screen.status("say why")
    screen.root.get_by_label("Because").fill("by eye, in a test")
    screen.root.get_by_label("Set by").fill("Ada")
    screen.root.get_by_role("button", name="Export policy").click()
    screen.status("Written: policy.yaml")
    policy = load_policy(screen.book.folder / "policy.yaml")
    figures = own.move(*place).figures
    assert policy.bands_stage.bands == figures.bands
    assert policy.evidence.sentence == figures.sentence
    assert (policy.evidence.pass_.because, policy.evidence.pass_.set_by) == ("by eye, in a test", "Ada")
    outcomes = [verdict.outcome for verdict in Cascade(policy).grade_all(load_pairs(fresh_set))]
    assert (outcomes.count("pass"), outcomes.count("fail")) == (figures.passes.pool, figures.fails.pool)

    list(screen.drag("pass", 0.2))
    screen.root.get_by_label("Another policy").last.fill("policy.yaml")
    screen.root.get_by_role("button", name="Compare").click()
    screen.root.locator(".changes").filter(has_text="Other outcomes:").wait_for()
    own.move(*screen.place)
    assert f"{own.table.passes[screen.place[0]].pool - figures.passes.pool} from review to pass" in (
        screen.root.locator(".changes p").inner_text()
    )
    screen.root.get_by_role("button", name="Put the handles there").click()
    screen.status("The handles are where policy.yaml has its thresholds")
    assert screen.place == place


# --- for everybody ----------------------------------------------------------------------------------


def test_all_of_it_by_keyboard_and_the_notebook_stays_as_it_was(open_tuner, own):
    screen = open_tuner()
    cells, page = screen.book.cells(), screen.page
    screen.root.get_by_label("Scorer").focus()
    for _ in range(30):  # no mouse: on to the handles
        if page.evaluate("document.activeElement.classList.contains('handle')"):
            break
        page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement.firstChild).outlineStyle") == "solid"
    names = [page.evaluate("document.activeElement.getAttribute('aria-label')")]
    first = screen.place
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("PageUp")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Tab")
    names.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
    assert names == ["Fail below", "Pass at or above"]
    page.keyboard.press("PageDown")
    page.keyboard.press("ArrowDown")
    screen.frame()
    assert screen.place == (first[0] - 11, min(first[1] + 11, first[0]))
    for key in ("a", "x", "d", "d", "Enter", "m"):
        page.keyboard.press(key)
    page.keyboard.press("End")
    screen.frame()
    assert screen.place[0] == own.table.last
    page.keyboard.press("Home")
    screen.frame()
    assert screen.place[0] == screen.place[1]
    assert screen.figures() == own.table.figures(*screen.place).texts()
    screen.root.locator(".unseen").filter(has_text="Pass at or above").wait_for()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.labels?.[0]?.textContent") == "Because":
            break
    page.keyboard.type("by keyboard, dd")
    page.keyboard.press("Enter")
    screen.status("Written: policy.yaml")
    assert load_policy(screen.book.folder / "policy.yaml").evidence.pass_.because == "by keyboard, dd"
    assert screen.book.cells() == cells


@pytest.mark.parametrize("theme", ["JupyterLab Light", "JupyterLab Dark"])
def test_it_is_accessible_in_light_and_dark(open_tuner, find_violations, theme):
    screen = open_tuner()
    screen.book.set_theme(theme)
    assert find_violations(screen.page, TUNER) == []
    list(screen.drag("pass", 0.1))
    screen.root.get_by_label("Scorer").select_option("token_f1")
    screen.root.locator(".standing").filter(has_text="Not declared").wait_for()
    screen.root.get_by_role("button", name="Export policy").click()
    screen.status("say why")
    assert find_violations(screen.page, TUNER) == []


def test_the_picture_follows_theme_and_width_and_the_notebook_stays_small(open_tuner):
    screen = open_tuner()
    corner = "canvas => [...canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data]"
    ink = "element => getComputedStyle(element).color"
    light = screen.root.evaluate(ink)
    screen.book.set_theme("JupyterLab Dark")
    screen.frame()
    assert screen.root.evaluate(ink) != light
    assert len(screen.root.locator("canvas").evaluate(corner)) == 4
    before = screen.handles["pass"].bounding_box()["x"]
    screen.page.set_viewport_size({"width": 820, "height": 1200})
    screen.page.wait_for_timeout(500)
    screen.frame()
    width = screen.root.locator(".stage").bounding_box()["width"]
    assert screen.root.locator("canvas").evaluate("canvas => canvas.clientWidth") == pytest.approx(width, abs=1)
    assert screen.handles["pass"].bounding_box()["x"] < before
    assert screen.root.evaluate("root => root.scrollWidth <= root.clientWidth")

    screen.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    screen.page.wait_for_timeout(1000)
    saved = (screen.book.folder / "test.ipynb").read_text()
    assert len(saved) < 100_000
    assert "certifying labels" not in saved


# --- from nothing to a policy -----------------------------------------------------------------------


def test_from_the_lab_to_a_policy_in_at_most_twelve_actions(new_page, jupyter, tmp_path):
    folder = jupyter.root / tmp_path.name
    prepare_lab(folder)
    page, actions = new_page(viewport={"width": 1280, "height": 1300}), ["make lab"]

    def act(what, do):
        do()
        actions.append(what)

    page.goto(f"{jupyter.url}/lab/tree/{folder.name}?token=browser-test")
    entry = page.locator(".jp-DirListing-item", has_text="03_tune_bands.ipynb")
    act("open 03_tune_bands.ipynb", entry.dblclick)
    page.wait_for_function("window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status === 'idle'")
    page.locator(".lm-MenuBar-item", has_text="Run").first.wait_for()
    act("menu Run", page.locator(".lm-MenuBar-itemLabel", has_text="Run").first.click)
    act("Run All Cells", page.locator(".lm-Menu-itemLabel", has_text="Run All Cells").first.click)
    page.wait_for_function("window.jupyterapp.shell.currentWidget.content.widgets.at(-1).model.executionCount !== null")
    tuner = page.locator(TUNER)
    tuner.locator(".mistakes h3").first.wait_for()
    handle = tuner.locator(".handle.pass")
    handle.scroll_into_view_if_needed()
    act("click the pass handle", handle.locator("b").click)
    act("an arrow key", lambda: page.keyboard.press("ArrowRight"))
    act("click 'Because'", tuner.get_by_label("Because").click)
    act("say why", lambda: page.keyboard.type("one step further, to be on the safe side"))
    act("Enter", lambda: page.keyboard.press("Enter"))
    tuner.locator(".status").filter(has_text="Written: policy.yaml").wait_for()
    policy = load_policy(folder / "policy.yaml")
    assert policy.certified
    assert policy.evidence.pass_.because == "one step further, to be on the safe side"
    assert len(actions) <= 12
    assert nbformat.read(folder / "03_tune_bands.ipynb", as_version=4).cells  # the user's own copy


def test_screenshot(open_tuner, screenshot):
    screen = open_tuner(configuration=PATH, viewport={"width": 1180, "height": 1900})
    screen.page.evaluate("window.jupyterapp.commands.execute('application:toggle-left-area')")
    screen.page.wait_for_timeout(800)
    list(screen.drag("pass", 0.8))
    screen.page.mouse.move(0, 0)
    screen.page.evaluate("document.activeElement.blur()")
    screen.page.wait_for_timeout(800)
    assert screen.root.locator(".whys li.certified.pass").count() == 1
    assert screen.root.bounding_box()["y"] >= 0
    screenshot(screen.root, "band_tuner.png")
