// The moment at which the chosen sale is sold out, told over all views. Its figures do not change afterwards.
import { $, app, chosen, make, number, on, rows, say, set } from "./core.js";
import { stateOf } from "./live.js";
import { audit, lost, settled } from "./audit.js";

let selling = false; // this page has seen units to sell
let last = null;     // {units, orders, after, requests, again, oversold, lost} of the sale that is sold out

// see takes the figures of the first event in which every unit is an order.
function see(e) {
  if (e.left > 0 && e.state === "on_sale") selling = true;
  if (last || !e.sold_out) return show();
  last = {
    units: e.units, orders: e.orders, after: e.sold_out.sold_out_after_ms, again: e.sold_out.sold_again,
    requests: e.instances.length < 2 ? e.sold_out.requests : null, // another instance has answered requests that this one does not know
    at: Date.parse(e.at), oversold: null, lost: null,
  };
  show();
  if (selling) set("moment-said", [$("moment-title").textContent, $("moment-figures").textContent].join(say("colon")));
}

// judge takes the verdict of the first audit that was read after that.
function judge() {
  if (!last || last.oversold !== null || !settled() || Date.parse(audit.report.taken_at) < last.at) return;
  Object.assign(last, { oversold: audit.report.oversold, lost: lost() });
  show();
}

// show shows it while every unit is an order: when one has come back, there is something to buy.
function show() {
  const e = app.event;
  const c = chosen();
  $("moment").hidden = !last || !e || !c || e.orders !== e.units || stateOf(c) !== "gone" || ["lab", "gallery", "admin"].includes(app.view);
  if (!last) return;
  set("moment-title", last.after < 600_000 ? say("moment", number(Math.round(last.after / 10) / 100)) : say("gone"));
  const parts = [say("m_sold", number(last.orders)).replace("{m}", number(last.units))];
  if (last.again) parts.push(say("m_again", number(last.again)));
  if (last.requests) parts.push(say("m_requests", number(last.requests)));
  if (last.oversold !== null) parts.push(say("m_oversold", number(last.oversold)), say("m_lost", number(last.lost)));
  rows($("moment-figures"), parts.length, () => make("span")).forEach((part, i) => {
    const text = i ? " · " + parts[i] : parts[i];
    if (part.textContent !== text) part.textContent = text;
  });
}

on("sale", see);
on("audit", judge);
on("words view", show);
on("chosen", () => { selling = false; last = null; set("moment-said", ""); show(); });
