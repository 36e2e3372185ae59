// The way of an order through the program: a lane for each step, on one axis of time.
import { app, make, press, say, took } from "./core.js";
import { call } from "./server.js";

const seen = new Map(); // what was answered, by order: null is that nothing is kept
const asking = new Map(); // the answers that are on their way
const open = new Set();
const shows = new Map(); // of each order, what shows its lanes: the list may be made anew while an answer is awaited

// traceOf returns {steps, number} of an order of this buyer, null if nothing is kept, or undefined if the answer got lost.
export async function traceOf(id) {
  if (seen.has(id)) return seen.get(id);
  if (!asking.has(id)) asking.set(id, call("GET", `/orders/${id}/trace`));
  const a = await asking.get(id);
  asking.delete(id);
  if (a.status === 200) seen.set(id, a.body);
  if (a.status === 404) seen.set(id, null);
  return seen.get(id);
}

// trace returns a button that shows the way of an order below it, where the server keeps that.
export function trace(o) {
  const box = make("div", undefined, "trace");
  if (!app.features.traces) return box;
  const below = make("div");
  const show = () => {
    button.setAttribute("aria-expanded", String(open.has(o.id)));
    below.replaceChildren(...(open.has(o.id) && seen.has(o.id) ? draw(seen.get(o.id)) : []));
  };
  const button = press(say("trace"), async () => {
    if (open.delete(o.id)) return show();
    open.add(o.id);
    seen.delete(o.id); // it may be kept by now
    if (await traceOf(o.id) === undefined) open.delete(o.id);
    shows.get(o.id)();
  }, "quiet small");
  button.setAttribute("aria-label", `${say("trace")} ${o.id}`);
  box.append(button, below);
  shows.set(o.id, show);
  show();
  return box;
}

const thinnest = 2; // a bar, in pixels

const ms = (us) => (us / 1000).toLocaleString(app.language, { maximumFractionDigits: 2 }) + " ms";

const end = (s) => s.begin_us + s.took_us;

// wayOf returns the steps of an order that are drawn, and how long all of them took together, in ms.
export const wayOf = (steps) => ({
  steps: steps.filter((s) => !["place", "process"].includes(s.step)), all: Math.max(1, ...steps.map(end)) / 1000,
});

// beforeUnlock returns how long the commit had ended when the unlock began, in ms; null if that is not known.
export function beforeUnlock(steps) {
  const commit = steps.find((s) => s.step === "transaction" && !s.failed);
  const unlock = commit && steps.find((s) => s.step === "unlock" && s.begin_us >= end(commit));
  return unlock ? (unlock.begin_us - end(commit)) / 1000 : null;
}

function draw(told) {
  if (!told) return [make("p", say("t_none"), "soft")];
  const way = wayOf(told.steps);
  return [lanes(way), make("p", say("t_note", took(way.all)), "soft")];
}

// lanes returns the way of an order as a list of lanes.
export function lanes(way) {
  const all = way.all * 1000;
  const list = make("ol", undefined, "lanes");
  const bar = (begin, until, kind) => {
    const i = make("i", undefined, kind);
    i.style.minWidth = `${thinnest}px`;
    i.style.left = `min(${(100 * begin) / all}%, 100% - ${thinnest}px)`; // what was short, at the very end, is seen, too
    i.style.width = `${(100 * Math.max(0, until - begin)) / all}%`;
    return i;
  };
  for (const s of way.steps) {
    const lane = make("span", undefined, "lane");
    lane.setAttribute("aria-hidden", "true");
    if (s.step === "lock") { // it is held from then on, until its unlock begins
      const unlock = way.steps.find((u) => u.step === "unlock" && u.begin_us >= end(s));
      lane.append(bar(end(s), unlock ? unlock.begin_us : all, "held"));
    }
    lane.append(bar(s.begin_us, end(s), s.step));
    const name = s.step === "transaction" && s.orders > 1 ? say("t_group", s.orders) : say("t_" + s.step);
    const line = make("li", undefined, s.failed ? "bad" : "");
    line.dataset.step = s.step;
    line.append(make("span", name), lane, make("small", ms(s.took_us)));
    list.append(line);
  }
  return list;
}
