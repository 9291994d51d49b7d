// One session as a thread: every turn, every reply with its progress, and the box for the next reply.

import { ask, Refusal, tell } from "/connection.js";
import { dot, keyOf, notes } from "/cards.js";
import { render as markdown } from "/markdown.js";
import { copyable, element, hasText, span, text } from "/texts.js";

/** States that need no text once the reply's turn is there. */
const WELL = ["running", "done", "handed_over"];

export class Thread {
  constructor(place, close, announce) {
    this.place = place;
    this.close = close;
    this.announce = announce;
    this.key = null;
    /** Drafts by session, so that they survive a change of the session. */
    this.drafts = new Map();
    /**
     * The id of an unsent reply by session. It may have arrived, so that a retry uses the same id and is
     * deduplicated.
     */
    this.unsent = new Map();
    this.showNothing();
  }

  isOpen() {
    return this.key !== null;
  }

  showNothing() {
    this.key = null;
    this.place.classList.remove("open");
    this.place.replaceChildren(element("p", { class: "empty" }, text("choose")));
  }

  async open(session) {
    const key = keyOf(session);
    this.key = key;
    this.session = session;
    this.turns = [];
    this.replies = new Map();
    this.openTurn = null;
    this.first = 0;
    this.total = 0;
    this.nodes = new Map();
    this.build();
    this.place.classList.add("open");
    this.place.scrollTop = 0;
    await this.load();
  }

  build() {
    this.head = element("header", { class: "thread-head" });
    /** The command that resumes the session if there is no pane to go to. */
    this.command = element("div", { class: "command", role: "status", hidden: true });
    this.timeline = element("div", { class: "timeline", role: "img" });
    this.older = element("button", { type: "button", class: "older", hidden: true, onclick: () => this.loadOlder() });
    this.list = element("ol", { class: "turns" });
    this.problem = element("p", { class: "problem", role: "alert", hidden: true });
    this.scroller = element("div", { class: "scroller", tabindex: "-1" }, this.older, this.problem, this.list);
    this.place.replaceChildren(this.head, this.command, this.timeline, this.scroller, this.buildForm());
    this.place.setAttribute("aria-label", text("thread"));
    this.renderHead();
  }

  buildForm() {
    const key = this.key;
    this.box = element("textarea", {
      id: "reply",
      rows: "2",
      placeholder: text("reply_placeholder"),
      "aria-label": text("reply"),
      maxlength: "40000",
      oninput: () => {
        this.drafts.set(key, this.box.value);
        this.fitBox();
      },
      onkeydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !event.isComposing) {
          event.preventDefault();
          this.send();
        }
      },
    });
    this.box.value = this.drafts.get(key) ?? "";
    this.sendButton = element("button", { type: "submit", class: "primary" }, text("send"));
    this.sendState = element("p", { class: "send-state", role: "status" }, text("send_keys"));
    const submit = (event) => {
      event.preventDefault();
      this.send();
    };
    const row = element("div", { class: "send-row" }, this.sendState, this.sendButton);
    return element("form", { class: "reply", onsubmit: submit }, this.box, row);
  }

  fitBox() {
    this.box.style.height = "auto";
    this.box.style.height = `${Math.min(this.box.scrollHeight + 2, 240)}px`;
  }

  renderHead() {
    const { session } = this;
    const back = element(
      "button",
      { type: "button", class: "icon back", "aria-label": text("back"), title: text("back"), onclick: this.close },
      element("span", { "aria-hidden": "true" }, "←"),
    );
    const focus = element("button", { type: "button", class: "focus", onclick: () => this.focusPane() }, text("focus"));
    const title = element("h2", {}, session.project ?? text("no_folder"));
    const about = [session.tool, session.model, session.project_dir, session.session_id].filter(Boolean);
    const details = element("p", { class: "about" }, about.join(" · "));
    const line = element("div", { class: "line" }, back, dot(session), title, notes(session), focus);
    const hadFocus = this.head.contains(document.activeElement) ? document.activeElement.className : null;
    this.head.replaceChildren(line, details);
    if (hadFocus) this.head.querySelector(`.${hadFocus.split(" ").at(-1)}`)?.focus();
  }

  async load() {
    const key = this.key;
    const isAtEnd = this.isAtEnd() || this.nodes.size === 0;
    let page;
    try {
      const limit = Math.max(20, Math.min(200, this.total - this.first + 1));
      page = await ask(`/api/sessions/${key}?limit=${limit}`);
    } catch (error) {
      if (key === this.key) this.showProblem(error);
      return;
    }
    if (key !== this.key) return;
    this.problem.hidden = true;
    this.session = page.session;
    this.turns = page.turns;
    this.first = page.first;
    this.total = page.total;
    this.openTurn = page.open_turn;
    this.replies = new Map(page.replies.map((reply) => [reply.id, reply]));
    this.render();
    if (isAtEnd) this.scrollToEnd();
  }

  async loadOlder() {
    const key = this.key;
    const page = await ask(`/api/sessions/${key}?before=${this.first}`).catch(() => null);
    if (!page || key !== this.key) return;
    this.turns = [...page.turns, ...this.turns];
    this.first = page.first;
    const height = this.scroller.scrollHeight;
    this.render();
    // Keeps the scroll position.
    this.scroller.scrollTop += this.scroller.scrollHeight - height;
    if (this.first === 0) this.scroller.focus();
  }

  showProblem(error) {
    const isGone = error instanceof Refusal && error.status === 404;
    this.problem.textContent = isGone ? text("gone") : text("not_loaded", error.message);
    this.problem.hidden = false;
  }

  /** Applies the daemon's changes of the open session. */
  changed(session) {
    if (keyOf(session) !== this.key) return;
    const before = this.session;
    this.session = session;
    this.renderHead();
    this.renderTimeline();
    const isSame = before.turns_bytes === session.turns_bytes && before.state === session.state;
    if (!isSame || before.prompt_at !== session.prompt_at) this.load();
  }

  replyChanged(reply) {
    if (`${reply.tool}/${reply.session_id}` !== this.key) return;
    const isAtEnd = this.isAtEnd();
    this.replies.set(reply.id, reply);
    this.renderTurns();
    this.announce(text("announce_reply", replyState(reply)));
    if (isAtEnd) this.scrollToEnd();
  }

  isAtEnd() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight < 80;
  }

  scrollToEnd() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  render() {
    this.older.hidden = this.first === 0;
    this.older.textContent = text("older", this.first);
    this.renderHead();
    this.renderTimeline();
    this.renderTurns();
  }

  /** Renders turns and replies in the order of time; unchanged nodes stay. */
  renderTurns() {
    const entries = this.turns.map((turn) => ({
      id: `turn ${turn.ended_at} ${turn.turn_id}`,
      at: turn.started_at ?? turn.ended_at,
      made: () => turnNode(turn, this.session),
      print: "",
    }));
    const replies = [...this.replies.values()].filter((reply) => !this.isTurn(reply));
    for (const reply of replies) {
      const print = JSON.stringify(reply);
      entries.push({ id: `reply ${reply.id}`, at: reply.received_at, made: () => replyNode(reply), print });
    }
    if (this.openTurn && ["working", "waiting_user"].includes(this.session.state)) {
      const { openTurn, session } = this;
      const said = openTurn.prompt?.trim();
      const isReplied = replies.some((reply) => reply.state === "running" && reply.text.trim() === said);
      const print = JSON.stringify([openTurn, session.state, session.waiting_for, isReplied]);
      const at = openTurn.started_at ?? new Date().toISOString();
      entries.push({ id: "open", at, made: () => openNode(openTurn, session, isReplied), print });
    }
    entries.sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
    const nodes = new Map();
    for (const entry of entries) {
      const known = this.nodes.get(entry.id);
      const node = known?.print === entry.print ? known.node : entry.made();
      nodes.set(entry.id, { node, print: entry.print });
    }
    this.nodes = nodes;
    this.list.replaceChildren(...[...nodes.values()].map(({ node }) => node));
  }

  /** Returns whether the reply has become a turn, which shows it. */
  isTurn(reply) {
    if (!WELL.includes(reply.state) || reply.output) return false;
    const isOld = this.first > 0 && reply.received_at < (this.turns[0]?.ended_at ?? "");
    const said = reply.text.trim();
    const isIt = (turn) => turn.ended_at >= reply.received_at && turn.prompt?.trim() === said;
    return isOld || this.turns.some(isIt);
  }

  /** Renders short and long spans side by side. Widths use square roots of the durations. */
  renderTimeline() {
    const parts = [];
    const add = (state, from, to) => {
      const seconds = Math.max(0, (Date.parse(to) - Date.parse(from)) / 1000);
      const part = element("span", { class: `part ${state}`, title: `${text(`state_${state}`)} ${span(seconds * 1000)}` });
      part.style.flexGrow = String(1 + Math.sqrt(seconds));
      parts.push(part);
    };
    let last = null;
    for (const turn of this.turns.slice(-40)) {
      if (last && turn.started_at > last) add("completed", last, turn.started_at);
      add("working", turn.started_at ?? turn.ended_at, turn.ended_at);
      if (turn.detail !== "ok") parts.at(-1).classList.add("failed");
      last = turn.ended_at;
    }
    const { state, since, prompt_at: promptAt } = this.session;
    const now = new Date().toISOString();
    if (last && since > last) add("completed", last, promptAt > last ? promptAt : since);
    if (state === "waiting_user" && promptAt && since > promptAt) add("working", promptAt, since);
    add(state, since, now);
    parts.at(-1).classList.add("now");
    this.timeline.replaceChildren(...parts);
    const age = span(Date.now() - Date.parse(since));
    this.timeline.setAttribute("aria-label", text("timeline", this.total, text(`state_${state}`), age));
  }

  async send() {
    const key = this.key;
    const said = this.box.value;
    if (said.trim() === "" || this.sendButton.disabled) return;
    const [tool, sessionId] = key.split("/");
    const kept = this.unsent.get(key);
    const id = kept?.said === said ? kept.id : crypto.randomUUID();
    this.unsent.set(key, { id, said });
    const { sendButton, sendState, box } = this;
    sendButton.disabled = true;
    sendState.textContent = text("sending");
    try {
      await tell("/api/replies", { id, tool, session_id: sessionId, text: said });
      this.unsent.delete(key);
      this.drafts.delete(key);
      box.value = "";
      sendState.textContent = text("send_keys");
      if (key === this.key) {
        this.fitBox();
        this.scrollToEnd();
      }
    } catch (error) {
      sendState.textContent = text("not_sent", error.message);
    } finally {
      sendButton.disabled = false;
    }
  }

  async focusPane() {
    const [tool, sessionId] = this.key.split("/");
    const order = { tool, session_id: sessionId };
    const said = await tell("/api/focus", order).catch((error) => ({ error: error.message }));
    if (this.key !== `${tool}/${sessionId}`) return;
    const isPrinted = said.done === "printed";
    this.command.hidden = !isPrinted;
    this.problem.hidden = said.ok === true || isPrinted;
    if (said.ok) return this.announce(text("focused"));
    if (isPrinted) return this.showCommand(said);
    const words = [text("failed", said.error), said.hint ? text("hint", said.hint) : ""];
    this.problem.textContent = words.join("\n");
    this.problem.scrollIntoView({ block: "nearest" });
  }

  /** Without a command where another terminal has the session open, and only one can. */
  showCommand({ command, open }) {
    const why = command === undefined ? "open_elsewhere" : open ? "command_live" : "command_stopped";
    const close = element(
      "button",
      { type: "button", class: "icon", "aria-label": text("close"), title: text("close"), onclick: () => (this.command.hidden = true) },
      element("span", { "aria-hidden": "true" }, "×"),
    );
    const line = element("div", { class: "line" }, element("p", {}, text(why)), close);
    this.command.replaceChildren(line);
    if (command !== undefined) this.command.append(copyable(command));
  }

  focusBox() {
    this.box?.focus();
  }
}

function turnNode(turn, session) {
  const answers = [...(turn.earlier_answers ?? []), turn.answer].filter((answer) => answer != null);
  const shown = answers.map(markdown);
  if (turn.detail === "failed") shown.push(element("p", { class: "note failed" }, text("failed_turn", turn.error ?? "?")));
  if (turn.detail === "interrupted") shown.push(element("p", { class: "note" }, text("interrupted")));
  if (shown.length === 0) shown.push(element("p", { class: "missing" }, text("no_answer")));
  return element(
    "li",
    { class: "turn" },
    turn.prompt == null ? null : prompt(turn.prompt, turn.started_at, []),
    (turn.additions ?? []).map((addition) => prompt(addition, null, [])),
    element("div", { class: "answer" }, byline(session.tool, turn.ended_at, turn.started_at), shown),
  );
}

function openNode(turn, session, isReplied) {
  const isWaiting = session.state === "waiting_user";
  const tools = session.waiting_for.join(", ");
  const waits = tools ? text("waits_for", tools) : text("waits_in_terminal");
  const words = element("p", { class: isWaiting ? "waits" : "under-way" }, isWaiting ? waits : text("under_way"));
  return element(
    "li",
    { class: "turn" },
    turn.prompt == null || isReplied ? null : prompt(turn.prompt, turn.started_at, []),
    element("div", { class: "answer" }, byline(session.tool, null, null), words),
  );
}

function replyNode(reply) {
  const from = reply.source === "slack" ? [element("span", { class: "from" }, text("from_slack"))] : [];
  const state = element("p", { class: `reply-state ${reply.state}` }, replyState(reply));
  const output = reply.output ? element("div", { class: "answer" }, markdown(reply.output)) : null;
  return element("li", { class: "turn", "data-reply": reply.id }, prompt(reply.text, reply.received_at, from, state), output);
}

function replyState(reply) {
  const reason = reply.reason && hasText(`reason_${reply.reason}`) ? text(`reason_${reply.reason}`, reply.code) : reply.reason;
  return text(`reply_${reply.state}`, reason ?? "?");
}

/** Renders a user's text as it was typed. */
function prompt(words, at, from, more) {
  const line = element("p", { class: "byline" }, text("you"), from, at ? time(at) : null);
  return element("div", { class: "said" }, line, element("p", { class: "words" }, words), more);
}

function byline(tool, at, since) {
  const took = at && since ? text("took", span(Date.parse(at) - Date.parse(since))) : null;
  const last = took ? element("span", {}, took) : null;
  return element("p", { class: "byline" }, element("span", { class: `tool ${tool}` }, tool), at ? time(at) : null, last);
}

function time(at) {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date().toDateString();
  const shown = isToday ? date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" }) : date.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  return element("time", { datetime: at, title: date.toLocaleString() }, shown);
}
