// Answers as cards: what was decided, how sure, and a bar for each option that opens its evidence.

import { el, percent } from "./dom.js";
import { evidence } from "./evidence.js";
import { optionsOf, plain } from "./state.js";

const SHOWN = 12; // options of a large choice that are drawn at once

/** Cards of all answers. asked: {questions, state, media}, as they were when asked. The first one is opened. */
export function cards(body, asked) {
  const all = [...asked.questions].filter(([id]) => body.answers[id]);
  return el("ol.cards", {}, all.map(([id, wire], index) => card(id, wire, body, asked, index === 0)));
}

/** Model, tokens and time in one line of figures. */
export function figures(body, milliseconds) {
  const parts = Object.entries(body.x_tokens ?? {}).filter(([name, count]) => count > 0 && name !== "total" && Number.isFinite(count));
  const tokens = body.usage?.input_tokens;
  const pairs = [
    ["model", body.model],
    ["time", `${milliseconds < 100 ? milliseconds.toFixed(1) : Math.round(milliseconds)} ms`],
    ["tokens", tokens === undefined ? "unknown" : tokens.toLocaleString("en")],
  ];
  if (parts.length > 1) pairs.push(["of them", parts.map(([name, count]) => `${count.toLocaleString("en")} ${name}`).join(", ")]);
  const dropped = body.x_state_tokens_dropped ?? body.usage?.x_state_tokens_dropped;
  if (dropped) pairs.push(["cut off", `${dropped.toLocaleString("en")} tokens of the state`]);
  return el("dl.figures", {}, pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function card(id, wire, body, asked, open) {
  const answer = body.answers[id];
  const options = optionsOf(wire);
  const shares = shareOf(answer);
  const found = body.x_evidence?.[id];
  const said = plain(wire.get("instructions") ?? "");
  const panel = el("div.evidence", { hidden: true });
  const order = options.length > SHOWN ? [...options].sort((a, b) => shares(b.key) - shares(a.key)) : options;
  const best = winner(answer, options);
  const bars = order.map((option) => bar(option, shares(option.key), option === best, found ? () => toggle(option) : null));
  let opened = null;

  function toggle(option) {
    opened = opened === option.key ? null : option.key;
    order.forEach(({ key }, index) => bars[index].querySelector("button").setAttribute("aria-expanded", String(key === opened)));
    panel.hidden = opened === null;
    panel.replaceChildren(...(opened === null ? [] : evidence(found[option.key] ?? [], option.label, asked)));
  }

  const list = el("ul.bars", {}, bars.slice(0, SHOWN));
  const more = bars.length > SHOWN
    ? el("button.plain.small", { type: "button", onclick: (event) => (list.append(...bars.slice(SHOWN)), event.target.remove()) },
      `Show all ${bars.length} options`)
    : null;
  if (open && found) toggle(best);
  return el("li.card", {},
    el("h3", {}, id),
    said ? el("p.asked", {}, said) : null,
    el("p.answer", {}, headline(answer, best, options), el("span.sure", {}, sure(answer))),
    list,
    more,
    panel);
}

function headline(answer, best, options) {
  if (answer.type === "noul") return el("strong", {}, best.label);
  if (answer.type === "choice") return el("strong", {}, answer.choice);
  const near = options[Math.round(answer.score)].label;
  return el("strong", {}, answer.score.toFixed(2), el("span", {}, ` of ${options.length - 1}, ${near}`));
}

const sure = (answer) => (answer.confidence === undefined ? percent(Math.max(answer.noul, 1 - answer.noul)) : `confidence ${answer.confidence.toFixed(2)}`);

const shareOf = (answer) => (key) => {
  if (answer.type === "noul") return key === "true" ? answer.noul : 1 - answer.noul;
  return answer.probabilities[key];
};

function winner(answer, options) {
  const share = shareOf(answer);
  return options.reduce((best, option) => (share(option.key) > share(best.key) ? option : best));
}

function bar({ label }, share, best, onclick) {
  const line = best ? "li.best" : "li";
  const fill = el("span.fill");
  fill.style.width = `${share * 100}%`;
  const parts = [el("span.label", {}, label), el("span.track", {}, fill), el("span.share", {}, percent(share))];
  if (!onclick) return el(line, {}, el("div.bar", {}, parts));
  return el(line, {}, el("button.bar", { type: "button", "aria-expanded": "false", title: "What this drew on", onclick }, parts));
}
