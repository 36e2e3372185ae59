// What every script needs to know of the shop: where it is, its buyers, what is on
// sale, and how an answer is judged. Tokens are made beforehand (seckill token
// --users FROM-TO), one a line, so that logging in is not a part of the load.
//
// The environment: SECKILL_URL, ADMIN_TOKEN, TOKENS (a file), and if you like PEAK
// (taps a second), TIME (a factor for how long everything takes) and PATIENCE (a
// factor for how long an answer may take, and how many taps may go unsent).
import http from 'k6/http';
import exec from 'k6/execution';
import { check, fail, sleep } from 'k6';
import { Counter, Gauge, Trend } from 'k6/metrics';
import { SharedArray } from 'k6/data';

export const api = `${__ENV.SECKILL_URL || 'http://127.0.0.1:8080'}/api/v1`;
export const peak = Number(__ENV.PEAK || 1000);
const patience = Number(__ENV.PATIENCE || 1);

const tokens = new SharedArray('tokens', () => open(__ENV.TOKENS || './tokens.txt').trim().split('\n'));
export const buyers = tokens.length;

// Every tap has one outcome: asked is the sum of the three others.
export const asked = new Counter('orders_asked');
export const accepted = new Counter('orders_accepted');
export const refused = new Counter('orders_refused'); // by code
export const failed = new Counter('orders_failed'); // by answer
const stepsFailed = new Counter('steps_failed'); // payments and cancellations, by answer

// buyer_wait is the time that a buyer waits for the outcome of a call, by name. It has a value for each
// call, also for one that failed or got no answer in time.
const buyerWait = new Trend('buyer_wait', true);

// waited returns what the call returns, and measures how long the buyer waits for it. The clock covers
// everything between the tap and its outcome: DNS, a free connection, TCP, TLS, the answer, and the polls
// of a 202. http_req_duration has the answer alone. before is what the buyer has waited already.
function waited(name, call, before = 0) {
  const began = exec.instance.currentTestRunDuration; // a monotonic clock, in milliseconds
  try {
    return call();
  } finally {
    buyerWait.add(before + exec.instance.currentTestRunDuration - began, { name });
  }
}

// What the audit found, for the report.
const audited = Object.fromEntries(['clean', 'settled', 'oversold', 'duplicates', 'live', 'total'].map(
  (name) => [name, new Gauge(`audit_${name}`)]));

// codes are the refusals of the API; one that is not among them is a failure.
const codes = [
  'sold_out', 'not_drawn', 'limit_reached', 'cooldown', 'request_in_progress', 'not_started', 'rate_limited', 'overloaded', 'abandoned',
  'bad_request', 'unauthenticated', 'forbidden', 'not_found', 'method_not_allowed', 'too_large', 'unsupported_media_type', 'wrong_host',
  'purchase_token_required', 'purchase_token_invalid', 'purchase_token_expired', 'proof_rejected',
  'conflict', 'ended', 'idempotency_key_reused', 'sale_paused', 'stock_loading', 'unavailable', 'in_doubt', 'internal',
];

// answers are those that are neither an order nor a refusal of the API.
const answers = ['none', '5xx', 'undecided', 'other'];

// Refusals are answers, not errors.
http.setResponseCallback(http.expectedStatuses(200, 201, 202, 204, 403, 409, 410, 429, 503));

// seconds is a duration of a stage, longer or shorter if TIME says so.
export const seconds = (n) => `${Math.max(1, Math.round(n * Number(__ENV.TIME || 1)))}s`;

// planned is how many come in the stages of arrivals.
export const planned = (stages) =>
  stages.reduce((sum, s, i) => sum + (parseFloat(s.duration) * (s.target + stages[Math.max(0, i - 1)].target)) / 2, 0);

// arrivals is an open model: buyers come when they come, and a slow shop does not
// slow them down. An iteration that has begun may end: each of its calls has a limit.
export const arrivals = (stages, more = {}) => ({
  executor: 'ramping-arrival-rate',
  startRate: Math.ceil(stages[0].target),
  timeUnit: '1s',
  preAllocatedVUs: Math.max(50, peak),
  maxVUs: Math.max(1000, 3 * peak),
  gracefulStop: '60s',
  stages: stages.map((s) => ({ ...s, target: Math.ceil(s.target) })),
  ...more,
});

// under are the bounds of a wait in milliseconds, wider if PATIENCE says so.
export const under = (bounds) => Object.entries(bounds).map(([p, ms]) => `${p}<${ms * patience}`);

// verdicts are the thresholds of every script: no tap without an answer, no refusal but
// those that the script expects, as many taps as were planned but for one in a hundred,
// and a clean audit. Each code is named so that the report has a figure for it, and so is the server's
// part of the wait for an order, which has no bound of its own.
export const verdicts = (plan, ...expected) => ({
  'buyer_wait{name:buy}': ['max>=0'],
  'http_req_duration{name:buy}': ['max>=0'],
  'checks{audit:yes}': ['rate==1'],
  dropped_iterations: [`count<=${Math.ceil((plan * patience) / 100)}`],
  steps_failed: ['count<1'],
  orders_failed: ['count<1'],
  ...Object.fromEntries(answers.map((a) => [`orders_failed{answer:${a}}`, ['count<1']])),
  ...Object.fromEntries(codes.map((c) => [`orders_refused{code:${c}}`, [expected.includes(c) ? 'count>=0' : 'count<1']])),
});

const as = (i) => ({ Authorization: `Bearer ${tokens[i % buyers]}` });
const admin = () => ({ Authorization: `Bearer ${__ENV.ADMIN_TOKEN}`, 'Content-Type': 'application/json' });

// sell puts a coupon on sale and says whether buying needs a purchase token; it is for setup().
export function sell(stock, { limit = 1, opensIn = -1 } = {}) {
  const can = http.get(`${api}/features`, { tags: { name: 'setup' } });
  if (can.status !== 200) fail(`no features: ${can.status} ${can.body}`);
  const now = Date.parse(can.headers['Server-Time']) || Date.now(); // the clock that opens the sale
  const made = http.post(`${api}/admin/coupons`, JSON.stringify({
    title: 'Load test', stock, limit_per_user: limit,
    begins_at: new Date(now + opensIn * 1000).toISOString(), ends_at: new Date(now + 86400e3).toISOString(),
  }), { headers: admin(), tags: { name: 'setup' } });
  if (made.status !== 201) fail(`no coupon: ${made.status} ${made.body}`);
  const id = made.json('id');
  const open = http.post(`${api}/admin/coupons/${id}/publication`, null, { headers: admin(), tags: { name: 'setup' }, timeout: '60s' });
  if (open.status !== 200) fail(`not published: ${open.status} ${open.body}`);
  return { coupon: id, stock, purchaseToken: can.json('purchase_token') === true };
}

// wish returns what makes all taps with it one wish of the i-th buyer: a purchase token if
// the shop wants one, and otherwise the key, if there is one. It is null if the shop refuses.
// The buyer's wait for the token is a part of the wait for the first tap.
export function wish({ coupon, purchaseToken }, i, key) {
  const headers = as(i);
  if (!purchaseToken) {
    if (key) headers['Idempotency-Key'] = key;
    return { headers, took: 0 };
  }
  const began = exec.instance.currentTestRunDuration;
  const res = http.post(`${api}/coupons/${coupon}/purchase-tokens`, null, { headers, tags: { name: 'purchase_token' }, timeout: '10s' });
  const took = exec.instance.currentTestRunDuration - began;
  if (res.status !== 201) {
    asked.add(1);
    return waited('buy', () => count(res), took);
  }
  headers['Purchase-Token'] = res.json('token');
  return { headers, took };
}

// tap taps once with a wish of the i-th buyer and counts what became of it. The answer is
// an order, or null.
export function tap({ coupon }, i, one) {
  const before = one.took;
  one.took = 0;
  return waited('buy', () => {
    asked.add(1);
    const res = http.post(`${api}/coupons/${coupon}/orders`, null, { headers: one.headers, tags: { name: 'buy' }, timeout: '10s' });
    if (res.status === 202) return wait(res, i);
    const order = res.status === 201 ? parsed(res) : null;
    if (order === null) return count(res);
    accepted.add(1);
    return order;
  }, before);
}

// buy is a wish and one tap.
export function buy(sale, i, key) {
  const one = wish(sale, i, key);
  return one && tap(sale, i, one);
}

// parsed is the object of an answer, or null.
function parsed(res) {
  try {
    return res.json();
  } catch (e) {
    return null;
  }
}

// refusal is the code of an answer that the API knows, or ''.
function refusal(res) {
  const body = res.status >= 400 && res.headers['Content-Type'] === 'application/problem+json' ? parsed(res) : null;
  return body !== null && codes.includes(body.code) ? body.code : '';
}

// answer is the kind of an answer that is no refusal of the API.
const answer = (res) => (res.status === 0 ? 'none' : res.status >= 500 ? '5xx' : 'other');

// count counts an answer that is no order.
function count(res) {
  const code = refusal(res);
  if (code) refused.add(1, { code });
  else failed.add(1, { answer: answer(res) });
  return null;
}

// wait polls a 202 until it is an order or a refusal, as its promise is: 30 seconds. Each
// answer says when to ask again.
function wait(first, i) {
  const place = (first.headers.Location || '').split('/api/v1')[1];
  const until = Date.now() + 30000;
  for (let said = first; place && Date.now() < until; ) {
    sleep(Number(said.headers['Retry-After']) || 0.5);
    const res = http.get(`${api}${place}`, { headers: as(i), tags: { name: 'poll' }, timeout: '10s' });
    said = res;
    const order = res.status === 200 ? parsed(res) : null;
    const status = order === null ? '' : order.status;
    if (['pending', 'paid', 'cancelled', 'expired'].includes(status)) {
      accepted.add(1);
      return order;
    }
    if (res.status === 404 || status === 'abandoned' || status === 'not_drawn') {
      refused.add(1, { code: status === 'not_drawn' ? status : 'abandoned' });
      return null;
    }
  }
  failed.add(1, { answer: 'undecided' });
  return null;
}

// turn pays or cancels an order of the i-th buyer: what is 'payment' or 'cancellation'.
export function turn(order, i, what) {
  const ask = () => http.post(`${api}/orders/${order.id}/${what}`, null, { headers: as(i), tags: { name: what }, timeout: '10s' });
  const res = waited(what, ask);
  const code = refusal(res);
  if (res.status !== 200 && !['conflict', 'rate_limited', 'overloaded'].includes(code)) stepsFailed.add(1, { answer: code || answer(res) });
  return res;
}

// nth is which iteration of the whole test this is, and so which buyer comes.
export const nth = () => exec.scenario.iterationInTest;

// audit is the verdict at the end: a speed whose audit is not clean is no speed. What
// was cut off is settled within half a minute.
export function audit({ coupon }) {
  let report;
  for (let i = 0; i < 80; i++) {
    const res = http.get(`${api}/admin/coupons/${coupon}/audit`, { headers: admin(), tags: { name: 'audit' }, timeout: '60s' });
    report = (res.status === 200 && parsed(res)) || {};
    if (report.settled) break;
    sleep(0.5);
  }
  check(report, {
    'audit is clean': (r) => r.clean === true,
    'audit is settled': (r) => r.settled === true,
    'nothing oversold': (r) => r.oversold === 0,
    'no user above the limit': (r) => r.duplicates === 0,
  }, { audit: 'yes' });
  for (const [name, gauge] of Object.entries(audited)) {
    if (report[name] !== undefined) gauge.add(Number(report[name]));
  }
  console.log(`audit: ${report.clean ? 'clean' : JSON.stringify(report.violations)}; ${report.live} of ${report.total} sold`);
  return report;
}

// soldAll is audit for a sale that more want than can have.
export function soldAll(data) {
  const report = audit(data);
  check(report, { 'sold to the last unit': (r) => r.live === r.total && r.stock === 0 }, { audit: 'yes' });
}
