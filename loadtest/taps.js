// One user taps again and again, in several windows at once, without a key that
// would say that it is all the same wish: one order, and no harm to the other buyers who
// buy meanwhile.
import { arrivals, audit, buy, buyers, nth, peak, planned, seconds, sell, under, verdicts } from './shop.js';

const one = [{ target: Math.min(peak, 500), duration: seconds(12) }];
const many = [{ target: peak / 10, duration: seconds(13) }];

export const options = {
  scenarios: {
    tapper: arrivals(one, { exec: 'tapper', startTime: '1s' }),
    others: arrivals(many, { exec: 'other' }),
  },
  thresholds: {
    ...verdicts(planned(one) + planned(many), 'limit_reached', 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    'orders_accepted{scenario:tapper}': ['count==1'],
    'orders_refused{scenario:others}': ['count<1'],
    'buyer_wait{scenario:others}': under({ 'p(99)': 1000 }),
    'buyer_wait{name:buy}': under({ 'p(99)': 2000 }),
  },
};

export const setup = () => sell(100000);

export function tapper(sale) {
  buy(sale, 0);
}

export function other(sale) {
  buy(sale, 1 + (nth() % (buyers - 1)));
}

export const teardown = audit;
