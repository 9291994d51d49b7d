// Renders Markdown as nodes. Models write answers from untrusted input, so that no text ever becomes markup: every
// text is a text node, and only http and https links are links.
// Unknown syntax stays as it was typed. All searches are bounded, so that no text is slow.

import { element, fill } from "/texts.js";

const DEEPEST = 8;
/** The limit of the search for the end of an emphasis or a link. */
const FAR = 4_000;

/** Renders a text. A text that fails is shown as it was typed, and does not affect other answers. */
export function render(source) {
  try {
    return rendered(source);
  } catch (error) {
    console.warn(error);
    return element("div", { class: "markdown words" }, source);
  }
}

function rendered(source) {
  const lines = source.replace(/\r\n?/g, "\n").split("\n");
  const made = element("div", { class: "markdown" });
  fill(made, blocks(lines, 0));
  return made;
}

function blocks(lines, depth) {
  const made = [];
  let at = 0;
  while (at < lines.length) {
    const [node, next] = block(lines, at, depth);
    if (node) made.push(node);
    at = next;
  }
  return made;
}

function block(lines, at, depth) {
  const line = lines[at];
  if (line.trim() === "") return [null, at + 1];
  const fence = /^ {0,3}(`{3,}|~{3,})\s*([^`]*)$/.exec(line);
  if (fence) return code(lines, at, fence);
  const heading = /^ {0,3}(#{1,6})(?=\s|$)/.exec(line);
  if (heading) {
    // The page has headings above these.
    const level = Math.min(6, heading[1].length + 2);
    const title = line.slice(heading[0].length).trim();
    return [element(`h${level}`, {}, inline(title, 0)), at + 1];
  }
  if (/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line)) return [element("hr"), at + 1];
  if (depth < DEEPEST) {
    if (/^ {0,3}>/.test(line)) return quote(lines, at, depth);
    if (marker(line)) return list(lines, at, depth);
  }
  if (isTable(lines, at)) return table(lines, at);
  return paragraph(lines, at);
}

function code(lines, at, fence) {
  const [, mark, info] = fence;
  const closing = new RegExp(`^ {0,3}${mark[0]}{${mark.length},}\\s*$`);
  let end = at + 1;
  while (end < lines.length && !closing.test(lines[end])) end += 1;
  const language = info.trim().split(/\s+/)[0];
  const body = element("code", {}, lines.slice(at + 1, end).join("\n"));
  const label = language ? element("span", { class: "language" }, language) : null;
  return [element("pre", { tabindex: "0" }, label, body), end + 1];
}

function quote(lines, at, depth) {
  let end = at;
  const inner = [];
  while (end < lines.length && /^ {0,3}>/.test(lines[end])) {
    inner.push(lines[end].replace(/^ {0,3}> ?/, ""));
    end += 1;
  }
  return [element("blockquote", {}, blocks(inner, depth + 1)), end];
}

/** Parses `- `, `* `, `+ `, `1. ` or `1) ` and the space before the text. */
function marker(line) {
  const found = /^(\s*)([-*+]|(\d{1,9})[.)])(\s+|$)/.exec(line);
  if (!found || found[1].length > 3) return null;
  return { width: Math.min(found[0].length, found[1].length + found[2].length + 4), number: found[3] };
}

function list(lines, at, depth) {
  const first = marker(lines[at]);
  const isOrdered = first.number !== undefined;
  const made = element(isOrdered ? "ol" : "ul");
  if (isOrdered && first.number !== "1") made.setAttribute("start", Number(first.number));
  let end = at;
  while (end < lines.length) {
    const own = marker(lines[end]);
    if (!own || (own.number !== undefined) !== isOrdered) break;
    const inner = [lines[end].slice(own.width)];
    end += 1;
    while (end < lines.length) {
      const line = lines[end];
      const isBlank = line.trim() === "";
      const isInner = line.length - line.trimStart().length >= Math.min(own.width, 2) && !isBlank;
      const next = lines[end + 1] ?? "";
      const goesOn = isBlank && /^\s{2,}\S/.test(next);
      const isLazy = !isBlank && !isInner && !startsBlock(lines, end) && inner.at(-1) !== "";
      if (!isInner && !goesOn && !isLazy) break;
      inner.push(isBlank ? "" : dedent(line, own.width));
      end += 1;
    }
    made.append(item(inner, depth));
    while (end < lines.length && lines[end].trim() === "" && marker(lines[end + 1] ?? "")) end += 1;
  }
  return [made, end];
}

function item(inner, depth) {
  const task = /^\[([ xX])\]\s+/.exec(inner[0]);
  if (task) inner[0] = `${task[1] === " " ? "☐" : "☑"} ${inner[0].slice(task[0].length)}`;
  const nodes = blocks(inner, depth + 1);
  // A single paragraph needs no paragraph element.
  const flat = nodes.flatMap((node, index) =>
    node.nodeName === "P" && index === 0 ? [...node.childNodes] : [node],
  );
  return element("li", {}, flat);
}

function dedent(line, width) {
  const spaces = line.length - line.trimStart().length;
  return line.slice(Math.min(spaces, width));
}

function startsBlock(lines, at) {
  const line = lines[at];
  return /^ {0,3}(#{1,6}\s|>|`{3,}|~{3,})/.test(line) || marker(line) !== null || isTable(lines, at);
}

function isTable(lines, at) {
  const rule = lines[at + 1] ?? "";
  if (!lines[at].includes("|") || !rule.includes("|") || rule.length > FAR) return false;
  return cells(rule).every((cell) => /^:?-+:?$/.test(cell));
}

function table(lines, at) {
  const row = (line, name) =>
    element("tr", {}, cells(line).map((cell) => element(name, {}, inline(cell, 0))));
  const head = element("thead", {}, row(lines[at], "th"));
  const body = element("tbody");
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|") && lines[end].trim() !== "") {
    body.append(row(lines[end], "td"));
    end += 1;
  }
  return [element("div", { class: "table", tabindex: "0" }, element("table", {}, head, body)), end];
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() !== "" && !startsBlock(lines, end)) end += 1;
  const made = element("p");
  const text = lines.slice(at, end).map((line, index) => (index === 0 ? line : line.trimStart()));
  fill(made, inline(text.join("\n"), 0));
  return [made, end];
}

/** Returns the nodes of a text without blocks. */
function inline(source, depth) {
  const made = [];
  let plain = "";
  let at = 0;
  const flush = () => {
    if (plain) made.push(document.createTextNode(plain));
    plain = "";
  };
  while (at < source.length) {
    const found = depth < DEEPEST ? span(source, at, depth) : null;
    if (!found) {
      plain += source[at];
      at += 1;
    } else {
      if (found.text !== undefined) plain += found.text;
      else {
        flush();
        made.push(found.node);
      }
      at = found.end;
    }
  }
  flush();
  return made;
}

/** Returns the inline element that begins at a position, or null for a plain letter. */
function span(source, at, depth) {
  switch (source[at]) {
    case "\\":
      if (source[at + 1] === "\n") return { node: element("br"), end: at + 2 };
      if (/[!-/:-@[-`{-~]/.test(source[at + 1] ?? "")) return { text: source[at + 1], end: at + 2 };
      return null;
    case "`":
      return codeSpan(source, at);
    case "*":
    case "_":
    case "~":
      return emphasis(source, at, depth);
    case "!":
      return source[at + 1] === "[" ? link(source, at + 1, depth) : null;
    case "[":
      return link(source, at, depth);
    case "<":
      return bracketed(source, at);
    case "h":
      return bare(source, at);
    case " ": {
      const spaces = /^ {2,}\n/.exec(source.slice(at, at + 80));
      return spaces ? { node: element("br"), end: at + spaces[0].length } : null;
    }
    default:
      return null;
  }
}

function run(source, at) {
  let end = at;
  while (source[end] === source[at] && end - at < 64) end += 1;
  return source.slice(at, end);
}

function find(source, wanted, from) {
  return source.slice(from, from + FAR).indexOf(wanted) + from;
}

function codeSpan(source, at) {
  const mark = run(source, at);
  let from = at + mark.length;
  for (let tries = 0; tries < 20; tries += 1) {
    const end = find(source, mark, from);
    if (end < from) break;
    const closing = run(source, end);
    if (closing.length === mark.length) {
      const body = source.slice(at + mark.length, end).replaceAll("\n", " ");
      const isPadded = body.startsWith(" ") && body.endsWith(" ") && body.trim() !== "";
      const shown = isPadded ? body.slice(1, -1) : body;
      return { node: element("code", {}, shown), end: end + mark.length };
    }
    from = end + closing.length;
  }
  return { text: mark, end: at + mark.length };
}

const isWord = (letter) => letter !== undefined && /[\p{L}\p{N}]/u.test(letter);
const isSpace = (letter) => letter === undefined || /\s/.test(letter);

function emphasis(source, at, depth) {
  const letter = source[at];
  const whole = run(source, at);
  if (whole.length > 3) return { text: whole, end: at + whole.length };
  for (const size of letter === "~" ? [2] : [2, 1]) {
    const mark = letter.repeat(size);
    if (!whole.startsWith(mark) || isSpace(source[at + size])) continue;
    // `snake_case` is no emphasis.
    if (letter === "_" && isWord(source[at - 1])) continue;
    const end = closing(source, mark, at + size);
    if (end < 0) continue;
    const name = letter === "~" ? "del" : size === 2 ? "strong" : "em";
    const inner = inline(source.slice(at + size, end), depth + 1);
    return { node: element(name, {}, inner), end: end + size };
  }
  return { text: whole, end: at + whole.length };
}

function closing(source, mark, from) {
  let at = from;
  for (let tries = 0; tries < 20; tries += 1) {
    const end = find(source, mark, at);
    if (end < at || end < from) return -1;
    const length = run(source, end).length;
    const fits = length === mark.length || length === 3;
    const isWordly = mark[0] === "_" && isWord(source[end + mark.length]);
    if (end > from && fits && !isSpace(source[end - 1]) && !isWordly) {
      // `**bold *both***` closes the inner one first.
      return length === 3 && mark.length === 2 ? end + 1 : end;
    }
    at = end + length;
  }
  return -1;
}

function link(source, at, depth) {
  const middle = find(source, "](", at);
  if (middle < at) return null;
  const label = source.slice(at + 1, middle);
  const target = /^<?([^\s<>()]*(?:\([^\s<>()]*\)[^\s<>()]*)*)>?(?:\s+"[^"]*")?\)/.exec(
    source.slice(middle + 2, middle + 2 + 2_000),
  );
  if (!target || label.includes("[")) return null;
  const address = safe(target[1]);
  if (!address) return null;
  return { node: anchor(address, inline(label, depth + 1)), end: middle + 2 + target[0].length };
}

function bracketed(source, at) {
  const found = /^<(https?:\/\/[^\s<>]+)>/i.exec(source.slice(at, at + 2_000));
  const address = found && safe(found[1]);
  return address ? { node: anchor(address, [found[1]]), end: at + found[0].length } : null;
}

function bare(source, at) {
  if (isWord(source[at - 1])) return null;
  const found = /^https?:\/\/[^\s<>"'`\u3000-\u303f\uff00-\uffef]+/i.exec(source.slice(at, at + 2_000));
  if (!found) return null;
  let shown = found[0].replace(/[.,;:!?*_~\]]+$/, "");
  if (shown.endsWith(")") && !shown.includes("(")) shown = shown.slice(0, -1);
  const address = safe(shown);
  return address ? { node: anchor(address, [shown]), end: at + shown.length } : null;
}

/** Returns the address, or null for `javascript:` and similar schemes. */
function safe(address) {
  try {
    const parsed = new URL(address);
    return ["http:", "https:"].includes(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

const anchor = (href, inner) =>
  element("a", { href, rel: "noreferrer noopener", target: "_blank" }, inner);
