// More and more buyers, and a unit for each of them: where does it begin to hurt?
import { arrivals, audit, buy, nth, peak, planned, seconds, sell, under, verdicts } from './shop.js';

const stages = [
  { target: peak / 20, duration: seconds(2) },
  { target: peak, duration: seconds(15) },
  { target: peak, duration: seconds(8) },
  { target: peak / 20, duration: seconds(3) },
];

export const options = {
  scenarios: { ramp: arrivals(stages) },
  thresholds: {
    ...verdicts(planned(stages), 'request_in_progress', 'rate_limited', 'overloaded', 'abandoned'),
    orders_accepted: [`count>=${Math.floor(planned(stages) / 4)}`],
    'buyer_wait{name:buy}': under({ 'p(95)': 1000, 'p(99)': 2000 }),
  },
};

// The limit lets a buyer come again when there are more taps than tokens.
export const setup = () => sell(1000000, { limit: 1000 });

export default function (sale) {
  buy(sale, nth());
}

export const teardown = audit;
