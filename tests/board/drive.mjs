// A browser that a test of ours drives: one JSON order a line on stdin, one JSON answer a line on
// stdout. Whatever fails is `{"error": …}`, and the test decides what that means.

import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const TIMEOUT = 20_000;

const browser = await chromium.launch({
  executablePath: process.env.TURNBRIDGE_TEST_CHROMIUM,
  args: ["--no-sandbox", "--disable-dev-shm-usage"],
});

let page = null;
/** Every address that was asked for, whoever answered. */
let asked = [];
/** What the page complained about. */
let complaints = [];

/** In the page: asking again and again from here would be most of what is measured. */
function noteWhenThere(selector) {
  const observer = new MutationObserver(() => {
    if (!document.querySelector(selector)) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => {
      window.paintedAt = performance.now();
    }));
  });
  observer.observe(document, { subtree: true, childList: true });
}

const ORDERS = {
  async open({ url, width = 1280, height = 800, dark = false, locale = "en-US", until = null }) {
    await page?.context().close();
    const colorScheme = dark ? "dark" : "light";
    const context = await browser.newContext({ viewport: { width, height }, colorScheme, locale });
    page = await context.newPage();
    page.setDefaultTimeout(TIMEOUT);
    asked = [];
    complaints = [];
    page.on("request", (request) => asked.push(request.url()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("console", (message) => {
      if (message.type() === "error") complaints.push(message.text());
    });
    if (until) await page.addInitScript(noteWhenThere, until);
    await page.goto(url);
    return { url: page.url() };
  },
  async resize({ width, height }) {
    await page.setViewportSize({ width, height });
  },
  /** Until it is there, with these words if any are given; gives all its words. */
  async wait({ selector, text }) {
    const found = text === undefined ? page.locator(selector) : page.locator(selector, { hasText: text });
    await found.first().waitFor({ state: "visible" });
    return { text: await found.first().innerText() };
  },
  async hidden({ selector }) {
    await page.locator(selector).first().waitFor({ state: "hidden" });
  },
  async texts({ selector }) {
    return { texts: await page.locator(selector).allInnerTexts() };
  },
  async count({ selector }) {
    return { count: await page.locator(selector).count() };
  },
  async attribute({ selector, name }) {
    return { value: await page.locator(selector).first().getAttribute(name) };
  },
  async click({ selector, text }) {
    const found = text === undefined ? page.locator(selector) : page.locator(selector, { hasText: text });
    await found.first().click();
  },
  async fill({ selector, text }) {
    await page.fill(selector, text);
  },
  async press({ key }) {
    await page.keyboard.press(key);
  },
  async type({ text }) {
    await page.keyboard.type(text);
  },
  async run({ script }) {
    return { value: await page.evaluate(script) };
  },
  /** Notes when which cards are shown in which state, by the clock that the test has too. */
  async observe() {
    await page.evaluate(() => {
      window.seen = [];
      const note = () => {
        for (const card of document.querySelectorAll(".card")) {
          const words = `${card.dataset.state} ${card.querySelector(".project").textContent}`;
          if (card.noted !== words) {
            card.noted = words;
            window.seen.push({ at: Date.now(), words });
          }
        }
      };
      note();
      const observer = new MutationObserver(note);
      observer.observe(document.body, { subtree: true, childList: true, attributes: true });
    });
  },
  async seen() {
    return { seen: await page.evaluate(() => window.seen) };
  },
  /** How long the page took until it had painted what it was opened with as `until`. */
  async loaded() {
    const painted = await page.waitForFunction(() => window.paintedAt);
    return { milliseconds: await painted.jsonValue() };
  },
  async screenshot({ path }) {
    await page.screenshot({ path, animations: "disabled" });
  },
  async report() {
    return { asked, complaints, url: page.url() };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  let answer;
  try {
    const { order, ...values } = JSON.parse(line);
    answer = (await ORDERS[order](values)) ?? {};
  } catch (error) {
    answer = { error: String(error?.message ?? error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
