// The source of an experiment beside its drawing: the line of the step that is shown, and, once all is
// told, what the wrong and the right cases do differently.
import { $, both, make, rows, say } from "./core.js";

const kinds = { bad: "✘", good: "✔", differs: "≠" };

// kind returns how a line differs between wrong and right, if it does.
const kind = (line) => (line.differs ? "differs" : line.wrong && !line.right ? "bad" : line.right && !line.wrong ? "good" : "");

// pieces returns the lines that are shown, each with its number, and between them how many are left out.
function pieces(lines) {
  const all = [];
  lines.forEach((line, n) => {
    if (!line.folded) all.push({ line, n });
    else if (all.length && all[all.length - 1].out) all[all.length - 1].out++;
    else all.push({ out: 1 });
  });
  return all;
}

// showCode shows the blocks that belong to the phase, with the line of a step marked.
export function showCode(result, phase, step) {
  const blocks = result?.code ?? [];
  $("x-source").hidden = blocks.length === 0;
  if (blocks.length === 0) return;
  const told = phase === "all";
  const of = result.cases[result.question?.case ?? 0];
  const now = of.events[step]?.line;
  const shown = blocks.map((block, i) => told || of.events.some((e) => e.line?.[0] === i));
  rows($("x-code"), blocks.length, () => {
    const part = make("div");
    part.append(make("h4"), make("ol"));
    return part;
  }).forEach((part, i) => {
    part.hidden = !shown[i];
    part.firstElementChild.textContent = blocks[i].file;
    const texts = pieces(blocks[i].lines);
    rows(part.lastElementChild, texts.length, () => make("li")).forEach((item, at) => {
      const { line, n, out } = texts[at];
      if (out) {
        item.textContent = say("x_out", out);
        item.className = "out";
        item.removeAttribute("data-sign");
        item.removeAttribute("aria-current");
        return;
      }
      const differs = told ? kind(line) : "";
      const current = now !== undefined && now[0] === i && now[1] === n;
      item.textContent = line.text || " ";
      item.className = differs + (current ? " now" : "");
      item.dataset.sign = current ? "▶" : kinds[differs] ?? "";
      if (current) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
    });
  });
  const p = told && result.place;
  $("x-place").hidden = !p;
  if (p) {
    $("x-place").replaceChildren(say("x_place", both(p.why)) + " · ", make("code", p.file), " · ", make("code", p.code));
  }
  const used = told ? Object.keys(kinds).filter((k) => blocks.some((b) => b.lines.some((line) => kind(line) === k))) : [];
  rows($("x-signs"), used.length, () => make("li")).forEach((item, i) => { item.textContent = say("x_" + used[i]); });
}
