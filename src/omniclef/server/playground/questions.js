// The form of the questions: one card each, and the same as JSON.

import { byId, check, checked, el, fit } from "./dom.js";
import { clearProblems, showProblems } from "./errors.js";
import { write } from "./json.js";
import { Problem, freshId, question, questionsValue, store, toForm, words } from "./state.js";

const TYPES = { noul: "yes or no", choice: "choice", score: "score" };
const MOST = { choice: 255, score: 10 };
let changed = () => {};

/** Wires the section; `onchange` hears of every edit. */
export function setUp(onchange) {
  changed = onchange;
  for (const button of document.querySelectorAll("[data-add]")) {
    button.addEventListener("click", () => add(button.dataset.add));
  }
  for (const radio of document.querySelectorAll('input[name="editing"]')) {
    radio.addEventListener("change", switchEditing);
  }
  byId("questions-json").addEventListener("input", (event) => {
    store.questionsText = event.target.value;
    changed();
  });
}

/** Draws what the store holds. */
export function draw() {
  const asJson = store.questionsText !== null;
  check("editing", asJson ? "json" : "form");
  byId("questions-json").hidden = !asJson;
  byId("questions-json").value = store.questionsText ?? "";
  byId("questions").hidden = asJson;
  byId("adding").hidden = asJson;
  byId("questions").replaceChildren(...(asJson ? [] : store.questions.map(card)));
  for (const area of byId("questions").querySelectorAll("textarea")) fit(area);
}

function add(type) {
  const asked = question(type, freshId());
  store.questions.push(asked);
  redraw(`q${asked.uid}-instructions`);
}

function redraw(focus) {
  draw();
  byId(focus)?.focus();
  changed();
}

function switchEditing() {
  clearProblems();
  try {
    if (checked("editing") === "json") store.questionsText = write(draft(), 2);
    else {
      store.questions = toForm(questionsValue());
      store.questionsText = null;
    }
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    showProblems([error]);
  }
  draw();
  changed();
}

/** The questions so far; one that is not finished yet is no reason to refuse the JSON. */
function draft() {
  try {
    return questionsValue();
  } catch (error) {
    const untouched = store.questions.every((asked) => !asked.instructions.text && !asked.options[0]?.name);
    if (error instanceof Problem && untouched) {
      return new Map([["q1", new Map([["type", "noul"], ["instructions", ""]])]]);
    }
    throw error;
  }
}

function card(asked, index) {
  const key = `q${asked.uid}`;
  const place = `q/${asked.uid}`;
  const move = (step) => {
    store.questions.splice(index, 1);
    store.questions.splice(index + step, 0, asked);
    const end = index + step === 0 || index + step === store.questions.length - 1;
    redraw(`${key}-${end ? (step < 0 ? "down" : "up") : step < 0 ? "up" : "down"}`);
  };
  const remove = () => {
    store.questions.splice(index, 1);
    const next = store.questions[Math.min(index, store.questions.length - 1)];
    redraw(next ? `q${next.uid}-id` : "");
    if (!next) document.querySelector("[data-add]").focus();
  };
  const named = asked.id || `question ${index + 1}`;
  const last = index === store.questions.length - 1;
  return el(
    "li.question",
    { "data-place": place },
    el(
      "div.question-head",
      {},
      el("div.name", { "data-place": `${place}/id` }, el("label.hidden", { for: `${key}-id` }, `Name of question ${index + 1}`),
        input(`${key}-id`, asked, "id", "name")),
      el("label.hidden", { for: `${key}-type` }, `Type of ${named}`),
      el(
        "select",
        { id: `${key}-type`, onchange: (event) => ((asked.type = event.target.value), redraw(`${key}-type`)) },
        Object.entries(TYPES).map(([value, label]) => el("option", { value, selected: value === asked.type }, label)),
      ),
      el(
        "div.row.tight",
        {},
        icon("up", `${key}-up`, `Move ${named} up`, () => move(-1), index === 0),
        icon("down", `${key}-down`, `Move ${named} down`, () => move(1), last),
        icon("remove", `${key}-remove`, `Remove ${named}`, remove),
      ),
    ),
    el(
      "div.field",
      { "data-place": `${place}/instructions` },
      el("label.hidden", { for: `${key}-instructions` }, `Instructions of ${named}`),
      area(`${key}-instructions`, asked.instructions, asked.type === "noul" ? "Is it so?" : "What is asked?"),
    ),
    el("div", { "data-place": `${place}/criteria` }, criteria(asked, key, place)),
  );
}

function criteria(asked, key, place) {
  if (asked.type === "noul") return sides(asked, key, place);
  return asked.type === "choice" ? options(asked, key, place) : levels(asked, key, place);
}

function sides(asked, key, place) {
  const written = asked.sides.true.text || asked.sides.false.text;
  const line = (side, label) =>
    el("div.side", { "data-place": `${place}/criteria/${side}` },
      el("label", { for: `${key}-${side}` }, label),
      input(`${key}-${side}`, asked.sides[side], "text", "means (optional)"));
  return el("details.more", { open: Boolean(written) }, el("summary", {}, "What yes and no mean"), line("true", "yes"), line("false", "no"));
}

function options(asked, key, place) {
  const line = (option, index) =>
    el("li.option", { "data-place": `${place}/criteria/${index}` },
      el("label.hidden", { for: `${key}-o${index}` }, `Option ${index + 1}`),
      input(`${key}-o${index}`, option, "name", `option ${index + 1}`),
      el("label.hidden", { for: `${key}-d${index}` }, `Description of option ${index + 1}`),
      input(`${key}-d${index}`, option, "text", "description (optional)"),
      lineTools(asked.options, index, key, "o", "option"));
  return lines(asked.options, line, key, "option", () => ({ name: "", ...words() }), MOST.choice);
}

function levels(asked, key, place) {
  const line = (level, index) =>
    el("li.level", { "data-place": `${place}/criteria/${index}` },
      el("label", { for: `${key}-o${index}` }, String(index)),
      input(`${key}-o${index}`, level, "text", index ? "a higher level" : "the lowest level"),
      lineTools(asked.levels, index, key, "o", "level"));
  return lines(asked.levels, line, key, "level", () => words(), MOST.score);
}

function lines(all, line, key, what, fresh, most) {
  const more = () => {
    all.push(fresh());
    redraw(`${key}-o${all.length - 1}`);
  };
  const adding = el("button.plain.small", { type: "button", disabled: all.length >= most, onclick: more }, `Add ${what}`);
  return [el("ol.lines", {}, all.map(line)), adding];
}

function lineTools(all, index, key, prefix, what) {
  const swap = () => {
    [all[index - 1], all[index]] = [all[index], all[index - 1]];
    redraw(index > 1 ? `${key}-up${index - 1}` : `${key}-${prefix}0`);
  };
  const remove = () => {
    all.splice(index, 1);
    redraw(`${key}-${prefix}${Math.min(index, all.length - 1)}`);
  };
  return el("div.row.tight", {},
    icon("up", `${key}-up${index}`, `Move ${what} ${index + 1} up`, swap, index === 0),
    icon("remove", `${key}-rm${index}`, `Remove ${what} ${index + 1}`, remove, all.length === 1));
}

const MARKS = { up: "\u2191", down: "\u2193", remove: "\u00d7" };

function icon(mark, id, label, onclick, disabled = false) {
  return el("button.icon", { type: "button", id, "aria-label": label, title: label, onclick, disabled }, MARKS[mark]);
}

function input(id, target, field, placeholder) {
  return el(field === "text" && target.json ? "input.mono" : "input", {
    id,
    type: "text",
    value: target[field],
    placeholder,
    spellcheck: field === "text" ? null : "false",
    autocomplete: "off",
    oninput: (event) => {
      target[field] = event.target.value;
      changed();
    },
  });
}

function area(id, target, placeholder) {
  return el(target.json ? "textarea.mono" : "textarea", {
    id,
    rows: 1,
    value: target.text,
    placeholder,
    oninput: (event) => {
      target.text = event.target.value;
      fit(event.target);
      changed();
    },
  });
}
