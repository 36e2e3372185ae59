// The buyer's session, and the buyer's orders.
import { $, app, badge, make, money, notice, now, on, press, problem, say, set, span, tell, timed, titled } from "./core.js";
import { call, identify, loggedIn, userID } from "./server.js";
import { trace } from "./trace.js";

let orders = [];
let again = false, reading;

// loadOrders reads the orders, and returns when they are as new as the call. What is asked for while they are on
// their way may be newer than they are, and is read after them.
export function loadOrders() {
  again = true;
  return reading ??= read();
}

async function read() {
  await null; // until loadOrders has set reading
  try {
    while (again && loggedIn()) {
      again = false;
      const whose = userID();
      const a = await call("GET", "/orders?limit=50");
      if (whose !== userID()) {
        again = true;
      } else if (a.status === 200) {
        orders = a.body.orders;
        tell("orders");
      } else if (a.status && !leaveIfUnknown(a)) notice(problem(a));
    }
    if (!loggedIn()) {
      orders = [];
      tell("orders");
    }
  } finally {
    reading = undefined;
  }
  show();
}

// bought returns how many live orders of a coupon the buyer is known to have.
export const bought = (couponID) => orders.filter((o) => o.coupon_id === couponID && ["pending", "paid"].includes(o.status)).length;

// orderOf returns the latest live order of a coupon that the buyer is known to have.
export const orderOf = (couponID) => orders.find((o) => o.coupon_id === couponID && ["pending", "paid"].includes(o.status));

async function change(o, what) {
  const a = await call("POST", `/orders/${o.id}/${what}`);
  notice(a.status === 200 ? "" : problem(a));
  if (a.status === 200) tell("changed", { order: o, what });
  leaveIfUnknown(a);
  await loadOrders();
  $("mine-title").focus({ preventScroll: true });
}

function show() {
  set("no-orders", orders.length ? "" : say(loggedIn() || app.features.demo_login ? "noOrders" : "loginFirst"));
  const title = (o) => {
    const c = app.coupons.find((c) => c.id === o.coupon_id);
    return c ? titled(c) : o.coupon_id;
  };
  list(JSON.stringify([app.language, app.features.traces, orders, orders.map(title)]), title);
  tick();
  $("who").hidden = !loggedIn();
  $("login").hidden = loggedIn() || !app.features.demo_login;
  $("paste").hidden = loggedIn() || app.features.demo_login;
  set("who-name", say("iam", userID()));
}

let listed = "";

// list rebuilds the list only if it has changed: a rebuilt button loses the focus.
function list(as, title) {
  if (as === listed) return;
  listed = as;
  const within = $("orders").contains(document.activeElement);
  $("orders").replaceChildren(...orders.map((o) => {
    const item = make("li");
    item.dataset.order = o.id;
    const state = make("span");
    badge(state, o.status);
    item.append(make("strong", title(o)), state, make("small", `${o.id} · ${money(o.price_cents)}`));
    if (o.status === "pending") {
      const due = make("small", "", "due");
      due.dataset.until = o.expires_at;
      const row = make("div", undefined, "row");
      for (const [word, what, kind] of [["pay", "payment", "small"], ["cancel", "cancellation", "quiet small"]]) {
        const button = press(say(word), async (b) => { b.disabled = true; await change(o, what); b.disabled = false; }, kind);
        button.setAttribute("aria-label", `${say(word)} ${o.id}`);
        row.append(button);
      }
      item.append(due, row);
    }
    item.append(trace(o));
    return item;
  }));
  if (within) $("mine-title").focus({ preventScroll: true });
}

// tick shows the time that is left to pay, and reads the orders again when it is over.
function tick() {
  let over = false;
  for (const e of $("orders").querySelectorAll("[data-until]")) {
    if (!timed()) continue;
    const left = Date.parse(e.dataset.until) - now();
    e.textContent = say("payIn", span(left));
    over ||= left < 0;
  }
  if (over) loadOrders();
}

async function login(event) {
  event.preventDefault();
  const a = await logIn();
  if (a.status === 201) $("mine-title").focus({ preventScroll: true });
  else notice(problem(a));
}

// logIn asks for a session of the user whose number is in the form, as a demonstration gives it to any visitor.
export async function logIn() {
  const a = await call("POST", "/sessions", { body: { user_id: $("user").value.trim() } });
  if (a.status === 201) enter(a.body.token);
  return a;
}

function enter(text) {
  if (/[^!-~]/.test(text)) return notice(say("unauthenticated")); // no header can carry it
  identify(text);
  notice("");
  tell("who");
  show();
  loadOrders();
}

// come is enter on a press: the pressed button is hidden now, and the focus stays near.
function come(text) {
  enter(text);
  $("mine-title").focus({ preventScroll: true });
}

// leaveIfUnknown forgets a token that the server refuses.
export function leaveIfUnknown(a) {
  if (a.status !== 401) return false;
  enter("");
  notice(problem(a));
  return true;
}

on("words coupons features", show);
on("back", loadOrders);
on("tick", tick);
$("login").addEventListener("submit", login);
$("paste").addEventListener("submit", (event) => { event.preventDefault(); come($("token").value.trim()); $("token").value = ""; });
$("logout").addEventListener("click", () => come(""));
$("user").value = String(1 + Math.floor(Math.random() * 1_000_000));
setInterval(() => !document.hidden && orders.some((o) => o.status === "pending" || o.status === "in_doubt") && loadOrders(), 5_000);
