// Can one user with many windows buy twice, or harm the other buyers?
// The user sends no key, so the requests are different purchases to the server.
import {
  arrivals, audit, baseThresholds, buy, buyers, createSale, iteration, latencyThresholds, peak,
  plannedIterations, seconds, summary, trendStats,
} from './lib.js';

const ofOneUser = [{ target: Math.min(peak, 500), duration: seconds(12) }];
const ofOthers = [{ target: peak / 10, duration: seconds(13) }];

export const options = {
  scenarios: {
    one_user: arrivals(ofOneUser, { startTime: '1s' }),
    others: arrivals(ofOthers, { exec: 'others' }),
  },
  summaryTrendStats: trendStats,
  thresholds: {
    ...baseThresholds(plannedIterations(ofOneUser) + plannedIterations(ofOthers), 'limit_reached', 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    'orders{scenario:one_user}': ['count==1'],
    'refused{scenario:others}': ['count<1'],
    'buyer_wait{scenario:others}': latencyThresholds({ 'p(99)': 1000 }),
    'buyer_wait{name:buy}': latencyThresholds({ 'p(99)': 2000 }),
  },
};

export const setup = () => createSale(100000);

export default function (sale) {
  buy(sale, 0);
}

export function others(sale) {
  buy(sale, 1 + (iteration() % (buyers - 1)));
}

export const teardown = audit;
export const handleSummary = summary('one-user', options);
