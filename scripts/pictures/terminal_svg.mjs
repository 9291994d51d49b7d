// Screens of a terminal as an SVG that moves by itself: all frames side by side on a strip, which CSS
// moves past a window. A line that several frames show is there once.

const CELL = { width: 8.4, height: 18, size: 14 };
const EDGE = { side: 16, top: 40, bottom: 14 };
const COLOURS = {
  ground: "#12161c", bar: "#1c222b", edge: "#303844", chosen: "#2b3542", text: "#d8dee7", quiet: "#8b96a5",
  // As the board has them.
  2: "#3ecf76", 4: "#5b93ff", 208: "#ff9d2e",
};
// The first sixteen, where terminals differ; the rest follows from its number.
const BASIC = [
  "#1c222b", "#f2777a", "#3ecf76", "#ffcc66", "#5b93ff", "#cc99cc", "#66cccc", "#d8dee7",
  "#5c6773", "#ff8f92", "#6fe39b", "#ffd98c", "#8ab4ff", "#e0b3e0", "#8fe0e0", "#ffffff",
];

/** `frames` are `{at, text}`, in milliseconds, the text as `tmux capture-pane -e` prints it. */
export function movingPicture(frames, { columns, rows, title }) {
  const width = Math.ceil(columns * CELL.width + 2 * EDGE.side);
  const height = rows * CELL.height + EDGE.top + EDGE.bottom;
  const lines = new Map();
  const strip = frames.map(({ text }, number) => {
    const uses = drawScreen(text, rows).map((line, row) => {
      if (line === "") return "";
      if (!lines.has(line)) lines.set(line, `l${lines.size}`);
      return `<use href="#${lines.get(line)}" y="${row * CELL.height}"/>`;
    });
    return `<g transform="translate(${number * width} 0)">${uses.join("")}</g>`;
  });
  const steps = frames.map(({ at }, number) =>
    `${((at / frames.end) * 100).toFixed(2)}%{transform:translateX(${-number * width}px)}`);
  // Who wants nothing to move sees the end of it.
  const still = `transform:translateX(${-(frames.length - 1) * width}px)`;
  const drawn = [...lines].map(([line, id]) => `<g id="${id}">${line}</g>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<title>${escape(title)}</title>
<style>
text{font:${CELL.size}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${COLOURS.text};white-space:pre}
.b{font-weight:bold}.d{opacity:.55}
.strip{animation:play ${(frames.end / 1000).toFixed(2)}s steps(1,end) infinite}
@keyframes play{${steps.join("")}}
@media (prefers-reduced-motion:reduce){.strip{animation:none;${still}}}
</style>
<defs>
${drawn.join("\n")}
</defs>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="10" fill="${COLOURS.ground}" stroke="${COLOURS.edge}"/>
<path d="M.5 30V10.5a10 10 0 0 1 10-10H${width - 10.5}a10 10 0 0 1 10 10V30z" fill="${COLOURS.bar}" stroke="${COLOURS.edge}"/>
<circle cx="20" cy="15" r="5.5" fill="#ff5f57"/><circle cx="40" cy="15" r="5.5" fill="#febc2e"/><circle cx="60" cy="15" r="5.5" fill="#28c840"/>
<text x="${width / 2}" y="20" text-anchor="middle" style="fill:${COLOURS.quiet}">${escape(title)}</text>
<svg x="${EDGE.side}" y="${EDGE.top}" width="${columns * CELL.width}" height="${rows * CELL.height}">
<g class="strip">
${strip.join("\n")}
</g>
</svg>
</svg>
`;
}

/** The rows as SVG. What a line sets holds for the lines below it too. */
function drawScreen(text, rows) {
  let style = {};
  return text.split("\n").slice(0, rows).map((line) => {
    const runs = [];
    let column = 0;
    for (const [, codes, characters] of line.matchAll(/\x1b\[([\d;]*)m|([^\x1b]+)/gu)) {
      if (characters === undefined) {
        style = applied(style, codes);
        continue;
      }
      // Whatever is not plain may come from another font: each such sign keeps to its own cell.
      for (const [piece] of characters.matchAll(/[\x20-\x7e]+|[^\x20-\x7e]/gu)) {
        runs.push({ style, column, piece });
        column += [...piece].length;
      }
    }
    return runs.map(drawRun).join("");
  });
}

function drawRun({ style, column, piece }) {
  const length = [...piece].length;
  const x = round(column * CELL.width);
  const width = round(length * CELL.width);
  // Reversed is what is chosen; as bright as text it would be hard on the eye.
  const ground = style.isReversed ? COLOURS.chosen : style.ground;
  const fill = style.fill;
  const back = ground ? `<rect x="${x}" width="${width}" height="${CELL.height}" fill="${ground}"/>` : "";
  const opacity = style.isDim ? ' class="d"' : "";
  if (piece === "│") {
    const middle = round(x + CELL.width / 2);
    return `${back}<path d="M${middle} 0v${CELL.height}" stroke="${fill ?? COLOURS.text}"${opacity}/>`;
  }
  const shown = piece.trim();
  if (shown === "") return back;
  const start = piece.length - piece.trimStart().length;
  // A thin sign alone would hardly be seen.
  const isSign = /[^\x20-\x7e]/u.test(shown);
  const classes = [(style.isBold || isSign) && "b", style.isDim && "d"].filter(Boolean).join(" ");
  const attributes = [
    `x="${round((column + start) * CELL.width)}"`,
    'y="13.5"',
    [...shown].length > 1 && `textLength="${round([...shown].length * CELL.width)}"`,
    classes && `class="${classes}"`,
    fill && `style="fill:${fill}"`,
  ];
  return `${back}<text ${attributes.filter(Boolean).join(" ")}>${escape(shown)}</text>`;
}

function applied(style, codes) {
  let next = { ...style };
  const numbers = codes === "" ? [0] : codes.split(";").map(Number);
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at];
    if (code === 0) next = {};
    else if (code === 1) next.isBold = true;
    else if (code === 2) next.isDim = true;
    else if (code === 7) next.isReversed = true;
    else if (code === 22) next.isBold = next.isDim = false;
    else if (code === 27) next.isReversed = false;
    else if (code === 39) next.fill = undefined;
    else if (code === 49) next.ground = undefined;
    else if (code >= 30 && code <= 37) next.fill = BASIC[code - 30];
    else if (code >= 90 && code <= 97) next.fill = BASIC[code - 82];
    else if (code >= 40 && code <= 47) next.ground = BASIC[code - 40];
    else if (code === 38 || code === 48) {
      next[code === 38 ? "fill" : "ground"] = indexed(numbers[at + 2]);
      at += 2;
    }
  }
  return next;
}

/** One of the 256. */
function indexed(number) {
  if (COLOURS[number]) return COLOURS[number];
  if (number < 16) return BASIC[number];
  const level = (step) => (step === 0 ? 0 : 55 + 40 * step);
  const grey = 8 + 10 * (number - 232);
  const parts = number >= 232 ? [grey, grey, grey] : [36, 6, 1].map((weight) => level(Math.floor((number - 16) / weight) % 6));
  return `#${parts.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

function round(number) {
  return Math.round(number * 100) / 100;
}

function escape(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
