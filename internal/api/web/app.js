// The page: its views, its language, its light or dark colours. Each view is a module that listens
// for what concerns it.
//
//	server ─▶ live (the stream) ─▶ core (what is known) ─▶ sale, overview, moment, orders, engine, rush, admin, lab, gallery
import { $, app, lasting, on, say, tell } from "./core.js";
import { call } from "./server.js";
import { follow, loadCoupons } from "./live.js";
import { loadOrders } from "./orders.js";
import { place, views } from "./router.js";
import "./sale.js";
import "./overview.js";
import "./moment.js";
import "./engine.js";
import "./rush.js";
import "./admin.js";
import "./lab.js";
import "./gallery.js";

// go shows the view that the address names.
function go(event) {
  if (event && location.hash === "#main") return; // the skip link
  const another = app.view !== place().view;
  app.view = place().view;
  for (const v of views) $("view-" + v).hidden = v !== app.view;
  const within = app.view === "gallery" ? "lab" : app.view;
  for (const link of $("views").children) {
    if (link.hash === "#" + within) link.setAttribute("aria-current", within === app.view ? "page" : "true");
    else link.removeAttribute("aria-current");
  }
  title();
  follow();
  tell("view");
  if (event && another) $("main").focus({ preventScroll: true });
}

const title = () => { document.title = `${say("view_" + app.view)} · seckill`; };

function speak(language) {
  app.language = language;
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const e of document.querySelectorAll("[data-say]")) e.textContent = say(e.dataset.say);
  for (const e of document.querySelectorAll("[data-label]")) e.setAttribute("aria-label", say(e.dataset.label));
  nameTheme();
  $("language").textContent = say("other");
  $("language").lang = language === "zh" ? "en" : "zh-Hans";
  if (app.view) title();
  tell("words");
}

// asked returns the language that the address names, as ?lang=zh does.
const asked = () => known(new URLSearchParams(location.search).get("lang"));

const known = (language) => ["en", "zh"].find((l) => l === language);

const prefersDark = window.matchMedia?.("(prefers-color-scheme: dark)");

// The button goes from the system's light to the other one, to the system's own as a choice, and back to the system.
function nextTheme() {
  const system = prefersDark?.matches ? "dark" : "light", other = system === "dark" ? "light" : "dark";
  return { [other]: system, [system]: "" }[lasting.get("theme")] ?? other;
}

function turn(theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
  nameTheme();
  tell("theme");
}

const nameTheme = () => {
  const text = say("theme", say("theme_" + (document.documentElement.dataset.theme ?? "system")));
  $("theme").title = text;
  $("theme").setAttribute("aria-label", text);
};

$("language").addEventListener("click", () => {
  const language = app.language === "en" ? "zh" : "en";
  lasting.set("language", language);
  if (asked()) history.replaceState(null, "", location.pathname + location.hash); // the later choice counts
  speak(language);
});
$("theme").addEventListener("click", () => {
  const theme = nextTheme();
  if (theme) lasting.set("theme", theme);
  else lasting.remove("theme");
  turn(theme);
});
prefersDark?.addEventListener?.("change", () => tell("theme"));
addEventListener("hashchange", go);
on("back", features);

// Another design may make the orders: then the page says so in every view.
on("words features", () => {
  const { design } = app.features;
  $("design").hidden = !design;
  $("design").textContent = design ? say(design.wrong ? "design_wrong" : "design_right", design.name) : "";
});

async function features() {
  const a = await call("GET", "/features");
  if (a.status !== 200) return;
  app.features = a.body;
  tell("features");
}

async function begin() {
  if (["light", "dark"].includes(lasting.get("theme"))) turn(lasting.get("theme"));
  $("theme").hidden = !window.CSS?.supports("color", "light-dark(#fff, #000)"); // colours.css has no dark colours then
  speak(asked() ?? known(lasting.get("language")) ?? (navigator.language?.startsWith("zh") ? "zh" : "en"));
  go();
  setInterval(() => tell("tick"), 250);
  await features();
  await loadCoupons();
  tell("listed");
  document.documentElement.dataset.started = "";
  await loadOrders();
}

begin();
