// Half an hour of ordinary business (SOAK=2m for less), with an eye on the program:
// its goroutines, open files and memory must not grow. METRICS is the address of
// /metrics on its second listener; without it only the shop is watched.
import http from 'k6/http';
import { check, sleep } from 'k6';
import exec from 'k6/execution';
import { Gauge } from 'k6/metrics';
import { audit, buy, nth, peak, sell, turn, under, verdicts } from './shop.js';

const long = __ENV.SOAK || '30m';
const payWithin = 15; // minutes, as order.payment_timeout is by default
const minutes = long.endsWith('s') ? parseInt(long, 10) / 60 : parseInt(long, 10);
const watched = {
  go_goroutines: new Gauge('program_goroutines'),
  process_open_fds: new Gauge('program_open_files'),
  process_resident_memory_bytes: new Gauge('program_memory_mib'),
};

export const options = {
  scenarios: {
    business: {
      executor: 'constant-arrival-rate', rate: Math.ceil(peak / 10), timeUnit: '1s', duration: long,
      // As many connections from the first minute to the last: the program's goroutines
      // and open files should follow from nothing but time.
      preAllocatedVUs: 100, maxVUs: 100, exec: 'business', gracefulStop: '60s',
    },
    eye: { executor: 'per-vu-iterations', vus: 1, iterations: 1, exec: 'eye', maxDuration: `${Math.ceil(minutes + 2)}m` },
  },
  thresholds: {
    ...verdicts((minutes * 60 * peak) / 10, 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    'checks{growth:none}': ['rate==1'],
    'buyer_wait{name:buy}': under({ 'p(99)': 1000 }),
  },
};

// Every buyer may come again all the time. A quarter cancel, half pay, and the others let
// their time run out; but no buyer does whose order would expire only after the end, when
// the audit wants a quiet moment.
export const setup = () => sell(10000000, { limit: 1000 });

export function business(sale) {
  const i = nth();
  const order = buy(sale, i);
  const left = minutes - exec.instance.currentTestRunDuration / 60000;
  if (order !== null && (i % 4 !== 0 || left < payWithin + 1)) turn(order, i, i % 4 === 1 ? 'cancellation' : 'payment');
}

// eye looks every so often, and compares the last third with the one before: what has
// warmed up by then must stay as it is, give or take what a collector leaves.
export function eye() {
  if (!__ENV.METRICS) return;
  const looks = 60;
  const seen = {};
  for (let n = 0; n < looks; n++) {
    sleep((minutes * 60 - 2) / looks);
    const text = http.get(__ENV.METRICS, { tags: { name: 'metrics' } }).body;
    for (const [name, gauge] of Object.entries(watched)) {
      const found = text.match(new RegExp(`^${name} (\\S+)$`, 'm'));
      if (!found) continue;
      const value = Number(found[1]) / (name.endsWith('bytes') ? 1048576 : 1);
      gauge.add(value);
      (seen[name] = seen[name] || []).push(value);
    }
  }
  const middle = (all) => all.slice().sort((a, b) => a - b)[Math.floor(all.length / 2)];
  for (const [name, values] of Object.entries(seen)) {
    const third = Math.floor(values.length / 3);
    const before = middle(values.slice(third, 2 * third));
    const after = middle(values.slice(-third));
    console.log(`${name}: ${before.toFixed(1)} in the middle third, ${after.toFixed(1)} in the last`);
    check(after, { [`${name} does not grow`]: (v) => v <= before * 1.2 + 20 }, { growth: 'none' });
  }
}

export const teardown = audit;
