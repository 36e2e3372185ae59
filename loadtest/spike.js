// The opening second: a few impatient ones are told that it has not begun, then
// all buyers tap at once, then the late ones come.
import { arrivals, buy, nth, peak, planned, seconds, sell, soldAll, under, verdicts } from './shop.js';

const waiting = 5; // seconds from the publication to the opening
const stages = [
  { target: 20, duration: `${waiting}s` },
  { target: 2 * peak, duration: '1s' }, // the opening second
  { target: 2 * peak, duration: seconds(5) },
  { target: peak / 5, duration: seconds(4) },
];

export const options = {
  scenarios: { spike: arrivals(stages) },
  thresholds: {
    ...verdicts(planned(stages), 'not_started', 'sold_out', 'limit_reached', 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    'orders_refused{code:not_started}': ['count>=1'],
    'orders_refused{code:sold_out}': ['count>=1'],
    'buyer_wait{name:buy}': under({ 'p(99)': 2000 }),
  },
};

export const setup = () => sell(peak, { opensIn: waiting });

export default function (sale) {
  buy(sale, nth());
}

export const teardown = soldAll;
