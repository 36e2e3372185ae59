// The sale: its state, the units left, and a button that invites only while this buyer can buy.
import { $, app, badge, chosen, money, now, number, on, problem, say, set, span, titled } from "./core.js";
import { returns, stateOf } from "./live.js";
import { buy, loggedIn } from "./server.js";
import { bought, leaveIfUnknown, loadOrders, logIn } from "./orders.js";

let outcome = null; // {kind, text}
let buying = false;

// countdown tells when what changes next: there is none to the end of a sale that has nothing left.
const countdown = (c, state) => ({
  soon: () => say("starts", span(Date.parse(c.begins_at) - now())),
  on_sale: () => say("ends", span(Date.parse(c.ends_at) - now())),
  gone: () => say("gone_help"), paused: () => say("paused_help"), draft: () => say("draft_help"), ended: () => say("over"),
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
  set("price", money(c.price_cents));
  set("limit", say("limit", number(c.limit_per_user)));
  $("buy").disabled = buying || !(loggedIn() || app.features.demo_login);
  set("outcome", outcome ? outcome.text() : loggedIn() ? "" : app.features.demo_login ? say("first_tap", $("user").value) : say("loginFirst"));
  $("outcome").className = outcome?.kind ?? "";
  const e = app.event ?? { left: c.left, sold: c.stock - c.left, stock: c.stock, orders_per_second: 0, shards: [] };
  set("left-before", say("left_before"));
  set("left", number(e.left));
  set("left-after", say("left_after", number(e.stock)));
  set("sold", number(e.sold));
  set("pace", number(e.orders_per_second));
  set("shard-count", e.shards.length || "–");
  const part = e.stock ? Math.round((100 * e.left) / e.stock) : 0;
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
  $("stage").dataset.state = state;
  badge($("stage-state"), state);
  set("buy", label(c, state));
  $("buy").setAttribute("aria-disabled", String(state !== "on_sale" || enough(c)));
}

async function purchase() {
  if ($("buy").getAttribute("aria-disabled") === "true") return;
  const id = app.chosen;
  const report = (kind, text) => {
    if (app.chosen !== id) return;
    outcome = { kind, text };
    show();
  };
  buying = true;
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
    early.body.status === "queued" ? say("inLine", early.body.position) :
    early.status === 202 ? say("wait", early.body.id) :
    early.offline ? problem(early) : early.away ? say("away") : say("again", problem(early))), returns, { tokens: app.features.purchase_token });
  buying = false;
  if (a.status === 201) report("good", () => say("bought", a.body.id));
  else report("bad", () => problem(a));
  leaveIfUnknown(a);
  show();
  $("buy").focus({ preventScroll: true }); // it was disabled meanwhile
  loadOrders();
}

on("chosen who", () => { outcome = null; show(); });
on("coupons sale words view orders", show);
on("tick", tick);
$("buy").addEventListener("click", purchase);
