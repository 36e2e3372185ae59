// The sale: a countdown, the units left, and the button.
import { $, app, badge, chosen, money, now, number, on, problem, say, set, span } from "./core.js";
import { stateOf } from "./live.js";
import { buy, loggedIn } from "./server.js";
import { leaveIfUnknown, loadOrders } from "./orders.js";

let outcome = null; // {kind, text}
let buying = false;

function countdown(c) {
  if (c.state === "ended" || now() >= Date.parse(c.ends_at)) return say("over");
  if (now() < Date.parse(c.begins_at)) return say("starts", span(Date.parse(c.begins_at) - now()));
  return say("ends", span(Date.parse(c.ends_at) - now()));
}

function show() {
  const c = chosen();
  $("sale").hidden = !c;
  if (!c) return;
  set("stage-title", c.title);
  delete $("stage-title").dataset.say;
  badge($("stage-state"), stateOf(c));
  set("price", money(c.price_cents));
  set("limit", say("limit", number(c.limit_per_user)));
  $("buy").disabled = !loggedIn() || buying;
  set("buy", say(buying ? "buying" : "buy"));
  set("outcome", outcome ? outcome.text() : loggedIn() ? "" : say("loginFirst"));
  $("outcome").className = outcome?.kind ?? "";
  const e = app.event ?? { left: c.left, sold: c.stock - c.left, stock: c.stock, orders_per_second: 0, shards: [] };
  set("left", number(e.left));
  set("total", number(e.stock));
  set("sold", number(e.sold));
  set("pace", number(e.orders_per_second));
  set("shard-count", e.shards.length || "–");
  const part = e.stock ? Math.round((100 * e.left) / e.stock) : 0;
  $("gauge").setAttribute("aria-valuenow", part);
  $("gauge").setAttribute("aria-label", say("left"));
  $("gauge").firstElementChild.style.width = part + "%";
  tick();
}

function tick() {
  const c = chosen();
  if (!c) return;
  set("countdown", countdown(c));
  $("countdown").classList.toggle("soon", now() < Date.parse(c.begins_at));
  badge($("stage-state"), stateOf(c));
}

async function purchase() {
  const id = app.chosen;
  const report = (kind, text) => {
    if (app.chosen !== id) return;
    outcome = { kind, text };
    show();
  };
  buying = true;
  report("wait", () => say("buying"));
  const a = await buy(id, (early) => report("wait", () =>
    early.body.status === "queued" ? say("inLine", early.body.position) :
    early.status === 202 ? say("wait", early.body.id) : say("again", problem(early))));
  buying = false;
  if (a.status === 201) report("good", () => say("bought", a.body.id));
  else report("bad", () => problem(a));
  leaveIfUnknown(a);
  show();
  $("buy").focus({ preventScroll: true }); // it was disabled meanwhile
  loadOrders();
}

on("chosen who", () => { outcome = null; show(); });
on("coupons sale words view", show);
on("tick", tick);
$("buy").addEventListener("click", purchase);
