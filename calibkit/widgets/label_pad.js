// The labelling pad in the browser. It moves on at once: what was said is numbered, kept in this browser, and sent again
// until Python acknowledges that it is on the disk. Texts of a set are only ever put in as text, never read as HTML.

const WORDS = new Map([
  [true, "Acceptable"],
  [false, "Not acceptable"],
  [null, "Cannot say"],
]);
const FIRST_WAIT = 2000; // milliseconds until something is sent again; doubled each time
const LONGEST_WAIT = 30000;
const ABANDONED = 10000; // milliseconds after which another pad takes over what a silent one has kept
const AHEAD = 30; // pairs to have at hand

// --- what stays in the browser ---

function openStore() {
  try {
    localStorage.setItem("calibkit", "");
    localStorage.removeItem("calibkit");
    return {
      keys: () => Object.keys(localStorage),
      get: (key) => localStorage.getItem(key),
      set: (key, value) => localStorage.setItem(key, value),
      remove: (key) => localStorage.removeItem(key),
    };
  } catch {
    // Switched off: a reload of the page loses it, a restart of the kernel does not.
    const kept = (globalThis.calibkitKept ??= new Map());
    return {
      keys: () => [...kept.keys()],
      get: (key) => kept.get(key) ?? null,
      set: (key, value) => kept.set(key, value),
      remove: (key) => kept.delete(key),
    };
  }
}

// Not crypto.randomUUID: pages that came by plain http have none.
function makeUid() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// --- the session as the browser sees it, shared by all views of one pad ---

class Pad {
  constructor(model) {
    const start = model.get("_start");
    Object.assign(this, { ids: start.ids, said: [...start.said], rule: start.rule, rubric: start.rubric });
    Object.assign(this, { flags: start.flags, annotator: start.annotator, pace: start.pace });
    this.items = new Map(start.items.map((item) => [item.id, item]));
    this.model = model;
    this.views = new Set();
    this.drafts = new Map(); // id -> what was noted of a pair before its label
    this.held = null; // a pair that was taken back is shown, whatever its place
    this.note = "";
    this.refusal = ""; // stays until the person does something
    this.trouble = ""; // passes
    this.store = openStore();
    this.client = makeUid();
    this.prefix = `calibkit.label_pad.${start.key}.`;
    this.seq = 0;
    this.pending = [];
    this.wait = FIRST_WAIT;
    this.asked = 0;
    this.watch = { id: undefined, spent: 0, since: null };
    model.on("msg:custom", (message) => this.hear(message));
    this.adopt(0);
    this.ask();
  }

  get done() {
    return new Set(this.said.map((label) => label.pair_id));
  }

  get current() {
    const done = this.done;
    return this.held ?? this.ids.find((id) => !done.has(id)) ?? null;
  }

  get item() {
    return this.items.get(this.current) ?? null;
  }

  get draft() {
    const id = this.current;
    if (!this.drafts.has(id)) this.drafts.set(id, { comment: "", flag: false, rubric: {} });
    return this.drafts.get(id);
  }

  // --- what the person does ---

  say(acceptable) {
    if (this.item === null) return;
    const { comment, flag, rubric } = this.draft;
    const label = { uid: makeUid(), pair_id: this.current, acceptable, flag };
    if (comment.trim()) label.comment = comment.trim();
    if (Object.keys(rubric).length) label.rubric = rubric;
    this.drafts.delete(label.pair_id);
    this.held = null;
    this.said.push(label);
    this.refusal = "";
    this.note = `${WORDS.get(acceptable)}.`;
    this.post({ kind: "label", ...label, at: Date.now(), seconds: this.spent() });
  }

  undo() {
    const last = this.said.pop();
    if (last === undefined) {
      this.note = "There is nothing to take back.";
      this.changed();
      return;
    }
    const { comment = "", flag = false, rubric = {} } = last;
    this.drafts.set(last.pair_id, { comment, flag, rubric: { ...rubric } });
    this.held = last.pair_id;
    this.refusal = "";
    this.note = `${WORDS.get(last.acceptable)}: taken back.`;
    this.post({ kind: "undo", uid: makeUid(), of: last.uid, at: Date.now() });
  }

  flag() {
    if (!this.flags || this.item === null) return;
    this.draft.flag = !this.draft.flag;
    this.note = this.draft.flag ? "Flagged." : "Flag taken away.";
    this.changed();
  }

  // --- how it gets to Python ---

  post(event) {
    const entry = { seq: this.seq++, event, sent: 0 };
    this.pending.push(entry);
    this.keep();
    this.transmit(entry);
    this.ask();
    this.changed();
  }

  transmit(entry) {
    entry.sent = Date.now();
    this.send({ type: "event", client: this.client, seq: entry.seq, first: this.pending[0].seq, event: entry.event });
  }

  send(message) {
    try {
      Promise.resolve(this.model.send(message)).catch(() => {});
    } catch {
      // The kernel is gone. What matters is pending, and kept.
    }
  }

  keep() {
    const key = this.prefix + this.client;
    try {
      if (!this.pending.length) this.store.remove(key);
      else this.store.set(key, JSON.stringify({ at: Date.now(), events: this.pending.map((entry) => entry.event) }));
    } catch {
      // No room: it is still pending here.
    }
  }

  // Take over what pads kept that are no more, such as the one before the kernel was restarted.
  adopt(age) {
    const own = this.prefix + this.client;
    for (const key of this.store.keys()) {
      if (!key.startsWith(this.prefix) || key === own) continue;
      let kept;
      try {
        kept = JSON.parse(this.store.get(key));
        if (Date.now() - kept.at < age) continue;
      } catch {
        continue;
      }
      for (const event of kept.events) {
        if (this.pending.some((entry) => entry.event.uid === event.uid)) continue;
        this.pending.push({ seq: this.seq++, event, sent: 0 });
        if (event.kind === "undo") this.forget(event.of);
        else this.learn(event);
      }
      this.keep();
      this.store.remove(key);
      for (const entry of this.pending) if (!entry.sent) this.transmit(entry);
    }
  }

  learn(label) {
    if (this.ids.includes(label.pair_id) && !this.said.some((known) => known.uid === label.uid)) this.said.push(label);
  }

  forget(uid) {
    this.said = this.said.filter((label) => label.uid !== uid);
  }

  ask() {
    const done = this.done;
    const next = this.ids.filter((id) => !done.has(id)).slice(0, AHEAD);
    const missing = [this.current, ...next].filter((id) => id !== null && !this.items.has(id));
    if (missing.length && Date.now() - this.asked > FIRST_WAIT) {
      this.asked = Date.now();
      this.send({ type: "show", ids: missing });
    }
  }

  hear(message) {
    if (message.type === "items") {
      for (const item of message.items) this.items.set(item.id, item);
      this.asked = 0;
      this.ask();
    } else {
      const isOwn = message.client === this.client;
      if (isOwn && message.type !== "trouble") {
        this.pending = this.pending.filter((entry) => entry.seq !== message.seq);
        this.keep();
        this.wait = FIRST_WAIT;
        this.trouble = "";
      }
      if (message.type === "saved") {
        this.pace = message.pace;
        // From the same person's pad in another window.
        if (!isOwn && message.said) this.learn(message.said);
        if (!isOwn && message.undone) this.forget(message.undone);
      } else if (isOwn && message.type === "refused") {
        this.refusal = `Not saved: ${message.reason}`;
        this.forget(message.uid); // so that the pair comes up again
      } else if (isOwn) {
        this.trouble = `Not saved yet, will be tried again: ${message.reason}`;
      }
    }
    this.changed();
  }

  tick() {
    if (this.pending.length) {
      if (Date.now() - this.pending[0].sent > this.wait) {
        this.wait = Math.min(2 * this.wait, LONGEST_WAIT);
        for (const entry of this.pending.slice(0, 100)) this.transmit(entry);
      }
      this.keep(); // a sign of life: no other pad shall take it over
    }
    this.adopt(ABANDONED);
    this.ask();
    this.changed();
  }

  get isLate() {
    return this.pending.length > 0 && Date.now() - this.pending[0].event.at > FIRST_WAIT;
  }

  // --- the time that a pair takes, as long as the page is seen ---

  spent() {
    const running = this.watch.since === null ? 0 : performance.now() - this.watch.since;
    return Math.round((this.watch.spent + running) / 100) / 10;
  }

  clock() {
    const seen = this.views.size > 0 && !document.hidden;
    if (this.watch.id !== this.current) this.watch = { id: this.current, spent: 0, since: null };
    if (seen && this.watch.since === null) this.watch.since = performance.now();
    if (!seen && this.watch.since !== null) {
      this.watch.spent += performance.now() - this.watch.since;
      this.watch.since = null;
    }
  }

  changed() {
    this.clock();
    for (const view of this.views) view.update();
  }
}

// --- the view ---

const COMMANDS = [
  ["1", "Acceptable", (view) => view.pad.say(true)],
  ["2", "Not acceptable", (view) => view.pad.say(false)],
  ["3", "Cannot say", (view) => view.pad.say(null)],
  ["u", "Undo", (view) => view.pad.undo()],
  ["c", "Comment", (view) => view.openComment()],
  ["f", "Flag", (view) => view.pad.flag()],
  ["r", "Rubric", (view) => view.enterRubric()],
  ["?", "Rule and keys", (view) => view.toggleHelp()],
];
const ACTIONS = new Map(COMMANDS.map(([key, , action]) => [key, action]));

let views = 0;

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

function fill(node, parts) {
  node.replaceChildren(...parts.map(([text, only]) => (only ? make("mark", {}, text) : text)));
}

function readKey(event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  if (ACTIONS.has(key) || /^[a-z]$/.test(key) || event.shiftKey) return key;
  // Other alphabets, and keyboards on which digits need shift: by the key's place.
  return /^(?:Key|Digit|Numpad)(\w)$/.exec(event.code)?.[1].toLowerCase() ?? key;
}

function tellTime(seconds) {
  if (seconds < 59.5) return `${seconds < 9.5 ? Number(seconds.toFixed(1)) : Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 60 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

class View {
  constructor(pad, el) {
    this.pad = pad;
    this.name = `calibkit-pad-${++views}`;
    this.shown = undefined;
    this.build();
    el.append(this.root);
    this.root.addEventListener("keydown", (event) => this.press(event));
    for (const name of ["focusin", "focusout"]) this.root.addEventListener(name, () => setTimeout(() => this.tell()));
    this.onSeen = () => pad.changed();
    document.addEventListener("visibilitychange", this.onSeen);
    this.timer = setInterval(() => pad.tick(), 1000);
    this.resized = new ResizeObserver(() => this.markScrolling());
    this.resized.observe(this.root);
    pad.views.add(this);
    pad.changed();
  }

  close() {
    clearInterval(this.timer);
    this.resized.disconnect();
    document.removeEventListener("visibilitychange", this.onSeen);
    this.pad.views.delete(this);
    this.pad.clock();
    this.root.remove();
  }

  build() {
    const { pad, name } = this;
    this.bar = make("progress", { "aria-label": "labelled", max: pad.ids.length });
    this.count = make("strong");
    this.pace = make("span", { class: "soft" });
    this.saving = make("span", { class: "soft saving" });
    this.texts = {};
    const rows = ["Question", "Reference", "Answer"].map((title) => {
      const key = title.toLowerCase();
      const label = make("div", { class: "soft", id: `${name}-${key}` }, title);
      const text = make("div", { class: "text", dir: "auto", role: "group", "aria-labelledby": label.id });
      const row = make("div", { class: `row ${key}` }, label, text);
      this.texts[key] = { label, text, row };
      return row;
    });
    this.pair = make("div", { class: "pair" }, ...rows);
    this.rest = make("p", { class: "rest" });
    this.buttons = {};
    for (const [key, title] of COMMANDS) {
      if ((key === "r" && !pad.rubric.length) || (key === "f" && !pad.flags)) continue;
      const button = make("button", { type: "button", "aria-keyshortcuts": key }, make("kbd", {}, key), ` ${title}`);
      button.addEventListener("click", (event) => {
        // A mouse click must not leave the focus where the space bar would label the next pair.
        if (event.detail) this.root.focus({ preventScroll: true });
        ACTIONS.get(key)(this);
      });
      this.buttons[key] = button;
    }
    const { 1: yes, 2: no, 3: unsure, ...others } = this.buttons;
    const labels = make("div", { class: "labels", role: "group", "aria-label": "label" }, yes, no, unsure);
    const more = make("div", { class: "more", role: "group", "aria-label": "more" }, ...Object.values(others));
    this.status = make("p", { class: "status", role: "status" });
    this.root = make(
      "section",
      { class: "calibkit-pad", tabindex: 0, "aria-label": `Labelling pad of ${pad.annotator}` },
      make("div", { class: "head" }, this.bar, this.count, this.pace, this.saving),
      this.buildHelp(),
      this.pair,
      this.rest,
      this.buildRubric(),
      make("div", { class: "buttons" }, labels, more),
      this.buildComment(),
      this.status,
    );
    // Or the letters would be commands of the notebook, which inserts and deletes cells by them.
    this.root.setAttribute("data-lm-suppress-shortcuts", "true");
  }

  buildHelp() {
    const { rule, rubric, flags } = this.pad;
    const none = "This set has no labelling rule. Write one into its README.md, under the heading “Labelling rule”.";
    const keys = [
      ["1 2 3", "label the pair and go on"],
      ["u", "take the last label back"],
      ["c", "comment; Enter ends it, the label saves it"],
      ...(flags ? [["f", "flag the pair, to come back to it"]] : []),
      ...(rubric.length ? [["r", "rubric; there, 1 to 5 give points and Escape leaves"]] : []),
      ["?", "show or hide this"],
    ];
    const text = make("div", { class: "text", dir: "auto", role: "group", "aria-label": "labelling rule" }, rule ?? none);
    const rows = keys.map(([key, what]) => make("li", {}, make("kbd", {}, key), ` ${what}`));
    const marks = "Marked words stand in only one of the two, the answer or the nearest reference.";
    this.help = make("div", { class: "help" }, make("strong", {}, "Labelling rule"), text, make("ul", {}, ...rows));
    this.help.append(make("p", { class: "soft" }, marks));
    this.help.hidden = true;
    this.helpText = text;
    return this.help;
  }

  buildRubric() {
    this.points = new Map();
    this.scales = this.pad.rubric.map((dimension, row) => {
      const scale = make("fieldset", {}, make("legend", {}, dimension));
      const points = [1, 2, 3, 4, 5].map((value) => {
        const input = make("input", { type: "radio", name: `${this.name}-${row}`, value });
        input.addEventListener("change", () => this.rate(row, value));
        scale.append(make("label", {}, input, `${value}`));
        return input;
      });
      this.points.set(dimension, points);
      return scale;
    });
    this.rubric = make("div", { class: "rubric" }, ...this.scales);
    this.rubric.hidden = !this.scales.length;
    return this.rubric;
  }

  buildComment() {
    this.input = make("textarea", { rows: 2, dir: "auto", "aria-label": "comment" });
    this.input.addEventListener("input", () => {
      if (this.pad.item) this.pad.draft.comment = this.input.value;
      for (const view of this.pad.views) if (view !== this) view.update();
    });
    this.comment = make("div", { class: "comment" }, this.input);
    this.comment.hidden = true;
    return this.comment;
  }

  // --- keys ---

  press(event) {
    const { target } = event;
    const command = event.ctrlKey || event.metaKey || event.altKey;
    if (!command) event.stopPropagation();
    if (target === this.input) {
      if (!event.isComposing && (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey && !command))) {
        event.preventDefault();
        this.leave();
      }
      return;
    }
    const key = readKey(event);
    if (command || event.isComposing) {
      // The notebook does not hear it here, and the browser would offer to save the page.
      if (key === "s" && !event.altKey) event.preventDefault();
      return;
    }
    const row = this.scales.findIndex((scale) => scale.contains(target));
    const action =
      row >= 0 && /^[1-5]$/.test(key)
        ? () => this.point(row, Number(key))
        : key === "Escape"
          ? () => this.leave()
          : ACTIONS.get(key);
    const presses = target.matches("button") && (key === "Enter" || key === " ");
    if (action || (presses && event.repeat)) event.preventDefault();
    if (action && !event.repeat) action(this);
  }

  leave() {
    if (!this.help.hidden && document.activeElement !== this.input) this.toggleHelp();
    this.root.focus({ preventScroll: true });
    this.update();
  }

  toggleHelp() {
    this.help.hidden = !this.help.hidden;
    this.buttons["?"].setAttribute("aria-expanded", String(!this.help.hidden));
    this.markScrolling();
    if (!this.help.hidden) this.help.scrollIntoView({ block: "nearest" });
  }

  openComment() {
    if (this.pad.item === null) return;
    this.comment.hidden = false;
    this.input.focus();
  }

  enterRubric() {
    if (this.pad.item !== null) this.points.get(this.pad.rubric[0])?.[0].focus();
  }

  point(row, value) {
    this.rate(row, value);
    const next = this.pad.rubric[row + 1];
    if (next === undefined) this.root.focus({ preventScroll: true });
    else this.points.get(next)[0].focus();
  }

  rate(row, value) {
    if (this.pad.item !== null) this.pad.draft.rubric[this.pad.rubric[row]] = value;
    this.pad.changed();
  }

  // --- what is seen ---

  update() {
    const { pad } = this;
    const planned = pad.ids.length;
    const done = pad.done.size;
    const { current, item } = pad;
    this.bar.value = done;
    this.count.textContent = `${done} of ${planned}`;
    this.pace.textContent =
      pad.pace === null || done === planned
        ? ""
        : `${tellTime(pad.pace)} each, about ${tellTime(Math.ceil(pad.pace * (planned - done)))} left`;
    this.saving.textContent = pad.pending.length ? `saving ${pad.pending.length}` : done ? "all saved" : "";
    if (this.shown !== item) this.show(item);
    this.pair.hidden = this.rubric.hidden = item === null;
    this.rubric.hidden ||= !this.scales.length;
    this.rest.hidden = item !== null;
    if (item === null) {
      const flagged = new Set(pad.said.filter((label) => label.flag).map((label) => label.pair_id)).size;
      this.rest.textContent = current !== null ? "Fetching the next pair…" : `All ${planned} are labelled.`;
      if (current === null && flagged) this.rest.append(` ${flagged} of them flagged.`);
    }
    const draft = item === null ? { comment: "", flag: false, rubric: {} } : pad.draft;
    for (const key of ["1", "2", "3", "c", "f", "r"]) {
      if (this.buttons[key]) this.buttons[key].disabled = item === null;
    }
    this.buttons.u.disabled = !pad.said.length;
    this.buttons.f?.setAttribute("aria-pressed", String(draft.flag));
    for (const [dimension, points] of this.points) {
      points.forEach((input, at) => (input.checked = draft.rubric[dimension] === at + 1));
    }
    if (this.input.value !== draft.comment) this.input.value = draft.comment;
    this.comment.hidden = !draft.comment && document.activeElement !== this.input;
    this.tell();
  }

  tell() {
    const { pad } = this;
    const many = pad.pending.length === 1 ? "1 entry is" : `${pad.pending.length} entries are`;
    const late = `${many} not saved yet, and kept in this browser. If the kernel was restarted, run the cells again.`;
    const problem = pad.refusal || pad.trouble || (pad.isLate ? late : "");
    this.status.classList.toggle("problem", Boolean(problem));
    // Without the focus the keys are the notebook's, which makes headings of cells by them.
    const hint = this.root.contains(document.activeElement) || !pad.item ? "" : "Click here to label with the keys.";
    const note = pad.note && `${pad.note} ${pad.done.size} of ${pad.ids.length}.`;
    const text = problem || [note, hint].filter(Boolean).join(" ");
    if (this.status.textContent !== text) this.status.textContent = text;
  }

  show(item) {
    this.shown = item;
    if (item === null) return;
    const { question, reference, answer } = this.texts;
    question.row.hidden = !item.question;
    question.text.textContent = item.question;
    const several = item.references.length > 1;
    reference.label.textContent = several ? "References, nearest first" : "Reference";
    const texts = item.references.map((parts) => {
      const text = make(several ? "li" : "div", { dir: "auto" });
      fill(text, parts);
      return text;
    });
    reference.text.classList.toggle("soft", !texts.length);
    if (!texts.length) reference.text.textContent = "None: the question has no answer.";
    else if (several) reference.text.replaceChildren(make("ul", {}, ...texts));
    else reference.text.replaceChildren(...texts);
    fill(answer.text, item.candidate);
    for (const { text } of Object.values(this.texts)) text.scrollTop = 0;
    this.markScrolling();
  }

  // What scrolls must be reachable by keyboard, and nothing else should cost a tab stop.
  markScrolling() {
    for (const text of [...Object.values(this.texts).map(({ text }) => text), this.helpText]) {
      if (text.scrollHeight > text.clientHeight + 1) text.setAttribute("tabindex", "0");
      else text.removeAttribute("tabindex");
    }
  }
}

export default () => {
  let pad;
  return {
    initialize({ model }) {
      pad = new Pad(model);
    },
    render({ el }) {
      const view = new View(pad, el);
      return () => view.close();
    },
  };
};
