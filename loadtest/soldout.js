// The storm after the last unit is gone: nearly all buyers are refused, which has
// to be cheap, and every unit is sold nevertheless.
import { arrivals, buy, nth, peak, planned, seconds, sell, soldAll, under, verdicts } from './shop.js';

const stock = Math.max(10, peak / 10);
const stages = [
  { target: 2 * peak, duration: '1s' },
  { target: 2 * peak, duration: seconds(12) },
];

export const options = {
  scenarios: { soldout: arrivals(stages) },
  thresholds: {
    ...verdicts(planned(stages), 'sold_out', 'limit_reached', 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    orders_accepted: [`count==${stock}`],
    'orders_refused{code:sold_out}': [`count>=${Math.floor(planned(stages) / 4)}`],
    'buyer_wait{name:buy}': under({ 'p(95)': 500, 'p(99)': 1000 }),
  },
};

export const setup = () => sell(stock);

export default function (sale) {
  buy(sale, nth());
}

export const teardown = soldAll;
