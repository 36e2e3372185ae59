// The page: what is on sale, the sale that is looked at, and the orders of the user.
// Text from the server is only ever put in with textContent.
import { words } from "./words.js";
import { buy, call, identify, loggedIn, userID } from "./server.js";

const $ = (id) => document.getElementById(id);
const page = { language: "en", coupons: [], cursor: "", chosen: null, stream: null, skew: 0, orders: [], outcome: null };

// ---- words

const say = (name, n) => (words[page.language][name] ?? name).replace("{n}", n ?? "");
const number = (n) => n.toLocaleString(page.language);
const money = (cents) => (cents === 0 ? say("free") : (cents / 100).toLocaleString(page.language, { minimumFractionDigits: 2 }));

function speak(language) {
  page.language = language;
  localStorage.setItem("language", language);
  document.documentElement.lang = language === "zh" ? "zh-Hans" : "en";
  for (const e of document.querySelectorAll("[data-say]")) e.textContent = say(e.dataset.say);
  $("language").textContent = say("other");
  showAll();
}

// problem is a refusal in words.
function problem(a) {
  if (a.status === 0) return say("no_answer");
  const code = a.body.code === "ended" ? "ended_code" : a.body.code;
  return say(code, a.body.id);
}

// ---- time

const now = () => Date.now() + page.skew;

function span(ms) {
  const s = Math.max(0, Math.ceil(ms / 1000));
  const two = (n) => String(n).padStart(2, "0");
  const days = Math.floor(s / 86400);
  return (days ? days + " d " : "") + two(Math.floor(s / 3600) % 24) + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
}

function countdown(c) {
  if (c.state === "ended" || now() >= Date.parse(c.ends_at)) return say("over");
  if (now() < Date.parse(c.begins_at)) return say("starts", span(Date.parse(c.begins_at) - now()));
  return say("ends", span(Date.parse(c.ends_at) - now()));
}

// ---- coupons

function make(tag, text, className) {
  const e = document.createElement(tag);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

async function loadCoupons(cursor = "") {
  const a = await call("GET", "/coupons?limit=50" + (cursor ? "&cursor=" + cursor : ""));
  if (a.status !== 200) return notice(problem(a));
  page.coupons = cursor ? [...page.coupons, ...a.body.coupons] : a.body.coupons;
  page.cursor = a.body.next_cursor;
  if (!page.chosen && page.coupons.length) {
    choose((page.coupons.find((c) => c.state === "on_sale") ?? page.coupons[0]).id);
  }
  showCoupons();
}

function showCoupons() {
  $("coupons").replaceChildren(...page.coupons.map((c) => {
    const item = make("li");
    const button = make("button", undefined, "coupon");
    button.setAttribute("aria-pressed", String(c.id === page.chosen));
    button.append(make("strong", c.title), make("span", say(c.state), "badge " + c.state));
    button.append(make("small", `${money(c.price_cents)} · ${say("left")} ${number(c.left)}`));
    button.addEventListener("click", () => choose(c.id));
    item.append(button);
    return item;
  }));
  $("more").hidden = page.cursor === "";
}

const chosen = () => page.coupons.find((c) => c.id === page.chosen);

function choose(id) {
  page.chosen = id;
  page.outcome = null;
  $("shards").replaceChildren();
  watch();
  showCoupons();
  showSale();
}

function showSale() {
  const c = chosen();
  $("sale").hidden = !c;
  if (!c) return;
  $("stage-title").textContent = c.title;
  delete $("stage-title").dataset.say;
  $("stage-state").textContent = say(c.state);
  $("stage-state").className = "badge " + c.state;
  $("price").textContent = `${money(c.price_cents)} · ${say("limit", number(c.limit_per_user))}`;
  $("buy").disabled = !loggedIn() || page.buying === true;
  $("outcome").textContent = page.outcome ? page.outcome.text() : loggedIn() ? "" : say("loginFirst");
  $("outcome").className = page.outcome?.kind ?? "";
  figures({ stock: c.stock, left: c.left, sold: c.stock - c.left, orders_per_second: c.pace ?? 0, shards: c.shards ?? [] });
}

// figures shows one look at the sale.
function figures(e) {
  $("left").textContent = number(e.left);
  $("sold").textContent = number(e.sold);
  $("total").textContent = number(e.stock);
  $("pace").textContent = number(e.orders_per_second);
  const part = e.stock ? Math.round((100 * e.left) / e.stock) : 0;
  $("gauge").setAttribute("aria-valuenow", part);
  $("gauge").setAttribute("aria-label", say("left"));
  $("gauge").firstElementChild.style.width = part + "%";
  const list = $("shards");
  while (list.childElementCount > e.shards.length) list.lastElementChild.remove();
  while (list.childElementCount < e.shards.length) {
    const bar = make("li");
    bar.append(make("i"), make("span"));
    list.append(bar);
  }
  const full = Math.max(1, Math.ceil(e.stock / Math.max(1, e.shards.length)));
  e.shards.forEach((n, k) => {
    const bar = list.children[k];
    bar.firstElementChild.style.height = Math.min(100, (100 * n) / full) + "%";
    bar.lastElementChild.textContent = number(n);
    bar.setAttribute("aria-label", `${say("shard", k)}: ${number(n)}`);
  });
}

// watch follows the chosen sale, and only while somebody can see the page: a browser
// has six connections to a server, for all its tabs together.
function watch() {
  page.stream?.close();
  page.stream = null;
  if (!page.chosen || document.hidden) return;
  const id = page.chosen;
  const stream = new EventSource(`/api/v1/coupons/${id}/live`);
  page.stream = stream;
  stream.addEventListener("sale", (m) => {
    const e = JSON.parse(m.data);
    const c = chosen();
    if (!c || c.id !== e.coupon_id) return;
    page.skew = Date.parse(e.at) - Date.now();
    const changed = c.state !== e.state;
    Object.assign(c, { state: e.state, left: e.left, stock: e.stock, shards: e.shards, pace: e.orders_per_second });
    if (changed) showAll();
    figures(e);
    notice("");
  });
  stream.addEventListener("trouble", () => notice(say("trouble")));
  stream.addEventListener("error", () => {
    if (page.stream !== stream) return;
    notice(say("lost"));
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => page.stream === stream && watch(), 2000);
  });
}

// ---- buying

async function purchase() {
  const id = page.chosen;
  const tell = (kind, text) => {
    if (page.chosen !== id) return;
    page.outcome = { kind, text };
    showSale();
  };
  page.buying = true;
  $("buy").textContent = say("buying");
  tell("", () => "");
  const a = await buy(id, (early) => tell("wait", () =>
    early.status === 202 ? say("wait", early.body.id) : say("again", problem(early))));
  page.buying = false;
  $("buy").textContent = say("buy");
  if (a.status === 201) tell("good", () => say("bought", a.body.id));
  else tell("bad", () => problem(a));
  leaveIfUnknown(a);
  loadOrders();
}

// ---- orders

async function loadOrders() {
  if (!loggedIn()) {
    page.orders = [];
    return showOrders();
  }
  const a = await call("GET", "/orders?limit=50");
  if (a.status === 200) page.orders = a.body.orders;
  else if (!leaveIfUnknown(a)) notice(problem(a));
  showOrders();
}

async function change(o, what) {
  const a = await call("POST", `/orders/${o.id}/${what}`);
  notice(a.status === 200 ? "" : problem(a));
  leaveIfUnknown(a);
  loadOrders();
}

function showOrders() {
  $("no-orders").textContent = page.orders.length ? "" : say(loggedIn() ? "noOrders" : "loginFirst");
  $("orders").replaceChildren(...page.orders.map((o) => {
    const item = make("li");
    const title = page.coupons.find((c) => c.id === o.coupon_id)?.title ?? o.coupon_id;
    item.append(make("strong", title), make("span", say(o.status), "badge " + o.status));
    item.append(make("small", `${o.id} · ${money(o.price_cents)}`));
    if (o.status === "pending") {
      const left = make("small", "", "due");
      left.dataset.until = o.expires_at;
      const row = make("div", undefined, "row");
      for (const [word, what, kind] of [["pay", "payment", ""], ["cancel", "cancellation", "quiet"]]) {
        const button = make("button", say(word), kind);
        button.setAttribute("aria-label", `${say(word)} ${o.id}`);
        button.addEventListener("click", () => { button.disabled = true; change(o, what); });
        row.append(button);
      }
      item.append(left, row);
    }
    return item;
  }));
  tick();
}

// ---- who

async function login(event) {
  event.preventDefault();
  const a = await call("POST", "/sessions", { body: { user_id: $("user").value.trim() } });
  if (a.status === 201) return enter(a.body.token);
  if (a.status === 404) {
    $("login").hidden = true;
    $("paste").hidden = false;
    return notice(say("noDemo"));
  }
  notice(problem(a));
}

function enter(text) {
  identify(text);
  page.outcome = null;
  notice("");
  showWho();
  showSale();
  loadOrders();
}

// leaveIfUnknown forgets a token that the server does not know any more.
function leaveIfUnknown(a) {
  if (a.status !== 401) return false;
  enter("");
  notice(problem(a));
  return true;
}

function showWho() {
  $("who").hidden = !loggedIn();
  $("login").hidden = loggedIn() || !$("paste").hidden;
  if (loggedIn()) $("paste").hidden = true;
  $("who").firstElementChild.textContent = say("iam", userID());
}

// ---- the whole

function notice(text) { $("notice").textContent = text; }

function showAll() {
  showCoupons();
  showSale();
  showOrders();
  showWho();
}

function tick() {
  const c = chosen();
  if (c) $("countdown").textContent = countdown(c);
  for (const e of document.querySelectorAll("[data-until]")) {
    e.textContent = say("payIn", span(Date.parse(e.dataset.until) - now()));
  }
}

function turn(theme) {
  document.documentElement.dataset.theme = theme;
  localStorage.setItem("theme", theme);
}

$("login").addEventListener("submit", login);
$("paste").addEventListener("submit", (event) => { event.preventDefault(); enter($("token").value.trim()); });
$("logout").addEventListener("click", () => enter(""));
$("buy").addEventListener("click", purchase);
$("more").addEventListener("click", () => loadCoupons(page.cursor));
$("language").addEventListener("click", () => speak(page.language === "en" ? "zh" : "en"));
$("theme").addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  turn(dark === "dark" ? "light" : "dark");
});
document.addEventListener("visibilitychange", watch);

if (localStorage.getItem("theme")) turn(localStorage.getItem("theme"));
$("user").value = String(1 + Math.floor(Math.random() * 1_000_000));
speak(localStorage.getItem("language") ?? (navigator.language.startsWith("zh") ? "zh" : "en"));
loadCoupons().then(loadOrders);
setInterval(tick, 500);
setInterval(() => !document.hidden && page.cursor === "" && loadCoupons(), 10_000);
setInterval(() => !document.hidden && page.orders.some((o) => o.status === "pending") && loadOrders(), 10_000);
