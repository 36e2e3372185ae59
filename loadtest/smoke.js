// Does each step of an order work, and does a repeated step change nothing?
import http from 'k6/http';
import { check } from 'k6';
import {
  api, arrivals, audit, baseThresholds, createSale, iteration, latencyThresholds, payOrCancel,
  plannedIterations, purchase, purchaseHeaders, seconds, summary, trendStats,
} from './lib.js';

const stages = [{ target: 5, duration: seconds(8) }];

export const options = {
  scenarios: { smoke: arrivals(stages, { preAllocatedVUs: 10, maxVUs: 50 }) },
  summaryTrendStats: trendStats,
  thresholds: {
    ...baseThresholds(plannedIterations(stages)),
    checks: ['rate==1'],
    orders: [`count>=${Math.floor(plannedIterations(stages) / 2)}`],
    'buyer_wait{name:buy}': latencyThresholds({ 'p(95)': 1000 }),
  },
};

export const setup = () => createSale(1000);

export default function (sale) {
  const i = iteration();
  check(http.get(`${api}/coupons/${sale.coupon}`, { tags: { name: 'coupon' } }), { 'the coupon is shown': (r) => r.status === 200 && r.json('id') === sale.coupon });
  const by = purchaseHeaders(sale, i, `smoke-${sale.coupon}-${i}`);
  const order = by && purchase(sale, i, by);
  if (!check(order, { 'each buyer gets an order': (o) => o !== null })) return;
  check(purchase(sale, i, by), { 'a repeated purchase returns the same order': (o) => o !== null && o.id === order.id });
  check(payOrCancel(order, i, 'payment'), { 'the order is paid': (r) => r.status === 200 && r.json('status') === 'paid' });
  check(payOrCancel(order, i, 'payment'), { 'a repeated payment returns the same': (r) => r.status === 200 && r.json('status') === 'paid' });
}

export const teardown = audit;
export const handleSummary = summary('smoke', options);
