// What a sale looks like from above: the people, the order that was placed last, and the promises.
import { $, app, make, number, on, rows, say, set, took } from "./core.js";
import { age, audit, invariant, isStale, lost, settled } from "./audit.js";
import { lanes, wayOf } from "./trace.js";

const most = 200; // dots

// people returns how many people a dot is: 1, 2, 5, 10, 20, 50 and so on.
function people(all) {
  let n = 1;
  for (let i = 0; n * most < all; i++) n = [2, 5, 10][i % 3] * 10 ** Math.floor(i / 3);
  return n;
}

// showCrowd shows buyers and units of one event. Only this instance's refusals are known.
function showCrowd() {
  const e = app.event;
  $("crowd").hidden = !e || e.instances.length > 1;
  if ($("crowd").hidden) return;
  const kinds = [["bought", e.orders], ["inside", e.being_written], ["late", e.too_late]];
  const each = people(e.orders + e.being_written + e.too_late);
  const dots = kinds.flatMap(([kind, n]) => new Array(Math.ceil(n / each)).fill(kind));
  rows($("dots"), dots.length, () => make("i")).forEach((dot, i) => {
    if (dot.className !== dots[i]) dot.className = dots[i];
  });
  for (const [kind, n] of kinds) set("c-" + kind, say("c_" + kind, number(n)));
  set("c-dot", say(each === 1 ? "c_dot_1" : "c_dot", number(each)));
}

let drawn = "";

// showLatest shows the way of the order that was placed last, without the steps around it.
function showLatest() {
  const steps = app.event?.latest_order;
  $("latest").hidden = !app.features.traces || !app.event;
  const as = app.language + JSON.stringify(steps ?? null);
  if (as === drawn) return;
  drawn = as;
  const way = steps ? wayOf(steps) : null;
  set("latest-took", way ? took(way.all) : "");
  $("latest-way").replaceChildren(way ? lanes(way) : make("p", say("latest_none"), "soft"));
}

// promises are what a sale promises, with the figures of the audit: [word, figure, whether it holds].
function promises() {
  const r = audit.report, both = invariant("I4");
  return [
    ["p_oversold", number(r.oversold), r.oversold === 0],
    ["p_twice", number(r.duplicates), r.duplicates === 0],
    ["p_lost", number(lost()), lost() === 0],
    ["p_equal", both.status === "ok" ? say("p_equal_is", number(both.numbers[4])).replace("{m}", number(both.numbers[5])) : say("p_moving"),
      both.status === "unsettled" || both.status === "not_run" ? null : both.status === "ok"],
  ];
}

function showProof() {
  $("proof").hidden = !audit.report;
  if (!audit.report) return;
  set("proof-at", [say("proof_at", number(Math.floor(age() / 1000))), settled() ? "" : say("stores_busy")].filter(Boolean).join(say("gap")));
  $("promises").classList.toggle("stale", isStale());
  const all = promises();
  rows($("promises"), all.length, () => {
    const item = make("li");
    item.append(make("i", undefined, "lamp"), make("span"), make("strong"));
    return item;
  }).forEach((item, i) => {
    const [word, figure, holds] = all[i];
    const [lamp, name, value] = item.children;
    lamp.className = "lamp " + (holds === null ? "waits" : holds ? "ok" : "bad");
    name.textContent = say(word);
    value.textContent = figure;
  });
}

on("sale words features", () => { showCrowd(); showLatest(); });
on("chosen", () => { showCrowd(); showLatest(); });
on("audit words", showProof);
on("tick", () => app.view === "sale" && showProof());
