// JSON that keeps what JSON.parse loses: the order of keys such as "10", numbers as they were written, and the
// knowledge that a key was there twice. Objects become Maps, numbers become `Literal`.

export class Literal {
  constructor(text) {
    this.text = text;
  }
}

const TOKEN = /[ \t\n\r]*(?:([{}[\]:,])|("(?:[^"\\\u0000-\u001f]|\\.)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;
const SPACE = /[ \t\n\r]*/y;
const DEPTH = 64;

/** The value of a JSON text. Throws a SyntaxError that names the line and the column. */
export function parse(text) {
  let at = 0; // where the next token is looked for
  let start = 0; // where the last one began
  const fail = (problem) => {
    const lines = text.slice(0, start).split("\n");
    throw new SyntaxError(`line ${lines.length}, column ${lines.at(-1).length + 1}: ${problem}`);
  };
  const next = () => {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    start = SPACE.lastIndex;
    TOKEN.lastIndex = at;
    const match = TOKEN.exec(text);
    if (!match) fail(start < text.length ? "this is not JSON" : "the JSON ends too early");
    at = TOKEN.lastIndex;
    return match;
  };
  const string = (quoted) => {
    try {
      return JSON.parse(quoted);
    } catch {
      return fail("a string has an unknown escape");
    }
  };
  const value = ([, mark, quoted, number, word], depth) => {
    if (depth > DEPTH) fail(`nested deeper than ${DEPTH} levels`);
    if (quoted !== undefined) return string(quoted);
    if (number !== undefined) return new Literal(number);
    if (word !== undefined) return word === "null" ? null : word === "true";
    if (mark === "[") return list(depth);
    if (mark === "{") return object(depth);
    return fail(`"${mark}" stands where a value should`);
  };
  const list = (depth) => {
    const items = [];
    let token = next();
    if (token[1] === "]") return items;
    for (;;) {
      items.push(value(token, depth + 1));
      const mark = next()[1];
      if (mark === "]") return items;
      if (mark !== ",") fail("a comma or ] is missing");
      token = next();
    }
  };
  const object = (depth) => {
    const fields = new Map();
    let token = next();
    if (token[1] === "}") return fields;
    for (;;) {
      if (token[2] === undefined) fail("a name in double quotes is missing");
      const key = string(token[2]);
      if (fields.has(key)) fail(`"${key}" is there twice`);
      if (next()[1] !== ":") fail("a colon is missing");
      fields.set(key, value(next(), depth + 1));
      const mark = next()[1];
      if (mark === "}") return fields;
      if (mark !== ",") fail("a comma or } is missing");
      token = next();
    }
  };
  const whole = value(next(), 0);
  if (text.slice(at).trim()) {
    start = at;
    fail("something follows the JSON");
  }
  return whole;
}

/** The JSON text of a value as `parse` gives them; `indent` of 0 writes one line. */
export function write(value, indent = 0, level = 0) {
  return layout(value, indent, level, { null: "null", true: "true", false: "false", last: "" });
}

/** The Python expression of the same value. */
export function python(value, level = 0) {
  return layout(value, 4, level, { null: "None", true: "True", false: "False", last: "," });
}

/** A piece of code that stands as it is, where a value would. */
export class Code extends Literal {}

function layout(value, indent, level, words) {
  if (value instanceof Literal) return value.text;
  if (typeof value === "string") return JSON.stringify(value);
  if (value === null || typeof value === "boolean") return words[value];
  const isMap = value instanceof Map;
  const [open, close] = isMap ? "{}" : "[]";
  const pair = indent ? ": " : ":";
  const items = isMap
    ? [...value].map(([key, item]) => JSON.stringify(key) + pair + layout(item, indent, level + 1, words))
    : value.map((item) => layout(item, indent, level + 1, words));
  if (!items.length) return open + close;
  if (!indent) return open + items.join(",") + close;
  const flat = open + items.join(", ") + close;
  if (level > 1 && flat.length + level * indent < 90 && !flat.includes("\n")) return flat;
  const pad = " ".repeat(indent * (level + 1));
  return `${open}\n${pad}${items.join(`,\n${pad}`)}${words.last}\n${" ".repeat(indent * level)}${close}`;
}
