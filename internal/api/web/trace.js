// The way of an order through the program: a lane for each step, on one axis of time.
import { app, make, press, say } from "./core.js";
import { call } from "./server.js";

const seen = new Map(); // what was answered, by order: null is that nothing is kept
const open = new Set();
const shows = new Map(); // of each order, what shows its lanes: the list may be made anew while an answer is awaited

// trace returns a button that shows the way of an order below it, where the server keeps that.
export function trace(o) {
  const box = make("div", undefined, "trace");
  if (!app.features.traces) return box;
  const lanes = make("div");
  const show = () => {
    button.setAttribute("aria-expanded", String(open.has(o.id)));
    lanes.replaceChildren(...(open.has(o.id) && seen.has(o.id) ? draw(seen.get(o.id)) : []));
  };
  const button = press(say("trace"), async () => {
    if (open.delete(o.id)) return show();
    open.add(o.id);
    const a = await call("GET", `/orders/${o.id}/trace`);
    if (a.status === 200) seen.set(o.id, a.body.steps);
    else if (a.status === 404) seen.set(o.id, null);
    else open.delete(o.id);
    shows.get(o.id)();
  }, "quiet small");
  button.setAttribute("aria-label", `${say("trace")} ${o.id}`);
  box.append(button, lanes);
  shows.set(o.id, show);
  show();
  return box;
}

const thinnest = 2; // a bar, in pixels

const ms = (us) => (us / 1000).toLocaleString(app.language, { maximumFractionDigits: 2 }) + " ms";

function draw(steps) {
  if (!steps) return [make("p", say("t_none"), "soft")];
  const end = (s) => s.begin_us + s.took_us;
  const all = Math.max(1, ...steps.map(end));
  const list = make("ol", undefined, "lanes");
  const bar = (begin, until, kind) => {
    const i = make("i", undefined, kind);
    i.style.minWidth = `${thinnest}px`;
    i.style.left = `min(${(100 * begin) / all}%, 100% - ${thinnest}px)`; // what was short, at the very end, is seen, too
    i.style.width = `${(100 * Math.max(0, until - begin)) / all}%`;
    return i;
  };
  for (const s of steps.filter((s) => !["place", "process"].includes(s.step))) {
    const lane = make("span", undefined, "lane");
    lane.setAttribute("aria-hidden", "true");
    if (s.step === "lock") { // it is held from then on, until its unlock begins
      const unlock = steps.find((u) => u.step === "unlock" && u.begin_us >= end(s));
      lane.append(bar(end(s), unlock ? unlock.begin_us : all, "held"));
    }
    lane.append(bar(s.begin_us, end(s), s.step));
    const name = s.step === "transaction" && s.orders > 1 ? say("t_group", s.orders) : say("t_" + s.step);
    const line = make("li", undefined, s.failed ? "bad" : "");
    line.dataset.step = s.step;
    line.append(make("span", name), lane, make("small", ms(s.took_us)));
    list.append(line);
  }
  return [list, make("p", say("t_note", ms(all)), "soft")];
}
