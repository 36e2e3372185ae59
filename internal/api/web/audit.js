// The audit of the chosen coupon, read every few seconds for the views that show it.
import { app, now, on, tell } from "./core.js";
import { mayAudit, readAudit } from "./server.js";

// audit is the last report, and the answer to the last reading if it was none.
export const audit = { report: null, refused: null, reading: false };

// stale is the age from which on a report is marked: newer figures stand beside it.
const stale = 8_000;

// age returns how old the report is, in ms.
export const age = () => Math.max(0, now() - Date.parse(audit.report.taken_at));
export const isStale = () => age() > stale;

// invariant returns one of the report's, by its id.
export const invariant = (id) => audit.report?.invariants.find((i) => i.id === id);

// settled reports whether nothing changed while both stores were read.
export const settled = () => audit.report !== null && !audit.report.invariants.some((i) => i.status === "unsettled");

// lost returns how many acknowledged orders have no row.
export const lost = () => invariant("I7").numbers[0];

const shows = () => ["sale", "engine"].includes(app.view) || app.view === "rush" && Boolean(app.event?.sold_out);

async function read() {
  if (audit.reading || !shows() || !mayAudit() || !app.chosen || document.hidden) return;
  audit.reading = true;
  tell("audit");
  const id = app.chosen;
  const a = await readAudit(id);
  audit.reading = false;
  if (id !== app.chosen) return read(); // another coupon was chosen meanwhile
  audit.refused = a.status === 200 ? null : a;
  if (!audit.refused) audit.report = a.body;
  tell("audit");
}

on("chosen", () => { audit.report = audit.refused = null; tell("audit"); read(); });
on("view admin words features", () => {
  if (!mayAudit()) audit.report = null;
  tell("audit");
  read();
});
setInterval(read, 3_000);
