// What is being asked: model, state, questions and media, and the request they make. Knows nothing of the page.

import { parse, write } from "./json.js";

export const KINDS = ["images", "audio", "videos"];

/** Everything that can be edited. `questionsText` is null while the form is used. A medium is {name, url, bytes}. */
export const store = {
  model: "",
  kind: "text",
  state: "",
  questions: [],
  questionsText: null,
  evidence: true,
  media: { images: [], audio: [], videos: [] },
};

/** What is wrong with a request: where (see errors.js) and what. */
export class Problem extends Error {
  constructor(place, text) {
    super(text);
    this.place = place;
  }
}

let made = 0;

/** Text that may also be an object or an array, then as its JSON. */
export const words = (text = "", json = false) => ({ text, json });

/** A question as the form keeps it: entries of every type, so that changing the type back loses nothing. */
export function question(type = "noul", id = "") {
  made += 1;
  return {
    uid: made,
    id,
    type,
    instructions: words(),
    sides: { true: words(), false: words() },
    options: [{ name: "", ...words() }, { name: "", ...words() }],
    levels: [words(), words()],
  };
}

/** An id that no question has yet. */
export function freshId() {
  const used = new Set(store.questions.map((asked) => asked.id));
  let number = 1;
  while (used.has(`q${number}`)) number += 1;
  return `q${number}`;
}

/** The state as it is sent. */
export function stateValue() {
  if (store.kind === "text") return store.state;
  if (!store.state.trim()) throw new Problem("state", "The state is empty. Write JSON, or switch to text.");
  try {
    return parse(store.state);
  } catch (error) {
    throw new Problem("state", `Not JSON at ${error.message}.`);
  }
}

/** The questions as they are sent: a Map of Maps. Throws the first `Problem`. */
export function questionsValue() {
  if (store.questionsText !== null) return readQuestions(store.questionsText);
  if (!store.questions.length) throw new Problem("questions", "There is no question. Add one.");
  const all = new Map();
  for (const asked of store.questions) {
    const place = `q/${asked.uid}`;
    if (!asked.id) throw new Problem(`${place}/id`, "The question has no name.");
    if (all.has(asked.id)) throw new Problem(`${place}/id`, `Two questions are called "${asked.id}".`);
    all.set(asked.id, questionValue(asked, place));
  }
  return all;
}

function readQuestions(text) {
  let value;
  try {
    value = parse(text);
  } catch (error) {
    throw new Problem("questions", `Not JSON at ${error.message}.`);
  }
  if (!(value instanceof Map)) throw new Problem("questions", "The questions must be an object: names to questions.");
  return value;
}

function questionValue(asked, place) {
  const value = new Map([["type", asked.type]]);
  const said = wordsValue(asked.instructions, `${place}/instructions`);
  if (said !== "") value.set("instructions", said);
  if (asked.type === "noul") {
    const sides = new Map();
    for (const side of ["true", "false"]) {
      const meant = wordsValue(asked.sides[side], `${place}/criteria/${side}`);
      if (meant !== "") sides.set(side, meant);
    }
    if (sides.size) value.set("criteria", sides);
    if (said === "" && !sides.size) throw new Problem(`${place}/instructions`, "Nothing is asked yet.");
  } else if (asked.type === "choice") {
    value.set("criteria", optionsValue(asked, place));
  } else {
    value.set("criteria", levelsValue(asked, place));
  }
  return value;
}

function optionsValue(asked, place) {
  const options = new Map();
  asked.options.forEach((option, index) => {
    const here = `${place}/criteria/${index}`;
    if (option.name === "" && option.text === "") return;
    if (option.name === "") throw new Problem(here, "The option has no name.");
    if (options.has(option.name)) throw new Problem(here, `Two options are called "${option.name}".`);
    const described = wordsValue(option, here);
    options.set(option.name, described === "" ? null : described);
  });
  if (!options.size) throw new Problem(`${place}/criteria`, "The choice has no option yet.");
  return options;
}

function levelsValue(asked, place) {
  const used = asked.levels.slice(0, asked.levels.findLastIndex((level) => level.text !== "") + 1);
  if (!used.length) throw new Problem(`${place}/criteria`, "The score has no level yet.");
  return used.map((level, index) => {
    if (level.text === "") throw new Problem(`${place}/criteria/${index}`, "The level says nothing.");
    return wordsValue(level, `${place}/criteria/${index}`);
  });
}

function wordsValue(said, place) {
  if (!said.json) return said.text;
  try {
    return parse(said.text);
  } catch (error) {
    throw new Problem(place, `Not JSON at ${error.message}.`);
  }
}

/** Questions of the form from a Map of wire objects. Throws a `Problem` where the form would lose something. */
export function toForm(value) {
  return [...value].map(([id, wire]) => formQuestion(id, wire));
}

function formQuestion(id, wire) {
  const lose = (what) => new Problem("questions", `The form cannot show ${what} of "${id}". Keep editing as JSON.`);
  if (!(wire instanceof Map)) throw lose("the value");
  const type = wire.get("type");
  if (!["noul", "choice", "score"].includes(type)) throw lose("the type");
  const other = [...wire.keys()].find((key) => !["type", "instructions", "criteria"].includes(key));
  if (other !== undefined) throw lose(`the field "${other}"`);
  const asked = question(type, id);
  asked.instructions = formWords(wire.get("instructions") ?? "", () => lose("the instructions"));
  const criteria = wire.get("criteria");
  const bad = () => lose("the criteria");
  if (type === "noul") {
    if (!((criteria ?? new Map()) instanceof Map)) throw bad();
    for (const [side, meant] of criteria ?? []) {
      if (!Object.hasOwn(asked.sides, side)) throw bad();
      asked.sides[side] = formWords(meant, bad);
    }
  } else if (type === "choice") {
    if (!(criteria instanceof Map)) throw bad();
    asked.options = [...criteria].map(([name, described]) => ({ name, ...formWords(described ?? "", bad) }));
  } else {
    if (!Array.isArray(criteria)) throw bad();
    asked.levels = criteria.map((level) => formWords(level, bad));
  }
  return asked;
}

function formWords(value, refuse) {
  if (typeof value === "string") return words(value);
  if (value instanceof Map || Array.isArray(value)) return words(write(value), true);
  throw refuse();
}

/** The whole request as a Map. `medium` gives what stands for each medium, its data URL if not given. */
export function request(medium = ({ url }) => url) {
  const body = new Map();
  if (store.model) body.set("model", store.model);
  body.set("state", stateValue());
  for (const kind of KINDS) {
    if (store.media[kind].length) body.set(kind, store.media[kind].map(medium));
  }
  body.set("questions", questionsValue());
  if (store.evidence) body.set("x_evidence", true);
  return body;
}

/** Options of a wire question in request order: {key, label}. */
export function optionsOf(wire) {
  const type = wire.get("type");
  const criteria = wire.get("criteria");
  if (type === "noul") return [{ key: "true", label: "yes" }, { key: "false", label: "no" }];
  if (type === "choice") return [...criteria.keys()].map((key) => ({ key, label: key }));
  return criteria.map((level, index) => ({ key: String(index), label: plain(level) }));
}

/** A text-like value for people to read. */
export const plain = (value) => (typeof value === "string" ? value : write(value ?? ""));

/** Text of a link that carries all but the media. */
export function toLink() {
  const questions = store.questionsText ?? write(questionsValue());
  const parts = [store.kind, store.state, questions, store.questionsText === null ? "form" : "json"];
  const bytes = new TextEncoder().encode(JSON.stringify(parts));
  const binary = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  return `1.${btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** What `toLink` wrote: {kind, state, questions, editing}. Throws an Error when it is something else. */
export function fromLink(text) {
  try {
    const binary = atob(text.slice(2).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(binary, (letter) => letter.charCodeAt(0));
    const parts = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (!Array.isArray(parts) || parts.length !== 4 || !parts.every((part) => typeof part === "string")) throw new Error();
    const [kind, state, questions, editing] = parts;
    return { kind: kind === "json" ? "json" : "text", state, questions, editing };
  } catch {
    throw new Error("The link is damaged and was not opened.");
  }
}
