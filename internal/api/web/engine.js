// The monitor: the shards, the rate, the locks, and the invariants.
import { $, app, chosen, clock, make, number, on, problem, rows, say, set } from "./core.js";
import { stateOf } from "./live.js";
import { mayAudit } from "./server.js";
import { become } from "./admin.js";
import { age, audit, isStale } from "./audit.js";
import { draw, forget, push } from "./chart.js";

const sum = (all) => all.reduce((a, b) => a + b, 0);

function show() {
  const e = app.event;
  if (app.view !== "engine" || !e) return;
  set("e-left", number(e.left));
  set("e-orders", number(e.orders));
  set("e-pace", number(e.orders_per_second));
  set("e-p99", e.p99_ms ? number(e.p99_ms) : "–");
  set("e-written", number(e.being_written));
  set("e-returning", number(e.returning));
  set("e-lent", number(sum(e.lent)));
  set("e-held", number(e.locks_held));
  set("e-waiting", number(e.locks_waiting));
  showShards(e);
  showInstances(e.instances);
}

function showShards(e) {
  const full = Math.max(1, Math.ceil(e.units / Math.max(1, e.shards.length)), ...e.shards);
  const bars = rows($("shards"), e.shards.length, () => {
    const bar = make("li");
    const column = make("div", undefined, "column");
    column.append(make("i"));
    bar.append(make("small"), column, make("span"));
    return bar;
  });
  bars.forEach((bar, k) => {
    const [marks, column, label] = bar.children;
    const [units, held, lent] = [e.shards[k], e.holds[k] ?? 0, e.lent[k] ?? 0];
    column.firstElementChild.style.height = Math.min(100, (100 * units) / full) + "%";
    label.textContent = number(units);
    marks.textContent = [held ? `◔${held}` : "", lent ? `↗${lent}` : ""].join(" ").trim();
    bar.classList.toggle("empty", units === 0);
    bar.setAttribute("aria-label", `${say("shard", k)}: ${number(units)}, ${say("holds")} ${held}, ${say("lent")} ${lent}`);
  });
}

function showInstances(all) {
  const items = rows($("instances"), Math.max(1, all.length), () => {
    const item = make("li");
    item.append(make("i", undefined, "lamp"), make("strong"), make("span"));
    return item;
  });
  items.forEach((item, i) => {
    const [lamp, name, what] = item.children;
    const one = all[i];
    const does = doing(one);
    lamp.className = "lamp " + ({ flag_up: "waits", flag_down: "ok", flag_empty: "waits" }[does] ?? "off");
    name.textContent = one?.name ?? "";
    what.textContent = say(does) + (one?.self ? " · " + say("self") : "");
  });
}

// doing returns the word for what an instance does with buyers: it sells only while a shard has units.
function doing(one) {
  if (!one) return "none_heard";
  if (one.sold_out) return "flag_up";
  const state = stateOf(chosen());
  return { on_sale: "flag_down", gone: "flag_empty" }[state] ?? state;
}

// ---- the audit's indicators

function showLamps() {
  const { report, refused, reading } = audit;
  $("audit-admin").hidden = mayAudit();
  $("lamps").hidden = $("letters").hidden = !report;
  if (!report) return set("audit-note", !mayAudit() ? say("audit_needs") : refused && !reading ? problem(refused) : say("audit_reading"));
  const states = report.invariants.map((i) => i.status);
  const word = states.includes("violated") ? "some_broken" : states.includes("unsettled") ? "stores_busy" : "all_hold";
  const old = isStale();
  $("lamps").classList.toggle("stale", old);
  set("audit-note", [say(word), say("audit_at", clock(report.taken_at)), old ? say("audit_old", Math.floor(age() / 1000)) : "", old && refused ? problem(refused) : ""].filter(Boolean).join(say("gap")));
  lamps($("lamps"), report);
}

const kinds = { ok: "ok", violated: "bad", unsettled: "waits", not_run: "off" };

// lamps draws a report's invariants into a list.
export function lamps(list, r) {
  const items = rows(list, r.invariants.length, () => {
    const item = make("li");
    item.append(make("i", undefined, "lamp"), make("span"), make("small", undefined, "id"), make("small"));
    return item;
  });
  items.forEach((item, i) => {
    const one = r.invariants[i];
    const [lamp, what, id, detail] = item.children;
    lamp.className = "lamp " + kinds[one.status];
    id.textContent = one.id;
    what.textContent = `${say(one.id)}: ${say(one.status === "not_run" ? "not_run_yet" : one.status)}`;
    detail.textContent = say(one.id + "_is").replace(/\{(\d)\}/g, (_, n) => number(one.numbers[n]));
    if (one.id === "I4" && !r.loaded) detail.textContent += say("not_loaded_now");
    if (one.id === "I4" && r.loading) detail.textContent += say("loading_now");
  });
}

on("sale", (e) => push(e));
on("sale words", show);
on("chosen", forget);
on("audit words", showLamps);
on("tick", () => app.view === "engine" && audit.report && showLamps());
on("words theme view sale", () => app.view === "engine" && draw($("chart")));
on("view admin features", () => { showLamps(); show(); });
$("audit-admin").addEventListener("click", become);
