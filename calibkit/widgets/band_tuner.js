// The band tuner in the browser. It computes no statistics: Python sends every figure of every step of both handles,
// and here rows are looked up, whole numbers are added, and the picture is drawn. Texts of a set are only ever put in
// as text, never read as HTML.

const SIDES = ["pass", "fail"];
const NAMES = { pass: "Pass at or above", fail: "Fail below" };
const STRIDE = 10; // steps of Page Up and Page Down
const REST = 200; // milliseconds until a handle counts as resting
const PATIENCE = 6000; // milliseconds until we say that Python does not answer
const MOST_ALERTS = 6;

// --- numbers as they are shown: whole numbers, halves up, as calibkit/tuning/figures.py writes them ---

function rounded(part, whole, places) {
  const [n, m] = [BigInt(part), BigInt(whole)];
  const digits = String((2n * n + m) / (2n * m)).padStart(places + 1, "0");
  return `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

const percent = (part, whole) => (whole ? `${rounded(1000n * BigInt(part), whole, 1)}\u00a0%` : "–");
const share = (part, whole) => (whole ? `${part} of ${whole} (${percent(part, whole)})` : "–");
const amount = (units, whole) => (whole ? rounded(100n * BigInt(units), whole, 2) : "–");

function tellFigures(table, prices, [passStep, failStep]) {
  const step = { pass: passStep, fail: failStep };
  const at = (side, column) => table[side][column][step[side]];
  const texts = {};
  for (const side of SIDES) {
    for (const [name, column] of Object.entries(table[side].texts)) texts[`${side}_${name}`] = column[step[side]];
  }
  const review = table.labelled - at("pass", "decided") - at("fail", "decided");
  const poolReview = table.pool - at("pass", "pool") - at("fail", "pool");
  const millions = BigInt(1e6);
  const [falsePass, falseFail, call] = [prices.false_pass, prices.false_fail, prices.review].map(BigInt);
  const cost =
    falsePass * BigInt(at("pass", "wrong")) + falseFail * BigInt(at("fail", "wrong")) + call * BigInt(review);
  let sentence = table.sentences[`${at("pass", "standing")}, ${at("fail", "standing")}`];
  SIDES.forEach((side, n) => {
    sentence = sentence.replaceAll(table.reason_marks[n], () => at(side, "reason"));
  });
  return {
    ...texts,
    passed: share(at("pass", "decided"), table.labelled),
    failed: share(at("fail", "decided"), table.labelled),
    review: share(review, table.labelled),
    pool_passed: share(at("pass", "pool"), table.pool),
    pool_failed: share(at("fail", "pool"), table.pool),
    pool_review: share(poolReview, table.pool),
    judge_calls: amount(1000 * poolReview * prices.votes, table.pool),
    judge_cost: table.pool ? amount(1000n * BigInt(poolReview) * call, BigInt(table.pool) * millions) : "–",
    expected_cost: table.labelled ? amount(1000n * cost, BigInt(table.labelled) * millions) : "–",
    sentence,
  };
}

// How many of the rising scores lie below a value: the step at which a threshold lies.
function countBelow(scores, value) {
  let [low, high] = [0, scores.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (scores[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// --- elements ---

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  // Typing must not run the notebook's own commands, which ask the focused element itself; stopping the event leaks.
  element.setAttribute("data-lm-suppress-shortcuts", "true");
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

let numbered = 0;
const newId = () => `calibkit-tuner-${(numbered += 1)}`;

function field(text, control, className = "") {
  control.id ||= newId();
  return make("div", { className: `field ${className}` }, make("label", { htmlFor: control.id }, text), control);
}

function marked(pieces) {
  return make("span", {}, ...pieces.map(([text, odd]) => (odd ? make("mark", {}, text) : text)));
}

// --- the picture ---

const HEIGHT = 340;
const EDGE = { left: 46, right: 14, top: 34, bottom: 52 };
const MIDDLE = 186; // between the curves above and the histogram below
const AIR = 0.035; // of the width, beyond the scores on either side: where a handle stands that decides nothing

class Chart {
  constructor(canvas) {
    this.canvas = canvas;
    this.still = document.createElement("canvas"); // what does not change while a handle moves
    this.width = 0;
  }

  show(table) {
    this.table = table;
    this.resize();
  }

  resize() {
    const width = this.canvas.parentElement.clientWidth;
    if (!this.table || !width) return;
    this.width = width;
    this.scale = window.devicePixelRatio || 1;
    for (const each of [this.canvas, this.still]) {
      each.width = Math.round(width * this.scale);
      each.height = Math.round(HEIGHT * this.scale);
    }
    this.canvas.style.height = `${HEIGHT}px`;
    const edges = this.table.histogram.edges;
    const inner = width - EDGE.left - EDGE.right;
    this.from = edges[0];
    this.per = (inner * (1 - 2 * AIR)) / (edges.at(-1) - edges[0]);
    this.start = EDGE.left + inner * AIR;
    this.drawStill();
  }

  x(value) {
    return Math.min(Math.max(this.start + (value - this.from) * this.per, EDGE.left), this.width - EDGE.right);
  }

  value(x) {
    return this.from + (x - this.start) / this.per;
  }

  handleX(side, step) {
    const cut = this.table[side].cut[step];
    if (cut === null) return side === "pass" ? this.width - EDGE.right : EDGE.left;
    return this.x(cut);
  }

  colours() {
    const style = getComputedStyle(this.canvas);
    const names = ["ink", "soft", "paper", "line", "pass", "fail", "good", "bad", "grey"];
    return Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  begin(canvas) {
    const pen = canvas.getContext("2d");
    pen.setTransform(this.scale, 0, 0, this.scale, 0, 0);
    pen.clearRect(0, 0, this.width, HEIGHT);
    return pen;
  }

  drawStill() {
    const pen = this.begin(this.still);
    this.colour = this.colours();
    pen.font = `12px ${getComputedStyle(this.canvas).fontFamily}`;
    this.drawZones(pen);
    this.drawHistogram(pen);
    this.drawCurves(pen);
    this.drawAxis(pen);
  }

  drawZones(pen) {
    SIDES.forEach((side, n) => {
      for (const [low, high] of this.table.zones[side]) {
        const left = low === null ? EDGE.left : this.x(low);
        const right = high === null ? this.width - EDGE.right : this.x(high);
        pen.save();
        pen.globalAlpha = 0.13;
        pen.fillStyle = this.colour[side];
        pen.fillRect(left, EDGE.top, right - left, HEIGHT - EDGE.top - EDGE.bottom);
        pen.restore();
        // A solid bar, too: tints alone are lost on some screens.
        pen.fillStyle = this.colour[side];
        pen.fillRect(left, n ? HEIGHT - EDGE.bottom - 5 : EDGE.top, Math.max(right - left, 1), 5);
      }
    });
  }

  // Share 0..1 -> the upper panel.
  y(part) {
    return MIDDLE - 10 - part * (MIDDLE - 10 - EDGE.top - 8);
  }

  drawCurves(pen) {
    const { pass, scores } = this.table;
    const { ink, soft, line, good, grey } = this.colour;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const part of [0, 0.5, 1]) {
      pen.strokeStyle = line;
      this.rule(pen, this.y(part));
      pen.fillStyle = soft;
      pen.fillText(`${100 * part}\u00a0%`, EDGE.left - 6, this.y(part));
    }
    if (!scores.length) {
      pen.textAlign = "center";
      pen.fillStyle = ink;
      pen.fillText("No labelled answer that may be shown has a score.", this.width / 2, MIDDLE / 2);
      return;
    }
    const edge = (at) => this.x(scores[at]);
    const previous = (at) => (at ? edge(at - 1) : EDGE.left);
    // The band: a strip over each step.
    pen.globalAlpha = 0.22;
    pen.fillStyle = good;
    for (let at = 0; at < scores.length; at += 1) {
      const band = pass.bands[at];
      if (band) pen.fillRect(previous(at), this.y(band[1]), edge(at) - previous(at), this.y(band[0]) - this.y(band[1]));
    }
    pen.globalAlpha = 1;
    this.staircase(pen, good, [], (at) => pass.right[at] / pass.decided[at]);
    if (pass.findable) this.staircase(pen, grey, [5, 3], (at) => pass.right[at] / pass.findable);
  }

  staircase(pen, colour, dashes, height) {
    const { scores } = this.table;
    pen.save();
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.setLineDash(dashes);
    pen.beginPath();
    for (let at = 0; at < scores.length; at += 1) {
      pen.lineTo(at ? this.x(scores[at - 1]) : EDGE.left, this.y(height(at)));
      pen.lineTo(this.x(scores[at]), this.y(height(at)));
    }
    pen.stroke();
    pen.restore();
  }

  drawHistogram(pen) {
    const { edges, acceptable, not_acceptable: wrong, cannot_say: unsure, pool } = this.table.histogram;
    const { ink, soft, good, bad, grey } = this.colour;
    const [top, bottom] = [MIDDLE + 10, HEIGHT - EDGE.bottom - 8];
    const most = (counts) => Math.max(1, ...counts);
    const up = most(acceptable);
    const down = most(wrong.map((n, at) => n + unsure[at]));
    const unit = (bottom - top) / (up + down);
    const zero = top + up * unit;
    const scaled = (up * unit) / most(pool);
    acceptable.forEach((n, at) => {
      const [left, width] = [this.x(edges[at]), this.x(edges[at + 1]) - this.x(edges[at])];
      const bar = (colour, from, height) => {
        pen.fillStyle = colour;
        pen.fillRect(left + 0.5, from, Math.max(width - 1, 0.5), height);
      };
      bar(good, zero - n * unit, n * unit);
      bar(bad, zero, wrong[at] * unit);
      bar(grey, zero + wrong[at] * unit, unsure[at] * unit);
      if (width > 5) this.hatch(pen, left + 0.5, zero, width - 1, wrong[at] * unit);
    });
    pen.strokeStyle = ink;
    pen.setLineDash([2, 2]);
    pen.beginPath();
    pool.forEach((n, at) => {
      pen.lineTo(this.x(edges[at]), zero - n * scaled);
      pen.lineTo(this.x(edges[at + 1]), zero - n * scaled);
    });
    pen.stroke();
    pen.setLineDash([]);
    pen.strokeStyle = ink;
    this.rule(pen, zero);
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    pen.fillStyle = soft;
    pen.fillText(String(up), EDGE.left - 6, top + 4);
    pen.fillText("0", EDGE.left - 6, zero);
    if (down * unit > 14) pen.fillText(String(down), EDGE.left - 6, bottom - 4);
  }

  // So that the two kinds differ in more than colour.
  hatch(pen, left, top, width, height) {
    if (height < 2) return;
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    pen.strokeStyle = this.colour.paper;
    pen.beginPath();
    for (let at = left - height; at < left + width; at += 5) {
      pen.moveTo(at, top + height);
      pen.lineTo(at + height, top);
    }
    pen.stroke();
    pen.restore();
  }

  drawAxis(pen) {
    const edges = this.table.histogram.edges;
    const bottom = HEIGHT - EDGE.bottom;
    pen.strokeStyle = this.colour.soft;
    this.rule(pen, bottom);
    pen.fillStyle = this.colour.soft;
    pen.textAlign = "center";
    pen.textBaseline = "top";
    for (let n = 0; n <= 4; n += 1) {
      const value = edges[0] + (n / 4) * (edges.at(-1) - edges[0]);
      pen.fillText(String(Number(value.toFixed(3))), this.x(value), bottom + 26);
    }
  }

  rule(pen, y) {
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(EDGE.left, Math.round(y) + 0.5);
    pen.lineTo(this.width - EDGE.right, Math.round(y) + 0.5);
    pen.stroke();
  }

  paint([passStep, failStep]) {
    if (!this.width) return; // folded away
    const pen = this.begin(this.canvas);
    pen.drawImage(this.still, 0, 0, this.width, HEIGHT);
    const { ink, pass, fail, paper } = this.colour;
    const [high, low] = [this.handleX("pass", passStep), this.handleX("fail", failStep)];
    // What neither side decides is veiled.
    pen.save();
    pen.globalAlpha = 0.5;
    pen.fillStyle = paper;
    pen.fillRect(low, EDGE.top + 5, Math.max(high - low, 0), HEIGHT - EDGE.top - EDGE.bottom - 10);
    pen.restore();
    const lines = [
      [high, pass, []],
      [low, fail, [6, 3]],
    ];
    for (const [x, colour, dashes] of lines) {
      pen.strokeStyle = colour;
      pen.lineWidth = 2.5;
      pen.setLineDash(dashes);
      pen.beginPath();
      pen.moveTo(x, EDGE.top - 6);
      pen.lineTo(x, HEIGHT - EDGE.bottom + 6);
      pen.stroke();
    }
    pen.setLineDash([]);
    const { right, decided } = this.table.pass;
    if (decided[passStep] && passStep < this.table.scores.length) {
      pen.fillStyle = ink;
      pen.beginPath();
      pen.arc(high, this.y(right[passStep] / decided[passStep]), 4, 0, 2 * Math.PI);
      pen.fill();
    }
  }
}

// --- one view of a tuner ---

class Tuner {
  constructor(model, root) {
    this.model = model;
    this.root = root;
    this.client = Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(36)).join("");
    this.seq = 0;
    this.waiting = new Map(); // seq -> the timer that says that Python is silent
    this.figures = new Map(); // name -> the elements that show it
    this.shown = null;
    this.frame = 0;
    this.build();
    this.hear = (message) => this.receive(message);
    model.on("msg:custom", this.hear);
    this.watch();
    this.send("ready");
    this.tell("Waiting for Python …");
  }

  close() {
    this.model.off("msg:custom", this.hear);
    this.stop.abort();
    this.resizer.disconnect();
    this.themes.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.resting);
    for (const timer of this.waiting.values()) clearTimeout(timer);
  }

  // A new size, another screen or another theme: the still part is drawn anew.
  watch() {
    const redraw = () => {
      if (!this.shown) return;
      this.chart.resize();
      this.repaint();
    };
    this.resizer = new ResizeObserver(redraw);
    this.resizer.observe(this.stage);
    this.themes = new MutationObserver(() => requestAnimationFrame(redraw));
    for (const element of [document.documentElement, document.body]) {
      this.themes.observe(element, { attributes: true, attributeFilter: ["class", "style", "data-jp-theme-name"] });
    }
    this.stop = new AbortController();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw, { signal: this.stop.signal });
  }

  // --- talk with Python ---

  send(what, more = {}) {
    this.seq += 1;
    const place = this.place ? { place: this.place, revision: this.shown.revision } : {};
    this.model.send({ do: what, client: this.client, seq: this.seq, ...place, ...more });
    const silent = () => this.tell("Python has not answered yet: it is busy, or gone (then run the cell again).", true);
    this.waiting.set(this.seq, setTimeout(silent, PATIENCE));
    return this.seq;
  }

  ask(what, more, meanwhile) {
    this.tell(meanwhile);
    this.send(what, more);
  }

  receive(message) {
    if (message.kind === "show") this.show(message);
    else if (message.kind === "moved") this.follow(message);
    else if (message.kind === "mistakes") this.showMistakes(message);
    else if (message.kind === "changes") this.showChanges(message);
    else if (message.kind === "said" && this.waiting.has(message.seq)) {
      clearTimeout(this.waiting.get(message.seq));
      this.waiting.delete(message.seq);
      if (message.text || this.status.dataset.passing) this.tell(message.text, message.problem);
    }
  }

  tell(text, problem = false) {
    this.status.textContent = text;
    this.status.classList.toggle("problem", problem);
    if (text.endsWith("…")) this.status.dataset.passing = "yes";
    else delete this.status.dataset.passing;
  }

  // --- the skeleton ---

  build() {
    const canvas = make("canvas", { role: "img", "aria-label": "Precision, recall and histogram of the scores" });
    this.chart = new Chart(canvas);
    this.handles = Object.fromEntries(SIDES.map((side) => [side, this.makeHandle(side)]));
    this.stage = make("div", { className: "stage" }, canvas, this.handles.fail, this.handles.pass);
    this.status = make("p", { className: "status", role: "status", "aria-live": "polite" });
    this.spoken = make("p", { className: "unseen", "aria-live": "polite" });
    this.body = make(
      "div",
      { className: "body", hidden: true },
      this.buildStanding(),
      this.buildSwitches(),
      this.buildLegend(),
      this.stage,
      this.buildPromise(),
      this.buildFigures(),
      this.buildGoals(),
      this.buildMistakes(),
      this.buildPolicy(),
    );
    this.root.classList.add("calibkit-tuner");
    this.root.setAttribute("role", "group");
    this.root.setAttribute("aria-label", "Band tuner");
    this.root.append(this.body, this.status, this.spoken);
  }

  figure(name) {
    const element = make("span", { "data-figure": name });
    this.figures.set(name, [...(this.figures.get(name) ?? []), element]);
    return element;
  }

  buildStanding() {
    this.standing = make("p", {});
    this.declare = make("button", { type: "button", onclick: () => this.confirmDeclaring(true) }, "Declare …");
    const sure = make("button", { type: "button", onclick: () => this.declareNow() }, "Declare and look now");
    const not = make("button", { type: "button", onclick: () => this.confirmDeclaring(false) }, "Not yet");
    this.sure = make("span", { hidden: true }, "This is written to the ledger and cannot be undone. ", sure, " ", not);
    return make("div", { className: "standing" }, this.standing, this.declare, this.sure);
  }

  confirmDeclaring(asked) {
    this.sure.hidden = !asked;
    this.declare.hidden = asked || this.shown.declared;
    (asked ? this.sure.querySelector("button") : this.declare).focus();
  }

  declareNow() {
    this.sure.hidden = true;
    this.ask("declare", {}, "Declaring …");
  }

  buildSwitches() {
    const select = (name) => make("select", { onchange: () => this.switchSoon(name) });
    this.controls = {
      scorer: select("scorer"),
      tag: select("tag"),
      exact_rung: select("exact_rung"),
      rules: make("input", { type: "checkbox", onchange: () => this.switchSoon("rules") }),
      precision: this.percentBox("precision"),
      fail_precision: this.percentBox("fail_precision", "not asked"),
    };
    const { scorer, tag, exact_rung: rung, rules, precision, fail_precision: fails } = this.controls;
    rung.append(new Option("none", ""), ...[1, 2, 3, 4].map((n) => new Option(String(n), n)));
    return make(
      "div",
      { className: "row switches" },
      field("Scorer", scorer),
      field("Answers", tag),
      field("Exact match at rung", rung),
      field("Rules", rules, "check"),
      field("Passes right, %", precision),
      field("Fails right, %", fails),
    );
  }

  percentBox(name, placeholder = "") {
    const box = { type: "number", min: 1, max: 99.9, step: 0.1, placeholder };
    return make("input", { ...box, onchange: () => this.switchSoon(name) });
  }

  // A list walked through by its arrow keys changes at every key: only where it stops counts.
  switchSoon(name) {
    clearTimeout(this.switching);
    this.switching = setTimeout(() => {
      const control = this.controls[name];
      let value = control.type === "checkbox" ? control.checked : control.value;
      if (control.type === "number") value = value === "" ? null : Number(value);
      if (name === "exact_rung") value = value === "" ? null : Number(value);
      if (name === "tag") value = value || null;
      if (name === "precision" && value === null) return;
      this.ask("switch", { changes: { [name]: value } }, "Computing another configuration …");
    }, 400);
  }

  buildLegend() {
    const item = (className, ...text) => make("span", { className: `key ${className}` }, make("i"), ...text);
    this.early = make("span", { className: "soft" });
    return make(
      "div",
      { className: "legend" },
      item("precision", "precision of the passes, with its band (a picture, no promise)"),
      item("recall", "recall"),
      item("acceptable", "acceptable"),
      item("not-acceptable", "not acceptable"),
      item("pool", "all answers, scaled"),
      item("zone-pass", "certified pass thresholds"),
      item("zone-fail", "certified fail thresholds"),
      this.early,
    );
  }

  makeHandle(side) {
    return make(
      "div",
      {
        className: `handle ${side}`,
        role: "slider",
        tabIndex: 0,
        "aria-label": NAMES[side],
        "aria-orientation": "horizontal",
        onkeydown: (event) => this.pressKey(side, event),
        onpointerdown: (event) => this.grab(side, event),
        onpointermove: (event) => this.drag(side, event),
        onpointerup: (event) => this.drop(side, event),
        onpointercancel: (event) => this.drop(side, event),
      },
      make("b", {}),
    );
  }

  buildPromise() {
    const line = (side) =>
      make(
        "li",
        { className: side },
        `${NAMES[side]} `,
        make("b", {}, this.figure(`${side}_cut`)),
        ": ",
        this.figure(`${side}_why`),
        ".",
      );
    this.whys = { pass: line("pass"), fail: line("fail") };
    this.alerts = make("ul", { className: "alerts" });
    return make(
      "div",
      { className: "promise" },
      make("p", { className: "sentence" }, this.figure("sentence")),
      make("ul", { className: "whys" }, this.whys.pass, this.whys.fail),
      this.alerts,
    );
  }

  buildFigures() {
    const row = (name, ...cells) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, name),
        ...cells.map((cell) => make("td", {}, cell ? this.figure(cell) : "")),
      );
    const head = (...names) =>
      make("thead", {}, make("tr", {}, ...names.map((name) => make("th", { scope: "col" }, name))));
    const labelled = make(
      "table",
      {},
      make("caption", {}, "On the labelled answers shown, with bands: pictures, no promise"),
      head("", "Passes", "Fails"),
      make(
        "tbody",
        {},
        row("Right (precision)", "pass_right", "fail_right"),
        row("Found (recall)", "pass_found", "fail_found"),
        row("False passes, false fails", "pass_wrong", "fail_wrong"),
        row("Share of these answers", "passed", "failed"),
      ),
    );
    this.prices = Object.fromEntries(
      ["call", "false_pass", "false_fail", "votes"].map((name) => [
        name,
        make("input", { type: "number", min: name === "votes" ? 1 : 0, step: "any", onchange: () => this.price() }),
      ]),
    );
    const together = make(
      "table",
      {},
      make("caption", {}, "What is left, and what it costs"),
      make(
        "tbody",
        {},
        row("Of all answers: passed", "pool_passed"),
        row("failed", "pool_failed"),
        row("left to review", "pool_review"),
        row("Of the labelled: left to review", "review"),
        row("Judge calls for 1,000 answers", "judge_calls"),
        row("their cost", "judge_cost"),
        row("with mistakes, on the labels", "expected_cost"),
      ),
    );
    const priced = make(
      "div",
      { className: "row" },
      field("Price of a call", this.prices.call),
      field("false pass", this.prices.false_pass),
      field("false fail", this.prices.false_fail),
      field("Votes", this.prices.votes),
    );
    return make("div", { className: "figures" }, labelled, make("div", {}, together, priced));
  }

  price() {
    const prices = Object.fromEntries(Object.entries(this.prices).map(([name, box]) => [name, Number(box.value)]));
    this.ask("prices", { prices }, "Computing the costs …");
  }

  buildGoals() {
    const goal = (text, name, more = () => ({})) =>
      make("button", { type: "button", onclick: () => this.ask("goal", { goal: name, ...more() }, "Looking …") }, text);
    const most = make("input", {
      type: "number",
      min: 0,
      max: 100,
      step: 1,
      value: 50,
      "aria-label": "Share to review, %",
    });
    return make(
      "div",
      { className: "row goals" },
      make("b", {}, "Go to"),
      goal("Smallest certified pass threshold", "smallest_pass"),
      goal("Largest certified fail threshold", "largest_fail"),
      goal("Lowest expected cost", "lowest_cost"),
      make(
        "span",
        { className: "joined" },
        goal("At most this share to review:", "review", () => ({ most: Number(most.value) / 100 })),
        most,
        "%",
      ),
    );
  }

  buildMistakes() {
    this.lists = { pass: make("div", {}), fail: make("div", {}) };
    return make(
      "details",
      { className: "mistakes", open: true },
      make("summary", {}, "Mistakes beside the handles"),
      make(
        "div",
        { className: "sides", role: "region", "aria-label": "Mistakes", tabIndex: 0 },
        this.lists.pass,
        this.lists.fail,
      ),
    );
  }

  buildPolicy() {
    const box = (text, more = {}) => field(text, make("input", { type: "text", autocomplete: "off", ...more }));
    const value = (wrapped) => wrapped.querySelector("input").value.trim();
    const [path, because, by, other] = [
      box("File"),
      box("Because", { size: 34 }),
      box("Set by"),
      box("Another policy"),
    ];
    this.path = path.querySelector("input");
    const form = (name, action, ...children) => {
      const act = (event) => {
        event.preventDefault();
        action();
      };
      // Within a notebook Enter does not submit a form by itself.
      const press = (event) => {
        if (event.key === "Enter" && event.target.tagName === "INPUT" && !event.isComposing) act(event);
      };
      return make("form", { className: "row", "aria-label": name, onsubmit: act, onkeydown: press }, ...children);
    };
    const exporting = () =>
      this.ask("export", { path: value(path), because: value(because), set_by: value(by) }, "Writing …");
    const loading = () => this.ask("load", { path: value(other) }, "Loading …");
    const comparing = () => this.ask("compare", { path: value(other) }, "Grading by both …");
    this.changes = make("div", {
      className: "changes",
      role: "region",
      "aria-label": "Changes",
      tabIndex: 0,
      hidden: true,
    });
    return make(
      "div",
      { className: "policy" },
      form("Export", exporting, path, because, by, make("button", { type: "submit" }, "Export policy")),
      form(
        "Another policy",
        comparing,
        other,
        make("button", { type: "submit" }, "Compare"),
        make("button", { type: "button", onclick: loading }, "Put the handles there"),
      ),
      this.changes,
    );
  }

  // --- what Python says ---

  show(message) {
    const first = !this.shown;
    this.shown = message;
    this.place = [...message.place];
    this.body.hidden = false;
    this.standing.textContent = [
      message.standing,
      ...message.notes.map((note) => `${note[0].toUpperCase()}${note.slice(1)}.`),
    ].join(" ");
    this.declare.hidden = message.declared;
    this.sure.hidden = true;
    this.root.classList.toggle("declared", message.declared);
    this.showSetup(message);
    const { early } = message.table;
    this.early.textContent =
      early.pass || early.fail ? `Before the score ${early.pass} pass and ${early.fail} fail.` : "";
    if (first) this.path.value = message.policy;
    this.changes.hidden = true;
    this.chart.show(message.table);
    this.repaint();
    if (first) this.rest();
  }

  // Another view of the same tuner was moved.
  follow({ client, revision, place }) {
    if (client === this.client || revision !== this.shown?.revision) return;
    this.place = [...place];
    this.repaint();
  }

  showSetup({ setup, scorers, tags, prices_shown: prices }) {
    const options = {
      scorer: scorers.map((name) => [name, name]),
      tag: [["", "all"], ...tags],
    };
    for (const [name, list] of Object.entries(options)) {
      this.controls[name].replaceChildren(...list.map(([value, text]) => new Option(text, value)));
    }
    for (const [name, control] of Object.entries(this.controls)) {
      if (control.type === "checkbox") control.checked = setup[name];
      else control.value = setup[name] ?? "";
    }
    for (const [name, box] of Object.entries(this.prices)) box.value = prices[name];
  }

  showMistakes({ revision, sides }) {
    if (revision !== this.shown?.revision) return;
    for (const { side, title, kinds } of sides) {
      const groups = kinds.flatMap(({ kind, cure, items }) => [
        make("h4", {}, `${kind} (${items.length})`),
        ...(cure ? [make("p", { className: "cure" }, cure)] : []),
        make("ul", {}, ...items.map((item) => this.makeMistake(item))),
      ]);
      this.lists[side].replaceChildren(make("h3", {}, title), ...groups);
    }
  }

  makeMistake(item) {
    const line = (name, content) =>
      make("div", { className: "text" }, make("span", { className: "soft" }, `${name} `), content);
    const buttons = [];
    if (this.shown.labels) {
      const send = () => this.ask("label", { ids: [item.id] }, "Sending …");
      buttons.push(
        make(
          "button",
          { type: "button", "aria-label": `Send ${item.id} to labelling`, onclick: send },
          "Send to labelling",
        ),
      );
    }
    if (this.shown.references && item.acceptable) {
      const add = () => this.ask("reference", { id: item.id }, "Adding …");
      const consequence = "Its question then certifies no more.";
      buttons.push(
        make(
          "button",
          { type: "button", "aria-label": `Add ${item.id} to the references`, onclick: add },
          "Add to references",
        ),
        make("span", { className: "soft" }, consequence),
      );
    }
    return make(
      "li",
      {},
      make("div", { className: "soft" }, `${item.id} · ${item.facts}${item.why ? ` · ${item.why}` : ""}`),
      ...(item.question ? [line("Question", item.question)] : []),
      line("Reference", marked(item.reference)),
      line("Answer", marked(item.answer)),
      ...(buttons.length ? [make("div", { className: "row" }, ...buttons)] : []),
    );
  }

  showChanges({ path, counts, changes }) {
    const rows = changes.map((cells) => make("tr", {}, ...cells.map((cell) => make("td", {}, cell))));
    const told = counts.map(([before, after, n]) => `${n} from ${before} to ${after}`).join(", ");
    const head = make(
      "tr",
      {},
      ...["Answer", `By ${path}`, "By the handles", "Because"].map((name) => make("th", { scope: "col" }, name)),
    );
    this.changes.hidden = false;
    this.changes.replaceChildren(
      make("p", {}, told ? `Other outcomes: ${told}.` : "No answer has another outcome."),
      ...(rows.length ? [make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))] : []),
    );
  }

  // --- the handles ---

  get last() {
    return this.shown.table.scores.length;
  }

  // A handle stops at the other one.
  moveTo(side, step) {
    const [pass, fail] = this.place;
    const place =
      side === "pass" ? [Math.min(Math.max(step, fail), this.last), fail] : [pass, Math.max(Math.min(step, pass), 0)];
    if (place[0] === pass && place[1] === fail) return;
    this.place = place;
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.repaint();
    });
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.rest(), REST);
  }

  // Once a handle rests, Python follows, finds the mistakes beside it, and a screen reader hears what it does.
  rest() {
    const texts = tellFigures(this.shown.table, this.shown.prices, this.place);
    const said = SIDES.map((side) => `${NAMES[side]} ${texts[`${side}_cut`]}: ${texts[`${side}_why`]}.`);
    this.spoken.textContent = `${said.join(" ")} Left to review ${texts.pool_review}.`;
    this.send("rest");
  }

  pressKey(side, event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const now = this.place[SIDES.indexOf(side)];
    const to = {
      ArrowRight: now + 1,
      ArrowUp: now + 1,
      ArrowLeft: now - 1,
      ArrowDown: now - 1,
      PageUp: now + STRIDE,
      PageDown: now - STRIDE,
      Home: 0,
      End: this.last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.moveTo(side, to);
  }

  grab(side, event) {
    if (event.button) return;
    event.preventDefault();
    const handle = this.handles[side];
    handle.focus();
    handle.setPointerCapture(event.pointerId);
    // Where in the grip it was taken, so that it does not jump.
    this.held =
      event.clientX -
      this.stage.getBoundingClientRect().left -
      this.chart.handleX(side, this.place[SIDES.indexOf(side)]);
  }

  drag(side, event) {
    if (!this.handles[side].hasPointerCapture(event.pointerId)) return;
    const x = event.clientX - this.stage.getBoundingClientRect().left - this.held;
    this.moveTo(side, countBelow(this.shown.table.scores, this.chart.value(x)));
  }

  drop(side, event) {
    if (this.handles[side].hasPointerCapture(event.pointerId))
      this.handles[side].releasePointerCapture(event.pointerId);
  }

  repaint() {
    const { table, prices } = this.shown;
    const texts = tellFigures(table, prices, this.place);
    for (const [name, elements] of this.figures) {
      for (const element of elements) if (element.textContent !== texts[name]) element.textContent = texts[name];
    }
    SIDES.forEach((side, n) => {
      const step = this.place[n];
      const certified = table[side].certified[step];
      const handle = this.handles[side];
      handle.style.transform = `translateX(${this.chart.handleX(side, step)}px)`;
      handle.classList.toggle("certified", certified);
      handle.firstChild.textContent = texts[`${side}_cut`];
      handle.setAttribute("aria-valuemin", 0);
      handle.setAttribute("aria-valuemax", this.last);
      handle.setAttribute("aria-valuenow", step);
      handle.setAttribute("aria-valuetext", `${texts[`${side}_cut`]}, ${certified ? "certified" : "not certified"}`);
      this.whys[side].classList.toggle("certified", certified);
    });
    this.showAlerts();
    this.chart.paint(this.place);
  }

  showAlerts() {
    const { pass, fail } = this.shown.table;
    const all = [...pass.slices[this.place[0]], ...fail.slices[this.place[1]]];
    const key = all.join("\n");
    if (key === this.alerted) return;
    this.alerted = key;
    const told = all.slice(0, MOST_ALERTS);
    if (all.length > told.length) told.push(`and ${all.length - told.length} more`);
    const lead = all.length
      ? [make("li", { className: "lead" }, "All together are within the target, these slices are not:")]
      : [];
    this.alerts.replaceChildren(...lead, ...told.map((text) => make("li", {}, text)));
  }
}

export default {
  render({ model, el }) {
    const root = make("div");
    el.append(root);
    const tuner = new Tuner(model, root);
    return () => tuner.close();
  },
};

export { tellFigures };
