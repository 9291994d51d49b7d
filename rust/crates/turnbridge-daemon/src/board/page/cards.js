// The list of sessions: those that wait for the user come first, stopped ones are folded if there are others
// (KT-76..82, X27).
// Nodes are kept and changed in place, so that focus, scroll position and blinking stay.

import { element, span, text } from "/texts.js";

const GROUPS = ["waiting_user", "working", "completed", "stopped"];

/** The text of an empty list, by the state of the connection. */
const NONE = { connecting: "connecting", refused: "none_refused", lost: "none_lost" };

const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

export const keyOf = (session) => `${session.tool}/${session.session_id}`;

/** KT-77..82: a dot of the state, the stop mark while a dialog waits, a ring without a pane. */
export function dot(session) {
  const state = text(`state_${session.state}`);
  const label = session.has_pane || session.state === "stopped" ? state : `${state}, ${text("without_pane")}`;
  const classes = ["dot", session.state];
  if (!session.has_pane) classes.push("no-pane");
  if (session.has_fallen_silent) classes.push("silent");
  return element("span", { class: classes.join(" "), role: "img", "aria-label": label, title: label });
}

/** The notes beside the dot: facts that it does not show. */
export function notes(session) {
  const made = [];
  const note = (kind, words) => made.push(element("span", { class: `note ${kind}` }, words));
  if (session.state === "waiting_user" && session.waiting_for.length > 0) {
    note("waiting", session.waiting_for.join(", "));
  }
  if (session.detail === "failed") note("failed", text("failed_turn", session.error || "?"));
  if (session.detail === "interrupted") note("", text("interrupted"));
  if (session.background_tasks > 0) note("", text("in_background", session.background_tasks));
  return made;
}

export class Cards {
  /** Calls `open` with the key of the chosen session. */
  constructor(place, open) {
    this.place = place;
    this.open = open;
    this.sessions = new Map();
    this.nodes = new Map();
    this.lists = new Map();
    this.filter = "";
    /** The state of the connection, until the daemon has sent the sessions. */
    this.standing = "connecting";
    this.chosen = null;
    // Whether the stopped sessions are folded, once the user has chosen.
    this.isFolded = null;
    this.empty = element("p", { class: "empty" });
    this.buildGroups();
    setInterval(() => this.renderAges(), 5_000);
  }

  buildGroups() {
    this.lists.clear();
    this.nodes.clear();
    this.place.replaceChildren(this.empty);
    for (const state of GROUPS) {
      const list = element("ul", { class: "cards" });
      const count = element("span", { class: "count" });
      const title = text(`group_${state}`);
      const fold = (event) => {
        event.preventDefault();
        this.isFolded = group.open;
        this.render();
      };
      const group =
        state === "stopped"
          ? element("details", { class: "group" }, element("summary", { onclick: fold }, title, " ", count), list)
          : element("section", { class: "group", "aria-label": title }, element("h2", {}, title, " ", count), list);
      this.lists.set(state, { group, list, count });
      this.place.append(group);
    }
    const keys = element("p", { class: "keys" }, text("keys"));
    this.place.append(keys);
  }

  /** Builds the list again in another language. */
  rebuild() {
    this.buildGroups();
    this.render();
  }

  setAll(sessions) {
    this.standing = null;
    this.sessions = new Map(sessions.map((session) => [keyOf(session), session]));
    this.render();
  }

  /** An empty list is certain only after the daemon's snapshot. */
  setStanding(standing) {
    // The snapshot follows immediately.
    if (standing === "connected") return;
    this.standing = standing;
    this.render();
  }

  set(session) {
    this.sessions.set(keyOf(session), session);
    this.renderSoon();
  }

  remove(key) {
    this.sessions.delete(key);
    this.renderSoon();
  }

  /** Merges the changes of one burst into one render. */
  renderSoon() {
    if (this.isDue) return;
    this.isDue = true;
    queueMicrotask(() => {
      this.isDue = false;
      this.render();
    });
  }

  setFilter(filter) {
    this.filter = filter.trim().toLowerCase();
    this.render();
  }

  choose(key) {
    this.chosen = key;
    for (const [other, node] of this.nodes) this.mark(other, node);
  }

  waiting() {
    return [...this.sessions.values()].filter((session) => session.state === "waiting_user").length;
  }

  mark(key, node) {
    if (key === this.chosen) node.button.setAttribute("aria-current", "true");
    else node.button.removeAttribute("aria-current");
  }

  matches(session) {
    if (!this.filter) return true;
    const words = [session.project_dir, session.tool, session.prompt, session.session_id];
    words.push(text(`state_${session.state}`));
    return words.some((word) => word?.toLowerCase().includes(this.filter));
  }

  render() {
    const groups = new Map(GROUPS.map((state) => [state, []]));
    for (const session of this.sessions.values()) {
      if (this.matches(session)) groups.get(session.state)?.push(session);
    }
    const isAlone = GROUPS.every((state) => state === "stopped" || groups.get(state).length === 0);
    const isFolded = this.isFolded ?? !isAlone;
    this.lists.get("stopped").group.open = !isFolded;
    const used = new Set();
    let shown = 0;
    for (const [state, sessions] of groups) {
      const { group, list, count } = this.lists.get(state);
      sessions.sort((a, b) => order(b.since, a.since) || order(keyOf(a), keyOf(b)));
      group.hidden = sessions.length === 0;
      count.textContent = String(sessions.length);
      shown += sessions.length;
      // Folded sessions need no nodes.
      const visible = state === "stopped" && isFolded ? [] : sessions;
      let before = null;
      for (const session of visible) {
        const key = keyOf(session);
        used.add(key);
        const node = this.node(key, session);
        const wanted = before ? before.nextSibling : list.firstChild;
        if (wanted !== node.item) this.move(list, node, wanted);
        before = node.item;
      }
    }
    for (const [key, node] of this.nodes) {
      if (!used.has(key)) {
        node.item.remove();
        this.nodes.delete(key);
      }
    }
    this.empty.hidden = shown > 0;
    this.empty.textContent = this.sessions.size === 0 ? text(NONE[this.standing] ?? "none") : text("none_match");
  }

  /** Moves a node. The move would drop its focus. */
  move(list, node, before) {
    const hadFocus = node.button === document.activeElement;
    list.insertBefore(node.item, before);
    if (hadFocus) node.button.focus({ preventScroll: true });
  }

  node(key, session) {
    let node = this.nodes.get(key);
    if (!node) {
      const button = element("button", { type: "button", class: "card", onclick: () => this.read(key) });
      node = { item: element("li", {}, button), button, session: null };
      this.nodes.set(key, node);
      this.mark(key, node);
    }
    if (node.session !== session) {
      node.session = session;
      this.fill(node, session);
    }
    return node;
  }

  read(key) {
    // The session being read must not fold when another session starts.
    if (this.sessions.get(key)?.state === "stopped") this.isFolded = false;
    this.open(key);
  }

  fill(node, session) {
    node.age = element("time", { class: "age", datetime: session.since });
    const top = element(
      "span",
      { class: "line" },
      dot(session),
      element("span", { class: "project", title: session.project_dir }, session.project ?? text("no_folder")),
      element("span", { class: `tool ${session.tool}` }, session.tool),
      node.age,
    );
    const prompt = element("span", { class: "prompt" }, session.prompt ?? text("no_prompt"));
    const extra = notes(session);
    const bottom = extra.length > 0 ? element("span", { class: "notes" }, extra) : null;
    node.button.replaceChildren(...[top, prompt, bottom].filter(Boolean));
    node.button.dataset.state = session.state;
    this.renderAge(node);
  }

  renderAge(node) {
    const age = span(Date.now() - Date.parse(node.session.since));
    if (node.age.textContent !== age) node.age.textContent = age;
  }

  renderAges() {
    for (const node of this.nodes.values()) this.renderAge(node);
  }

  /** Moves the focus by this many cards. */
  step(by) {
    const buttons = [...this.place.querySelectorAll(".card")];
    if (buttons.length === 0) return;
    const current = buttons.indexOf(document.activeElement);
    const chosen = this.chosen ? buttons.indexOf(this.nodes.get(this.chosen)?.button) : -1;
    const from = current >= 0 ? current : chosen;
    const next = from < 0 ? 0 : Math.max(0, Math.min(buttons.length - 1, from + by));
    buttons[next].focus();
    buttons[next].scrollIntoView({ block: "nearest" });
  }

  focusOn(key) {
    const node = this.nodes.get(key);
    (node?.button ?? this.place).focus();
  }
}
