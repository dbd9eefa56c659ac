// What went wrong, shown where it belongs. A place is a path such as "state", "media/images/0" or "q/3/criteria/1";
// the nearest element that has it, or a part of it, as data-place shows the text.

import { byId, el } from "./dom.js";
import { KINDS, Problem, store } from "./state.js";

const AREAS = { state: "State", media: "Media", questions: "Questions", model: "Model", key: "API key" };

export function clearProblems() {
  for (const text of document.querySelectorAll("p.problem")) text.remove();
  for (const control of document.querySelectorAll("[aria-invalid]")) {
    control.removeAttribute("aria-invalid");
    control.removeAttribute("aria-errormessage");
  }
}

/** Writes each problem beside its field. Returns those that have one, with the control to correct. */
export function showProblems(problems) {
  return problems.map((problem, index) => {
    const home = find(problem.place);
    if (!home) return { problem };
    const id = `problem-${index}`;
    home.append(el("p.problem", { id }, problem.message));
    const control = home.querySelector("textarea:not([hidden]), input:not([type=file]):not([type=radio]), select, button");
    control?.closest("details")?.setAttribute("open", "");
    control?.setAttribute("aria-invalid", "true");
    control?.setAttribute("aria-errormessage", id);
    return { problem, control, label: label(problem.place) };
  });
}

function find(place) {
  const parts = place.split("/");
  while (parts.length && parts[0]) {
    const home = document.querySelector(`[data-place="${parts.join("/")}"]`);
    if (home && !home.hidden) return home;
    parts.pop();
  }
  return place.startsWith("q/") ? document.querySelector('[data-place="questions"]') : null;
}

function label(place) {
  const [area, which, field] = place.split("/");
  if (area === "media" && which) return `${which.replace(/s$/, "")} ${Number(field) + 1}`;
  if (area !== "q") return AREAS[area];
  const asked = store.questions.find(({ uid }) => String(uid) === which);
  return asked?.id ? `Question ${asked.id}` : "Question";
}

/** Problems that an answer of the API tells of: its status, its body (null where it was no JSON) and its headers. */
export function refused(status, body, headers) {
  const detail = body?.detail ?? body?.error ?? body?.message;
  if (Array.isArray(detail)) return issues(detail);
  const text = typeof detail === "string" ? detail : detail?.message;
  const kind = detail?.error_type;
  if (status === 401 || status === 403) return [new Problem(kind === "authentication_error" ? "key" : "", text ?? "The server refuses access.")];
  if (kind === "max_tokens_exceeded") return [new Problem("state", text ?? "The request is longer than the model's window.")];
  if (status === 429 || status === 503 || status === 529) {
    const wait = headers.get("retry-after");
    return [new Problem("", `${text ?? "The server is busy."}${wait ? ` It asks to wait ${wait} s.` : ""}`)];
  }
  return [new Problem(placeOf(text ?? ""), text ?? `The server answered ${status} without saying why.`)];
}

/** The list form: {loc, msg} each. Texts about one place, such as "a string", "an object", become one. */
function issues(list) {
  const byPlace = new Map();
  for (const { loc = [], msg = "is wrong" } of list) {
    const place = placeOfLoc(loc.slice(loc[0] === "body" ? 1 : 0));
    byPlace.set(place, [...new Set([...(byPlace.get(place) ?? []), msg])]);
  }
  return [...byPlace].map(([place, texts]) => new Problem(place, `${texts.join(" / ")}.`));
}

function placeOfLoc([area, id, ...rest]) {
  if (area === "questions") return id === undefined ? "questions" : placeInQuestion(String(id), rest);
  if (KINDS.includes(area)) return id === undefined ? "media" : `media/${area}/${id}`;
  return ["state", "model"].includes(area) ? area : "";
}

function placeInQuestion(id, rest) {
  const asked = store.questionsText === null && store.questions.find((one) => one.id === id);
  if (!asked) return "questions";
  const [field, which] = rest[0] === asked.type ? rest.slice(1) : rest;
  if (field === "instructions") return `q/${asked.uid}/instructions`;
  if (field !== "criteria") return `q/${asked.uid}`;
  const index = asked.type === "choice" ? asked.options.findIndex(({ name }) => name === which) : which;
  return index === undefined || index === -1 ? `q/${asked.uid}/criteria` : `q/${asked.uid}/criteria/${index}`;
}

/** Where a plain sentence of the API belongs. */
function placeOf(text) {
  const medium = /\b(images|audio|videos)\[(\d+)\]/.exec(text);
  if (medium) return `media/${medium[1]}/${medium[2]}`;
  if (/unknown model/i.test(text)) return "model";
  if (/^state\b/.test(text)) return "state";
  if (/^Question key/.test(text)) return place((asked) => asked.id === "");
  if (/^Too many choices/.test(text)) return place((asked) => asked.type === "choice" && asked.options.length > 255);
  if (/^Too many score levels/.test(text)) return place((asked) => asked.type === "score" && asked.levels.length > 10);
  const named = /^\w+ question must .*?: ([\s\S]+)$/.exec(text);
  if (named) return placeInQuestion(named[1], []);
  const path = /^questions\.([\w-]+)/.exec(text);
  return path ? placeInQuestion(path[1], []) : "";
}

function place(wanted) {
  const asked = store.questions.find(wanted);
  return asked ? `q/${asked.uid}` : "questions";
}

/** The list of what to correct, in place of answers. */
export function summary(title, shown, note) {
  const line = ({ problem, control, label: named }) =>
    el("li", {}, control
      ? el("button.link", { type: "button", onclick: () => control.focus() }, `${named}:`)
      : null, control ? " " : null, problem.message);
  return el("div.refused", {},
    el("h3", {}, title),
    el("ul", {}, shown.map(line)),
    note ? el("p.hint", {}, note) : null);
}

export const focusFirst = (shown) => (shown.find(({ control }) => control)?.control ?? byId("run")).focus();
