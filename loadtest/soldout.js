// The storm after the last unit is gone: nearly all buyers are refused, which has
// to be cheap, and every unit is sold nevertheless.
import { arrivals, buy, nth, peak, seconds, sell, soldAll, verdicts } from './shop.js';

const stock = 100;

export const options = {
  scenarios: {
    soldout: arrivals([
      { target: 2 * peak, duration: '1s' },
      { target: 2 * peak, duration: seconds(12) },
    ]),
  },
  thresholds: {
    ...verdicts,
    orders_accepted: [`count==${stock}`],
    'orders_refused{code:sold_out}': ['count>=1000'],
    'http_req_duration{name:buy}': ['p(95)<500', 'p(99)<1000'],
  },
};

export const setup = () => sell(stock);

export default function ({ coupon }) {
  buy(coupon, nth());
}

export const teardown = soldAll;
