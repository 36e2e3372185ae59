// Draws a case of an experiment: a lane for each actor, a column for each event in the order of
// time, and bars for what lasts. Colours come from style.css by class.
import { both, say, told } from "./core.js";

const margin = 14;  // left of the first column
const column1 = 96; // of the actors' names, which stay when the drawing is scrolled
const lane = 112;
const above = 34;   // over the first lane, for the mark of the anomaly
const char = 6.8;   // the width of a character under an event

const bars = { lease: -27, transaction: -16, inside: 9 };

function svg(tag, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
  if (text !== undefined) e.textContent = text;
  return e;
}

// timeline draws c at least so many pixels wide, and wider if its steps need it.
export function timeline(c, room) {
  const events = c.events ?? [];
  const column = Math.min(116, Math.max(76, Math.floor((room - column1 - margin - 24) / Math.max(1, events.length))));
  const chars = Math.floor(column / char);
  const width = margin + column * events.length + 24;
  const height = above + lane * c.actors.length + 8;
  const y = (actor) => above + lane * c.actors.indexOf(actor) + 36;
  const x = (n) => margin + column * n + column / 2;
  const root = svg("svg", { class: "timeline", role: "img", viewBox: `0 0 ${width} ${height}`, width, height });
  root.append(svg("title", {}, both(c.label)));
  for (const name of c.actors) {
    root.append(svg("line", { class: "lane", x1: 0, y1: y(name), x2: width - 12, y2: y(name) }));
  }
  for (const e of events) if (e.anomaly) root.append(...moment(e, x(e.n), width, height, events.length));
  for (const s of c.spans ?? []) root.append(bar(c, s, x(s.from), s.to < 0 ? width - 14 : x(s.to), y(s.actor)));
  for (const e of events) if (c.actors.includes(e.actor)) root.append(event(c, e, x(e.n), y(e.actor), chars));
  return root;
}

// names returns the actors' names, to stand beside the drawing.
export function names(c) {
  const height = above + lane * c.actors.length + 8;
  const root = svg("svg", { class: "timeline names", "aria-hidden": true, viewBox: `0 0 ${column1} ${height}`, width: column1, height });
  c.actors.forEach((name, i) => root.append(svg("text", { class: "actor", x: 6, y: above + lane * i + 40 }, told(c, name))));
  return root;
}

// moment draws a line through all lanes, and what went wrong there.
function moment(e, at, width, height, n) {
  const [anchor, from] = e.n < 3 ? ["start", margin] : e.n > n - 4 ? ["end", width - 14] : ["middle", at];
  return [
    svg("line", { class: "anomaly", x1: at, y1: 20, x2: at, y2: height - 4 }),
    svg("text", { class: "anomaly", x: from, y: 14, "text-anchor": anchor }, `▼ ${both(e.anomaly)}`),
  ];
}

function bar(c, s, from, to, y) {
  const drawn = s.kind === "wait"
    ? svg("line", { class: "wait", x1: from, y1: y, x2: to, y2: y })
    : svg("rect", { class: `bar ${s.kind}${s.to < 0 ? " open" : ""}`, x: from, y: y + bars[s.kind], width: Math.max(to - from, 6), height: 9, rx: 4 });
  drawn.append(svg("title", {}, `${say(s.kind === "wait" ? "waits" : s.kind)} ${told(c, s.label)}`));
  return drawn;
}

function event(c, e, x, y, chars) {
  const [actor, what, note] = [e.actor, e.what, e.note].map((text) => told(c, text));
  const classes = ["event", e.kind, e.waits && "waits", e.failed && "failed", e.anomaly && "wrong"].filter(Boolean).join(" ");
  const g = svg("g", { class: classes });
  g.append(svg("title", {}, `${e.at_ms.toFixed(1)} ms · ${actor} · ${what}  ${note}`));
  g.append(svg("circle", { cx: x, cy: y, r: 5 }));
  const under = [...lines(what, 3, chars).map((text) => ["what", text]), ...lines(note, 2, chars).map((text) => ["note", text])];
  under.forEach(([kind, text], i) => g.append(svg("text", { class: kind, x, y: y + 32 + 12 * i }, text)));
  return g;
}

// lines breaks a text between words or Chinese characters, and cuts it with an ellipsis if it is
// too long.
function lines(text, most, chars) {
  const all = [];
  let line = "";
  for (let piece of text.match(/(?:[\u2e80-\uffef]|[^\s\u2e80-\uffef]+)[，：；）]?\s*/gu) ?? []) {
    for (; breadth(piece) > chars; piece = piece.slice(chars)) {
      if (line) all.push(line.trim());
      line = "";
      all.push(piece.slice(0, chars));
    }
    if (line && breadth(line + piece) > chars) {
      all.push(line.trim());
      line = "";
    }
    line += piece;
  }
  if (line) all.push(line.trim());
  return all.length > most ? [...all.slice(0, most - 1), all[most - 1] + "…"] : all;
}

// breadth returns the width of a text, where a Chinese character counts as two.
const breadth = (text) => text.trimEnd().length + (text.match(/[\u2e80-\uffef]/gu)?.length ?? 0);
