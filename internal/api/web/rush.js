// The rush: simulated buyers on this server, where a visitor may start them.
import { $, app, chosen, figures, figuresOf, make, notice, now, number, on, problem, say, set, took, titled } from "./core.js";
import { isAdmin, mayAudit, rule, sleep } from "./server.js";
import { become } from "./admin.js";
import { loadCoupons, pick, stateOf } from "./live.js";

let standing = null;
let watching = false;
let begun = false; // a rush was started since the last reading
let note = () => "";
let shownFor = ""; // the coupon of the last rush that the page went to by itself

const value = (id) => Number($(id).value);

async function start(event) {
  event.preventDefault();
  $("rush-start").disabled = true;
  await send(value("rush-stock"), {
    users: value("rush-users"), per_second: value("rush-rate"), pay_percent: value("rush-pay"), cancel_percent: value("rush-cancel"),
  });
  $("rush-start").disabled = false;
}

// send sends a crowd to a new sale of so many units, or with 0 to the chosen one.
async function send(stock, crowd) {
  if (!isAdmin() && !(await become())) return;
  const id = stock > 0 ? await freshSale(stock) : app.chosen;
  const a = id && (await rule("POST", "/rush", { coupon_id: id, ...crowd }));
  if (!a) return;
  if (a.status !== 202) return fail(a);
  begun = true;
  shownFor = id;
  follow();
}

function fail(a) {
  note = () => problem(a);
  if (app.view !== "rush") notice(problem(a));
  show();
}

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
  pick(a.body.id);
  return a.body.id;
}

// ---- the crowd that a visitor of the sale sends

const crowd = { users: 2_000, per_second: 300 };
const crowdUnits = 500;
const quiet = 3_000; // after so long without a request, no crowd is coming by itself

let calm = { since: 0, requests: -1 };

// offer shows the button that sends a crowd: to a new sale when this one is sold out, and to this one while no request
// comes.
function offer() {
  const c = chosen(), e = app.event;
  if (e && (e.requests !== calm.requests || stateOf(c) !== "on_sale")) calm = { since: now(), requests: e.requests };
  const gone = c && stateOf(c) === "gone", idle = c && e && stateOf(c) === "on_sale" && now() - calm.since > quiet;
  const may = app.features.rush && mayAudit() && !(standing?.running && !standing.visitors);
  $("crowd-call").hidden = !may || !(gone || idle);
  set("crowd-button", say(gone ? "again_crowd" : "send_crowd"));
}

$("crowd-button").addEventListener("click", async () => {
  $("crowd-button").disabled = true;
  await send(stateOf(chosen()) === "gone" ? crowdUnits : 0, crowd);
  $("crowd-button").disabled = false;
  offer();
});
on("tick sale chosen words features", offer);

// ---- how a rush stands

// follow reads the progress of the rush until it has ended.
async function follow() {
  if (watching) return;
  watching = true;
  let silent = 0;
  do {
    begun = false;
    const a = await rule("GET", "/rush");
    if (a.status === 200) standing = a.body;
    await goThere();
    silent = a.status === 200 ? 0 : silent + 1;
    note = () => (standing?.running ? say(standing.visitors ? "rush_visitors" : done() < standing.taps ? "rush_running" : "rush_judging") : standing?.error ?? (standing?.taps ? say("rush_done") : ""));
    show();
    await sleep(250);
  } while (begun || (standing?.running && silent < 20));
  watching = false;
  loadCoupons();
}

const done = () => standing.accepted + standing.refused + standing.failed;

// goThere shows the coupon of a rush that another visitor has started, once.
async function goThere() {
  const id = standing?.coupon_id;
  if (!standing?.running || app.view !== "rush" || id === shownFor || id === "0") return;
  shownFor = id;
  if (!app.coupons.some((c) => c.id === id)) await loadCoupons();
  if (app.coupons.some((c) => c.id === id)) pick(id);
}

// show shows the figures of the chosen coupon's last event. Of a rush that buys another coupon it names the coupon.
function show() {
  if (app.view !== "rush") return;
  $("rush").hidden = !app.features.rush;
  $("no-rush").hidden = app.features.rush;
  $("rush-stop").disabled = !standing?.running;
  set("rush-note", note());
  const c = chosen(), id = standing?.coupon_id ?? "0";
  const elsewhere = id !== "0" && id !== app.chosen;
  $("rush-elsewhere").hidden = !elsewhere;
  const other = app.coupons.find((one) => one.id === id);
  set("rush-other", elsewhere ? say("rush_other", other ? titled(other) : id) : "");
  $("rush-here").hidden = elsewhere;
  if (elsewhere || !c) return;
  const e = figuresOf(c);
  set("r-left-after", say("left_after", number(e.units)));
  for (const name of ["left", "orders", "being_written", "returning"]) set("r-" + name, number(e[name]));
  for (const name of ["sold_again", "too_late"]) set("r-" + name, e[name] === undefined ? "–" : number(e[name]));
  if (!standing?.taps) return;
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
  if (r.cancelled) list.append(make("li", say("rush_sum", number(r.committed)).replace("{m}", number(r.cancelled))));
  for (const [code, n] of Object.entries(r.refused_by)) list.append(make("li", `${number(n)} × ${say(code === "ended" ? "ended_code" : code)}`));
  for (const v of r.violations) list.append(make("li", v));
  const all = [["requests", number(r.requests)], ["committed", number(r.committed)], ["no_answer_n", number(r.no_answer)], ["oversold", number(r.oversold)],
    ["sold_twice", number(r.sold_twice)], ["orders_s", number(r.orders_per_second ?? 0)], ["p50_orders", number(Math.round(r.orders_p50_ms ?? 0))], ["p99_orders", number(Math.round(r.orders_p99_ms ?? 0))]];
  if (r.sold_out_after_ms) all.push(["sold_out_after", took(r.sold_out_after_ms)]);
  $("rush-report").replaceChildren(verdict, figures(all.map(([name, text]) => [say(name), text])), list);
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
$("rush-show").addEventListener("click", () => pick(standing.coupon_id));
$("rush-stop").addEventListener("click", () => rule("DELETE", "/rush"));
