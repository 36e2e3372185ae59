// What every script needs to know of the shop: where it is, its buyers, what is on
// sale, and how an answer is judged. Tokens are made beforehand (seckill token
// --users FROM-TO), one a line, so that logging in is not a part of the load.
//
// The environment: SECKILL_URL, ADMIN_TOKEN, TOKENS (a file), and if you like PEAK
// (taps a second) and TIME (a factor for how long everything takes).
import http from 'k6/http';
import exec from 'k6/execution';
import { check, fail, sleep } from 'k6';
import { Counter } from 'k6/metrics';
import { SharedArray } from 'k6/data';

export const api = `${__ENV.SECKILL_URL || 'http://127.0.0.1:8080'}/api/v1`;
export const peak = Number(__ENV.PEAK || 1000);

const tokens = new SharedArray('tokens', () => open(__ENV.TOKENS || './tokens.txt').trim().split('\n'));
export const buyers = tokens.length;

export const accepted = new Counter('orders_accepted');
export const refused = new Counter('orders_refused');
export const failed = new Counter('orders_failed');

// Refusals are answers, not errors.
http.setResponseCallback(http.expectedStatuses(200, 201, 202, 204, 403, 409, 410, 429, 503));

// seconds is a duration of a stage, longer or shorter if TIME says so.
export const seconds = (n) => `${Math.max(1, Math.round(n * Number(__ENV.TIME || 1)))}s`;

// arrivals is an open model: buyers come when they come, and a slow shop does not
// slow them down.
export const arrivals = (stages, more = {}) => ({
  executor: 'ramping-arrival-rate',
  startRate: stages[0].target,
  timeUnit: '1s',
  preAllocatedVUs: 600,
  maxVUs: 3000,
  gracefulStop: '15s',
  stages,
  ...more,
});

const as = (i) => ({ Authorization: `Bearer ${tokens[i % buyers]}` });
const admin = () => ({ Authorization: `Bearer ${__ENV.ADMIN_TOKEN}`, 'Content-Type': 'application/json' });

// sell puts a coupon on sale and returns its id; it is for setup().
export function sell(stock, { limit = 1, opensIn = -1 } = {}) {
  const now = Date.now();
  const made = http.post(`${api}/admin/coupons`, JSON.stringify({
    title: 'Load test', stock, limit_per_user: limit,
    begins_at: new Date(now + opensIn * 1000).toISOString(), ends_at: new Date(now + 86400e3).toISOString(),
  }), { headers: admin(), tags: { name: 'setup' } });
  if (made.status !== 201) fail(`no coupon: ${made.status} ${made.body}`);
  const id = made.json('id');
  const open = http.post(`${api}/admin/coupons/${id}/publication`, null, { headers: admin(), tags: { name: 'setup' }, timeout: '60s' });
  if (open.status !== 200) fail(`not published: ${open.status} ${open.body}`);
  return { coupon: id, stock };
}

// buy taps once as the i-th buyer and counts what became of it. The answer is an
// order, or null.
export function buy(coupon, i, key) {
  const headers = as(i);
  if (needsToken()) {
    const res = http.post(`${api}/coupons/${coupon}/purchase-tokens`, null, { headers, tags: { name: 'purchase_token' } });
    if (res.status !== 201) return count(res);
    headers['Purchase-Token'] = res.json('token');
  } else if (key) {
    headers['Idempotency-Key'] = key;
  }
  const res = http.post(`${api}/coupons/${coupon}/orders`, null, { headers, tags: { name: 'buy' } });
  if (res.status === 201) {
    accepted.add(1);
    return res.json();
  }
  if (res.status === 202) return wait(res, i);
  return count(res);
}

// needsToken says whether buying needs a purchase token; it asks once.
let purchaseToken;
function needsToken() {
  if (purchaseToken === undefined) purchaseToken = http.get(`${api}/features`, { tags: { name: 'setup' } }).json('purchase_token') === true;
  return purchaseToken;
}

// count counts an answer that is no order.
function count(res) {
  if (res.status >= 400 && res.headers['Content-Type'] === 'application/problem+json') {
    refused.add(1, { code: res.json('code') });
  } else {
    failed.add(1);
  }
  return null;
}

// wait polls a 202 until it is an order or a refusal, as its promise is: 30 seconds. Each
// answer says when to ask again.
function wait(first, i) {
  const until = Date.now() + 30000;
  for (let said = first; Date.now() < until; ) {
    sleep(Number(said.headers['Retry-After']) || 0.5);
    const res = http.get(`${api}${first.headers.Location.split('/api/v1')[1]}`, { headers: as(i), tags: { name: 'poll' } });
    said = res;
    const status = res.status === 200 ? res.json('status') : '';
    if (['pending', 'paid', 'cancelled', 'expired'].includes(status)) {
      accepted.add(1);
      return res.json();
    }
    if (res.status === 404 || status === 'void') {
      refused.add(1, { code: 'void' });
      return null;
    }
  }
  failed.add(1);
  return null;
}

// turn pays or cancels an order of the i-th buyer: what is 'payment' or 'cancellation'.
export const turn = (order, i, what) =>
  http.post(`${api}/orders/${order.id}/${what}`, null, { headers: as(i), tags: { name: what } });

// nth is which iteration of the whole test this is, and so which buyer comes.
export const nth = () => exec.scenario.iterationInTest;

// audit is the verdict at the end: a speed whose audit is not clean is no speed. What
// was cut off is settled within half a minute.
export function audit({ coupon }) {
  let report;
  for (let i = 0; i < 80; i++) {
    const res = http.get(`${api}/admin/coupons/${coupon}/audit`, { headers: admin(), tags: { name: 'audit' }, timeout: '60s' });
    report = res.status === 200 ? res.json() : {};
    if (report.settled) break;
    sleep(0.5);
  }
  check(report, {
    'audit is clean': (r) => r.clean === true,
    'audit is settled': (r) => r.settled === true,
    'nothing oversold': (r) => r.oversold === 0,
    'nobody above the limit': (r) => r.duplicates === 0,
  }, { audit: 'yes' });
  console.log(`audit: ${report.clean ? 'clean' : JSON.stringify(report.violations)}; ${report.live} of ${report.total} sold`);
  return report;
}

// soldAll is audit for a sale that more want than can have.
export function soldAll(data) {
  const report = audit(data);
  check(report, { 'sold to the last unit': (r) => r.live === r.total && r.stock === 0 }, { audit: 'yes' });
}

// verdicts are the thresholds of every script: no tap without an answer, a clean
// audit. The codes are named so that the report has a line for each.
export const verdicts = {
  'checks{audit:yes}': ['rate==1'],
  orders_failed: ['count<1'],
  'orders_refused{code:sold_out}': ['count>=0'],
  'orders_refused{code:limit_reached}': ['count>=0'],
  'orders_refused{code:busy}': ['count>=0'],
  'orders_refused{code:not_started}': ['count>=0'],
  'orders_refused{code:rate_limited}': ['count>=0'],
  'orders_refused{code:overloaded}': ['count>=0'],
};
