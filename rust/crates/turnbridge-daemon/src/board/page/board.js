// The board: passes the daemon's events to the list and the open thread, and keys to both.

import { Cards, keyOf } from "/cards.js";
import { listen, takeToken } from "/connection.js";
import { Settings } from "/settings.js";
import { SignIn } from "/sign_in.js";
import { currentLanguage, element, setLanguage, text, withCommands } from "/texts.js";
import { Thread } from "/thread.js";

const byId = (id) => document.getElementById(id);

const announcer = byId("announcer");
const announce = (words) => {
  announcer.textContent = words;
};

const cards = new Cards(byId("sessions"), (key) => openThread(key));
const thread = new Thread(byId("thread"), closeThread, announce);
const settings = new Settings(byId("settings"));
const signIn = new SignIn(byId("sign-in"), () => {
  signIn.hide();
  connection.again();
});
let state = "connecting";
/** The delay before the notice of a lost connection: a restarted daemon is often back by then. */
const LOST_AFTER = 1_500;
let lostTimer = null;

function openThread(key) {
  const session = cards.sessions.get(key);
  if (!session) return;
  cards.choose(key);
  document.body.classList.add("reading");
  thread.open(session);
  byId("thread").focus({ preventScroll: true });
}

function closeThread() {
  const key = cards.chosen;
  cards.choose(null);
  thread.showNothing();
  document.body.classList.remove("reading");
  cards.focusOn(key);
}

const HEARD = {
  snapshot(snapshot) {
    if (setLanguage(snapshot.language)) translate();
    cards.setAll(snapshot.sessions);
    const open = thread.isOpen() && cards.sessions.get(thread.key);
    if (open) {
      thread.session = open;
      thread.load();
    }
  },
  session(session) {
    const before = cards.sessions.get(keyOf(session));
    cards.set(session);
    thread.changed(session);
    const isNews = before?.state !== session.state && session.state !== "working";
    if (isNews) announce(text("announce", session.project ?? session.tool, text(`state_${session.state}`)));
  },
  gone(session) {
    cards.remove(keyOf(session));
  },
  reply(reply) {
    if (thread.isOpen()) thread.replyChanged(reply);
  },
};

function heard(name, data) {
  HEARD[name]?.(data);
  const waiting = cards.waiting();
  document.title = waiting > 0 ? `(${waiting}) Turnbridge` : "Turnbridge";
}

function showState(now) {
  if (now === state && byId("connection").textContent) return;
  state = now;
  byId("connection").textContent = text(now);
  byId("connection").className = now;
  cards.setStanding(now);
  if (now === "refused") signIn.show();
  else if (now === "connected") signIn.hide();
  clearTimeout(lostTimer);
  if (now === "lost") lostTimer = setTimeout(showHowToGetBack, LOST_AFTER);
  else byId("lost").hidden = true;
}

function showHowToGetBack() {
  const title = element("strong", {}, text("lost_title"));
  const hint = element("p", { class: "explained" }, withCommands("lost_hint", "turnbridge daemon", "turnbridge board --open"));
  byId("lost").replaceChildren(title, hint);
  byId("lost").hidden = false;
}

function translate() {
  document.documentElement.lang = currentLanguage();
  byId("filter").placeholder = text("filter");
  byId("filter").setAttribute("aria-label", text("filter"));
  byId("sessions").setAttribute("aria-label", text("sessions"));
  byId("thread").setAttribute("aria-label", text("thread"));
  byId("open-settings").setAttribute("aria-label", text("settings"));
  byId("open-settings").title = text("settings");
  byId("connection").textContent = "";
  showState(state);
  if (signIn.isShown()) signIn.show();
  cards.rebuild();
  if (!thread.isOpen()) thread.showNothing();
}

const KEYS = {
  j: () => cards.step(1),
  k: () => cards.step(-1),
  "/": () => byId("filter").focus(),
  r: () => (thread.isOpen() ? thread.focusBox() : null),
};

function pressed(event) {
  if (event.defaultPrevented || event.isComposing || byId("settings").open || signIn.isShown()) return;
  const isTyping = event.target.matches("textarea, input");
  if (event.key === "Escape") {
    if (isTyping) event.target.blur();
    else if (thread.isOpen()) closeThread();
    return;
  }
  const act = KEYS[event.key];
  if (!act || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
}

translate();
await takeToken();
document.addEventListener("keydown", pressed);
byId("filter").addEventListener("input", (event) => cards.setFilter(event.target.value));
byId("open-settings").addEventListener("click", () => settings.open());
const connection = listen(heard, showState);
// The user has pasted a new address over the old one.
addEventListener("hashchange", async () => {
  if (await takeToken()) connection.again();
});
