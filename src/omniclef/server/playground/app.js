// The page as a whole: who is told of what, and what happens on Decide.

import { cards, figures } from "./answers.js";
import * as api from "./api.js";
import { code } from "./code.js";
import { byId, check, checked, el, fit } from "./dom.js";
import { clearProblems, focusFirst, refused, showProblems, summary } from "./errors.js";
import { parse, write } from "./json.js";
import * as media from "./media.js";
import * as questions from "./questions.js";
import { KINDS, Problem, freshId, fromLink, question, request, store, toForm, toLink } from "./state.js";

let examples = [];
let running = null;
let answered = null; // the request of the answers that are shown

function say(...parts) {
  byId("status").replaceChildren(...parts);
  byId("status").classList.remove("hidden");
}

// What is asked ----------------------------------------------------------------------------------------------------

/** After every edit: answers that belong to another request say so, and code is written again. */
function changed() {
  byId("answers").classList.toggle("old", answered !== null && answered !== current());
  if (byId("use").open) drawCode();
}

/** What would be asked now, without the bytes of media; null while something is missing. */
function current() {
  try {
    return write(request(({ name, url }) => `${name} ${url.length}`));
  } catch (error) {
    if (error instanceof Problem) return null;
    throw error;
  }
}

function draw() {
  byId("state").value = store.state;
  check("kind", store.kind);
  byId("state").classList.toggle("code", store.kind === "json");
  fit(byId("state"));
  media.draw();
  questions.draw();
}

/** Shows other content; the status offers the way back. */
function replace(next, message) {
  const before = { ...store, media: { ...store.media } };
  Object.assign(store, next);
  reset();
  const undo = el("button.link", { type: "button", onclick: () => (Object.assign(store, before), reset(), say("As it was before.")) }, "Undo");
  say(message, " ", undo);
}

function reset() {
  running?.abort();
  running = null;
  busy(false);
  clearProblems();
  answered = null;
  draw();
  drawEmpty();
  changed();
}

const noMedia = () => Object.fromEntries(KINDS.map((kind) => [kind, []]));

/** Questions from their JSON: as a form where it loses nothing, else as the text. */
function questionsFrom(text, editing) {
  if (editing === "json") return { questions: [], questionsText: text };
  try {
    return { questions: toForm(parse(text)), questionsText: null };
  } catch {
    return { questions: [], questionsText: text };
  }
}

async function loadExample(example) {
  byId("examples").open = false;
  const loaded = noMedia();
  try {
    for (const kind of KINDS) {
      for (const name of example[kind] ?? []) {
        const blob = await (await api.shipped(`demo/${name}`)).blob();
        loaded[kind].push(await media.medium(new File([blob], name, { type: blob.type })));
      }
    }
  } catch (error) {
    say(`The example cannot be opened: ${error.message}`);
    return;
  }
  const structured = typeof example.state !== "string";
  replace({
    kind: structured ? "json" : "text",
    state: structured ? JSON.stringify(example.state, null, 2) : example.state,
    media: loaded,
    ...questionsFrom(JSON.stringify(example.questions), "form"),
  }, `Example \u201c${example.title}\u201d.`);
  byId("run").focus();
}

function openLink() {
  if (!location.hash.startsWith("#1.")) return;
  try {
    const { kind, state, questions: text, editing } = fromLink(location.hash.slice(1));
    replace({ kind, state, media: noMedia(), ...questionsFrom(text, editing) }, "Opened from a link.");
  } catch (error) {
    say(error.message);
  }
}

// What is answered -------------------------------------------------------------------------------------------------

async function run() {
  if (running) {
    running.abort();
    return;
  }
  clearProblems();
  let body;
  try {
    body = request();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    showRefusal("Not sent yet", [error]);
    return;
  }
  const sentMedia = Object.fromEntries(KINDS.map((kind) => [kind, [...store.media[kind]]]));
  const asked = { questions: body.get("questions"), state: body.get("state"), media: sentMedia };
  const sent = current();
  const own = new AbortController();
  running = own;
  busy(true);
  say("Deciding\u2026");
  try {
    const answer = await api.decide(body, own.signal);
    if (running !== own) return; // other content took its place
    if (answer.ok) showAnswers(answer, asked, sent);
    else showRefusal(`Refused (${answer.status})`, refused(answer.status, answer.body, answer.headers), idOf(answer));
  } catch (error) {
    if (running !== own) return;
    if (error.name === "AbortError") say("Stopped.");
    else if (error instanceof TypeError) showRefusal("No answer", [new Problem("", "The server cannot be reached. Is it running?")]);
    else throw error;
  } finally {
    if (running === own) {
      running = null;
      busy(false);
    }
  }
}

function busy(yes) {
  byId("run").textContent = yes ? "Stop" : "Decide";
  byId("answers").setAttribute("aria-busy", String(yes));
}

function idOf(answer) {
  const id = answer.headers.get("x-typesafe-request-id");
  return id ? `Request ${id}` : null;
}

function showAnswers(answer, asked, sent) {
  answered = sent;
  const count = Object.keys(answer.body.answers).length;
  byId("output").replaceChildren(figures(answer.body, answer.milliseconds), cards(answer.body, asked));
  const more = answer.body.x_evidence ? " Press a bar to see what it drew on." : "";
  say(`${count} ${count === 1 ? "answer" : "answers"}.${more}`);
  changed();
  if (matchMedia("(max-width: 699px)").matches) byId("answers").scrollIntoView();
}

function showRefusal(title, problems, note = null) {
  const shown = showProblems(problems);
  answered = null;
  byId("answers").classList.remove("old");
  byId("output").replaceChildren(summary(title, shown, note));
  say(`${title}. ${problems.length === 1 ? problems[0].message : `${problems.length} problems.`}`);
  byId("status").classList.add("hidden"); // it is read out; to see, there is the list
  focusFirst(shown);
}

function drawEmpty() {
  const offer = ({ title, about }, index) =>
    el("li", {}, el("button.offer", { type: "button", onclick: () => loadExample(examples[index]) }, el("strong", {}, title), el("span", {}, about)));
  byId("output").replaceChildren(
    el("div.empty", {},
      el("p", {}, "Nothing is decided yet. Write a state and a question, then press Decide. Or start from an example."),
      el("ul.offers", {}, examples.map(offer))));
}

// What is around it ------------------------------------------------------------------------------------------------

function drawCode() {
  try {
    const { shown, hint } = code(checked("language"), api.address("v1/systemone"), api.key() !== "");
    byId("code").textContent = shown;
    byId("code-hint").textContent = hint;
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    byId("code").textContent = "";
    byId("code-hint").textContent = `No code yet. ${error.message}`;
  }
}

async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    say(done);
  } catch {
    say("The browser did not allow copying. Select the text instead.");
  }
}

async function copyCode() {
  try {
    await copy(code(checked("language"), api.address("v1/systemone"), api.key() !== "").copied(), "Copied.");
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    showRefusal("Nothing to copy yet", [error]);
  }
}

async function share() {
  try {
    const text = toLink();
    history.replaceState(null, "", `#${text}`);
    const without = KINDS.some((kind) => store.media[kind].length) ? " Media are not part of it." : "";
    await copy(location.href, `The link was copied.${without}`);
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    showRefusal("Nothing to share yet", [error]);
  }
}

async function loadModels() {
  const select = byId("model");
  let answer;
  try {
    answer = await api.models();
  } catch {
    answer = { ok: false, status: 0, body: null, headers: new Headers() };
  }
  const found = answer.ok ? (answer.body.models ?? []) : [];
  select.replaceChildren(...found.map(({ name }) => el("option", { value: name }, name)));
  select.disabled = !found.length;
  if (!found.length) select.append(el("option", { value: "" }, "none"));
  store.model = found.some(({ name }) => name === store.model) ? store.model : (found[0]?.name ?? "");
  select.value = store.model;
  const describe = () => (byId("model-hint").textContent = found.find(({ name }) => name === store.model)?.description ?? "");
  select.onchange = () => ((store.model = select.value), describe(), changed());
  describe();
  clearProblems();
  if (!answer.ok) {
    const problems = answer.status ? refused(answer.status, answer.body, answer.headers) : [new Problem("model", "The server cannot be reached.")];
    showProblems(problems);
  }
}

async function start() {
  media.setUp(changed, say);
  questions.setUp(changed);
  byId("key").value = api.key();
  byId("key").addEventListener("change", (event) => {
    api.setKey(event.target.value.trim());
    loadModels();
  });
  byId("state").addEventListener("input", (event) => {
    store.state = event.target.value;
    fit(event.target);
    changed();
  });
  for (const radio of document.querySelectorAll('input[name="kind"]')) {
    radio.addEventListener("change", () => ((store.kind = checked("kind")), draw(), changed()));
  }
  for (const radio of document.querySelectorAll('input[name="language"]')) radio.addEventListener("change", drawCode);
  byId("evidence").addEventListener("change", (event) => ((store.evidence = event.target.checked), changed()));
  byId("use").addEventListener("toggle", drawCode);
  byId("copy").addEventListener("click", copyCode);
  byId("share").addEventListener("click", share);
  byId("clear").addEventListener("click", () => {
    history.replaceState(null, "", location.pathname + location.search);
    replace({ kind: "text", state: "", media: noMedia(), questions: [question("noul", "q1")], questionsText: null }, "Cleared.");
    byId("state").focus();
  });
  byId("ask").addEventListener("submit", (event) => (event.preventDefault(), run()));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) (event.preventDefault(), run());
    if (event.key === "Escape" && byId("examples").open) (byId("examples").open = false, byId("examples").querySelector("summary").focus());
  });
  document.addEventListener("click", (event) => {
    if (!byId("examples").contains(event.target)) byId("examples").open = false;
  });
  addEventListener("hashchange", openLink);
  store.questions = [question("noul", freshId())];
  draw();
  await loadModels();
  examples = await (await api.shipped("examples.json")).json();
  byId("example-list").replaceChildren(...examples.map((example) =>
    el("li", {}, el("button.offer", { type: "button", onclick: () => loadExample(example) }, el("strong", {}, example.title), el("span", {}, example.about)))));
  drawEmpty();
  openLink();
  document.documentElement.dataset.ready = "true";
}

start();
