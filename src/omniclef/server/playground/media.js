// Pictures, sounds and clips: from files, the clipboard and the microphone to data URLs in the store.

import { byId, el, size } from "./dom.js";
import { Recorder, canRecord } from "./record.js";
import { KINDS, store } from "./state.js";

const OF_TYPE = { image: "images", audio: "audio", video: "videos" };
// Systems do not always know the type of a file; these are the formats that the API reads.
const OF_NAME = {
  png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", webp: "image/webp", gif: "image/gif", bmp: "image/bmp",
  wav: "audio/wav", mp3: "audio/mpeg", flac: "audio/flac", ogg: "audio/ogg", opus: "audio/ogg", m4a: "audio/mp4",
  mp4: "video/mp4", webm: "video/webm", mov: "video/quicktime", mkv: "video/x-matroska",
};
const ONE = { images: "Picture", audio: "Sound", videos: "Clip" };

let changed = () => {};
let say = () => {};
let recorder = null;
let starting = false;
let recordings = 0;

/** Wires the section, the page as a place to drop files on, and the clipboard. */
export function setUp(onchange, announce) {
  changed = onchange;
  say = announce;
  byId("choose").addEventListener("click", () => byId("files").click());
  byId("files").addEventListener("change", async (event) => {
    await addFiles([...event.target.files]);
    event.target.value = "";
  });
  const page = document.documentElement;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    page.classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) page.classList.remove("dropping");
  });
  document.addEventListener("drop", (event) => {
    page.classList.remove("dropping");
    if (!hasFiles(event)) return;
    event.preventDefault();
    addFiles([...event.dataTransfer.files]);
  });
  document.addEventListener("paste", (event) => {
    const files = [...event.clipboardData.files];
    if (!files.length || event.clipboardData.types.includes("text/plain")) return; // words win over their picture
    event.preventDefault();
    addFiles(files);
  });
  const button = byId("record");
  if (canRecord()) button.addEventListener("click", toggleRecording);
  else {
    button.disabled = true;
    button.title = "The browser lends its microphone only to pages from this computer or over https.";
  }
}

/** Adds files of a kind that the API reads; tells of the others. */
export async function addFiles(files) {
  const refused = [];
  for (const file of files) {
    const type = (file.type || OF_NAME[file.name.split(".").pop().toLowerCase()] || "").replace("audio/x-wav", "audio/wav");
    const kind = OF_TYPE[type.split("/")[0]];
    if (kind) await add(kind, file, type);
    else refused.push(file.name);
  }
  draw();
  changed();
  if (refused.length) say(`Not a picture, a sound or a clip: ${refused.join(", ")}.`);
}

async function add(kind, file, type) {
  store.media[kind].push(await medium(file, type));
}

/** A file as the store keeps it. */
export const medium = async (file, type = file.type) => ({ name: file.name, bytes: file.size, url: await dataUrl(file, type) });

function dataUrl(blob, type) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(`data:${type};base64,${reader.result.split(",")[1] ?? ""}`);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(blob);
  });
}

async function toggleRecording() {
  const button = byId("record");
  if (starting) return; // the browser still asks whether it may
  try {
    if (recorder === null) {
      starting = true;
      recorder = await Recorder.start((seconds) => (button.textContent = `Stop ${seconds.toFixed(1)} s`));
      button.textContent = "Stop";
      button.classList.add("recording");
      say("Recording.");
      return;
    }
    const running = recorder;
    recorder = null;
    button.classList.remove("recording");
    button.textContent = "Record";
    const wav = await running.stop();
    recordings += 1;
    await add("audio", new File([wav], `recording-${recordings}.wav`, { type: "audio/wav" }));
    draw();
    changed();
    say("The recording was added.");
  } catch (error) {
    recorder = null;
    button.classList.remove("recording");
    button.textContent = "Record";
    say(error.name === "NotAllowedError" ? "The browser did not allow the microphone." : `No recording: ${error.message}`);
  } finally {
    starting = false;
  }
}

/** Draws the list of media. */
export function draw() {
  const items = KINDS.flatMap((kind) => store.media[kind].map((medium, index) => item(kind, medium, index)));
  byId("media").replaceChildren(...items);
  byId("drop").hidden = items.length > 0;
}

function item(kind, medium, index) {
  const remove = () => {
    store.media[kind].splice(index, 1);
    draw();
    changed();
    (byId("media").querySelector("button") ?? byId("choose")).focus();
  };
  return el("li", { "data-place": `media/${kind}/${index}` },
    preview(kind, medium),
    el("span.name", {}, medium.name),
    el("span.hint", {}, `${ONE[kind]}, ${size(medium.bytes)}`),
    el("a.plain.small", { href: medium.url, download: medium.name, "aria-label": `Save ${medium.name}` }, "Save"),
    el("button.icon", { type: "button", "aria-label": `Remove ${medium.name}`, title: `Remove ${medium.name}`, onclick: remove }, "\u00d7"));
}

function preview(kind, medium) {
  if (kind === "images") return el("img", { src: medium.url, alt: "" });
  if (kind === "audio") return el("audio", { src: medium.url, controls: true, preload: "metadata", "aria-label": medium.name });
  return el("video", { src: medium.url, muted: true, preload: "metadata", "aria-label": medium.name });
}
