// The request as curl, as Python for typesafe-sdk, and as JSON.

import { Code, Literal, python, write } from "./json.js";
import { KINDS, request, store } from "./state.js";

/** {shown, copied, hint} in a language: what is shown leaves out the bytes of media, what is copied does not. */
export function code(language, url, hasKey) {
  if (language === "json") return json();
  return language === "curl" ? curl(url, hasKey) : sdk(url, hasKey);
}

const names = () => KINDS.flatMap((kind) => store.media[kind].map(({ name }) => name));
const filesHint = () => (names().length ? `Reads ${names().join(", ")} from the folder where it runs.` : "");

function json() {
  const short = ({ url, name }) => `${url.slice(0, url.indexOf(",") + 1)}\u2026${name}\u2026`;
  const hint = names().length ? "Copied with the media in full." : "";
  return { shown: write(request(short), 2), copied: () => write(request(), 2), hint };
}

// In a here-document whose end is not quoted, the shell still reads these.
const forShell = (text) => text.replaceAll(/[\\$`]/g, "\\$&");
const quoted = (name) => `'${name.replaceAll("'", "'\\''")}'`;

function curl(url, hasKey) {
  const files = [];
  const mark = (index) => `\0${index}\0`; // no JSON text holds this
  const body = write(
    request(({ url: data, name }) => {
      files.push(`${data.slice(0, data.indexOf(",") + 1)}$(base64 < ${quoted(name)} | tr -d '\\n')`);
      return new Literal(mark(files.length - 1));
    }),
    2,
  );
  let text = files.length ? forShell(body) : body;
  files.forEach((file, index) => {
    text = text.replace(mark(index), () => `"${file}"`);
  });
  const lines = [`curl ${quoted(url)} \\`];
  if (hasKey) lines.push(`  -H "authorization: Bearer $OMNICLEF_API_KEY" \\`);
  lines.push("  -H 'content-type: application/json' \\", `  -d @- <<${files.length ? "JSON" : "'JSON'"}`, text, "JSON");
  const shown = lines.join("\n");
  return { shown, copied: () => shown, hint: filesHint() };
}

function sdk(url, hasKey) {
  const body = request(({ url: data, name }) => {
    return new Code(`data_url(${JSON.stringify(name)}, ${JSON.stringify(data.slice(5, data.indexOf(";")))})`);
  });
  const more = new Map([...body].filter(([field]) => !["model", "state", "questions"].includes(field)));
  const lines = [];
  if (hasKey) lines.push("import os");
  if (names().length) lines.push("from base64 import b64encode", "from pathlib import Path");
  if (lines.length) lines.push("");
  lines.push("from typesafe_sdk import TypeSafeClient", "");
  if (names().length) {
    lines.push("", "def data_url(path, content_type):",
      '    return f"data:{content_type};base64,{b64encode(Path(path).read_bytes()).decode()}"', "", "");
  }
  const root = JSON.stringify(url.replace(/\/v1\/systemone$/, ""));
  lines.push(`with TypeSafeClient(base_url=${root}, api_key=${hasKey ? 'os.environ["OMNICLEF_API_KEY"]' : '"none"'}) as client:`);
  lines.push("    response = client.system_one(");
  if (body.has("model")) lines.push(`        model=${python(body.get("model"))},`);
  lines.push(`        state=${python(body.get("state"), 2)},`, `        questions=${python(body.get("questions"), 2)},`);
  if (more.size) lines.push(`        extra_body=${python(more, 2)},`);
  lines.push("    )", "print(response.answers)");
  const shown = lines.join("\n");
  return { shown, copied: () => shown, hint: ["Needs typesafe-sdk from PyPI.", filesHint()].join(" ").trim() };
}
