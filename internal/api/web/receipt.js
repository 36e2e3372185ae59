// The ticket of a buyer: what one keeps of a sale. Who came too late gets one of the same size.
import { $, app, chosen, make, number, on, press, say, titled, took } from "./core.js";
import { orderOf } from "./orders.js";
import { audit, settled } from "./audit.js";
import { beforeUnlock, traceOf } from "./trace.js";

let missed = null; // {coupon, at}: this buyer's request came too late, at that time of the server
let told;          // what is kept of the way of the order on the ticket
let ours = "";     // the order on the ticket

// missedBy notes that the buyer was told sold_out; null that it does not matter any more.
export function missedBy(coupon, at) {
  missed = coupon && { coupon, at };
  show();
}

// linesOf returns the title of a ticket and the lines below it; null if there is no ticket.
function linesOf() {
  const c = chosen();
  if (!c) return null;
  const o = orderOf(c.id);
  if (o && counted(o)) {
    const lines = [say("ticket_after", took(Math.max(0, Date.parse(o.created_at) - Date.parse(c.begins_at))))];
    if (told?.steps) {
      const before = beforeUnlock(told.steps), commit = told.steps.find((s) => s.step === "transaction" && !s.failed);
      if (commit) lines.push(say("ticket_took", took((commit.begin_us + commit.took_us) / 1000)));
      if (before !== null) lines.push(before < 0.1 ? say("ticket_unlock_at_once") : say("ticket_unlock", took(before)));
    }
    const n = told?.number ?? 0;
    const title = n > 0 && n <= c.stock ? say("ticket_no", number(n)).replace("{m}", number(c.stock)) : say("ticket_n", o.id);
    return { kind: "got", title, lines };
  }
  const e = app.event;
  if (missed?.coupon !== c.id || !e || e.left > 0) return null;
  const by = e.sold_out ? missed.at - Date.parse(e.begins_at) - e.sold_out.sold_out_after_ms : 0;
  const lines = [say("late_units", number(e.units))];
  if (e.instances.length < 2 && e.too_late > 1) lines.push(say("late_others", number(e.too_late - 1)));
  if (settled() && audit.report.duplicates === 0) lines.push(say("late_audit"));
  return { kind: "missed", title: by >= 1 ? say("late_by", took(Math.round(by))) : say("late"), lines };
}

const slack = 100; // of a reading, in ms

// counted reports whether the figures on the page have the order.
function counted(o) {
  const commit = told?.steps.find((s) => s.step === "transaction" && !s.failed);
  const made = Date.parse(o.created_at) + (commit ? (commit.begin_us + commit.took_us) / 1000 : 0);
  return !app.event || Date.parse(app.event.at) > made + slack;
}

let shown = "";

function show() {
  const t = linesOf();
  const as = JSON.stringify([app.language, t]);
  const o = chosen() && orderOf(chosen().id);
  if ((o?.id ?? "") !== ours) {
    ours = o?.id ?? "";
    told = undefined;
    if (ours && app.features.traces) read(ours);
  }
  if (as === shown) return;
  shown = as;
  $("ticket").hidden = !t;
  if (!t) return;
  $("ticket").className = t.kind;
  $("ticket-lines").replaceChildren(make("strong", t.title), ...t.lines.map((line) => make("span", line)));
}

// read fills in what the server has kept of the order.
async function read(id) {
  const got = await traceOf(id);
  if (id !== ours) return;
  told = got;
  show();
}

// save draws the ticket and hands it to the browser as a file.
function save() {
  const t = linesOf();
  if (!t) return;
  const picture = draw(t, titled(chosen()));
  picture.toBlob((file) => {
    const link = make("a");
    link.href = URL.createObjectURL(file);
    link.download = "seckill.png";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  });
}

const [width, height, margin] = [1080, 720, 84]; // of the picture, in pixels

// draw returns a canvas with a ticket, in the colours of the page.
function draw(t, name) {
  const style = getComputedStyle($("ticket"));
  const canvas = make("canvas");
  Object.assign(canvas, { width, height });
  const pen = canvas.getContext("2d");
  pen.fillStyle = style.backgroundColor;
  pen.fillRect(0, 0, width, height);
  pen.fillStyle = style.borderTopColor;
  pen.fillRect(0, 0, 18, height);
  pen.fillStyle = style.color;
  const write = (text, size, weight, y) => {
    do pen.font = `${weight} ${size}px ${style.fontFamily}`; // a line that is too long is written smaller
    while (pen.measureText(text).width > width - 2 * margin && --size > 12);
    pen.fillText(text, margin, y);
  };
  write("⚡ " + t.title, 84, 700, 200);
  t.lines.forEach((line, i) => write(line, 46, 400, 310 + 80 * i));
  write(`seckill · ${name}`, 34, 400, height - margin);
  return canvas;
}

// picture returns what would be saved, as a data URL; "" if there is no ticket.
export const picture = () => (linesOf() ? draw(linesOf(), titled(chosen())).toDataURL() : "");

const paints = Boolean(make("canvas").getContext?.("2d"));
if (paints) $("ticket").append(press("", save, "quiet small"));

on("words", () => { if (paints) $("ticket").lastElementChild.textContent = say("save"); });
on("sale words orders coupons chosen features audit", show);
