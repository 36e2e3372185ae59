// More and more buyers, and a unit for each of them: where does it begin to hurt?
import { arrivals, audit, buy, nth, peak, seconds, sell, verdicts } from './shop.js';

export const options = {
  scenarios: {
    ramp: arrivals([
      { target: peak / 20, duration: seconds(2) },
      { target: peak, duration: seconds(15) },
      { target: peak, duration: seconds(8) },
      { target: peak / 20, duration: seconds(3) },
    ]),
  },
  thresholds: {
    ...verdicts,
    orders_accepted: ['count>=100'],
    'http_req_duration{name:buy}': ['p(95)<1000', 'p(99)<2000'],
  },
};

// The limit lets a buyer come again when there are more taps than tokens.
export const setup = () => sell(1000000, { limit: 1000 });

export default function ({ coupon }) {
  buy(coupon, nth());
}

export const teardown = audit;
