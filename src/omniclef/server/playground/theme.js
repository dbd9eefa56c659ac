// Runs before the page is drawn, so that a chosen theme does not flash. Knows nothing of the rest.
"use strict";
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const chosen = () => {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage may be forbidden; the system's theme remains
    }
  };
  const show = () => {
    root.dataset.theme = chosen() ?? (dark.matches ? "dark" : "light");
    const button = document.getElementById("theme");
    button?.setAttribute("aria-pressed", String(root.dataset.theme === "dark"));
  };
  show();
  dark.addEventListener("change", show);
  document.addEventListener("DOMContentLoaded", () => {
    show();
    document.getElementById("theme").addEventListener("click", () => {
      const next = root.dataset.theme === "dark" ? "light" : "dark";
      try {
        localStorage.setItem("theme", next);
      } catch {
        // as above
      }
      root.dataset.theme = next;
      show();
    });
  });
})();
