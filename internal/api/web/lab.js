// The lab: experiments that a visitor may play where no data can be harmed.
import { $, app, badge, both, make, notice, on, press, problem, rows, say, set, told } from "./core.js";
import { isAdmin, rule, sleep } from "./server.js";
import { become } from "./admin.js";
import { names, timeline } from "./timeline.js";

let all = [];
let open = "";    // the name of the experiment that is shown
let result = null;
let note = () => "";

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
  if (x.state !== "new" && x.state !== "running") {
    const a = await rule("GET", "/experiments/" + name);
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
    button.append(make("strong"), make("span"));
    item.append(button);
    return item;
  });
  items.forEach((item, i) => {
    const [title, mark] = item.firstElementChild.children;
    item.firstElementChild.value = all[i].name;
    item.firstElementChild.setAttribute("aria-pressed", String(all[i].name === open));
    title.textContent = both(all[i].title);
    badge(mark, all[i].state);
    mark.hidden = all[i].state === "new";
  });
  const x = all.find((x) => x.name === open);
  $("experiment").hidden = !x;
  if (!x) return;
  set("x-title", both(x.title));
  badge($("x-state"), x.state);
  prose("x-lesson", both(x.lesson));
  prose("x-wild", result?.wild ? say("wild", both(result.wild)) : "");
  set("x-needs", result?.servers?.length ? say("x_servers", result.servers.map(both).join(say("comma"))) : say("needs", x.needs.map((n) => say(n)).join(" + ")));
  set("x-note", note() || (x.why ? `${say(x.state)}: ${both(x.why)}` : ""));
  const cases = result?.cases ?? [];
  $("x-cases").replaceChildren(...(cases.length ? [legend()] : []), ...cases.map(oneCase));
  for (const scroll of document.querySelectorAll(".scroll")) { // to the anomaly
    const moment = scroll.querySelector("line.anomaly");
    if (moment) scroll.scrollLeft = moment.getAttribute("x1") - scroll.clientWidth / 2;
  }
}

// prose inserts a text, with what is between backquotes as code.
function prose(id, text) {
  if ($(id).dataset.text === text) return;
  $(id).dataset.text = text;
  $(id).replaceChildren(...text.split("`").map((part, i) => (i % 2 ? make("code", part) : part)));
}

// legend explains the bars of a drawing.
function legend() {
  const list = make("ul", undefined, "legend");
  for (const [kind, word] of [["lease", "lease"], ["transaction", "transaction"], ["inside", "inside"], ["wait", "waits"], ["moment", "anomaly"]]) {
    const item = make("li");
    item.append(make("i", undefined, kind), say(word));
    list.append(item);
  }
  return list;
}

// oneCase shows one case: its numbers, the drawing, and every step in words.
function oneCase(c) {
  const box = make("section", undefined, "case");
  const head = make("h3");
  head.append(make("span", say(c.wrong ? "wrong" : "right"), "badge " + (c.wrong ? "violated" : "as_expected")), " ", both(c.label));
  box.append(head);
  if (c.not_run) {
    box.append(make("p", `${say("not_run")}: ${both(c.not_run)}`, "soft"));
    return box;
  }
  const numbers = make("ul", undefined, "numbers");
  for (const n of c.numbers ?? []) {
    numbers.append(make("li", `${n.held ? "✔" : "✘"} ${both(n.name)}: ${n.value}${n.bound ? ` (${n.bound})` : ""}`, n.held ? "held" : "broken"));
  }
  const scroll = make("div", undefined, "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "group");
  scroll.setAttribute("aria-label", say("timeline", both(c.label)));
  scroll.append(timeline(c, $("experiment").clientWidth - 48));
  const drawing = make("div", undefined, "drawing");
  drawing.append(names(c), scroll);
  const steps = make("details");
  steps.append(make("summary", say("steps")), stepList(c));
  box.append(numbers, drawing, steps);
  return box;
}

function stepList(c) {
  const list = make("ol", undefined, "steps");
  for (const e of c.events ?? []) {
    const item = make("li");
    item.append(make("b", told(c, e.actor)), " ", make("code", told(c, e.what)), " ", make("small", told(c, e.note)));
    if (e.anomaly) item.append(make("strong", `▲ ${say("anomaly")}: ${both(e.anomaly)}`, "broken"));
    list.append(item);
  }
  return list;
}

on("view features", load);
on("words view", show);
$("x-run").addEventListener("click", play);
