// Does latency stay low up to the peak, if there is a unit for each buyer?
import {
  arrivals, audit, baseThresholds, buy, createSale, iteration, latencyThresholds, peak, plannedIterations,
  seconds, summary, trendStats,
} from './lib.js';

const stages = [
  { target: peak / 20, duration: seconds(2) },
  { target: peak, duration: seconds(15) },
  { target: peak, duration: seconds(8) },
  { target: peak / 20, duration: seconds(3) },
];

export const options = {
  scenarios: { ramp: arrivals(stages) },
  summaryTrendStats: trendStats,
  thresholds: {
    ...baseThresholds(plannedIterations(stages), 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    orders: [`count>=${Math.floor(plannedIterations(stages) / 4)}`],
    'buyer_wait{name:buy}': latencyThresholds({ 'p(95)': 1000, 'p(99)': 2000 }),
  },
};

// The limit lets a buyer come again when there are more requests than tokens.
export const setup = () => createSale(1000000, { limit: 1000 });

export default function (sale) {
  buy(sale, iteration());
}

export const teardown = audit;
export const handleSummary = summary('ramp', options);
