// The lab: experiments that a visitor may play where no data can be harmed. One is told in three
// phases: its schedule and a question, the steps of its wrong case, and then everything.
import { $, app, badge, both, make, notice, on, press, problem, rows, say, set } from "./core.js";
import { isAdmin, rule, sleep } from "./server.js";
import { become } from "./admin.js";
import { begin, draw, tellAll, walk } from "./walk.js";

let all = [];
let open = "";    // the name of the experiment that is shown
let result = null;
let note = () => "";

// ticks are the states of an experiment in its list.
const ticks = { running: "…", as_expected: "✔", unexpected: "✘", failed: "✘", not_run: "–" };

async function load() {
  if (app.view !== "lab" || !app.features.lab || (!isAdmin() && !(await become()))) return;
  const a = await rule("GET", "/experiments");
  if (a.status !== 200) return notice(problem(a));
  all = a.body.experiments;
  show();
}

async function look(name, focus) {
  const another = open !== name;
  open = name;
  note = () => "";
  const x = all.find((x) => x.name === name);
  let got = null;
  if (x.state !== "running") {
    const a = await rule("GET", "/experiments/" + name);
    if (open !== name) return;
    if (a.status === 200) got = a.body;
    else note = () => problem(a);
  }
  result = got;
  if (another) begin(result);
  show();
  if (focus) $("x-title").focus();
}

async function play() {
  const name = open;
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
    const button = press("", (b) => look(b.value, true), "coupon");
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
  showList();
  const x = all.find((x) => x.name === open);
  $("experiment").hidden = !x;
  if (!x) return;
  set("x-title", both(x.title));
  badge($("x-state"), x.state);
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

on("view features", load);
on("words view", show);
$("x-run").addEventListener("click", play);
$("x-search").addEventListener("input", showList);
$("x-all").addEventListener("click", tellAll);
