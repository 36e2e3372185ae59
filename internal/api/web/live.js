// The chosen coupon's sale as it happens, and the list of coupons.
import { $, app, badge, chosen, make, money, notice, now, number, on, problem, rows, say, tell } from "./core.js";
import { call, isAdmin } from "./server.js";

let stream = null;
let trouble = "";  // the word for what is wrong with the stream

export async function loadCoupons(cursor = "") {
  const a = await call("GET", "/coupons?limit=50" + (cursor ? "&cursor=" + cursor : ""), { as: isAdmin() ? "admin" : "" });
  if (a.status !== 200) return a.status ? notice(problem(a)) : undefined; // the stream reports silence
  const known = new Map(app.coupons.map((c) => [c.id, c]));
  const found = a.body.coupons.map((c) => ({ ...c, shards: known.get(c.id)?.shards }));
  app.coupons = cursor ? [...app.coupons, ...found] : found;
  app.cursor = a.body.next_cursor;
  const first = app.coupons.find((c) => c.state === "on_sale") ?? app.coupons[0];
  if (first && !chosen()) choose(first.id);
  tell("coupons");
  if (!stream) watch(); // a draft has been announced
}

export function choose(id) {
  app.chosen = id;
  app.event = null;
  tell("coupons");
  tell("chosen");
  watch();
}

function showCoupons() {
  const items = rows($("coupons"), app.coupons.length, () => {
    const item = make("li");
    const button = make("button", undefined, "coupon");
    button.type = "button";
    button.append(make("strong"), make("span"), make("small"));
    button.addEventListener("click", () => choose(button.value));
    item.append(button);
    return item;
  });
  items.forEach((item, i) => {
    const c = app.coupons[i];
    const button = item.firstElementChild;
    const [title, state, rest] = button.children;
    button.value = c.id;
    button.setAttribute("aria-pressed", String(c.id === app.chosen));
    title.textContent = c.title;
    badge(state, stateOf(c));
    rest.textContent = `${money(c.price_cents)} · ${say("left")} ${number(c.left)}`;
  });
  $("more").hidden = app.cursor === "";
}

// stateOf returns the state in words: a published coupon whose time has not come is announced.
export function stateOf(c) {
  return c.state === "on_sale" && now() < Date.parse(c.begins_at) ? "draft" : c.state;
}

// watch follows the chosen sale while the page is visible: a browser has six connections to a
// server, for all its tabs together.
export function watch() {
  stream?.close();
  stream = null;
  if (!chosen() || chosen().state === "draft" || document.hidden) return;
  const mine = new EventSource(`/api/v1/coupons/${app.chosen}/live`);
  stream = mine;
  mine.addEventListener("sale", (m) => {
    const e = JSON.parse(m.data);
    const c = chosen();
    if (stream !== mine || !c || c.id !== e.coupon_id) return;
    app.skew = Date.parse(e.at) - Date.now();
    Object.assign(c, { state: e.state, left: e.left, stock: e.stock });
    app.event = e;
    wrong("");
    tell("sale", e);
    showCoupons();
  });
  mine.addEventListener("trouble", () => wrong("trouble"));
  mine.addEventListener("error", async () => {
    // A stream that is refused, as when there are too many, is no silence: the server is asked instead.
    if (stream === mine && mine.readyState === EventSource.CLOSED && await ask(mine)) {
      setTimeout(() => stream === mine && watch(), 2000 + 1000 * Math.random());
      return;
    }
    if (stream !== mine) return;
    wrong("lost");
    // A browser gives up a stream when the response is not one, as while a server starts.
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => stream === mine && watch(), 1500);
  });
}

// ask reads the chosen coupon in place of its stream, and returns whether the server has answered.
async function ask(mine) {
  const a = await call("GET", "/coupons/" + app.chosen, { as: "", patience: 3_000 });
  const c = chosen();
  if (a.status !== 200 || stream !== mine || c?.id !== a.body.id) return false;
  Object.assign(c, { state: a.body.state, left: a.body.left, stock: a.body.stock });
  wrong("");
  tell("coupons");
  return true;
}

// wrong reports once that something is wrong, and once that it is over.
function wrong(word) {
  if (word === trouble) return;
  const was = trouble;
  trouble = word;
  notice(word ? say(word) : was ? say("back") : "");
  if (!word) {
    loadCoupons();
    tell("back");
    setTimeout(() => trouble === "" && notice(""), 4000);
  }
}

on("coupons words", showCoupons);
on("admin", () => loadCoupons()); // who sees drafts too
on("view chosen", () => $("coupons").querySelector("[aria-pressed=true]")?.scrollIntoView({ block: "nearest", inline: "nearest" }));
on("words", () => trouble && notice(say(trouble)));
$("more").addEventListener("click", () => loadCoupons(app.cursor));
document.addEventListener("visibilitychange", () => {
  watch();
  if (!document.hidden && app.cursor === "") loadCoupons();
});
setInterval(() => !document.hidden && app.cursor === "" && loadCoupons(), 5_000);
