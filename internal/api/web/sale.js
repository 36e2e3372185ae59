// The sale: its state, the units left, and a button that invites only while this buyer can buy.
import { $, app, badge, chosen, figuresOf, money, now, number, on, problem, say, set, span, timed, titled, unpaid } from "./core.js";
import { choose, returns, stateOf } from "./live.js";
import { missedBy } from "./receipt.js";
import { buy, loggedIn, underWay } from "./server.js";
import { bought, leaveIfUnknown, loadOrders, logIn } from "./orders.js";

let outcome = null; // {kind, text}
let buying = false;
let waits = false; // this buyer was told sold_out, and nothing has come back since

// countdown tells when what changes next: there is none to the end of a sale that has nothing left.
const countdown = (c, state) => ({
  soon: () => say("starts", span(Date.parse(c.begins_at) - now())),
  on_sale: () => (timed() ? say("ends", span(Date.parse(c.ends_at) - now())) : ""),
  gone: () => unpaid("gone_for_now", app.event) || say("gone_help"), paused: () => say("paused_help"), draft: () => say("draft_help"), ended: () => say("over"),
})[state]();

// label returns what the button says: an invitation, or why there is none.
function label(c, state) {
  if (buying) return say("buying");
  if (state === "soon") return say("starts", span(Date.parse(c.begins_at) - now()));
  if (state !== "on_sale") return say(state + "_button");
  if (!loggedIn() && !app.features.demo_login) return say("login_button");
  return say(enough(c) ? "enough" : "buy");
}

const enough = (c) => bought(c.id) >= c.limit_per_user;

function show() {
  const c = chosen();
  $("sale").hidden = !c;
  if (!c) {
    $("stage-title").dataset.say = app.listed ? "none" : "loading";
    return set("stage-title", say($("stage-title").dataset.say));
  }
  set("stage-title", titled(c));
  delete $("stage-title").dataset.say;
  $("pitch").hidden = !app.features.rush;
  set("pitch", say("pitch", number(figuresOf(c).units)));
  set("price", money(c.price_cents));
  set("limit", say("limit", number(c.limit_per_user)));
  $("buy").disabled = buying || !(loggedIn() || app.features.demo_login);
  $("outcome").className = outcome?.kind ?? "";
  const e = figuresOf(c);
  set("left-before", say("left_before"));
  set("left", number(e.left));
  set("left-after", say("left_after", number(e.units)));
  for (const [id, n] of [["orders-n", e.orders], ["written", e.being_written], ["returning", e.returning], ["pace", e.orders_per_second]]) set(id, number(n));
  const part = e.units ? Math.round((100 * e.left) / e.units) : 0;
  $("gauge").setAttribute("aria-valuenow", part);
  $("gauge").setAttribute("aria-label", say("left"));
  $("gauge").firstElementChild.style.width = part + "%";
  tick();
}

// tick shows what the clock alone changes. A button that cannot buy keeps its place in the order of
// the keyboard, so that the focus is not lost when the last unit goes.
function tick() {
  const c = chosen();
  if (!c) return;
  const state = stateOf(c);
  set("countdown", countdown(c, state));
  set("outcome", outcome ? outcome.text() : hint(state));
  $("stage").dataset.state = state;
  badge($("stage-state"), state);
  set("buy", label(c, state));
  $("buy").setAttribute("aria-disabled", String(state !== "on_sale" || enough(c)));
}

// hint says how to buy, while there is something to buy or soon will be.
function hint(state) {
  if (loggedIn() || !["soon", "on_sale"].includes(state)) return "";
  return app.features.demo_login ? say("first_tap", $("user").value) : say("loginFirst");
}

// drawn says when the ticket is drawn that the buyer has.
const drawn = (o) => say("ticket", number(Math.max(0, Math.ceil((Date.parse(o.draws_at) - now()) / 1000))));

// inLine says which place in the queue the buyer has, how fast it moves, and how long that will take.
const inLine = (o) => say("inLine", number(o.position)) + " " +
  (o.wait_seconds ? say("inLine_pace", number(o.pace)).replace("{m}", number(Math.ceil(o.wait_seconds))) : say("inLine_wait"));

async function purchase() {
  if ($("buy").getAttribute("aria-disabled") === "true") return;
  await tryToBuy(app.chosen);
  $("buy").focus({ preventScroll: true }); // it was disabled meanwhile
}

// refusal says why there is nothing, and of sold_out what the stream has told since.
const refusal = (a) => a.body.code !== "sold_out" || app.event?.unpaid_orders === undefined ? problem(a) :
  unpaid("sold_out_for_now", app.event) || say("sold_out");

// resume goes on with a purchase that was under way when the page was loaded, once its coupon is listed.
function resume() {
  const id = buying ? null : underWay()?.coupon;
  if (!app.coupons.some((c) => c.id === id)) return;
  if (app.chosen !== id) choose(id);
  tryToBuy(id);
}

// tryToBuy asks, and ends the purchase if the page itself fails.
async function tryToBuy(id) {
  try {
    await ask(id);
  } catch (e) {
    buying = false;
    outcome = { kind: "bad", text: () => say("page_failed") };
    show();
    throw e;
  }
}

// ask buys, and says what becomes of it.
async function ask(id) {
  const report = (kind, text) => {
    if (app.chosen !== id) return;
    outcome = { kind, text };
    show();
  };
  buying = true;
  missedBy(null);
  const tapped = now();
  report("wait", () => say("buying"));
  if (!loggedIn()) { // a demonstration's buyer is one from the first tap on
    const a = await logIn();
    if (a.status !== 201) {
      buying = false;
      return report("bad", () => problem(a));
    }
    report("wait", () => say("buying"));
  }
  const a = await buy(id, (early) => report("wait", () =>
    early.body.draws_at ? drawn(early.body) : early.body.status === "queued" ? inLine(early.body) :
    early.status === 202 ? say("wait", early.body.id) :
    early.offline ? problem(early) : early.away ? say("away") : say("again", problem(early))), returns, { tokens: app.features.purchase_token });
  buying = false;
  waits = a.body.code === "sold_out";
  if (waits) missedBy(id, tapped);
  if (a.status === 201) report("good", () => say("bought", a.body.id));
  else report("bad", () => refusal(a));
  leaveIfUnknown(a);
  show();
  loadOrders();
}

// cameBack tells a buyer who waits that there is something to buy again.
function cameBack(e) {
  if (waits && e.left > 0) {
    waits = false;
    missedBy(null);
    outcome = { kind: "good", text: () => say("came_back") };
  }
  show();
}

// changed says what became of an order that was paid or cancelled.
function changed({ order, what }) {
  if (order.coupon_id !== app.chosen) return;
  outcome = { kind: "good", text: () => say({ payment: "paid_now", cancellation: "cancelled_now" }[what]) };
  show();
}

on("chosen who", () => { outcome = null; waits = false; missedBy(null); show(); });
on("changed", changed);
on("coupons words view orders", show);
on("listed", resume);
on("sale", cameBack);
on("tick", tick);
$("buy").addEventListener("click", purchase);
