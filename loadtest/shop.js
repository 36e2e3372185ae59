// What every script needs to know of the shop: where it is, who comes, and how an
// answer is judged. Tokens are made beforehand (seckill token), one a line.
import http from 'k6/http';
import { check } from 'k6';
import { Counter } from 'k6/metrics';
import { SharedArray } from 'k6/data';

export const api = `${__ENV.SECKILL_URL || 'http://127.0.0.1:8080'}/api/v1`;
export const coupon = __ENV.COUPON || '1';

const tokens = new SharedArray('tokens', () => open(__ENV.TOKENS || './tokens.txt').trim().split('\n'));
export const buyers = tokens.length;

export const accepted = new Counter('orders_accepted');
export const refused = new Counter('orders_refused');
export const failed = new Counter('orders_failed');

// Refusals are answers, not errors.
http.setResponseCallback(http.expectedStatuses(200, 201, 202, 403, 409, 410, 429, 503));

export function as(i) {
  return { Authorization: `Bearer ${tokens[i % tokens.length]}` };
}

// buy taps once as the i-th buyer and counts what became of it.
export function buy(i, key) {
  const headers = as(i);
  if (key) headers['Idempotency-Key'] = key;
  const res = http.post(`${api}/coupons/${coupon}/orders`, null, { headers, tags: { name: 'buy' } });
  if (res.status === 201) {
    accepted.add(1);
  } else if (res.status >= 400 && res.headers['Content-Type'] === 'application/problem+json') {
    refused.add(1, { code: res.json('code') });
  } else {
    failed.add(1);
  }
  return res;
}

// audit is the verdict at the end: a speed whose audit is not clean is no speed.
// Holds of requests that were cut off are settled within half a minute.
export function audit(sleep) {
  const headers = { Authorization: `Bearer ${__ENV.ADMIN_TOKEN}` };
  let report;
  for (let i = 0; i < 70; i++) {
    report = http.get(`${api}/admin/coupons/${coupon}/audit`, { headers, tags: { name: 'audit' } }).json();
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
}

// verdicts are thresholds that every script has.
export const verdicts = {
  'checks{audit:yes}': ['rate==1'],
  orders_failed: ['count<1'],
};
