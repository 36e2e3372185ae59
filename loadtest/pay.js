// What happens to orders afterwards: some are paid, some are cancelled and their unit
// is sold to another buyer, and some do neither for now. There are fewer units than
// buyers, so that every unit that comes back is wanted.
import { check } from 'k6';
import { Counter } from 'k6/metrics';
import { arrivals, audit, buy, nth, peak, planned, seconds, sell, turn, under, verdicts } from './shop.js';

const paid = new Counter('orders_paid');
const cancelled = new Counter('orders_cancelled');
const stages = [
  { target: peak / 5, duration: '2s' },
  { target: peak / 5, duration: seconds(18) },
];
const stock = Math.max(1, Math.floor(planned(stages) / 4));

export const options = {
  scenarios: { pay: arrivals(stages) },
  thresholds: {
    ...verdicts(planned(stages), 'sold_out', 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    checks: ['rate==1'],
    orders_accepted: [`count>=${stock}`],
    orders_paid: ['count>=1'],
    orders_cancelled: ['count>=1'],
    'buyer_wait{name:buy}': under({ 'p(99)': 2000 }),
    'buyer_wait{name:payment}': under({ 'p(99)': 2000 }),
    'buyer_wait{name:cancellation}': under({ 'p(99)': 2000 }),
  },
};

export const setup = () => sell(stock);

export default function (sale) {
  const i = nth();
  const order = buy(sale, i);
  if (order === null || i % 5 === 4) return;
  const [first, then, state] = i % 2 === 0 ? ['payment', 'cancellation', 'paid'] : ['cancellation', 'payment', 'cancelled'];
  const done = turn(order, i, first);
  check(done, { [`it is ${state}`]: (r) => r.status === 200 && r.json('status') === state });
  check(turn(order, i, first), { 'again is the same': (r) => r.status === 200 && r.json('status') === state });
  check(turn(order, i, then), { 'and the other is a conflict': (r) => r.status === 409 && r.json('code') === 'conflict' });
  (state === 'paid' ? paid : cancelled).add(1);
}

export const teardown = audit;
