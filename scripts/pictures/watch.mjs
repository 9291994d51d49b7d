// Records `turnbridge watch` of a demo: looks at its screen some times a second while somebody chooses a
// session, reads it and answers.

import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { movingPicture } from "./terminal_svg.mjs";

const [program, home, out] = process.argv.slice(2);
const COLUMNS = 100;
const ROWS = 23;
const LOOK_EVERY = 120;
const ANSWER = "Yes, and put the refunds first.";

// A server of its own, which no configuration and no environment of the user's reaches.
const env = {
  PATH: process.env.PATH,
  HOME: join(home, "home"),
  XDG_CONFIG_HOME: join(home, "config"),
  XDG_STATE_HOME: join(home, "state"),
  CLAUDE_CONFIG_DIR: join(home, "claude"),
  CODEX_HOME: join(home, "codex"),
  LANG: "en_US.UTF-8",
  TERM: "xterm-256color",
};
const tmux = (...words) =>
  execFileSync("tmux", ["-u", "-f", "/dev/null", "-S", join(home, "tmux"), ...words], { env, encoding: "utf8" });
const screen = () => tmux("capture-pane", "-p", "-e").replaceAll(join(home, "work"), "~");
const count = (what) => Number(tmux("capture-pane", "-p").match(new RegExp(`(\\d+) ${what}`))?.[1] ?? 0);

const frames = [];
let isRecorded = true;

tmux("new-session", "-d", "-x", String(COLUMNS), "-y", String(ROWS), program, "watch");
try {
  await until(() => count("waiting") >= 2 && count("working") >= 1 && screen().includes("release-notes"));
  const recording = record();
  await sleep(3_000);
  tmux("send-keys", "G");
  await sleep(3_000);
  tmux("send-keys", "r");
  await sleep(700);
  for (const character of ANSWER) {
    tmux("send-keys", "-l", character);
    await sleep(70);
  }
  await sleep(700);
  tmux("send-keys", "Enter");
  await until(() => screen().includes("demo agent"));
  await sleep(4_500);
  isRecorded = false;
  await recording;
} finally {
  tmux("kill-server");
}
writeFileSync(out, movingPicture(frames, { columns: COLUMNS, rows: ROWS, title: "turnbridge watch" }));

async function record() {
  const begun = performance.now();
  while (isRecorded) {
    const text = screen();
    const at = performance.now() - begun;
    if (frames.at(-1)?.text !== text) frames.push({ at, text });
    await sleep(LOOK_EVERY);
  }
  frames.end = performance.now() - begun;
}

async function until(isSo) {
  const deadline = performance.now() + 90_000;
  while (!isSo()) {
    if (performance.now() > deadline) throw new Error(`this did not come:\n${tmux("capture-pane", "-p")}`);
    await sleep(100);
  }
}
