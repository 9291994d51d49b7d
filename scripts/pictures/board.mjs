// Takes the board of a demo, light and dark, at the same moment: one in which something waits, something
// works and something has failed.

import { join } from "node:path";
import { chromium } from "../../tests/board/node_modules/playwright-core/index.mjs";

const [executablePath, url, home, out] = process.argv.slice(2);
const LOOKS = ["light", "dark"];
const TIMEOUT = 90_000;

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const pages = await Promise.all(LOOKS.map(open));
await Promise.all(pages.map(choose));
await Promise.all(pages.map((page) => page.waitForFunction(isWorthSeeing, null, { timeout: TIMEOUT, polling: 50 })));
await Promise.all(pages.map((page) => page.evaluate(hideHome, home)));
await Promise.all(pages.map((page) => page.evaluate(frame)));
await Promise.all(pages.map((page, position) =>
  page.screenshot({ path: join(out, `board-${LOOKS[position]}.png`), animations: "disabled" })));
await browser.close();

async function open(colorScheme) {
  const context = await browser.newContext({
    viewport: { width: 1100, height: 730 },
    deviceScaleFactor: 1.5,
    colorScheme,
    locale: "en-US",
  });
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForSelector(".card");
  return page;
}

/** In the page. */
function isWorthSeeing() {
  const states = [...document.querySelectorAll(".card")].map((card) => card.dataset.state);
  const count = (state) => states.filter((other) => other === state).length;
  const checkout = [...document.querySelectorAll(".card")]
    .find((card) => card.querySelector(".project").textContent === "checkout-service");
  return count("waiting_user") >= 2 && count("working") >= 2 && count("completed") >= 2
    && checkout?.dataset.state === "working" && document.body.textContent.includes("rate_limit");
}

async function choose(page) {
  await page.locator(".card", { hasText: "checkout-service" }).click();
  await page.waitForSelector("textarea");
  await page.getByText("All 214 tests pass.").first().waitFor();
}

/** In the page: the folder that the demo happened to get is not what the picture is about. */
function hideHome(home) {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    walker.currentNode.data = walker.currentNode.data.replaceAll(`${home}/work`, "~");
  }
}

/** In the page: a white page on a white page would have no end. */
function frame() {
  const edge = document.createElement("div");
  Object.assign(edge.style, {
    position: "fixed", inset: "0", border: "1px solid #8884", pointerEvents: "none", zIndex: "9",
  });
  document.body.append(edge);
}
