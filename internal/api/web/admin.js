// The administrator's view. The token is kept in memory only: a reload forgets it.
import { $, app, badge, chosen, figures, make, notice, now, number, on, problem, say, set, tell, titled } from "./core.js";
import { call, govern, isAdmin, rule } from "./server.js";
import { loadCoupons, pick, stateOf } from "./live.js";
import { lamps } from "./engine.js";

let note = () => "";
let createNote = () => "";
let sure = false; // the next press on "end" confirms

// become asks for an administrator's session, which a demonstration grants.
export async function become() {
  if (!app.features.demo_admin) {
    location.hash = "#admin";
    return false;
  }
  const a = await call("POST", "/sessions", { body: { user_id: "1", role: "admin" } });
  if (a.status !== 201) {
    notice(problem(a));
    return false;
  }
  rise(a.body.token);
  return true;
}

function rise(token) {
  if (!govern(token)) return notice(say("not_admin"));
  notice("");
  tell("admin");
}

// did shows the result of an administrator's action.
function did(a, text) {
  const done = a.status >= 200 && a.status < 300;
  note = done ? text : () => problem(a);
  $("admin-note").className = done && a.body.clean !== false ? "good" : "bad";
  stays(a);
  show();
}

// stays forgets a session that is not an administrator's any more.
function stays(a) {
  if (a.status !== 401) return;
  govern("");
  tell("admin");
  notice(say("unauthenticated"));
}

// createdSo tells in its own card what became of a coupon to be created.
function createdSo(kind, text) {
  createNote = text;
  $("create-note").className = kind;
  show();
}

async function create(event) {
  event.preventDefault();
  if (!(new Date($("c-begins").value) < new Date($("c-ends").value))) return createdSo("bad", () => say("bad_window"));
  const a = await rule("POST", "/coupons", {
    title: $("c-title").value, stock: Number($("c-stock").value), limit_per_user: Number($("c-limit").value),
    price_cents: Math.round(Number($("c-price").value) * 100),
    begins_at: new Date($("c-begins").value).toISOString(), ends_at: new Date($("c-ends").value).toISOString(),
  });
  if (a.status === 201) {
    await loadCoupons();
    pick(a.body.id);
    $("c-title").value = "";
    return createdSo("good", () => say("created", a.body.id));
  }
  stays(a);
  createdSo("bad", () => (a.body.code === "bad_request" ? say("bad_coupon") : problem(a)));
}

async function order(method, path, body, text = () => say("done")) {
  const a = await rule(method, `/coupons/${app.chosen}${path}`, body);
  await loadCoupons();
  did(a, text);
}

// setStock changes how many units are put on sale. The number is the whole stock, so that a second press
// changes nothing more.
async function setStock(event) {
  event.preventDefault();
  const units = Number($("a-stock").value);
  await order("PATCH", "", { stock: units }, () => say("stock_set", number(units)));
  showStock();
}

// showStock shows the stock in its input, over what was typed.
function showStock() {
  $("a-stock").value = chosen()?.stock ?? "";
}

async function end() {
  if (!sure) {
    sure = true;
    return show();
  }
  sure = false;
  await order("PATCH", "", { state: "ended" });
}

async function report(method, path, text) {
  const a = await rule(method, `/coupons/${app.chosen}/${path}`);
  if (a.status === 200) {
    const list = make("ul", undefined, "lamps");
    lamps(list, a.body);
    $("report").replaceChildren(figures([
      ["units", a.body.total], ["unsold", a.body.stock], ["orders", a.body.live], ["holds", a.body.holds],
      ["oversold", a.body.oversold], ["sold_twice", a.body.duplicates],
    ].map(([name, n]) => [say(name), number(n)])), list);
  }
  did(a, text ?? (() => `${say("verdict")}: ${say(a.body.clean ? "clean" : "violated")}`));
}

function show() {
  if (app.view !== "admin") return;
  for (const e of document.querySelectorAll("[data-admin]")) e.hidden = !isAdmin();
  set("gate-note", say(!app.features.admin ? "admin_apart" : isAdmin() ? "admin_who" : "admin_need"));
  $("demo-admin").hidden = isAdmin() || !app.features.demo_admin;
  $("admin-paste").hidden = isAdmin() || app.features.demo_admin || !app.features.admin;
  $("admin-out").hidden = !isAdmin();
  set("admin-note", note());
  set("create-note", createNote());
  set("end", say(sure ? "end_sure" : "end"));
  const c = chosen();
  if (!c) return;
  set("a-title", titled(c));
  badge($("a-state"), stateOf(c));
  $("publish").disabled = c.state === "on_sale" || c.state === "ended";
  $("pause").disabled = c.state !== "on_sale";
  $("end").disabled = c.state === "ended";
  $("set-stock").disabled = c.state === "ended";
}

// local returns a time in the format of the inputs: local, without a zone.
function local(time) {
  const t = new Date(time - new Date(time).getTimezoneOffset() * 60_000);
  return t.toISOString().slice(0, 19);
}

// propose fills in the times once the server has told its own.
function propose() {
  $("c-begins").value ||= local(now());
  $("c-ends").value ||= local(now() + 86_400_000);
}

on("features", propose);
on("words view coupons sale admin features", show);
on("chosen", () => { sure = false; note = () => ""; createNote = () => ""; $("report").replaceChildren(); showStock(); show(); });
$("demo-admin").addEventListener("click", become);
$("admin-paste").addEventListener("submit", (event) => {
  event.preventDefault();
  rise($("admin-token").value.trim());
  $("admin-token").value = "";
});
$("admin-out").addEventListener("click", () => rise(""));
$("create").addEventListener("submit", create);
$("publish").addEventListener("click", () => order("POST", "/publication"));
$("pause").addEventListener("click", () => order("DELETE", "/publication"));
$("end").addEventListener("click", end);
$("restock").addEventListener("submit", setStock);
$("audit").addEventListener("click", () => report("GET", "audit"));
$("repair").addEventListener("click", () => report("POST", "repair", () => say("repaired")));
