// Are refusals cheap after the last unit, and is every unit sold nevertheless?
import {
  arrivals, assertSoldOut, baseThresholds, buy, createSale, iteration, latencyThresholds, peak,
  plannedIterations, seconds, summary, trendStats,
} from './lib.js';

const stock = Math.max(10, Math.floor(peak / 10));
const stages = [
  { target: 2 * peak, duration: '1s' },
  { target: 2 * peak, duration: seconds(12) },
];

export const options = {
  scenarios: { soldout: arrivals(stages) },
  summaryTrendStats: trendStats,
  thresholds: {
    ...baseThresholds(plannedIterations(stages), 'sold_out', 'limit_reached', 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    orders: [`count==${stock}`],
    'refused{code:sold_out}': [`count>=${Math.floor(plannedIterations(stages) / 4)}`],
    'buyer_wait{name:buy}': latencyThresholds({ 'p(95)': 500, 'p(99)': 1000 }),
  },
};

export const setup = () => createSale(stock);

export default function (sale) {
  buy(sale, iteration());
}

export const teardown = assertSoldOut;
export const handleSummary = summary('soldout', options);
