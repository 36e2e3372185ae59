// The rush: simulated buyers on this server, where a visitor may start them.
import { $, app, chosen, figures, make, now, number, on, problem, say, set } from "./core.js";
import { isAdmin, rule, sleep } from "./server.js";
import { become } from "./admin.js";
import { choose, loadCoupons } from "./live.js";

let standing = null;
let watching = false;
let begun = false; // a rush was started since the last reading
let note = () => "";

const value = (id) => Number($(id).value);

async function start(event) {
  event.preventDefault();
  if (!isAdmin() && !(await become())) return;
  $("rush-start").disabled = true;
  let id = app.chosen;
  if (value("rush-stock") > 0) id = await freshSale(value("rush-stock"));
  const a = id && (await rule("POST", "/rush", {
    coupon_id: id, users: value("rush-users"), per_second: value("rush-rate"),
    pay_percent: value("rush-pay"), cancel_percent: value("rush-cancel"),
  }));
  if (a && a.status !== 202) fail(a);
  if (a?.status === 202) {
    begun = true;
    follow();
  }
  $("rush-start").disabled = false;
}

const fail = (a) => { note = () => problem(a); show(); };

// freshSale puts a coupon on sale for the rush, and returns its id.
async function freshSale(stock) {
  const from = new Date(now() - 1000);
  let a = await rule("POST", "/coupons", {
    title: say("rush_sale", number(stock)), stock, price_cents: 990,
    begins_at: from.toISOString(), ends_at: new Date(from.getTime() + 86_400_000).toISOString(),
  });
  if (a.status === 201) a = await rule("POST", `/coupons/${a.body.id}/publication`);
  if (a.status !== 200) return fail(a);
  await loadCoupons();
  choose(a.body.id);
  return a.body.id;
}

// follow reads the progress of the rush until it has ended.
async function follow() {
  if (watching) return;
  watching = true;
  let silent = 0;
  do {
    begun = false;
    const a = await rule("GET", "/rush");
    if (a.status === 200) standing = a.body;
    silent = a.status === 200 ? 0 : silent + 1;
    note = () => (standing?.running ? say(standing.visitors ? "rush_visitors" : done() < standing.taps ? "rush_running" : "rush_judging") : standing?.error ?? (standing?.taps ? say("rush_done") : ""));
    show();
    await sleep(250);
  } while (begun || (standing?.running && silent < 20));
  watching = false;
  loadCoupons();
}

const done = () => standing.accepted + standing.refused + standing.failed;

function show() {
  if (app.view !== "rush") return;
  $("rush").hidden = !app.features.rush;
  $("no-rush").hidden = app.features.rush;
  $("rush-stop").disabled = !standing?.running;
  set("rush-note", note());
  const left = app.event?.left ?? chosen()?.left;
  set("r-left", left === undefined ? "–" : number(left));
  if (!standing?.taps) return;
  for (const name of ["asked", "accepted", "refused", "failed"]) set("r-" + name, number(standing[name]));
  const whole = Math.max(1, standing.visitors ? done() : standing.taps); // visitors have no end
  const part = (n) => (100 * n) / whole + "%";
  const [good, no, bad] = $("rush-bar").children;
  good.style.width = part(standing.accepted);
  no.style.width = part(standing.refused);
  bad.style.width = part(standing.failed);
  $("rush-bar").setAttribute("aria-valuenow", Math.round((100 * done()) / whole));
  showReport(standing.report);
}

let shown = "";

function showReport(r) {
  const as = r ? app.language + JSON.stringify(r) : "";
  if (as === shown) return;
  shown = as;
  if (!r) return $("rush-report").replaceChildren();
  const verdict = make("p", `${say("verdict")}: ${say(r.audit)}`, "verdict " + r.audit);
  const list = make("ul", undefined, "soft");
  for (const [code, n] of Object.entries(r.refused)) list.append(make("li", `${number(n)} × ${say(code === "ended" ? "ended_code" : code)}`));
  for (const v of r.violations) list.append(make("li", v));
  $("rush-report").replaceChildren(verdict, figures([
    ["committed", r.committed], ["oversold", r.oversold], ["duplicates", r.duplicates], ["seconds", r.seconds],
    ["orders_s", r.orders_per_second], ["requests_s", r.requests_per_second], ["p50", Math.round(r.p50_ms)], ["p99", Math.round(r.p99_ms)],
  ].map(([name, n]) => [say(name), number(n)])), list);
}

on("words view sale features chosen", show);
// look reads how a rush stands, also one that was called elsewhere, or that visitors are.
async function look() {
  if (app.view !== "rush" || !app.features.rush || watching) return;
  if (isAdmin() || (app.features.demo_admin && (await become()))) follow();
}

on("view features", look);
setInterval(() => !document.hidden && look(), 2_000);
$("rush").addEventListener("submit", start);
$("rush-stop").addEventListener("click", () => rule("DELETE", "/rush"));
