// Does anything grow in half an hour of ordinary business?
// LT_METRICS is the address of /metrics on the second listener of the server. With it the test watches the
// goroutines, open files and memory of the server.
import http from 'k6/http';
import { check, sleep } from 'k6';
import exec from 'k6/execution';
import { Gauge } from 'k6/metrics';
import {
  audit, baseThresholds, buy, createSale, iteration, latencyThresholds, payOrCancel, peak, settings, summary,
  trendStats,
} from './lib.js';

const payWithin = 15; // minutes, the default of order.payment_timeout
const minutes = parseInt(settings.soak, 10) * { s: 1 / 60, m: 1, h: 60 }[settings.soak.slice(-1)];
const watched = {
  go_goroutines: new Gauge('program_goroutines'),
  process_open_fds: new Gauge('program_open_files'),
  process_resident_memory_bytes: new Gauge('program_memory_mib'),
};

export const options = {
  scenarios: {
    business: {
      executor: 'constant-arrival-rate', rate: Math.ceil(peak / 10), timeUnit: '1s', duration: settings.soak,
      // The number of connections does not change, so the goroutines and open files of the server depend only on time.
      preAllocatedVUs: 100, maxVUs: 100, gracefulStop: '60s',
    },
    watch: { executor: 'per-vu-iterations', vus: 1, iterations: 1, exec: 'watch', maxDuration: `${Math.ceil(minutes + 2)}m` },
  },
  summaryTrendStats: trendStats,
  thresholds: {
    ...baseThresholds((minutes * 60 * peak) / 10, 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    'checks{growth:none}': ['rate==1'],
    'buyer_wait{name:buy}': latencyThresholds({ 'p(99)': 1000 }),
  },
};

// Each buyer may come again at any time. A quarter of the orders are cancelled, half are paid, and the others expire.
// An order that would expire after the end is not left open: the audit needs a quiet moment.
export const setup = () => createSale(10000000, { limit: 1000 });

export default function (sale) {
  const i = iteration();
  const order = buy(sale, i);
  const left = minutes - exec.instance.currentTestRunDuration / 60000;
  if (order !== null && (i % 4 !== 0 || left < payWithin + 1)) payOrCancel(order, i, i % 4 === 1 ? 'cancellation' : 'payment');
}

// watch reads the metrics sixty times and compares the last third with the third before it. By then the server has
// warmed up, so the figures must stay the same, except for the garbage that a collector leaves.
export function watch() {
  if (!settings.metrics) return;
  const times = 60;
  const seen = {};
  for (let n = 0; n < times; n++) {
    sleep((minutes * 60 - 2) / times);
    const text = http.get(settings.metrics, { tags: { name: 'metrics' } }).body || '';
    for (const [name, gauge] of Object.entries(watched)) {
      const found = text.match(new RegExp(`^${name} (\\S+)$`, 'm'));
      if (!found) continue;
      const value = Number(found[1]) / (name.endsWith('bytes') ? 1048576 : 1);
      gauge.add(value);
      (seen[name] = seen[name] || []).push(value);
    }
  }
  const median = (all) => all.slice().sort((a, b) => a - b)[Math.floor(all.length / 2)];
  for (const [name, values] of Object.entries(seen)) {
    const third = Math.floor(values.length / 3);
    const before = median(values.slice(third, 2 * third));
    const after = median(values.slice(-third));
    console.log(`${name}: ${before.toFixed(1)} in the middle third, ${after.toFixed(1)} in the last`);
    check(after, { [`${name} does not grow`]: (v) => v <= before * 1.2 + 20 }, { growth: 'none' });
  }
}

export const teardown = audit;
export const handleSummary = summary('soak', options);
