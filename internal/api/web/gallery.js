// The gallery of wrong implementations: the planted bugs that the program's tests are held against. It is
// loaded when it is first looked at. The address of an entry is #gallery/NAME; #gallery is the first one.
import { $, app, both, make, notice, on, press, rows, say, set } from "./core.js";
import { place, visit } from "./router.js";
import { send } from "./server.js";

let gallery = null; // {subjects, mutants}
let chosen = [];    // {mutant, group} of the subjects, in their order
let rest = [];      // and of all others, by name
let open = "";
let asked = "";     // the name of the entry that was pressed in the list
let loading = false;

async function load() {
  if (app.view !== "gallery") return;
  if (gallery || loading) return go();
  loading = true;
  const a = await send("/gallery.json", {}, 20_000);
  loading = false;
  if (a?.status === 200) sort(a.body);
  else notice(say("g_away"));
  go();
}

// go opens the entry that the address names.
function go() {
  if (app.view !== "gallery") return;
  const named = place().rest;
  if (gallery) {
    const known = gallery.mutants.some((m) => m.name === named);
    if (named && !known) notice(say("no_mutant", named));
    open = known ? named : chosen[0]?.mutant.name ?? "";
  }
  show();
  if (asked && asked === open) $("g-title").focus();
  asked = "";
}

function sort(found) {
  gallery = found;
  const named = new Map(gallery.mutants.map((m) => [m.name, m]));
  chosen = gallery.subjects.flatMap((s) => s.names.map((name) => ({ mutant: named.get(name), group: () => both(s.title) })));
  const picked = new Set(chosen.map((x) => x.mutant.name));
  rest = gallery.mutants.filter((m) => !picked.has(m.name)).map((m) => {
    const pkg = m.name.slice(0, m.name.lastIndexOf("/"));
    return { mutant: m, group: () => pkg };
  });
}

// found returns what is listed: what has the words searched for, or what is most instructive.
function found() {
  const wanted = $("g-search").value.trim().toLowerCase();
  if (wanted === "") return chosen;
  return [...chosen, ...rest].filter(({ mutant: m, group }) =>
    [m.name, m.what, m.file, m.by ?? "", ...(m.invariants ?? []), group()].some((text) => text.toLowerCase().includes(wanted)));
}

// sentence returns what a mutant does wrong, as a sentence.
const sentence = (m) => m.what[0].toUpperCase() + m.what.slice(1);

function showList() {
  if (!gallery) return;
  const listed = found();
  $("g-search").placeholder = say("g_search");
  set("g-found", listed.length ? say("g_n", listed.length).replace("{m}", gallery.mutants.length) : say("g_nothing"));
  rows($("mutants"), listed.length, () => {
    const item = make("li");
    const button = press("", (b) => choose(b.value), "coupon");
    const [what, name] = [make("strong"), make("small")];
    what.lang = name.lang = "en";
    button.append(what, name);
    item.append(make("h3"), button);
    return item;
  }).forEach((item, i) => {
    const { mutant, group } = listed[i];
    const [title, button] = item.children;
    title.textContent = group();
    title.hidden = listed[i - 1]?.group() === group();
    button.value = mutant.name;
    button.setAttribute("aria-pressed", String(mutant.name === open));
    button.children[0].textContent = sentence(mutant);
    button.children[1].textContent = [mutant.name, ...(mutant.invariants ?? [])].join(" · ");
  });
}

// choose goes to the address of an entry.
function choose(name) {
  asked = name;
  if (place().rest === name) return go();
  visit("gallery", name);
}

// kinds are the signs and classes of a diff's lines: what is taken away is right, and what is added is wrong.
const kinds = { "-": ["−", "good"], "+": ["+", "bad"], "@": ["", "hunk"] };

function show() {
  if (app.view !== "gallery") return;
  showList();
  const m = gallery?.mutants.find((m) => m.name === open);
  $("mutant").hidden = !m;
  if (!m) return;
  set("g-title", sentence(m));
  set("g-name", m.name);
  set("g-file", m.file);
  rows($("g-diff").lastElementChild, m.diff.length, () => make("li")).forEach((item, i) => {
    const line = m.diff[i];
    [item.dataset.sign, item.className] = kinds[line[0]] ?? ["", ""];
    item.textContent = (line[0] === "@" ? line : line.slice(1)) || " ";
  });
  $("g-by").hidden = !m.by;
  $("g-message").hidden = !m.message;
  $("g-by").firstElementChild.textContent = m.by ?? "";
  $("g-message").firstElementChild.textContent = m.message ?? "";
  rows($("g-killers"), m.killers.length, () => {
    const item = make("li");
    item.append(make("code"));
    return item;
  }).forEach((item, i) => { item.firstElementChild.textContent = "go test " + m.killers[i]; });
  const broken = m.invariants ?? [];
  $("g-breaks-title").hidden = broken.length === 0;
  rows($("g-breaks"), broken.length, () => make("li")).forEach((item, i) => {
    item.textContent = broken[i] + say("colon") + say(broken[i]);
  });
}

on("view back", load);
on("words", show);
$("g-search").addEventListener("input", showList);
