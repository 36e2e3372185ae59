// A flash sale: nobody, then everybody at the opening second, then the latecomers.
//
//	go tool -modfile=loadtest/go.mod k6 run loadtest/sale.js     (or: make loadtest)
import exec from 'k6/execution';
import { sleep } from 'k6';
import { audit, buy, verdicts } from './shop.js';

const peak = Number(__ENV.PEAK || 1500); // taps a second

export const options = {
  scenarios: {
    sale: {
      executor: 'ramping-arrival-rate', // an open model: a slow shop does not slow its customers down
      startRate: 10,
      timeUnit: '1s',
      preAllocatedVUs: 1000,
      maxVUs: 2000,
      stages: [
        { duration: '2s', target: 10 },
        { duration: '1s', target: peak }, // the opening second
        { duration: '5s', target: peak },
        { duration: '4s', target: peak / 10 },
      ],
    },
  },
  thresholds: {
    ...verdicts,
    'http_req_duration{name:buy}': ['p(99)<2000'],
  },
};

export default function () {
  buy(exec.scenario.iterationInTest);
}

export function teardown() {
  audit(sleep);
}
