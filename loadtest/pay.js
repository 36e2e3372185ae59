// Do payment and cancellation work, and is a returned unit sold again?
// There are fewer units than buyers, so a later buyer gets each unit that comes back. Some orders are neither paid
// nor cancelled.
import { check } from 'k6';
import {
  arrivals, audit, baseThresholds, buy, createSale, iteration, latencyThresholds, payOrCancel, peak,
  plannedIterations, seconds, summary, trendStats,
} from './lib.js';

const stages = [
  { target: peak / 5, duration: '2s' },
  { target: peak / 5, duration: seconds(18) },
];
const stock = Math.max(1, Math.floor(plannedIterations(stages) / 4));

export const options = {
  scenarios: { pay: arrivals(stages) },
  summaryTrendStats: trendStats,
  thresholds: {
    ...baseThresholds(plannedIterations(stages), 'sold_out', 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    checks: ['rate==1'],
    orders: [`count>=${stock}`],
    orders_paid: ['count>=1'],
    orders_cancelled: ['count>=1'],
    'buyer_wait{name:buy}': latencyThresholds({ 'p(99)': 2000 }),
    'buyer_wait{name:payment}': latencyThresholds({ 'p(99)': 2000 }),
    'buyer_wait{name:cancellation}': latencyThresholds({ 'p(99)': 2000 }),
  },
};

export const setup = () => createSale(stock);

export default function (sale) {
  const i = iteration();
  const order = buy(sale, i);
  if (order === null || i % 5 === 4) return;
  const [first, second, status] = i % 2 === 0 ? ['payment', 'cancellation', 'paid'] : ['cancellation', 'payment', 'cancelled'];
  check(payOrCancel(order, i, first), { [`the order is ${status}`]: (r) => r.status === 200 && r.json('status') === status });
  check(payOrCancel(order, i, first), { 'a repeated step returns the same': (r) => r.status === 200 && r.json('status') === status });
  check(payOrCancel(order, i, second), { 'the other step is a conflict': (r) => r.status === 409 && r.json('code') === 'conflict' });
}

export const teardown = audit;
export const handleSummary = summary('pay', options);
