// The way through an experiment: a guess, the steps of its wrong case one by one, then all of it.
import { $, both, make, press, rows, say, set } from "./core.js";
import { showCode } from "./code.js";

let result = null;
let phase = "all"; // "ask", "steps" or "all"
let guess = null;
let at = 0;        // the step that is shown last
let drawn = "";

const question = () => result?.question;
const steps = () => question()?.steps ?? [];

// begin asks about a result, or shows it at once if it has no question.
export function begin(of) {
  result = of;
  phase = question() ? "ask" : "all";
  guess = null;
  at = 0;
}

// draw inserts the server's drawing in the visitor's language.
export function draw(of) {
  result = of;
  if (!question()) phase = "all";
  const text = result?.cases?.length ? both(result.drawing) : "";
  if (text === drawn) return;
  drawn = text;
  $("x-cases").replaceChildren(...new DOMParser().parseFromString(text, "text/html").body.children);
}

// walk shows what belongs to the phase.
export function walk() {
  $("x-ask").hidden = phase !== "ask";
  $("x-walk").hidden = phase !== "steps";
  $("x-told").hidden = phase !== "all";
  $("x-all").hidden = phase === "all";
  $("x-restart").hidden = phase !== "all" || !question();
  $("x-cases").hidden = phase === "ask";
  $("x-cases").classList.toggle("stepping", phase === "steps");
  $("experiment").classList.toggle("walking", phase === "steps");
  set("x-origin", result?.origin ? both(result.origin) : "");
  $("x-origin").hidden = !result?.origin;
  if (phase === "ask") ask();
  if (phase === "steps") step();
  if (phase === "all") tell();
  showCode(result, phase, phase === "steps" ? at : -1);
}

function ask() {
  const q = question();
  set("x-plan", say("x_plan", both(result.cases[q.case].label)));
  const texts = q.schedule?.map(both) ?? [say("x_no_plan")];
  rows($("x-schedule"), texts.length, () => make("li")).forEach((item, i) =>
    item.replaceChildren(...texts[i].split("`").map((part, n) => (n % 2 ? make("code", part) : part))));
  set("x-question", both(q.text));
  rows($("x-choices"), q.choices.length, () => press("", choose, "quiet")).forEach((button, i) => {
    button.value = q.choices[i];
    button.textContent = q.choices[i];
  });
}

function choose(button) {
  guess = Number(button.value);
  at = 0;
  phase = steps().length ? "steps" : "all";
  walk();
  $(phase === "steps" ? "x-next" : "x-answer").focus();
  reveal();
}

// step shows the wrong case up to one step, and nothing of the others.
function step() {
  const of = question().case;
  at = Math.min(at, steps().length - 1);
  set("x-count", `${at + 1} / ${steps().length}`);
  set("x-step", both(steps()[at]));
  set("x-next", say(at === steps().length - 1 ? "x_last" : "x_next"));
  $("x-back").disabled = at === 0;
  for (const part of $("x-cases").querySelectorAll(".part")) {
    const n = part.dataset.step;
    part.hidden = Number(part.dataset.case) !== of || part.classList.contains("gap") || Number(n) > at;
    part.classList.toggle("now", !part.hidden && n !== undefined && Number(n) === at);
  }
}

function tell() {
  for (const part of $("x-cases").querySelectorAll(".part")) {
    part.hidden = false;
    part.classList.remove("now");
  }
  const q = question();
  const known = q && guess !== null;
  set("x-answer", known ? say(guess === q.answer ? "x_right" : "x_wrong", guess).replace("{m}", q.answer) : "");
  $("x-answer").hidden = !known;
  $("x-answer").className = known && guess === q.answer ? "held" : "broken";
}

function move(by) {
  if (phase !== "steps" || at + by < 0) return;
  if (at + by === steps().length) return tellAll();
  at += by;
  walk();
  reveal();
}

// reveal scrolls to the step that is shown. The bar with the buttons covers the lower end of a phone's screen, and the
// upper end of a larger one.
function reveal() {
  const step = $("x-cases").querySelector(".part.now");
  if (!step) return;
  const margin = 8;
  const bar = $("x-walk").getBoundingClientRect();
  const below = getComputedStyle($("x-walk")).position === "fixed";
  const least = (below ? 0 : bar.height) + margin, most = (below ? bar.top : innerHeight) - margin;
  const { top, bottom } = step.getBoundingClientRect();
  if (bottom > most) scrollBy(0, Math.min(bottom - most, top - least));
  else if (top < least) scrollBy(0, top - least);
}

// tellAll ends the walk.
export function tellAll() {
  phase = "all";
  walk();
  $(guess === null ? "x-title" : "x-answer").focus();
}

$("x-back").addEventListener("click", () => move(-1));
$("x-next").addEventListener("click", () => move(1));
$("x-restart").addEventListener("click", () => {
  begin(result);
  walk();
  $("x-choices").firstElementChild.focus();
});
$("experiment").addEventListener("keydown", (e) => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
  if (!by || phase !== "steps" || e.altKey || e.ctrlKey || e.metaKey) return;
  e.preventDefault();
  move(by);
});
