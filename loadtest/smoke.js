// Whether it works at all: a few buyers, each step of an order, twice.
import http from 'k6/http';
import { check } from 'k6';
import { api, arrivals, audit, buy, nth, seconds, sell, turn, verdicts } from './shop.js';

export const options = {
  scenarios: { smoke: arrivals([{ target: 5, duration: seconds(8) }], { preAllocatedVUs: 10, maxVUs: 50 }) },
  thresholds: {
    ...verdicts,
    checks: ['rate==1'],
    orders_accepted: ['count>=5'],
    'http_req_duration{name:buy}': ['p(95)<1000'],
  },
};

export const setup = () => sell(1000);

export default function ({ coupon }) {
  const i = nth();
  check(http.get(`${api}/coupons/${coupon}`, { tags: { name: 'look' } }), { 'the coupon is shown': (r) => r.json('id') === coupon });
  const key = `smoke-${coupon}-${i}`;
  const order = buy(coupon, i, key);
  if (!check(order, { 'there is one for everybody': (o) => o !== null })) return;
  check(buy(coupon, i, key), { 'the same key gives the same order': (o) => o !== null && o.id === order.id });
  check(turn(order, i, 'payment'), { 'it is paid': (r) => r.status === 200 && r.json('status') === 'paid' });
  check(turn(order, i, 'payment'), { 'paying again says the same': (r) => r.status === 200 && r.json('status') === 'paid' });
}

export const teardown = audit;
