// The environment variables of a load test. loadtest/run.sh reads the table of names from this file.

// renamed has a line per variable: a shorter name that the load test does not read, and the right one.
const renamed = {
  SECKILL_URL: 'LT_URL',
  ADMIN_TOKEN: 'LT_ADMIN_TOKEN',
  TOKENS: 'LT_TOKENS',
  METRICS: 'LT_METRICS',
  PEAK: 'LT_PEAK',
  TIME: 'LT_DURATION_FACTOR',
  PATIENCE: 'LT_LATENCY_FACTOR',
  SOAK: 'LT_SOAK_DURATION',
  USERS: 'LT_USERS',
  SCENARIO: 'LT_SCENARIOS',
  EMBEDDED: 'LT_EMBEDDED',
  SETTINGS: 'LT_SERVER_SETTINGS',
  REPORTS: 'LT_REPORTS',
};

// known are the names of all variables.
const known = [...Object.values(renamed), 'LT_SUMMARY'];

// closed are options of k6 that replace the scenarios by a closed model. A script cannot ignore them.
const closed = ['K6_VUS', 'K6_DURATION', 'K6_ITERATIONS', 'K6_STAGES'];

// closedModel is the sentence for such an option.
export const closedModel = (option) => `${option} does not fit these scenarios, in which buyers arrive at a fixed rate: set LT_PEAK and LT_DURATION_FACTOR instead`;

// here is a path from the working folder. k6 would read it from the folder of the script.
const here = (env, path) => (env.PWD && !path.startsWith('/') ? `${env.PWD}/${path}` : path);

// read returns the settings of a load test, and the first problem of the environment or ''.
export function read(env) {
  const problems = [];
  for (const [old, name] of Object.entries(renamed)) {
    if (env[old]) problems.push(`the load test does not read ${old}: set ${name} instead`);
  }
  for (const name of Object.keys(env)) {
    if (name.startsWith('LT_') && !known.includes(name)) problems.push(`the load test has no variable ${name}`);
  }
  for (const name of closed) {
    if (env[name]) problems.push(closedModel(name));
  }
  const positive = (name, unless) => {
    const n = Number(env[name] || unless);
    if (n > 0 && n < Infinity) return n;
    problems.push(`${name} is ${env[name]}: it must be a number above 0`);
    return unless;
  };
  const settings = {
    url: (env.LT_URL || 'http://127.0.0.1:8080').replace(/\/+$/, ''),
    adminToken: env.LT_ADMIN_TOKEN || '',
    tokens: here(env, env.LT_TOKENS || 'tokens.txt'),
    metrics: env.LT_METRICS || '',
    peak: positive('LT_PEAK', 1000),
    durationFactor: positive('LT_DURATION_FACTOR', 1),
    latencyFactor: positive('LT_LATENCY_FACTOR', 1),
    soak: env.LT_SOAK_DURATION || '30m',
    summary: env.LT_SUMMARY || '',
  };
  if (!/^[1-9]\d*[smh]$/.test(settings.soak)) {
    problems.push(`LT_SOAK_DURATION is ${settings.soak}: it must be a duration such as 90s, 2m or 1h`);
    settings.soak = '30m';
  }
  if (!settings.adminToken) problems.push('LT_ADMIN_TOKEN is not set: it is the output of `seckill token --user 1 --role admin`');
  return { settings, problem: problems[0] || '' };
}
