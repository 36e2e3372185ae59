// The chosen coupon's sale as it happens, and the list of coupons.
import { $, app, badge, chosen, learn, make, money, notice, now, number, on, problem, rows, say, tell, timed, titled } from "./core.js";
import { place, visit } from "./router.js";
import { call, cutOff, isAdmin, offline, sleep } from "./server.js";

let stream = null;
let asked = false; // the visitor has chosen the coupon, or the address has
let trouble = "";  // the word for what is wrong with the stream
const waiting = []; // for the server's return

export async function loadCoupons(cursor = "") {
  const a = await call("GET", "/coupons?limit=50" + (cursor ? "&cursor=" + cursor : ""), { as: isAdmin() ? "admin" : "" });
  if (a.status !== 200) {
    if (a.status) notice(problem(a));
    else if (!stream) wrong(silence()); // a stream reports it itself
    return;
  }
  const known = new Map(app.coupons.map((c) => [c.id, c]));
  const found = a.body.coupons.map((c) => ({ ...c, shards: known.get(c.id)?.shards, ...told(c) }));
  // A coupon of a later page stays, if the address names it.
  const kept = asked && chosen() && !found.some((c) => c.id === app.chosen) ? [chosen()] : [];
  app.coupons = cursor ? [...app.coupons.filter((c) => !found.some((f) => f.id === c.id)), ...found] : [...found, ...kept];
  app.cursor = a.body.next_cursor;
  app.listed = true;
  const first = app.coupons.find((c) => c.state === "on_sale") ?? app.coupons[0];
  if (!app.chosen) await follow();
  if (first && !chosen()) choose(first.id);
  tell("coupons");
  if (!stream) wrong("");
  if (!stream) watch(); // a draft has been announced
}

// told returns the units left of the last event, if it is of the coupon. An event from before an administrator has changed
// the units does not count any more.
function told(c) {
  if (app.event?.coupon_id !== c.id) return {};
  if (app.event.units === c.stock) return { left: app.event.left };
  app.event = null;
  return {};
}

// withCoupon are the views that show a coupon.
const withCoupon = ["sale", "engine", "rush"];

// follow chooses the coupon that the address names, and names the chosen one in an address that does not.
export async function follow() {
  const { view, rest: id } = place();
  if (!withCoupon.includes(view) || !app.listed) return;
  if (!id) return asked && app.chosen ? visit(view, app.chosen, { replace: true }) : undefined;
  asked = true;
  if (id === app.chosen) return;
  if (!app.coupons.some((c) => c.id === id)) {
    const a = /^[1-9][0-9]*$/.test(id) ? await call("GET", "/coupons/" + id, { as: isAdmin() ? "admin" : "" }) : { status: 404, body: { code: "not_found" } };
    if (place().rest !== id) return;
    if (a.status !== 200) {
      asked = false;
      return notice(problem(a));
    }
    if (!app.coupons.some((c) => c.id === id)) app.coupons = [...app.coupons, a.body];
  }
  choose(id);
}

// pick is choose by the visitor: the address names the coupon from then on.
export function pick(id) {
  asked = true;
  if (withCoupon.includes(app.view)) visit(app.view, id);
  if (id !== app.chosen) choose(id);
}

export function choose(id) {
  app.chosen = id;
  app.event = null;
  tell("coupons");
  tell("chosen");
  watch();
}

function showCoupons() {
  $("picker").hidden = ["lab", "gallery"].includes(app.view) || app.coupons.length < 2;
  const items = rows($("coupons"), app.coupons.length, () => {
    const item = make("li");
    const button = make("button", undefined, "coupon");
    button.type = "button";
    button.append(make("strong"), make("span"), make("small"));
    button.addEventListener("click", () => pick(button.value));
    item.append(button);
    return item;
  });
  items.forEach((item, i) => {
    const c = app.coupons[i];
    const button = item.firstElementChild;
    const [title, state, rest] = button.children;
    button.value = c.id;
    button.setAttribute("aria-pressed", String(c.id === app.chosen));
    title.textContent = titled(c);
    badge(state, stateOf(c));
    rest.textContent = `${money(c.price_cents)} · ${say("n_left", number(c.left))}`;
  });
  $("more").hidden = app.cursor === "";
}

// stateOf returns the state of a sale as a buyer meets it, of which only on_sale can be bought in: a
// published sale whose time has not come is soon, and one without a unit left is gone. Only the server's time
// opens and ends a sale: while it is not known, the sale is in the state that the server names.
export function stateOf(c) {
  if (timed() && c.state !== "draft" && now() >= Date.parse(c.ends_at)) return "ended";
  if (c.state !== "on_sale") return c.state;
  if (timed() && now() < Date.parse(c.begins_at)) return "soon";
  return c.left > 0 ? "on_sale" : "gone";
}

// returns is a promise of the server's return while its silence is known, and nothing otherwise.
export function returns() {
  return trouble === "lost" && new Promise((done) => { waiting.push(done); });
}


// watch follows the chosen sale while the page is visible: a browser has six connections to a
// server, for all its tabs together.
export function watch() {
  stream?.close();
  stream = null;
  if (!chosen() || chosen().state === "draft" || document.hidden) return;
  if (!window.EventSource) return standIn(stream = { close() {} });
  const mine = new EventSource(`/api/v1/coupons/${app.chosen}/live`);
  stream = mine;
  mine.addEventListener("sale", (m) => {
    const received = performance.now();
    const e = JSON.parse(m.data);
    const c = chosen();
    if (stream !== mine || !c || c.id !== e.coupon_id) return;
    learn(e.at, received);
    Object.assign(c, { state: e.state, left: e.left, stock: e.units, begins_at: e.begins_at, ends_at: e.ends_at });
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
    wrong(silence()); // whatever the browser thinks, this server is not reached
    // A browser gives up a stream when the response is not one, as while a server starts.
    if (mine.readyState === EventSource.CLOSED) setTimeout(() => stream === mine && watch(), 1500);
  });
}

// silence returns the word for a server that is not reached.
const silence = () => (offline() ? "offline_now" : "lost");

// standIn asks for as long as it is the stream, in a browser that has none.
async function standIn(mine) {
  while (stream === mine) {
    if (!(await ask(mine)) && stream === mine) wrong(silence());
    await sleep(2000 + 1000 * Math.random());
  }
}

// ask reads the chosen coupon in place of its stream, and returns whether the server has answered.
async function ask(mine) {
  const a = await call("GET", "/coupons/" + app.chosen, { as: "", timeout: 3_000 });
  const c = chosen();
  if (a.status !== 200 || stream !== mine || c?.id !== a.body.id) return false;
  Object.assign(c, a.body);
  app.event = null; // it is older than the answer
  wrong("");
  tell("coupons");
  return true;
}

// wrong reports once that something is wrong, and once that it is over.
function wrong(word) {
  if (word === trouble) return;
  const was = trouble;
  trouble = word;
  notice(word ? say(word) : say(was === "offline_now" ? "online_now" : "back"));
  if (!word) {
    loadCoupons();
    tell("back");
    for (const done of waiting.splice(0)) done();
    setTimeout(() => trouble === "" && notice(""), 4000);
  }
}

on("coupons words view", showCoupons);
on("admin", () => loadCoupons()); // who sees drafts too
on("view chosen", () => $("coupons").querySelector("[aria-pressed=true]")?.scrollIntoView({ block: "nearest", inline: "center" }));
on("words", () => trouble && notice(say(trouble)));
$("more").addEventListener("click", () => loadCoupons(app.cursor));
addEventListener("offline", async () => await cutOff() && wrong("offline_now"));
addEventListener("online", () => { wrong(""); watch(); });
document.addEventListener("visibilitychange", () => {
  watch();
  if (!document.hidden && app.cursor === "") loadCoupons();
});
setInterval(() => !document.hidden && app.cursor === "" && loadCoupons(), 5_000);

// The clocks of a device part when it slept or one of them was set. Then the page asks for the time at once.
const parted = () => Date.now() - performance.now();
let apart = parted();
on("tick", () => {
  if (Math.abs(parted() - apart) < 1_000) return;
  apart = parted();
  call("GET", "/features", { as: "" });
});
