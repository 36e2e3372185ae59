// The lab: experiments that a visitor may play where no data can be harmed.
import { $, app, badge, both, make, notice, on, press, problem, rows, say, set } from "./core.js";
import { isAdmin, rule, sleep } from "./server.js";
import { become } from "./admin.js";

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
  open = name;
  result = null;
  note = () => "";
  const x = all.find((x) => x.name === name);
  if (x.state !== "running") {
    const a = await rule("GET", "/experiments/" + name);
    if (open !== name) return;
    if (a.status === 200) result = a.body;
  }
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

function show() {
  if (app.view !== "lab") return;
  $("no-lab").hidden = app.features.lab;
  const items = rows($("experiments"), all.length, () => {
    const item = make("li");
    const button = press("", (b) => look(b.value, true), "coupon");
    const mark = make("span");
    mark.setAttribute("role", "img");
    button.append(make("strong"), mark);
    item.append(make("h3"), button);
    return item;
  });
  items.forEach((item, i) => {
    const [group, button] = item.children;
    const [title, mark] = button.children;
    group.textContent = both(all[i].group) + (i === 0 ? say("start_here") : "");
    group.hidden = all[i - 1]?.group.en === all[i].group.en;
    button.value = all[i].name;
    button.setAttribute("aria-pressed", String(all[i].name === open));
    title.textContent = both(all[i].title);
    mark.textContent = ticks[all[i].state] ?? "";
    mark.className = "tick " + all[i].state;
    mark.title = say(all[i].state);
    mark.setAttribute("aria-label", say(all[i].state));
    mark.hidden = all[i].state === "new";
  });
  const x = all.find((x) => x.name === open);
  $("experiment").hidden = !x;
  if (!x) return;
  set("x-title", both(x.title));
  badge($("x-state"), x.state);
  prose("x-lesson", both(x.lesson));
  prose("x-wild", result?.wild ? say("wild", both(result.wild)) : "");
  const needs = say("needs", x.needs.map((n) => say(n)).join(" + "));
  set("x-needs", result?.servers?.length ? say("x_servers", result.servers.map(both).join(say("comma"))) : needs);
  set("x-origin", result?.origin ? both(result.origin) : "");
  set("x-note", note() || (x.why ? `${say(x.state)}: ${both(x.why)}` : ""));
  draw();
}

let drawn = "";

// draw inserts the server's drawing in the visitor's language.
function draw() {
  const text = result?.cases?.length ? both(result.drawing) : "";
  if (text === drawn) return;
  drawn = text;
  $("x-cases").replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.children);
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
