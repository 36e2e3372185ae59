// One user taps again and again, in several windows at once, without a key that
// would say that it is all the same wish: one order, and no harm to the other buyers who
// buy meanwhile.
import { arrivals, audit, buy, nth, peak, seconds, sell, verdicts } from './shop.js';

export const options = {
  scenarios: {
    tapper: arrivals([{ target: Math.min(peak, 500), duration: seconds(12) }], { exec: 'tap', startTime: '1s' }),
    others: arrivals([{ target: peak / 10, duration: seconds(13) }], { exec: 'other' }),
  },
  thresholds: {
    ...verdicts,
    'orders_accepted{scenario:tapper}': ['count==1'],
    'orders_refused{scenario:others}': ['count<1'],
    'http_req_duration{scenario:others}': ['p(99)<1000'],
  },
};

export const setup = () => sell(100000);

export function tap({ coupon }) {
  buy(coupon, 0);
}

export function other({ coupon }) {
  buy(coupon, 1 + nth());
}

export const teardown = audit;
