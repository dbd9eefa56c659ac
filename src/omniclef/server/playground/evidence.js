// What an option drew on, drawn on the text, the pictures and the time lines that were sent.

import { el, percent } from "./dom.js";
import { Literal } from "./json.js";

const AROUND = 160; // characters of text kept on each side of a mark
const NAMES = { image: "picture", audio: "sound", video: "clip" };
const MEDIA = { image: "images", audio: "audio", video: "videos" };

/** Elements for the pieces of one option, heaviest first. asked: {state, media} as they were sent. */
export function evidence(pieces, label, asked) {
  const title = el("h4", {}, `What \u201c${label}\u201d drew on`);
  if (!pieces.length) return [title, el("p.hint", {}, "Nothing in the input: the question alone.")];
  const heaviest = Math.max(...pieces.map(({ weight }) => weight));
  const weighed = pieces.map((piece) => ({ ...piece, strength: heaviest > 0 ? piece.weight / heaviest : 0 }));
  const of = (modality) => weighed.filter((piece) => piece.modality === modality);
  return [
    title,
    of("text").length ? text(of("text"), asked) : null,
    ...media("image", of("image"), asked, picture),
    ...media("audio", of("audio"), asked, sound),
    ...media("video", of("video"), asked, clip),
    list(weighed, asked),
  ].filter(Boolean);
}

function media(modality, pieces, asked, draw) {
  const all = asked.media[MEDIA[modality]];
  return all.map((medium, index) => {
    const own = pieces.filter((piece) => piece.index === index);
    return own.length ? draw(medium, own) : null;
  });
}

function list(pieces, asked) {
  const line = (piece) => el("li", {}, el("span", {}, described(piece, asked)), " ", el("span.share", {}, percent(piece.weight)));
  return el("details.pieces", {}, el("summary", {}, `${pieces.length} heaviest pieces`), el("ol", {}, pieces.map(line)));
}

function described({ modality, index, span, text: said }, asked) {
  if (modality === "text") return `\u201c${said ?? ""}\u201d`;
  const named = asked.media[MEDIA[modality]].length > 1 ? `${NAMES[modality]} ${index + 1}` : NAMES[modality];
  if (modality !== "image") return `${named}, ${span[0].toFixed(2)} to ${span[1].toFixed(2)} s`;
  const [left, top, right, bottom] = span.map((edge) => Math.round(edge * 100));
  return `${named}, ${left} to ${right} % from the left, ${top} to ${bottom} % from the top`;
}

// Text -------------------------------------------------------------------------------------------------------------

function text(pieces, { state }) {
  if (typeof state === "string") {
    const marks = pieces.map((piece) => ({ ...place(piece, state), strength: piece.strength })).filter(({ start }) => start >= 0);
    return el("p.quote", {}, marked(state, marks));
  }
  const rows = leaves(state, []);
  const marks = new Map();
  for (const piece of pieces) {
    const found = inRows(piece, rows);
    if (found) marks.set(found.row, [...(marks.get(found.row) ?? []), { ...found, strength: piece.strength }]);
  }
  return el("dl.quote.leaves", {}, rows.map((row) =>
    el("div", {}, el("dt", {}, row.path.join(" \u203a ") || "value"), el("dd", {}, marked(row.value, marks.get(row) ?? [])))));
}

/** Where a piece is in the text. Spans count characters as the API does, by code point; pages count UTF-16 units. */
function place({ span, text: said }, whole) {
  const units = Array.from(whole.slice(0, span[1] * 2)); // no character has more than two units
  const start = units.slice(0, span[0]).join("").length;
  const stop = start + units.slice(span[0], span[1]).join("").length;
  if (said === undefined || whole.slice(start, stop) === said) return { start, stop };
  return only(said, whole);
}

/** The one place where a word stands in a text; start is -1 where it is not there or more than once. */
function only(word, whole) {
  const found = [];
  for (let at = whole.indexOf(word); at >= 0 && word; at = whole.indexOf(word, at + 1)) {
    const letter = /[\p{L}\p{N}]/u;
    const inside = letter.test(whole[at - 1] ?? " ") || letter.test(whole[at + word.length] ?? " ");
    if (!inside) found.push(at);
  }
  const count = found.length;
  return count === 1 ? { count, start: found[0], stop: found[0] + word.length } : { count, start: -1, stop: -1 };
}

/** The strings and numbers of a JSON state with the keys that lead to them. */
function leaves(value, path) {
  if (value instanceof Map) return [...value].flatMap(([key, item]) => leaves(item, [...path, key]));
  if (Array.isArray(value)) return value.flatMap((item, index) => leaves(item, [...path, index]));
  return [{ path, value: value instanceof Literal ? value.text : String(value) }];
}

/** The row that a piece's JSON Pointer leads to, and where in its value the piece is; null where it leads nowhere. */
function inRows(piece, rows) {
  const row = rows.find(({ path }) => pointer(path) === piece.path);
  const found = row && place(piece, row.value);
  return found && found.start >= 0 ? { row, ...found } : null;
}

function pointer(path) {
  return path.map((key) => `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}

/** A text with marks; long stretches without one are left out. */
function marked(whole, marks) {
  const parts = [];
  let at = 0;
  for (const { start, stop, strength } of [...marks].sort((a, b) => a.start - b.start)) {
    if (start < at) continue; // overlaps one that is drawn already
    parts.push(gap(whole.slice(at, start), at > 0, true));
    const mark = el("mark", {}, whole.slice(start, stop));
    mark.style.setProperty("--strength", `${Math.round(30 + 70 * strength)}%`);
    parts.push(mark);
    at = stop;
  }
  parts.push(gap(whole.slice(at), at > 0, false));
  return parts;
}

function gap(text, before, after) {
  const kept = (before ? AROUND : 0) + (after ? AROUND : 0) || AROUND * 2;
  if (text.length <= kept + 20) return text;
  const head = before || !after ? text.slice(0, after ? AROUND : kept) : "";
  return `${head} \u2026 ${after ? text.slice(-AROUND) : ""}`;
}

// Media ------------------------------------------------------------------------------------------------------------

function picture(medium, pieces) {
  const boxes = pieces.map(({ span: [left, top, right, bottom], weight, strength }) => {
    const box = el("span.box", { title: percent(weight) });
    Object.assign(box.style, {
      left: `${left * 100}%`, top: `${top * 100}%`, width: `${(right - left) * 100}%`, height: `${(bottom - top) * 100}%`,
    });
    box.style.setProperty("--strength", String(0.35 + 0.65 * strength));
    return box;
  });
  return el("figure.picture", {}, el("div", {}, el("img", { src: medium.url, alt: medium.name }), boxes));
}

function sound(medium, pieces) {
  const player = el("audio", { src: medium.url, controls: true, preload: "metadata", "aria-label": medium.name });
  return el("figure.time", {}, line(player, pieces), player);
}

function clip(medium, pieces) {
  const player = el("video", { src: medium.url, controls: true, preload: "auto", "aria-label": medium.name });
  return el("figure.time", {}, player, line(player, pieces));
}

/** A time line; each range is a button that plays from there. */
function line(player, pieces) {
  const last = Math.max(...pieces.map(({ span }) => span[1]));
  const bar = el("div.line", { role: "group", "aria-label": "Time line" });
  const ends = el("div.ends", { "aria-hidden": "true" });
  const draw = (seconds) => {
    bar.replaceChildren(...pieces.map((piece) => range(piece, seconds, player)));
    ends.replaceChildren(el("span", {}, "0 s"), el("span", {}, `${seconds.toFixed(1)} s`));
  };
  draw(last);
  player.addEventListener("loadedmetadata", () => {
    if (Number.isFinite(player.duration)) draw(Math.max(player.duration, last));
  });
  return el("div", {}, bar, ends);
}

function range({ span: [from, to], weight, strength }, seconds, player) {
  const label = `${from.toFixed(2)} to ${to.toFixed(2)} s, ${percent(weight)}`;
  const mark = el("button.range", {
    type: "button", "aria-label": `Play ${label}`, title: label,
    onclick: () => {
      player.currentTime = from;
      player.play().catch(() => {}); // a codec that this browser lacks; the range is drawn all the same
    },
  });
  mark.style.left = `${(from / seconds) * 100}%`;
  mark.style.width = `${((to - from) / seconds) * 100}%`;
  mark.style.setProperty("--strength", String(0.35 + 0.65 * strength));
  return mark;
}
