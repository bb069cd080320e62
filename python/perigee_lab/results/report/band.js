// SPDX-License-Identifier: Apache-2.0 OR MIT
// Draws the limits of senders: a strip per scheme, divided by the share of each limit over time.
"use strict";
// `strips`: label, bins and notes of each shown scheme; a bin is [start, length, limit, percent, limit, percent, …].
const limitStrips = (figure, strips, limits, page) => {
  const { make, html, ticks, duration } = page;
  const box = figure.querySelector(".plot");
  const known = strips.filter((s) => s.bins.length);
  figure.hidden = !known.length;
  if (figure.hidden) return;
  const width = Math.max(280, box.clientWidth);
  // Margins of the plots above, so that times are aligned.
  const m = { left: 46, right: 10, top: 4, bottom: 24 };
  const rows = { height: 20, gap: 16 };
  const step = rows.height + rows.gap;
  const height = m.top + known.length * step + m.bottom;
  const px = (t) => m.left + (t / (duration || 1)) * (width - m.left - m.right);
  const svg = make("svg", { "shape-rendering": "crispEdges", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": figure.querySelector("figcaption").textContent });
  const used = new Set();
  known.forEach((strip, k) => {
    const top = m.top + k * step + rows.gap - 2;
    // Without the duration, a label fits the width of a phone.
    make("text", { x: m.left, y: top - 4 }, svg, width < 560 ? strip.label.replace(/ of [0-9.]+ s:/, ":") : strip.label);
    strip.bins.forEach(([start, length, ...parts]) => {
      const [a, b] = [px(start), px(start + length)];
      let y = top;
      for (let p = 0; p < parts.length; p += 2) {
        const tall = (parts[p + 1] / 100) * rows.height;
        // Neighbours overlap by a fraction of a pixel, without seams.
        make("rect", { x: a.toFixed(2), y: y.toFixed(2), width: Math.max(0.3, b - a + 0.3).toFixed(2), height: tall.toFixed(2), style: `fill:${limits[parts[p]].colour}` }, svg);
        y += tall;
        if (parts[p + 1] >= 1) used.add(parts[p]);
      }
    });
  });
  ticks(0, duration, width < 560 ? 4 : 8).forEach((t) => {
    const last = px(t) > width - 28;
    make("text", { x: last ? width - 2 : px(t), y: height - 8, "text-anchor": last ? "end" : "middle" }, svg, `${t} s`);
  });
  box.replaceChildren(svg);
  const list = figure.querySelector(".limits");
  list.replaceChildren();
  limits.forEach((limit, i) => {
    if (!used.has(i)) return;
    const item = html("span", list);
    item.title = limit.meaning;
    const patch = make("svg", { class: "patch", viewBox: "0 0 10 10", "aria-hidden": "true" }, item);
    make("rect", { width: 10, height: 10, style: `fill:${limit.colour}` }, patch);
    item.append(limit.words);
  });
  const notes = figure.querySelector("ul");
  notes.replaceChildren();
  known.forEach((strip) => strip.notes.forEach((note) => html("li", notes, note)));
  const hide = () => figure.querySelectorAll(".tip").forEach((e) => e.remove());
  svg.addEventListener("pointermove", (event) => {
    hide();
    const rect = svg.getBoundingClientRect();
    const at = ((event.clientX - rect.left) / rect.width) * width;
    const t = ((at - m.left) / (width - m.left - m.right)) * duration;
    const tip = html("div", figure);
    tip.className = "tip";
    html("div", tip, `${Math.min(Math.max(t, 0), duration).toFixed(2)} s`);
    known.forEach((strip) => {
      const bin = strip.bins.find(([start, length]) => t >= start && t < start + length);
      if (!bin) return;
      const parts = bin.slice(2).map((v, p, all) => (p % 2 ? null : `${limits[v].words} ${all[p + 1]} %`)).filter((s) => s);
      html("div", tip, `${strip.label}: ${parts.join(", ")}`);
    });
    tip.style.top = "26px";
    const share = at / width;
    tip.style[share > 0.5 ? "right" : "left"] = `${(share > 0.5 ? 1 - share : share) * 100 + 1.5}%`;
  });
  svg.addEventListener("pointerleave", hide);
};
