// The connection to the daemon: requests with the token, and the stream of events.
// The token, or a ticket for it, is in the fragment of the address, which is emptied immediately.

import { text } from "/texts.js";

const KEPT = "turnbridge-token";
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 10_000;
/** The timeout of the stream: the daemon writes at least every 15 seconds. */
const SILENCE = 40_000;

/** Returns whether there is a new token. A browser started by `turnbridge board --open` has a ticket for it. */
export async function takeToken() {
  const [, ticket, token] = /^#(?:ticket=([0-9a-f]{64})|([0-9a-f]{64}))$/.exec(location.hash) ?? [];
  if (!ticket && !token) return false;
  history.replaceState(null, "", location.pathname);
  const found = token ?? (await exchange(ticket));
  if (found) sessionStorage.setItem(KEPT, found);
  return Boolean(found);
}

async function exchange(ticket) {
  const given = await tell("/enter", { ticket }).catch(() => ({}));
  return given.token;
}

/** Gets the token for a typed code; throws a `Refusal` with its `reason`. */
export async function signIn(code) {
  const { token } = await tell("/enter", { code });
  sessionStorage.setItem(KEPT, token);
}

export const hasToken = () => sessionStorage.getItem(KEPT) !== null;

export class Refusal extends Error {
  constructor(status, message, reason) {
    super(message);
    this.status = status;
    this.reason = reason;
  }
}

async function request(path, options = {}) {
  const headers = { Authorization: `Bearer ${sessionStorage.getItem(KEPT)}`, ...options.headers };
  try {
    return await fetch(path, { ...options, headers, cache: "no-store", credentials: "omit" });
  } catch {
    // What the browser says is in no language of the page.
    throw new Error(text("no_answer_from_daemon"));
  }
}

async function answer(response) {
  const value = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refusal(response.status, value.error ?? `HTTP ${response.status}`, value.reason);
  return value;
}

export const ask = async (path) => answer(await request(path));

export async function tell(path, order) {
  const headers = { "Content-Type": "application/json" };
  return answer(await request(path, { method: "POST", headers, body: JSON.stringify(order) }));
}

/** Calls `onEvent(name, data)` forever, and `onState` with `connecting`, `connected`, `lost` or `refused`. */
export function listen(onEvent, onState) {
  let pause = FIRST_PAUSE;
  let current = null;
  let wake = () => {};
  let isRefused = false;

  async function connectOnce() {
    const abort = new AbortController();
    current = abort;
    let silence = setTimeout(() => abort.abort(), SILENCE);
    try {
      const response = await request("/api/events", { signal: abort.signal });
      if (response.status === 403) return "refused";
      if (!response.ok) return "lost";
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return "lost";
        clearTimeout(silence);
        silence = setTimeout(() => abort.abort(), SILENCE);
        const frames = (rest + value).split("\n\n");
        rest = frames.pop();
        for (const frame of frames) {
          const event = read(frame);
          if (!event) continue;
          pause = FIRST_PAUSE;
          onState("connected");
          onEvent(event.name, event.data);
        }
      }
    } catch {
      return "lost";
    } finally {
      clearTimeout(silence);
    }
  }

  async function run() {
    onState("connecting");
    for (;;) {
      const ended = await connectOnce();
      isRefused = ended === "refused";
      onState(ended);
      const wait = isRefused ? 2 ** 31 - 1 : pause * (0.75 + Math.random() / 2);
      pause = Math.min(pause * 2, LONGEST_PAUSE);
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, wait);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  run();
  const hurry = () => {
    if (!isRefused && document.visibilityState === "visible") wake();
  };
  addEventListener("online", hurry);
  document.addEventListener("visibilitychange", hurry);
  return {
    /** Reconnects with a new token. */
    again() {
      current?.abort();
      pause = FIRST_PAUSE;
      wake();
    },
  };
}

function read(frame) {
  let name = "message";
  const data = [];
  for (const line of frame.split("\n")) {
    if (line.startsWith("event: ")) name = line.slice(7);
    else if (line.startsWith("data: ")) data.push(line.slice(6));
  }
  if (data.length === 0) return null;
  try {
    return { name, data: JSON.parse(data.join("\n")) };
  } catch {
    return null;
  }
}
