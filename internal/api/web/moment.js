// The moment at which the chosen sale sells out while it is watched, told over all views.
import { $, app, number, on, say, set } from "./core.js";
import { stateOf } from "./live.js";
import { mayAudit, readAudit } from "./server.js";

let untouched = 0;  // when the sale was last seen with all its units
let selling = false; // it was seen with units to sell
let told = null;    // {seconds, oversold} of the sale that is told of

// see follows the sale, reading by reading.
function see(e) {
  const c = app.coupons.find((c) => c.id === e.coupon_id);
  const state = stateOf(c);
  const at = Date.parse(e.at);
  if (e.left === e.stock) untouched = at;
  if (state === "on_sale") {
    selling = true;
    told = null;
  } else if (state === "gone" && selling && !told) {
    told = { seconds: (at - Math.max(untouched, Date.parse(c.begins_at))) / 1000, oversold: null };
    judge(c.id, told);
  }
  show();
}

// judge asks the audit whether more was sold than there was, where this visitor may.
async function judge(id, mine) {
  for (let tries = 0; tries < 20 && told === mine; tries++) {
    const a = mayAudit() && (await readAudit(id));
    if (a?.status !== 200) return;
    if (!a.body.invariants.some((i) => i.status === "unsettled")) {
      mine.oversold = a.body.oversold;
      return show();
    }
  }
}

function show() {
  const e = app.event;
  $("moment").hidden = !told || !e || ["lab", "gallery", "admin"].includes(app.view);
  if ($("moment").hidden) return;
  const { seconds, oversold } = told;
  set("moment-title", seconds < 600 ? say("moment", number(Math.round(10 * seconds) / 10)) : say("gone"));
  const parts = [say("m_units", number(e.stock)), say("m_orders", number(e.sold))];
  // The taps are those that this instance has answered since it started.
  if (e.instances.length < 2 && e.taps >= e.sold) parts.push(say("m_taps", number(e.taps)));
  if (oversold !== null) parts.push(say("m_oversold", number(oversold)));
  set("moment-figures", parts.join(say("comma")));
}

on("sale", see);
on("words view", show);
on("chosen", () => { untouched = 0; selling = false; told = null; show(); });
