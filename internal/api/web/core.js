// What every view uses: the state, words, numbers, elements, and events. Text is only ever inserted
// with textContent; the lab's drawings alone come as elements, from the server that escaped them.
import { words } from "./words.js";

// app is the state of the page. coupons are as listed, once they were; event is the last event of the chosen
// coupon's sale.
export const app = {
  language: "en", view: "", coupons: [], listed: false, cursor: "", chosen: null, event: null,
  features: { demo_login: true, demo_admin: false, admin: true, rush: false, lab: false, traces: false },
};

export const $ = (id) => document.getElementById(id);

// ---- words

// say returns the named words. {one|many} is the first of both if n is one.
export const say = (name, n) => (words[app.language][name] ?? name).replace("{n}", n ?? "")
  .replace(/\{([^{}|]*)\|([^{}|]*)\}/g, (_, one, many) => (String(n) === "1" ? one : many));
export const number = (n) => n.toLocaleString(app.language);
export const money = (cents) => (cents === 0 ? say("free") : (cents / 100).toLocaleString(app.language, { minimumFractionDigits: 2 }));
export const both = (text) => text[app.language];

// titles are what the program itself calls a coupon, in each language, with a number in one of them.
const titles = [
  { en: /^Flash sale$/, zh: /^限时抢购$/, word: "flash_sale" },
  { en: /^Rush, ([\d,]+) units?$/, zh: /^压测，([\d,]+) 份$/, word: "rush_sale" },
];

// titled returns a coupon's title: in the visitor's language if the program chose it, and as the
// seller wrote it otherwise.
export function titled(c) {
  for (const t of titles) {
    const found = c.title.match(t.en) ?? c.title.match(t.zh);
    if (found) return say(t.word, found[1]);
  }
  return c.title;
}

// unpaid says in the named words how many orders are not paid yet and until when; "" if none are known to be.
export const unpaid = (name, e) => (e?.unpaid_orders ? say(name, number(e.unpaid_orders)).replace("{m}", clock(e.unpaid_until)) : "");

// problem returns a refusal in words. The server's own text is added where the code alone is
// ambiguous.
export function problem(a) {
  if (a.offline) return say(a.sent ? "offline_unknown" : "offline");
  if (a.status === 0) return say("no_answer");
  const code = a.body.code === "ended" ? "ended_code" : a.body.code;
  const text = unpaid("sold_out_for_now", a.body) || say(code, code === "cooldown" ? span(a.after) : a.body.id);
  return ["bad_request", "conflict"].includes(code) && a.body.detail ? `${text} (${a.body.detail})` : text;
}

export function notice(text) {
  if ($("notice").textContent !== text) $("notice").textContent = text;
}

// ---- what the browser keeps

// keeper returns a storage of the browser by its name. A browser may lack or refuse it, as one that blocks
// cookies does; then the page remembers the values itself until it is loaded again.
function keeper(name) {
  const mine = new Map();
  const ask = (what, ...args) => {
    try {
      return window[name][what](...args);
    } catch {
      return null;
    }
  };
  return {
    get: (key) => (mine.has(key) ? mine.get(key) : ask("getItem", key)),
    set(key, value) {
      mine.set(key, value);
      ask("setItem", key, value);
    },
    remove(key) {
      mine.set(key, null);
      ask("removeItem", key);
    },
  };
}

export const session = keeper("sessionStorage");
export const lasting = keeper("localStorage");

// ---- time

// The page's clock is performance.now(), which no setting of the device moves, plus its distance to the server's
// clock. Each message of the server bounds that distance: the server read its clock after the page had asked and
// before the page had the message. The device's own clock does not count.
let low = -Infinity, high = Infinity;

// timed reports whether the server has told its time.
export const timed = () => low > -Infinity;

// now returns the server's time; before the server has told it, the device's.
export const now = () => (timed() ? performance.now() + (high < Infinity ? (low + high) / 2 : low) : Date.now());

// learn takes the server's time from a message that the page asked for and received at these times of
// performance.now(). An event of a stream and the answer of a cache may be old: they were not asked for.
export function learn(time, received, asked = -Infinity) {
  const at = Date.parse(time);
  if (Number.isNaN(at)) return;
  const [least, most] = [at - received, at - asked];
  if (least > high || most < low) [low, high] = [least, most]; // performance.now() stood still while the device slept
  else [low, high] = [Math.max(low, least), Math.min(high, most)];
}

export function span(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(s / 86400);
  return (days ? say("days", days) + " " : "") + two(Math.floor(s / 3600) % 24) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}

// took writes a length of time as short as it can be read: 84 ms, 1.204 s, 3 min.
export function took(ms) {
  const write = (n, digits) => n.toLocaleString(app.language, { maximumFractionDigits: digits });
  if (ms < 1000) return write(ms, ms < 10 ? 1 : 0) + " ms";
  return ms < 60_000 ? write(ms / 1000, 3) + " s" : say("minutes", write(ms / 60_000, 0));
}

export const clock = (time) => new Date(time).toLocaleTimeString(app.language === "zh" ? "zh-CN" : "en-GB");

// ---- elements

export function make(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

export function press(text, what, className) {
  const b = make("button", text, className);
  b.type = "button";
  b.addEventListener("click", () => what(b));
  return b;
}

export function badge(e, state) {
  e.textContent = say(state);
  e.className = "badge " + state;
}

export function set(id, value) {
  const text = String(value);
  if ($(id).textContent !== text) $(id).textContent = text;
}

// figures returns numbers with their names, as a list.
export function figures(pairs) {
  const list = make("dl", undefined, "figures");
  for (const [name, value] of pairs) {
    const one = make("div");
    one.append(make("dt", name), make("dd", value));
    list.append(one);
  }
  return list;
}

// rows gives the list so many children, each made once, so that focus and animation survive an
// update.
export function rows(list, n, one) {
  while (list.childElementCount > n) list.lastElementChild.remove();
  while (list.childElementCount < n) list.append(one());
  return [...list.children];
}

// ---- events: "words", "listed", "coupons", "chosen", "sale", "admin", "audit", "view", "orders", "changed", "back", "tick"

const listeners = {};

export function on(names, what) {
  for (const name of names.split(" ")) (listeners[name] ??= []).push(what);
}

export function tell(name, news) {
  for (const what of listeners[name] ?? []) what(news);
}

export const chosen = () => app.coupons.find((c) => c.id === app.chosen);

// figuresOf returns the figures of a coupon: those of its last event, or before the first event those of the list. Units
// are what is left, being written, ordered and returning, together.
export function figuresOf(c, e = app.event) {
  if (e) return e;
  return { units: c.stock, left: c.left, being_written: 0, orders: c.stock - c.left, returning: 0, orders_per_second: 0, shards: [] };
}
