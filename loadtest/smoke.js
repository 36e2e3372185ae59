// Whether it works at all: a few buyers, each step of an order, twice.
import http from 'k6/http';
import { check } from 'k6';
import { api, arrivals, audit, nth, planned, seconds, sell, tap, turn, under, verdicts, wish } from './shop.js';

const stages = [{ target: 5, duration: seconds(8) }];

export const options = {
  scenarios: { smoke: arrivals(stages, { preAllocatedVUs: 10, maxVUs: 50 }) },
  thresholds: {
    ...verdicts(planned(stages)),
    checks: ['rate==1'],
    orders_accepted: [`count>=${planned(stages)}`], // each order twice
    'buyer_wait{name:buy}': under({ 'p(95)': 1000 }),
  },
};

export const setup = () => sell(1000);

export default function (sale) {
  const i = nth();
  check(http.get(`${api}/coupons/${sale.coupon}`, { tags: { name: 'look' } }), { 'the coupon is shown': (r) => r.status === 200 && r.json('id') === sale.coupon });
  const one = wish(sale, i, `smoke-${sale.coupon}-${i}`);
  const order = one && tap(sale, i, one);
  if (!check(order, { 'there is one for everybody': (o) => o !== null })) return;
  check(tap(sale, i, one), { 'the same wish gives the same order': (o) => o !== null && o.id === order.id });
  check(turn(order, i, 'payment'), { 'it is paid': (r) => r.status === 200 && r.json('status') === 'paid' });
  check(turn(order, i, 'payment'), { 'paying again says the same': (r) => r.status === 200 && r.json('status') === 'paid' });
}

export const teardown = audit;
