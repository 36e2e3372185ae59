// The lab: experiments, which a visitor may play where no data can be harmed. Elsewhere their recordings are shown. An
// experiment is told in three phases: its schedule and a question, the steps of its wrong case, and then everything.
// Its address is #lab/NAME; #lab is the first one.
import { $, app, badge, both, make, notice, on, press, problem, rows, say, set } from "./core.js";
import { call, isAdmin, rule, sleep } from "./server.js";
import { become } from "./admin.js";
import { place, visit } from "./router.js";
import { begin, draw, tellAll, walk } from "./walk.js";

let all = [];
let none = false; // the server has no lab
let open = "";    // the name of the experiment that is shown
let asked = "";   // the name of the one that was pressed in the list
let result = null;
let note = () => "";

// ticks are the states of an experiment in its list.
const ticks = { running: "…", as_expected: "✔", unexpected: "✘", failed: "✘", not_run: "–" };

async function load() {
  if (app.view !== "lab") return;
  const a = await call("GET", "/experiments");
  none = a.status === 404;
  if (a.status === 200) all = a.body.experiments;
  else if (!none) notice(problem(a));
  show();
}

// go opens the experiment that the address names.
async function go() {
  if (app.view !== "lab") return;
  if (all.length === 0) await load();
  const named = place().rest;
  const x = all.find((x) => x.name === named) ?? all[0];
  if (!x || app.view !== "lab") return;
  if (named && x.name !== named) notice(say("no_experiment", named));
  if (x.name !== open || !result && x.state !== "running") await look(x.name, asked === x.name);
  else if (asked === x.name) $("x-title").focus();
  if (named && !asked && $("experiment").getBoundingClientRect().top > innerHeight / 2) $("experiment").scrollIntoView();
  asked = "";
}

async function look(name, focus) {
  const another = open !== name;
  open = name;
  note = () => "";
  const x = all.find((x) => x.name === name);
  let got = null;
  if (x.state !== "running") {
    const a = await call("GET", "/experiments/" + name);
    if (open !== name) return;
    if (a.status === 200) got = a.body;
    else note = () => problem(a);
  }
  result = got;
  if (another) begin(result);
  show();
  if (focus) $("x-title").focus();
}

// choose goes to the address of an experiment.
function choose(name) {
  asked = name;
  if (place().rest === name) return go();
  visit("lab", name);
}

async function play() {
  const name = open;
  if (!isAdmin() && !(await become())) return;
  $("x-run").disabled = true;
  const a = await rule("POST", `/experiments/${name}/run`);
  if (a.status === 202) {
    note = () => say("playing");
    Object.assign(all.find((x) => x.name === name), { state: "running" });
    show();
    do {
      await sleep(300);
      await load();
    } while (all.find((x) => x.name === name)?.state === "running");
    if (open === name) await look(name);
  } else {
    note = () => problem(a);
  }
  $("x-run").disabled = false;
  show();
}

// matches reports whether an experiment has what is searched for, in either language.
function matches(x) {
  const wanted = $("x-search").value.trim().toLowerCase();
  return [x.name, x.group.en, x.group.zh, x.title.en, x.title.zh, x.lesson.en, x.lesson.zh].some((text) => text.toLowerCase().includes(wanted));
}

function showList() {
  const found = all.filter(matches);
  $("x-search").placeholder = say("x_search");
  set("x-found", $("x-search").value.trim() === "" ? "" : found.length ? say("x_n", found.length) : say("x_nothing"));
  const items = rows($("experiments"), found.length, () => {
    const item = make("li");
    const button = press("", (b) => choose(b.value), "coupon");
    const mark = make("span");
    mark.setAttribute("role", "img");
    button.append(make("strong"), mark);
    item.append(make("h3"), button);
    return item;
  });
  items.forEach((item, i) => {
    const x = found[i];
    const [group, button] = item.children;
    const [title, mark] = button.children;
    group.textContent = both(x.group) + (x === all[0] ? say("start_here") : "");
    group.hidden = found[i - 1]?.group.en === x.group.en;
    button.value = x.name;
    button.setAttribute("aria-pressed", String(x.name === open));
    title.textContent = both(x.title);
    mark.textContent = ticks[x.state] ?? "";
    mark.className = "tick " + x.state;
    mark.title = say(x.state);
    mark.setAttribute("aria-label", say(x.state));
    mark.hidden = x.state === "new";
  });
}

function show() {
  if (app.view !== "lab") return;
  $("no-lab").hidden = app.features.lab;
  set("no-lab", say(none ? "no_lab" : "lab_recorded"));
  showList();
  const x = all.find((x) => x.name === open);
  $("experiment").hidden = !x;
  if (!x) return;
  set("x-title", both(x.title));
  badge($("x-state"), x.state);
  $("x-state").hidden = x.state === "new"; // a recording is shown
  $("x-run").hidden = !app.features.lab;
  prose("x-lesson", both(x.lesson));
  prose("x-wild", result?.wild ? say("wild", both(result.wild)) : "");
  const needs = say("needs", x.needs.map((n) => say(n)).join(" + "));
  set("x-needs", result?.servers?.length ? say("x_servers", result.servers.map(both).join(say("comma"))) : needs);
  set("x-note", note() || (x.why ? `${say(x.state)}: ${both(x.why)}` : ""));
  draw(result);
  walk();
}

// prose inserts a text, with what is between backquotes as code.
function prose(id, text) {
  if ($(id).dataset.text === text) return;
  $(id).dataset.text = text;
  $(id).replaceChildren(...text.split("`").map((part, i) => (i % 2 ? make("code", part) : part)));
}

on("view", go);
on("features words", show);
on("back", async () => {
  await load();
  go();
});
$("x-run").addEventListener("click", play);
$("x-search").addEventListener("input", showList);
$("x-all").addEventListener("click", tellAll);
