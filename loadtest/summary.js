// The figures of a scenario and their table. This file imports nothing of k6, so that a test can give it any data.

const width = 78;

// figuresOf returns the figures of a run. Its argument data is what k6 passes to handleSummary. The figures are the
// JSON file of a scenario: loadtest/FIGURES.md describes its fields. A figure that was not measured is null.
export function figuresOf(data, { scenario, question, options, settings, users, date }) {
  const metrics = data.metrics;
  const values = (name) => (metrics[name] || { values: {} }).values;
  const count = (name) => values(name).count || 0;
  const measured = (n) => (typeof n === 'number' && isFinite(n) ? n : null);
  const percentiles = (name, prefix) => {
    const v = values(name);
    const isEmpty = !v.max && !v.count;
    return { [`${prefix}_p50_ms`]: isEmpty ? null : measured(v.med), [`${prefix}_p99_ms`]: isEmpty ? null : measured(v['p(99)']) };
  };
  const byTag = (name, tag) => Object.fromEntries(Object.keys(metrics)
    .filter((metric) => metric.startsWith(`${name}{${tag}:`) && count(metric) > 0)
    .map((metric) => [metric.slice(name.length + tag.length + 2, -1), count(metric)])
    .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)));

  const figures = {
    scenario,
    question,
    passed: true,
    date: date.toISOString(),
    url: settings.url,
    peak: settings.peak,
    duration_factor: settings.durationFactor,
    latency_factor: settings.latencyFactor,
    users,
    soak_duration: scenario === 'soak' ? settings.soak : null,
    duration_ms: data.state.testRunDurationMs,
    units: data.setup_data.stock,
    requests: count('requests'),
    requests_per_second: null,
    orders: count('orders'),
    ...percentiles('buyer_wait{name:buy,outcome:order}', 'orders'),
    orders_per_second: null,
    repeats: count('repeats'),
    refused: count('refused'),
    refused_by: byTag('refused', 'code'),
    ...percentiles('buyer_wait{name:buy,outcome:refused}', 'refused'),
    no_answer: count('no_answer'),
    no_answer_by: byTag('no_answer', 'answer'),
    not_sent: count('dropped_iterations'),
    not_sent_reason: '',
    ...percentiles('http_req_duration{name:buy}', 'server'),
    paid: count('orders_paid'),
    cancelled: count('orders_cancelled'),
    sold_again: 0,
    sold_out_after_ms: null,
  };

  // The sale begins with the opening, or with the first request if the coupon was open before.
  const first = measured(values('request_time').min);
  const last = measured(values('request_time').max);
  const lastOrder = measured(values('order_time').max);
  const start = Math.max(data.setup_data.opens, first || 0);
  const rate = (n, ms) => (n > 0 && ms > 0 ? (n * 1000) / ms : null);
  if (first !== null) figures.requests_per_second = rate(figures.requests, last - first);
  if (figures.orders > 0 && lastOrder !== null) figures.orders_per_second = rate(figures.orders, lastOrder - start);
  if (figures.not_sent > 0) figures.not_sent_reason = reasonNotSent(options, values('vus_max').max);
  audited(figures, values, lastOrder - start);

  figures.thresholds = thresholdsOf(metrics);
  figures.failed_checks = failedChecks(data.root_group);
  const outcomes = figures.orders + figures.repeats + figures.refused + figures.no_answer;
  if (outcomes !== figures.requests) {
    figures.thresholds.push({ name: 'requests', what: 'outcomes of the requests', found: number(outcomes), allowed: number(figures.requests), ok: false });
  }
  if (figures.lost > 0) figures.thresholds.push({ name: 'lost', what: 'orders lost', found: number(figures.lost), allowed: '0', ok: false });
  if (figures.audit === 'none') figures.thresholds.push({ name: 'audit', what: 'audit', found: 'none', allowed: 'clean', ok: false });
  figures.passed = figures.thresholds.every((t) => t.ok);
  return figures;
}

// audited adds the numbers of the audit, and those that only the audit tells.
function audited(figures, values, selling) {
  const of = (name) => values(`audit_${name}`).value;
  const isThere = of('clean') !== undefined;
  figures.audit = !isThere ? 'none' : of('clean') !== 1 ? 'not clean' : of('settled') !== 1 ? 'not settled' : 'clean';
  figures.oversold = isThere ? of('oversold') : null;
  figures.sold_twice = isThere ? of('duplicates') : null;
  figures.lost = isThere ? Math.max(0, figures.orders - of('orders')) : null;
  figures.sold = isThere ? of('live') : null;
  if (!isThere) return;
  figures.sold_again = Math.max(0, of('orders') - of('total'));
  if (of('stock') === 0 && figures.orders > 0 && isFinite(selling)) figures.sold_out_after_ms = Math.max(0, selling);
}

// reasonNotSent says why k6 could not start an iteration: it had no free virtual user.
function reasonNotSent(options, started) {
  const allowed = Object.values(options.scenarios).reduce((sum, s) => sum + (s.maxVUs || s.vus || 0), 0);
  if (started >= allowed) return `all ${number(allowed)} virtual users of k6 were waiting for answers`;
  return `k6 started its virtual users too late: ${number(started)} of ${number(allowed)}`;
}

// failedChecks are the names of the checks that failed, with their numbers.
const failedChecks = (group) => (group.checks || []).filter((c) => c.fails > 0)
  .map((c) => ({ name: c.name, failed: c.fails, of: c.fails + c.passes }))
  .concat(...(group.groups || []).map(failedChecks));

// titles are the metrics in words. A percentile of a metric is "p95 of" its title.
const titles = {
  'buyer_wait{name:buy}': 'an answer',
  'buyer_wait{name:payment}': 'a payment',
  'buyer_wait{name:cancellation}': 'a cancellation',
  'buyer_wait{scenario:others}': 'the other buyers',
  checks: 'checks',
  'checks{audit:yes}': 'checks of the audit',
  'checks{growth:none}': 'checks of growth',
  dropped_iterations: 'not sent',
  no_answer: 'no answer',
  steps_failed: 'failed payments and cancellations',
  orders: 'orders',
  'orders{scenario:one_user}': 'orders of the one user',
  orders_paid: 'paid orders',
  orders_cancelled: 'cancelled orders',
  'refused{scenario:others}': 'refusals of the other buyers',
};

// thresholdsOf returns the bounds of a scenario with what was found. Bounds that always hold are left out.
function thresholdsOf(metrics) {
  const all = [];
  for (const name of Object.keys(metrics).sort()) {
    for (const [bound, { ok }] of Object.entries(metrics[name].thresholds || {})) {
      if (!/>=0$/.test(bound)) all.push(explained(name, bound, ok, metrics[name]));
    }
  }
  return all;
}

function explained(name, bound, ok, { values, type, contains }) {
  const [, stat, sign, limit] = bound.match(/^([^<>=]+)([<>=]+)(.+)$/);
  const tag = name.match(/\{(?:code|answer):(.+)\}$/);
  const title = titles[name] || (tag ? `${name.startsWith('refused') ? 'refused with' : 'no answer:'} ${tag[1]}` : name);
  const percentile = stat.match(/^p\((.+)\)$/);
  const what = type === 'trend' ? `${percentile ? `p${percentile[1]}` : stat} of ${title}` : title;
  if (type === 'rate') {
    return { name: `${name} ${bound}`, what, found: `${number(values.passes)} of ${number(values.passes + values.fails)}`, allowed: 'all', ok };
  }
  const figure = (n) => (contains === 'time' ? milliseconds(n) : number(n));
  const words = {
    '<': type === 'counter' && limit === '1' ? '0' : figure(Number(limit)),
    '<=': figure(Number(limit)),
    '>=': `at least ${figure(Number(limit))}`,
    '==': `exactly ${figure(Number(limit))}`,
  };
  return { name: `${name} ${bound}`, what, found: figure(values[stat]), allowed: words[sign] || `${sign}${limit}`, ok };
}

// number is a number with its thousands apart, and – for one that was not measured.
export function number(n) {
  if (typeof n !== 'number' || !isFinite(n)) return '–';
  const text = Math.abs(n) < 10 && !Number.isInteger(n) ? n.toFixed(1) : String(Math.round(n));
  return text.replace(/\B(?=(\d{3})+$)/g, ',');
}

const milliseconds = (n) => (number(n) === '–' ? '–' : `${number(n)} ms`);

// inSeconds is a duration in seconds, with two digits after the point if it is short.
const inSeconds = (ms) => `${ms < 1000 ? (ms / 1000).toFixed(2) : number(ms / 1000)} s`;

// table is the figures in words, at most 78 columns wide.
export function table(f, isColoured) {
  const red = (text) => (isColoured ? `\u001b[1;31m${text}\u001b[0m` : text);
  const green = (text) => (isColoured ? `\u001b[32m${text}\u001b[0m` : text);
  const edges = (left, right) => `${left}${' '.repeat(Math.max(1, width - left.length - right.length))}${right}`;
  const row = (name, n, ...more) => `  ${name.padEnd(10)}${n.padStart(9)}  ${more.join('  ')}`.trimEnd();
  const times = (prefix) => `p50 ${milliseconds(f[`${prefix}_p50_ms`]).padStart(9)}  p99 ${milliseconds(f[`${prefix}_p99_ms`]).padStart(9)}`;
  const perSecond = (n, more = '') => (n === null ? '' : `${number(n)}/s${more}`);
  const indented = (text) => wrapped(text, width - 23).map((line) => `${' '.repeat(23)}${line}`);

  const lines = wrapped(`Load test of ${f.url}`, width - 21);
  lines[0] = edges(lines[0], `${f.date.slice(0, 16).replace('T', ' ')} UTC`);
  lines.push(`peak ${number(f.peak)} requests/s, duration factor ${f.duration_factor}, latency factor ${f.latency_factor}, ${number(f.users)} users`);
  if (f.duration_factor !== 1) lines.push(red(`! duration factor ${f.duration_factor}: each stage takes ${f.duration_factor} times the usual time`));
  if (f.latency_factor !== 1) lines.push(red(`! latency factor ${f.latency_factor}: latency and "not sent" may be ${f.latency_factor} times the usual`));
  if (f.soak_duration && f.soak_duration !== '30m') lines.push(red(`! soak duration ${f.soak_duration}: the usual is 30m`));
  lines.push('');

  const verdict = f.passed ? 'PASSED' : 'FAILED';
  const head = edges(f.scenario, verdict);
  lines.push(head.slice(0, -verdict.length) + (f.passed ? green(verdict) : red(verdict)));
  lines.push(...wrapped(f.question, width - 2).map((line) => `  ${line}`), '');
  lines.push(row('requests', number(f.requests), perSecond(f.requests_per_second)));
  lines.push(row('orders', number(f.orders), times('orders')));
  if (f.orders_per_second !== null) lines.push(...indented(perSecond(f.orders_per_second, ' while there was stock')));
  if (f.repeats > 0) lines.push(row('repeats', number(f.repeats), 'the order of an earlier request again'));
  lines.push(row('refused', number(f.refused), times('refused')));
  lines.push(...indented(counts(f.refused_by)));
  lines.push(row('no answer', number(f.no_answer), counts(f.no_answer_by)));
  lines.push(row('not sent', number(f.not_sent)), ...indented(f.not_sent_reason));
  lines.push(row('sold', number(f.sold), `of ${number(f.units)} unit${f.units === 1 ? '' : 's'}${f.sold_out_after_ms === null ? '' : `, sold out after ${inSeconds(f.sold_out_after_ms)}`}`));
  lines.push(...indented(changed(f)));
  lines.push(row('server', '', times('server')), ...indented('one request and its answer'));
  lines.push(row('audit', '', f.audit));
  if (f.audit !== 'none') lines.push(...indented(`oversold ${number(f.oversold)}, sold twice ${number(f.sold_twice)}, lost ${number(f.lost)}`));

  lines.push('', '  found, and allowed');
  const shown = folded(f.thresholds);
  const longest = Math.max(...shown.map((t) => t.what.length), 0);
  for (const t of shown) {
    const line = `  ${t.ok ? '✔' : '✘'} ${t.what.padEnd(Math.min(longest, 40))}  ${t.found}, allowed ${t.allowed}`;
    const parts = line.length <= width ? [line] : broken(line);
    lines.push(...(t.ok ? parts : parts.map(red)));
  }
  for (const c of f.failed_checks) lines.push(...broken(`✘ ${c.name}: ${number(c.failed)} of ${number(c.of)} failed`).map(red));
  return `${lines.join('\n')}\n`;
}

// broken is a line of the last part that is too long for one line.
const broken = (text) => wrapped(text, width - 4).map((part, i) => `${i ? '    ' : '  '}${part}`);

// counts is an object of numbers in words.
const counts = (by) => Object.entries(by).map(([name, n]) => `${number(n)} ${name}`).join(', ');

// changed says what became of the orders.
function changed({ paid, cancelled, sold_again: again }) {
  const words = [];
  if (paid > 0) words.push(`${number(paid)} paid`);
  if (cancelled > 0 && again === cancelled) words.push(`${number(cancelled)} cancelled and sold again`);
  else if (cancelled > 0) words.push(`${number(cancelled)} cancelled`);
  if (again > 0 && again !== cancelled) words.push(`${number(again)} sold again`);
  return words.join(', ');
}

// folded is the thresholds with one line for all refusals that did not come, and for all kinds of no answer.
function folded(thresholds) {
  const isQuiet = (t) => t.ok && t.allowed === '0' && /^(refused\{code|no_answer\{answer)/.test(t.name);
  const others = thresholds.filter((t) => isQuiet(t) && t.name.startsWith('refused'));
  const shown = thresholds.filter((t) => !isQuiet(t));
  if (others.length > 0) shown.push({ what: 'refused with any other code', found: '0', allowed: '0', ok: true });
  return shown;
}

// wrapped is a text in lines of at most so many columns. A word that is longer has its own lines.
function wrapped(text, columns) {
  const lines = [];
  for (let word of text.split(/\s+/).filter((w) => w)) {
    for (; word.length > columns; word = word.slice(columns)) lines.push(word.slice(0, columns));
    const last = lines.length - 1;
    if (last >= 0 && lines[last].length + 1 + word.length <= columns) lines[last] += ` ${word}`;
    else lines.push(word);
  }
  return lines;
}
