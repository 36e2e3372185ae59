// All buyers come in the opening second: is every unit sold, and none twice?
// A few buyers come before the opening and are refused. Late buyers come at the end.
import {
  arrivals, assertSoldOut, baseThresholds, buy, createSale, iteration, latencyThresholds, peak,
  plannedIterations, seconds, summary, trendStats,
} from './lib.js';

const waiting = 5; // seconds from the publication to the opening
const stock = Math.ceil(peak);
const stages = [
  { target: 20, duration: `${waiting}s` },
  { target: 2 * peak, duration: '1s' }, // the opening second
  { target: 2 * peak, duration: seconds(5) },
  { target: peak / 5, duration: seconds(4) },
];

export const options = {
  scenarios: { spike: arrivals(stages) },
  summaryTrendStats: trendStats,
  thresholds: {
    ...baseThresholds(plannedIterations(stages), 'not_started', 'sold_out', 'limit_reached', 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    'refused{code:not_started}': ['count>=1'],
    'refused{code:sold_out}': ['count>=1'],
    'buyer_wait{name:buy}': latencyThresholds({ 'p(99)': 2000 }),
  },
};

export const setup = () => createSale(stock, { opensIn: waiting });

export default function (sale) {
  buy(sale, iteration());
}

export const teardown = assertSoldOut;
export const handleSummary = summary('spike', options);
