// The parts that all scenarios share: the requests to the shop, the metrics, the thresholds and the summary.
// loadtest/README.md describes the environment. Tokens exist before the test starts, so logging in is not part
// of the load.
import http from 'k6/http';
import exec from 'k6/execution';
import { check, sleep } from 'k6';
import { Counter, Gauge, Trend } from 'k6/metrics';
import { SharedArray } from 'k6/data';
import { closedModel, read } from './settings.js';
import { figuresOf, table } from './summary.js';

const environment = read(__ENV);
export const settings = environment.settings;

// problem is why this test cannot run, or ''. createSale reports it: an error outside setup has a stack.
let problem = environment.problem;

export const api = `${settings.url}/api/v1`;

const tokens = readTokens();
export const buyers = tokens.length;

// peak is the number of requests per second at the peak. With a problem there is no load.
export const peak = problem ? 1 : settings.peak;

// readTokens returns the tokens of the buyers, one per line of the file.
function readTokens() {
  try {
    const found = new SharedArray('tokens', () => open(settings.tokens).split('\n').map((line) => line.trim()).filter((line) => line));
    if (found.length > 1) return found;
    problem = problem || `${settings.tokens} has fewer than two tokens: make it with \`seckill token --users 1-20000\``;
  } catch (e) {
    problem = problem || `there is no file ${settings.tokens} with the tokens of the buyers: make it with \`seckill token --users 1-20000\`, and set LT_TOKENS`;
  }
  return [''];
}

// Each purchase request has one outcome. So requests is the sum of the four counters below it.
const requests = new Counter('requests');
const orders = new Counter('orders'); // each order once
const repeats = new Counter('repeats'); // an order that an earlier request of the same purchase has got
const refused = new Counter('refused'); // by code
const noAnswer = new Counter('no_answer'); // by kind: neither an order nor a refusal of the API

const paid = new Counter('orders_paid');
const cancelled = new Counter('orders_cancelled');
const stepsFailed = new Counter('steps_failed'); // payments and cancellations, by code or kind

// buyer_wait is the time that a buyer waits for the outcome of a call, by name and outcome. It has a value for
// each call, also for a call that failed or got no answer in time.
const buyerWait = new Trend('buyer_wait', true);

// Milliseconds from the start of the test to each request and to each order. Their smallest and largest values
// say how long the sale took.
const requestTime = new Gauge('request_time');
const orderTime = new Gauge('order_time');

// now is the monotonic clock of the test, in milliseconds.
const now = () => exec.instance.currentTestRunDuration;

// timed returns the value of a call and measures how long the buyer waits for it. The time covers everything from
// the request to its outcome: DNS, a free connection, TCP, TLS, the answer, and the polls of a 202.
// http_req_duration covers only the answer. The argument before is the time that the buyer has waited already.
function timed(name, call, before = 0) {
  const began = now();
  let outcome = 'no_answer';
  try {
    const done = call();
    outcome = done.outcome;
    return done.value;
  } finally {
    buyerWait.add(before + now() - began, { name, outcome });
  }
}

// The numbers of the audit, for the summary.
const audited = Object.fromEntries(['clean', 'settled', 'oversold', 'duplicates', 'orders', 'live', 'total', 'stock'].map(
  (name) => [name, new Gauge(`audit_${name}`)]));

// codes are the refusals of the API. An answer with another code counts as no answer.
const codes = [
  'sold_out', 'not_drawn', 'limit_reached', 'cooldown', 'request_in_progress', 'not_started', 'rate_limited', 'overloaded', 'abandoned',
  'bad_request', 'unauthenticated', 'forbidden', 'not_found', 'method_not_allowed', 'too_large', 'unsupported_media_type', 'wrong_host',
  'purchase_token_required', 'purchase_token_invalid', 'purchase_token_expired', 'proof_rejected',
  'conflict', 'ended', 'idempotency_key_reused', 'sale_paused', 'stock_loading', 'unavailable', 'in_doubt', 'internal',
];

// kinds are the kinds of no answer.
const kinds = ['none', '5xx', 'undecided', 'other'];

// A refusal is an answer. For k6 it is not an error.
http.setResponseCallback(http.expectedStatuses(200, 201, 202, 204, 403, 409, 410, 429, 503));

// seconds is the duration of a stage, times the duration factor.
export const seconds = (n) => `${Math.max(1, Math.round(n * settings.durationFactor))}s`;

// plannedIterations is the number of iterations in the stages.
export const plannedIterations = (stages) =>
  stages.reduce((sum, s, i) => sum + (parseFloat(s.duration) * (s.target + stages[Math.max(0, i - 1)].target)) / 2, 0);

// arrivals is an open model: a slow shop does not slow down the arrivals of buyers. An iteration may end after the
// last stage, because each of its calls has a time limit.
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

// latencyThresholds are bounds of a wait in milliseconds, times the latency factor.
export const latencyThresholds = (bounds) => Object.entries(bounds).map(([p, ms]) => `${p}<${ms * settings.latencyFactor}`);

// baseThresholds are the thresholds of every scenario: each request has an answer, no refusal has a code that the
// scenario does not expect, at most one iteration in a hundred is missing, and the audit is clean. k6 keeps the
// figures of a tag only if a threshold names it, so some of the thresholds always hold.
export const baseThresholds = (plan, ...expected) => ({
  'buyer_wait{name:buy}': ['max>=0'],
  'buyer_wait{name:buy,outcome:order}': ['max>=0'],
  'buyer_wait{name:buy,outcome:refused}': ['max>=0'],
  'http_req_duration{name:buy}': ['max>=0'],
  'checks{audit:yes}': ['rate==1'],
  dropped_iterations: [`count<=${Math.ceil((plan * settings.latencyFactor) / 100)}`],
  steps_failed: ['count<1'],
  no_answer: ['count<1'],
  ...Object.fromEntries(kinds.map((kind) => [`no_answer{answer:${kind}}`, ['count<1']])),
  ...Object.fromEntries(codes.map((c) => [`refused{code:${c}}`, [expected.includes(c) ? 'count>=0' : 'count<1']])),
});

// trendStats are the percentiles that the summary needs.
export const trendStats = ['count', 'med', 'p(95)', 'p(99)', 'max'];

const authorization = (i) => ({ Authorization: `Bearer ${tokens[i % buyers]}` });
const adminHeaders = () => ({ Authorization: `Bearer ${settings.adminToken}`, 'Content-Type': 'application/json' });

// refuse ends the test with a sentence. It works only in setup.
const refuse = (sentence) => exec.test.abort(sentence);

// createSale puts a coupon on sale, for setup(). It returns the coupon, and whether a purchase needs a token.
export function createSale(stock, { limit = 1, opensIn = -1 } = {}) {
  if (problem) refuse(problem);
  if ('default' in exec.test.options.scenarios) refuse(closedModel('an option such as --vus or --duration'));
  const features = http.get(`${api}/features`, { tags: { name: 'setup' } });
  if (features.status === 0) refuse(`no server answers at ${settings.url}: start one with \`seckill serve\`, or set LT_URL`);
  if (features.status !== 200) refuse(`${settings.url} is not the server of a sale: it answers ${features.status} to /api/v1/features`);
  const opens = now() + opensIn * 1000;
  const serverTime = Date.parse(features.headers['Server-Time']) || Date.now(); // the clock that opens the sale
  const created = http.post(`${api}/admin/coupons`, JSON.stringify({
    title: 'Load test', stock, limit_per_user: limit,
    begins_at: new Date(serverTime + opensIn * 1000).toISOString(), ends_at: new Date(serverTime + 86400e3).toISOString(),
  }), { headers: adminHeaders(), tags: { name: 'setup' } });
  if (created.status !== 201) refuse(`the server does not create a coupon: it answers ${said(created)}; is LT_ADMIN_TOKEN an administrator's token of this server?`);
  const id = created.json('id');
  const published = http.post(`${api}/admin/coupons/${id}/publication`, null, { headers: adminHeaders(), tags: { name: 'setup' }, timeout: '60s' });
  if (published.status !== 200) refuse(`the server does not publish the coupon: it answers ${said(published)}`);
  return { coupon: id, stock, opens, purchaseToken: features.json('purchase_token') === true };
}

// said is the status and the code of an answer.
const said = (res) => `${res.status} ${rejection(res)}`.trim();

// purchaseHeaders returns the headers of a purchase of the i-th buyer. All requests with them are the same purchase:
// they have a purchase token if the shop wants one, and otherwise the key, if there is one. It returns null if
// the shop refuses the token. The buyer's wait for the token is part of the wait for the first request.
export function purchaseHeaders({ coupon, purchaseToken }, i, key) {
  const headers = authorization(i);
  if (!purchaseToken) {
    if (key) headers['Idempotency-Key'] = key;
    return { headers, waited: 0, order: '' };
  }
  const began = now();
  const res = http.post(`${api}/coupons/${coupon}/purchase-tokens`, null, { headers, tags: { name: 'purchase_token' }, timeout: '10s' });
  const waited = now() - began;
  if (res.status !== 201) {
    countRequest();
    return timed('buy', () => reject(res), waited);
  }
  headers['Purchase-Token'] = res.json('token');
  return { headers, waited, order: '' };
}

// purchase sends one request of the i-th buyer with the headers of a purchase and counts the outcome. It returns
// the order, or null.
export function purchase({ coupon }, i, by) {
  const before = by.waited;
  by.waited = 0;
  return timed('buy', () => {
    countRequest();
    const res = http.post(`${api}/coupons/${coupon}/orders`, null, { headers: by.headers, tags: { name: 'buy' }, timeout: '10s' });
    if (res.status === 202) return poll(res, i, by);
    const order = res.status === 201 ? parsed(res) : null;
    return order === null ? reject(res) : accept(order, by);
  }, before);
}

// buy is a purchase with one request.
export function buy(sale, i, key) {
  const by = purchaseHeaders(sale, i, key);
  return by && purchase(sale, i, by);
}

function countRequest() {
  requests.add(1);
  requestTime.add(now());
}

// parsed is the object of an answer, or null.
function parsed(res) {
  try {
    return res.json();
  } catch (e) {
    return null;
  }
}

// rejection is the code of an answer that the API knows, or ''.
function rejection(res) {
  const body = res.status >= 400 && res.headers['Content-Type'] === 'application/problem+json' ? parsed(res) : null;
  return body !== null && codes.includes(body.code) ? body.code : '';
}

// kind is the kind of an answer that is not a refusal of the API.
const kind = (res) => (res.status === 0 ? 'none' : res.status >= 500 ? '5xx' : 'other');

// accept counts an order. An order that the purchase has got before is a repeat.
function accept(order, by) {
  const isRepeat = by.order === order.id;
  by.order = order.id;
  (isRepeat ? repeats : orders).add(1);
  if (!isRepeat) orderTime.add(now());
  return { value: order, outcome: isRepeat ? 'repeat' : 'order' };
}

// reject counts an answer that is not an order.
function reject(res) {
  const code = rejection(res);
  return code ? rejectWith(code) : fail(kind(res));
}

function rejectWith(code) {
  refused.add(1, { code });
  return { value: null, outcome: 'refused' };
}

function fail(answer) {
  noAnswer.add(1, { answer });
  return { value: null, outcome: 'no_answer' };
}

// poll asks about a 202 until it is an order or a refusal. The API promises an outcome in 30 seconds, and each
// answer says when to ask again.
function poll(first, i, by) {
  const place = (first.headers.Location || '').split('/api/v1')[1];
  const until = now() + 30000;
  for (let last = first; place && now() < until; ) {
    sleep(Number(last.headers['Retry-After']) || 0.5);
    const res = http.get(`${api}${place}`, { headers: authorization(i), tags: { name: 'poll' }, timeout: '10s' });
    last = res;
    const order = res.status === 200 ? parsed(res) : null;
    const status = order === null ? '' : order.status;
    if (['pending', 'paid', 'cancelled', 'expired'].includes(status)) return accept(order, by);
    if (res.status === 404 || status === 'abandoned' || status === 'not_drawn') return rejectWith(status === 'not_drawn' ? status : 'abandoned');
  }
  return fail('undecided');
}

// payOrCancel pays or cancels an order of the i-th buyer: step is 'payment' or 'cancellation'. It returns the answer.
export function payOrCancel(order, i, step) {
  return timed(step, () => {
    const res = http.post(`${api}/orders/${order.id}/${step}`, null, { headers: authorization(i), tags: { name: step }, timeout: '10s' });
    const status = step === 'payment' ? 'paid' : 'cancelled';
    if (res.status === 200) {
      if (order.status !== status) (step === 'payment' ? paid : cancelled).add(1);
      order.status = status;
      return { value: res, outcome: status };
    }
    const code = rejection(res);
    if (!['conflict', 'rate_limited', 'overloaded'].includes(code)) stepsFailed.add(1, { answer: code || kind(res) });
    return { value: res, outcome: code ? 'refused' : 'no_answer' };
  });
}

// iteration is the number of this iteration in the whole scenario. It says which buyer comes.
export const iteration = () => exec.scenario.iterationInTest;

// audit is the verdict at the end, for teardown(). Requests that were cut off are settled within half a minute.
export function audit({ coupon }) {
  let report = {};
  for (let i = 0; i < 80; i++) {
    const res = http.get(`${api}/admin/coupons/${coupon}/audit`, { headers: adminHeaders(), tags: { name: 'audit' }, timeout: '60s' });
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
  for (const violation of report.violations || []) check(report, { [`audit: ${violation}`]: () => false }, { audit: 'yes' });
  for (const [name, gauge] of Object.entries(audited)) {
    if (report[name] !== undefined) gauge.add(Number(report[name]));
  }
  return report;
}

// assertSoldOut is audit for a sale that has more buyers than units.
export function assertSoldOut(data) {
  const report = audit(data);
  check(report, { 'sold to the last unit': (r) => r.live === r.total && r.stock === 0 }, { audit: 'yes' });
}

// summary returns handleSummary of a scenario. It prints the table, and writes the table and the figures to files
// if LT_SUMMARY names them. The first line of the script is the question of the scenario.
export function summary(scenario, options) {
  const lines = new SharedArray('question', () => [open(`./${scenario}.js`).split('\n')[0].replace(/^\/\/ /, '')]);
  return (data) => {
    if (!data.setup_data) return {}; // createSale has told why
    const figures = figuresOf(data, { scenario, question: lines[0], options, settings, users: buyers, date: new Date() });
    const written = { stdout: `\n${table(figures, data.state.isStdOutTTY && !data.options.noColor)}` };
    if (settings.summary) {
      written[`${settings.summary}.json`] = `${JSON.stringify(figures, null, 1)}\n`;
      written[`${settings.summary}.txt`] = table(figures, false);
    }
    return written;
  };
}
