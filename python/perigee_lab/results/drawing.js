// SPDX-License-Identifier: Apache-2.0 OR MIT
// Elements of pages, styles of schemes and ticks of axes, for the scripts of pages with curves.
"use strict";
const drawing = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function make(name, attributes, parent, text) {
    const e = document.createElementNS(SVG, name);
    for (const key in attributes) {
      // The page's policy rejects style attributes, but not styles set by its own script.
      if (key === "style") e.style.cssText = attributes[key];
      else e.setAttribute(key, attributes[key]);
    }
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }
  function html(name, parent, text) {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }

  // Styles of the schemes, for light and dark mode.
  function paint(schemes) {
    const on = (paper) => `:root{${schemes.map((s, i) => `--s${i}:${s.look[paper]}`).join(";")}}`;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(`${on("light")}@media (prefers-color-scheme: dark){${on("dark")}}`);
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  }
  const colour = (i) => `var(--s${i})`;
  // Lengths of dashes are in widths of the line.
  const dashes = (scheme, width) => scheme.look.dashes.map((d) => (d * width).toFixed(1)).join(" ");

  // Round steps: 1, 2 or 5 times a power of ten.
  function ticks(low, high, wanted) {
    const rough = (high - low) / Math.max(1, wanted) || 1;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const found = [];
    for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) found.push(+v.toPrecision(12));
    return found;
  }

  return { make, html, paint, colour, dashes, ticks };
})();
