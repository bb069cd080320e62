// SPDX-License-Identifier: Apache-2.0 OR MIT
// Sliders over the cells of a sweep. All numbers come from the data element; nothing is fetched.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { make, html, colour } = drawing;
  const $ = (id) => document.getElementById(id);
  const at = data.axes.map(() => 0);
  const dashes = (i) => drawing.dashes(data.schemes[i], 1.6);
  // By place and scheme.
  const cells = new Map(data.cells.map((c) => [`${c.at}/${c.cc}`, c]));
  const cell = (place, cc) => cells.get(`${place}/${cc}`);
  const value = (c, m) => (c ? c.values[m] : [null, null, "", ""]);
  const heading = (m) => (m.unit ? `${m.label}, ${m.unit}` : m.label);

  function controls() {
    data.axes.forEach((axis, k) => {
      const label = html("label", $("sliders"), axis.key);
      const output = html("output", label, axis.values[0]);
      const input = html("input", label);
      Object.assign(input, { type: "range", min: 0, max: axis.values.length - 1, step: 1, value: 0, disabled: axis.values.length < 2 });
      input.setAttribute("aria-label", axis.key);
      input.setAttribute("aria-valuetext", axis.values[0]);
      input.addEventListener("input", () => {
        at[k] = +input.value;
        output.textContent = axis.values[at[k]];
        input.setAttribute("aria-valuetext", axis.values[at[k]]);
        draw();
      });
      html("option", $("x"), axis.key).value = k;
    });
    $("x-choice").hidden = data.axes.length < 2;
    data.metrics.forEach((m, k) => { html("option", $("metric"), heading(m)).value = k; });
    for (const id of ["metric", "x"]) $(id).addEventListener("change", draw);
  }

  // The highest value of a metric in all cells: the scale stays while a slider moves.
  const top = (m) => Math.max(1e-9, ...data.cells.map((c) => (c.values[m][0] ?? 0) + (c.values[m][1] ?? 0))) * 1.05;

  function bars(m) {
    const width = Math.max(280, $("bars").clientWidth), row = 30;
    const left = Math.min(130, width * 0.3), right = 96, high = top(m);
    const svg = make("svg", { viewBox: `0 0 ${width} ${data.schemes.length * row + 8}`, role: "img", "aria-label": "a bar for each scheme" });
    const px = (v) => left + (v / high) * (width - left - right);
    data.schemes.forEach((s, i) => {
      const [mean, half, text, interval] = value(cell(at, i), m);
      const y = i * row + 6;
      make("text", { x: left - 8, y: y + 14, "text-anchor": "end" }, svg, s.label);
      if (mean !== null) make("rect", { x: left, y, width: Math.max(1, px(mean) - left), height: 18, style: `fill:${colour(i)}` }, svg);
      if (half) make("line", { class: "whisker", x1: px(Math.max(0, mean - half)), x2: px(mean + half), y1: y + 9, y2: y + 9 }, svg);
      make("text", { x: px((mean ?? 0) + (half ?? 0)) + 6, y: y + 14 }, svg, (text || "–") + (half ? ` ± ${interval}` : ""));
    });
    $("bars").replaceChildren(svg);
  }

  function lines(m, x) {
    const width = Math.max(280, $("lines").clientWidth), height = 230;
    const g = { left: 50, right: 12, top: 8, bottom: 28 }, high = top(m), { values } = data.axes[x];
    const px = (k) => g.left + 14 + (k / Math.max(1, values.length - 1)) * (width - g.left - g.right - 28);
    const py = (v) => height - g.bottom - (v / high) * (height - g.top - g.bottom);
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `curves over ${data.axes[x].key}` });
    drawing.ticks(0, high, 4).forEach((v) => {
      make("line", { class: "grid", x1: g.left, x2: width - g.right, y1: py(v), y2: py(v) }, svg);
      make("text", { x: g.left - 6, y: py(v) + 4, "text-anchor": "end" }, svg, data.metrics[m].percent ? `${+(100 * v).toPrecision(6)} %` : v);
    });
    const each = Math.ceil((values.length * 52) / width);
    values.forEach((v, k) => { if (k % each === 0) make("text", { x: px(k), y: height - 8, "text-anchor": "middle" }, svg, v); });
    make("line", { class: "at", x1: px(at[x]), x2: px(at[x]), y1: g.top, y2: height - g.bottom }, svg);
    data.schemes.forEach((_, i) => {
      const points = values.map((__, k) => value(cell(at.map((own, axis) => (axis === x ? k : own)), i), m));
      let d = "", pen = false;
      points.forEach(([mean, half], k) => {
        if (mean === null) { pen = false; return; }
        d += `${pen ? "L" : "M"}${px(k).toFixed(1)} ${py(mean).toFixed(1)}`;
        pen = true;
        if (half) make("line", { x1: px(k), x2: px(k), y1: py(Math.max(0, mean - half)), y2: py(mean + half), style: `stroke:${colour(i)}` }, svg);
        make("circle", { cx: px(k), cy: py(mean), r: 3, style: `fill:${colour(i)}` }, svg);
      });
      make("path", { class: "curve", d, "stroke-dasharray": dashes(i), style: `stroke:${colour(i)}` }, svg);
    });
    $("lines").replaceChildren(svg);
  }

  function table() {
    const box = document.querySelector("table");
    box.replaceChildren();
    const head = html("tr", html("thead", box));
    html("th", head, "scheme");
    data.metrics.forEach((m) => { html("th", head, heading(m)).title = `${m.name}: ${m.meaning}`; });
    const body = html("tbody", box);
    data.schemes.forEach((s, i) => {
      const row = html("tr", body);
      html("th", row, s.label);
      data.metrics.forEach((_, m) => {
        const [, half, text, interval] = value(cell(at, i), m);
        const one = html("td", row, text || "–");
        if (half) html("small", one, `± ${interval}`);
      });
    });
  }

  function draw() {
    const [m, x] = [+$("metric").value, +$("x").value];
    const metric = data.metrics[m], named = heading(metric);
    $("meaning").textContent = metric.meaning;
    $("bars-caption").textContent = `${named}, at ${data.axes.map((a, k) => `${a.key} = ${a.values[at[k]]}`).join(", ")}`;
    const others = data.axes.filter((_, k) => k !== x).map((a) => `${a.key} = ${a.values[at[data.axes.indexOf(a)]]}`);
    $("lines-caption").textContent = `${named}, over ${data.axes[x].key}${others.length ? ` (${others.join(", ")})` : ""}`;
    const runs = Math.max(...data.cells.map((c) => c.runs));
    // Cells of the page as it is: at the sliders, and along the curves.
    const seen = data.cells.filter((c) => c.at.every((k, axis) => axis === x || k === at[axis]));
    const spread = seen.some((c) => c.values[m][1] || (c.at[x] === at[x] && c.values.some((v) => v[1])));
    const interval = spread ? "; ± half of the 95 % t-interval, none where runs are equal." : ", which are equal here.";
    $("runs").textContent = runs > 1 ? `Means over ${runs} runs${interval}` : "One run of each scheme and value.";
    bars(m);
    lines(m, x);
    table();
  }

  drawing.paint(data.schemes);
  controls();
  draw();
  window.addEventListener("resize", draw);
  document.documentElement.dataset.drawn = "yes";
})();
