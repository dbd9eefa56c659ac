// The API that serves this page. Addresses are relative, so that the page also works under a path.

import { write } from "./json.js";

const KEY = "api-key";

export function key() {
  try {
    return sessionStorage.getItem(KEY) ?? "";
  } catch {
    return "";
  }
}

export function setKey(value) {
  try {
    if (value) sessionStorage.setItem(KEY, value);
    else sessionStorage.removeItem(KEY);
  } catch {
    // Without storage there is no key, and the API says that one is missing.
  }
}

/** The address of a route as a whole. */
export const address = (route) => new URL(route, document.baseURI).href;

async function call(route, options = {}) {
  const headers = { accept: "application/json", ...options.headers };
  if (key()) headers.authorization = `Bearer ${key()}`;
  const response = await fetch(address(route), { ...options, headers, cache: "no-store", credentials: "same-origin" });
  const text = await response.text();
  let body = null;
  try {
    body = JSON.parse(text);
  } catch {
    // Something else than the API answered; the status is all there is to tell.
  }
  return { ok: response.ok && body !== null, status: response.status, headers: response.headers, body };
}

export const models = () => call("v1/models");

/** Asks `request`, a Map; {ok, status, headers, body, milliseconds}. */
export async function decide(request, signal) {
  const body = write(request);
  const started = performance.now();
  const answer = await call("v1/systemone", { method: "POST", headers: { "content-type": "application/json" }, body, signal });
  return { ...answer, milliseconds: performance.now() - started };
}

/** A file that comes with the page. */
export async function shipped(name) {
  const response = await fetch(address(`playground/${name}`), { credentials: "same-origin" });
  if (!response.ok) throw new Error(`${name} is not there (${response.status})`);
  return response;
}
