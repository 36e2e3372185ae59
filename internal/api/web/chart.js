// The live chart, drawn by uPlot (vendored: uplot.js).
import { app, number, say } from "./core.js";

const keep = 130; // readings: a little more than the minute that is shown
const data = [[], [], []]; // seconds, orders per second, p99 in ms

let chart = null;
let drawnAs = "";

export function push(e) {
  data[0].push(Date.parse(e.at) / 1000);
  data[1].push(e.orders_per_second);
  data[2].push(e.p99_ms || null);
  for (const column of data) if (column.length > keep) column.shift();
}

export function forget() {
  for (const column of data) column.length = 0;
}

// draw shows the data in box. The chart is made anew when its words, its colours or its width
// change.
export function draw(box) {
  try {
    plot(box);
  } catch { // uPlot needs more of a browser than the page, which goes on without it
    box.textContent = say("no_chart");
  }
}

function plot(box) {
  const width = box.clientWidth;
  if (!width) return;
  const css = getComputedStyle(document.documentElement);
  const colour = (name) => resolve(box, css.getPropertyValue("--" + name).trim());
  const as = [app.language, width, colour("text"), colour("hot")].join();
  if (chart && as === drawnAs) return chart.setData(data);
  chart?.destroy();
  chart = null;
  box.textContent = "";
  drawnAs = as;
  const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 } };
  chart = new window.uPlot({
    width, height: 240, padding: [12, 4, 0, 4],
    cursor: { drag: { x: false, y: false } },
    scales: { x: { time: true, range: minute }, n: { range: (_, low, high) => [0, Math.max(10, high * 1.15)] }, ms: { range: (_, low, high) => [0, Math.max(10, high * 1.15)] } },
    axes: [
      { ...axis, values: (_, all) => all.map((s) => new Date(s * 1000).toLocaleTimeString("en-GB")), space: 90 },
      { ...axis, scale: "n", size: 56 },
      { ...axis, scale: "ms", side: 1, grid: { show: false }, size: 56 },
    ],
    series: [
      { label: say("chart_time"), value: shown((s) => new Date(s * 1000).toLocaleTimeString("en-GB")) },
      { label: say("chart_pace"), scale: "n", value: shown(number), stroke: colour("hot"), fill: colour("hot-soft"), width: 2, points: { show: false } },
      { label: say("chart_p99"), scale: "ms", value: shown(number), stroke: colour("cool"), width: 2, dash: [5, 4], spanGaps: false, points: { show: false } },
    ],
  }, data, box);
}

// minute is the range that the chart shows: all data, from twenty seconds up to a minute.
const minute = (_, low, high) => [Math.max((high ?? 0) - 60, Math.min(low ?? 0, (high ?? 0) - 20)), high ?? 0];

// shown writes the value under the pointer, or else the latest.
const shown = (write) => (_, value, series) => {
  const v = value ?? data[series][data[series].length - 1];
  return v === undefined || v === null ? "–" : write(v);
};

// resolve returns a colour that a canvas knows: light-dark() is for style sheets alone.
function resolve(box, value) {
  const probe = document.createElement("i");
  probe.style.color = value;
  box.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}
