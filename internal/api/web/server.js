// The contract as the page uses it. Every answer is {status, body, after, location};
// an answer that did not come has the status 0.

let token = sessionStorage.getItem("token") || "";

export const loggedIn = () => token !== "";

// identify takes a token, or none, and says whose it is.
export function identify(text) {
  token = text;
  if (text) sessionStorage.setItem("token", text);
  else sessionStorage.removeItem("token");
}

export function userID() {
  try {
    return JSON.parse(atob(token.split(".")[1].replace(/-/g, "+").replace(/_/g, "/"))).sub;
  } catch {
    return "";
  }
}

export async function call(method, path, { body, key } = {}) {
  const headers = {};
  if (token) headers.Authorization = "Bearer " + token;
  if (body) headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  try {
    const r = await fetch("/api/v1" + path, {
      method, headers, body: body && JSON.stringify(body), signal: AbortSignal.timeout(10_000),
    });
    return {
      status: r.status, body: await r.json(), location: r.headers.get("Location"),
      after: Number(r.headers.get("Retry-After")) * 1000,
    };
  } catch {
    return { status: 0, body: {}, after: 0, location: null };
  }
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// mayAskAgain: nothing is known yet, or the server said when to come back.
const mayAskAgain = (a) => a.status === 0 || (a.status >= 400 && a.after > 0);

// buy asks for one unit until the answer is a definite one. Every repetition has the
// same key, so that a lost answer never becomes a second order. said is told of
// answers that are not the last.
export async function buy(couponID, said) {
  const key = [...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, "0")).join("");
  let a;
  for (let attempt = 1; ; attempt++) {
    a = await call("POST", `/coupons/${couponID}/orders`, { key });
    if (!mayAskAgain(a) || attempt === 5) break;
    said(a);
    await sleep(Math.max(a.after, 300 * attempt));
  }
  if (a.status !== 202) return a;
  said(a);
  for (let i = 0; i < 40; i++) {
    await sleep(a.after || 1000);
    const now = await call("GET", a.location.replace("/api/v1", ""));
    if (now.status === 404 || now.body.status === "void") return { ...now, status: 410, body: { code: "given_up" } };
    if (now.status === 200 && now.body.status !== "in_doubt") return { ...now, status: 201 };
  }
  return { status: 0, body: {}, after: 0 };
}
