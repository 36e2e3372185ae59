// The contract as the page uses it. Every answer is {status, body, after, location}; a lost answer
// has the status 0. Tokens travel in a header, never in an address.

import { app, learn, session } from "./core.js";

let token = session.get("token") || "";
let adminToken = ""; // in memory only

export const loggedIn = () => token !== "";
export const isAdmin = () => adminToken !== "";

// identify sets the buyer's token, or none.
export function identify(text) {
  token = text;
  if (!text) forget();
  if (text) session.set("token", text);
  else session.remove("token");
}

// govern sets the administrator's token, or none, and reports whether it may be one.
export function govern(text) {
  const fits = text === "" || claims(text).role === "admin";
  adminToken = fits ? text : "";
  return fits;
}

// claims returns what a token claims. Only the server decides whether that is true.
function claims(text) {
  try {
    return JSON.parse(atob(text.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")));
  } catch {
    return {};
  }
}

export const userID = () => claims(token).sub ?? "";

// call asks as the buyer, as the administrator, as "" without a token, or with the token given.
export async function call(method, path, { body, key, permit, traceparent, as = "buyer", bearer, timeout = 10_000 } = {}) {
  const headers = {};
  const mine = bearer ?? { admin: adminToken, buyer: token, "": "" }[as];
  if (mine) headers.Authorization = "Bearer " + mine;
  if (body) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  if (permit) headers["Purchase-Token"] = permit;
  if (traceparent) headers.traceparent = traceparent;
  const a = await send("/api/v1" + path, { method, headers: new Headers(headers), body: body && JSON.stringify(body) }, timeout);
  if (!a) return { status: 0, body: {}, after: 0, location: null };
  const after = Number(a.headers.get("Retry-After")) * 1000 || 0;
  return { status: a.status, body: a.body, location: a.headers.get("Location"), after };
}

// send returns {status, headers, body} of an answer in JSON, or null if none came in time. Only the network is
// within the try: an error of this program must not look like a lost answer.
export async function send(address, request, timeout) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), timeout);
  const asked = performance.now();
  const coming = fetch(address, { ...request, signal: late.signal });
  let r, body, received;
  try {
    r = await coming;
    received = performance.now();
    body = await r.json();
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
  }
  const cached = !(r.headers.get("Cache-Control") ?? "").includes("no-store");
  learn(r.headers.get("Server-Time"), received, cached ? undefined : asked);
  return { status: r.status, headers: r.headers, body };
}

// rule asks as the administrator. A request that reads a whole sale may take long.
export const rule = (method, path, body) => call(method, "/admin" + path, { body, as: "admin", timeout: 40_000 });

export const mayAudit = () => isAdmin() || app.features.demo_admin;

let reader = ""; // a token for the audit alone

// readAudit reads the audit of a coupon as the administrator. A demonstration gives an administrator's token to
// every visitor that asks: this one reads and does nothing else.
export async function readAudit(couponID) {
  if (isAdmin()) return rule("GET", `/coupons/${couponID}/audit`);
  if (!reader) {
    const a = await call("POST", "/sessions", { body: { user_id: "1", role: "admin" }, as: "" });
    if (a.status !== 201) return a;
    reader = a.body.token;
  }
  const a = await call("GET", `/admin/coupons/${couponID}/audit`, { bearer: reader, timeout: 40_000 });
  if (a.status === 401) reader = "";
  return a;
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// mayAskAgain reports whether the outcome is unknown, or the server named a time to retry.
const mayAskAgain = (a) => a.status === 0 || (a.status >= 400 && a.after > 0 && a.body.code !== "cooldown");

// offline reports whether the browser says that it has no network.
export const offline = () => navigator.onLine === false;

// cutOff reports whether the server cannot be asked for want of a network. A browser without one says so, but a server on
// the same machine needs none.
export const cutOff = async () => offline() && (await call("GET", "/features", { as: "", timeout: 2_000 })).status === 0;

// online returns when the server can be asked again.
async function online() {
  do await Promise.race([sleep(2_000), new Promise((done) => addEventListener("online", done, { once: true }))]);
  while (await cutOff());
}

const hex = (bytes) => [...crypto.getRandomValues(new Uint8Array(bytes))].map((b) => b.toString(16).padStart(2, "0")).join("");

// A purchase under way is kept until its outcome is known, so that a page that is loaded again goes on with it: with the
// same key, or purchase token, or at the place in the queue that it has.
const keep = (p) => session.set("purchase", JSON.stringify(p));
const forget = () => session.remove("purchase");

// underWay returns the purchase that this buyer has under way, or null.
export function underWay() {
  const p = JSON.parse(session.get("purchase"));
  return p && p.user === userID() ? p : null;
}

// buy asks for one unit until the answer is definite. Every retry has the same key, so that a lost
// answer never becomes a second order. said receives the answers before the last. Without a network
// nothing is sent until there is one; while the server is known to be away, back is awaited.
export async function buy(couponID, said, back, { tokens = false } = {}) {
  const known = underWay();
  const p = known?.coupon === couponID ? known : { coupon: couponID, user: userID(), key: hex(16), permit: "", location: "" };
  keep(p);
  const a = p.location ? { status: 202, location: p.location, after: 1 } : await place(p, said, back, tokens);
  const last = a.status === 202 ? await settle({ ...p, location: a.location }, a, said, back) : a;
  if (last.status !== 0) forget();
  return last;
}

// place asks until the answer is definite or a promise to decide.
async function place(p, said, back, tokens) {
  const traceparent = app.features.traces ? `00-${hex(16)}-${hex(8)}-01` : ""; // one trace for all of them
  // A purchase token takes the place of the key; one that has expired has bought nothing.
  const ask = async () => {
    if (tokens && !p.permit) {
      const got = await call("POST", `/coupons/${p.coupon}/purchase-tokens`);
      if (got.status !== 201) return got;
      keep(Object.assign(p, { permit: got.body.token }));
    }
    const got = await call("POST", `/coupons/${p.coupon}/orders`, p.permit ? { permit: p.permit, traceparent } : { key: p.key, traceparent });
    if (got.body.code !== "purchase_token_expired") return got;
    p.permit = "";
    return { ...got, after: 1 };
  };
  let a;
  for (let attempt = 1, sent = false; ; attempt++) {
    if (await cutOff()) {
      said({ status: 0, body: {}, offline: true, sent });
      await online();
      attempt = 1;
    }
    sent = true;
    a = await ask();
    if (!mayAskAgain(a)) break;
    if (a.status === 0 && await cutOff()) continue;
    if (attempt === 5) {
      const returns = a.status === 0 && back();
      if (!returns) break;
      said({ ...a, away: true });
      await returns;
      attempt = 0;
      continue;
    }
    said(a);
    await sleep(Math.max(a.after, 300 * attempt));
  }
  if (a.status === 202) said(a);
  return a;
}

// settle asks for the outcome of a purchase that was answered 202. One that is queued keeps its place for as long as the
// server says so, however often the network or the server is away meanwhile.
async function settle(p, { after }, said, back) {
  keep(p);
  for (let i = 0; i < 40; i++) {
    await sleep(after || 1000);
    if (await cutOff()) {
      said({ status: 0, body: {}, offline: true, sent: true });
      await online();
    }
    const now = await call("GET", p.location.replace("/api/v1", ""));
    after = now.after;
    const returns = now.status === 0 && back();
    if (returns) {
      said({ ...now, away: true });
      await returns;
      i = 0;
    }
    if (now.status === 401) return now;
    if (now.status === 404 || now.body.status === "abandoned") return { ...now, status: 410, body: { code: "given_up" } };
    if (now.body.status === "not_drawn") return { ...now, status: 410, body: { code: "not_drawn" } };
    if (now.body.status === "queued") {
      said(now);
      i = 0;
    }
    if (now.status === 200 && !["in_doubt", "queued"].includes(now.body.status)) return { ...now, status: 201 };
  }
  return { status: 0, body: {}, after: 0 };
}
