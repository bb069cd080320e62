// SPDX-License-Identifier: Apache-2.0 OR MIT
// Draws the report. All numbers come from the data element; nothing is fetched.
"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  const coast = read("coast");
  const { make, html, colour, ticks } = drawing;
  const shown = new Set(data.schemes.map((s) => s.cc));
  const WIDTH = 1.6;
  // Completion times from this on are in seconds.
  const LONG_MS = 3000;
  // Bands of more schemes cover each other: each scheme then has a small plot with its own.
  const MOST_BANDS = 2;
  const dashes = (i) => drawing.dashes(data.schemes[i], WIDTH);
  const $ = (selector) => document.querySelector(selector);
  const number = (v, digits) => (v === null || v === undefined ? "–" : v.toFixed(digits));

  // A sample of the scheme's line.
  function swatch(parent, i) {
    const box = make("svg", { class: "swatch", viewBox: "0 0 34 10", "aria-hidden": "true" });
    make("line", { x1: 0, x2: 34, y1: 5, y2: 5, style: `stroke:${colour(i)};stroke-width:2.2`, "stroke-dasharray": dashes(i) }, box);
    parent.appendChild(box);
  }

  function head() {
    const runs = data.table.runs;
    const many = data.measured === null ? "seeds" : "cycles";
    const one = data.measured === null ? `seed ${data.seeds[0]}` : data.measured ? `from ${data.measured} on` : "when is not known";
    $("#subtitle").textContent =
      `${data.scenario} · ${Number(data.duration_s.toPrecision(6))} s${data.ran && ` ${data.ran}`} · ` +
      (runs > 1 ? `${runs} ${many} (${data.seeds[0]} to ${data.seeds[data.seeds.length - 1]}), curves of the first` : one) +
      (data.hosts ? ` · ${data.hosts}` : "");
    document.getElementById("again").textContent = data.again;
    if (data.warnings.length) {
      $("#warnings").hidden = false;
      data.warnings.forEach((w) => html("li", $("#warnings ul"), w));
    }
  }

  // A row with a scheme and its cells.
  function schemeRow(body, r, cells, best) {
    const line = html("tr", body);
    const name = html("th", line);
    swatch(name, data.schemes.findIndex((s) => s.cc === r.cc));
    name.append(r.label);
    cells.forEach((text, k) => {
      // The interval is below the mean, to keep the table within the page.
      const [mean, interval] = text.split(" ± ");
      const cell = html("td", line, mean);
      if (best && best[k] === r.cc) cell.className = "best";
      if (interval !== undefined) html("small", cell, `± ${interval}`);
    });
  }

  // A table with some columns of the summary.
  function columns(table, which) {
    const row = html("tr", html("thead", table));
    html("th", row, "scheme");
    which.forEach((k) => { html("th", row, data.table.heads[k]).title = data.table.meanings[k]; });
    const body = html("tbody", table);
    const best = which.map((k) => data.table.best[k]);
    data.table.rows.forEach((r) => schemeRow(body, r, which.map((k) => r.cells[k]), best));
  }

  function table() {
    if (data.schemes.length < 2) $("#summary-title").textContent = "Results";
    const main = data.table.main;
    const rest = data.table.heads.map((_, k) => k).filter((k) => !main.includes(k));
    columns($("#summary table"), main);
    if (rest.length) {
      const more = html("details", $("#summary"));
      html("summary", more, `More columns (${rest.map((k) => data.table.heads[k]).join(", ")})`);
      const box = html("div", more);
      box.className = "scroll";
      columns(html("table", box), rest);
    }
    if (data.table.won.length) {
      const won = html("p");
      won.className = "won";
      won.textContent = `${data.table.won.join(". ")}.`;
      $("#summary .scroll").before(won);
    }
    groupTables(data.table.groups, $("#summary-note"), { html, row: schemeRow });
    if (data.table.beside.length) {
      const list = html("ul");
      list.className = "beside";
      data.table.beside.forEach((line) => html("li", list, line));
      $("#summary-note").before(list);
    }
    const remarks = data.table.remarks.map((r) => `${r[0].toUpperCase()}${r.slice(1)}. `).join("");
    $("#summary-note").textContent =
      `${remarks}${data.table.best.some((cc) => cc) ? "Bold: ahead of each other scheme in paired t-tests over shared seeds (5 %, Holm's correction). " : ""}` +
      `Mean RTT and inflation are both means over samples: where the base RTT changes, their quotient is not its mean.`;
    const all = html("details", $("#summary"));
    html("summary", all, "Definitions of the columns");
    const list = html("dl", all);
    data.table.heads.forEach((h, k) => { html("dt", list, h); html("dd", list, data.table.meanings[k]); });
  }

  // A bar for each flow of each scheme, which shows starvation.
  function shares() {
    if (!data.shares.length) return;
    $("#shares").hidden = false;
    const most = Math.max(...data.shares.map((s) => s.quantiles[4]), 1e-9);
    data.shares.forEach((s) => {
      const i = data.schemes.findIndex((other) => other.cc === s.cc);
      const card = html("div", $("#shares .cards"));
      card.className = "card";
      const head = html("h3", card);
      swatch(head, i);
      head.append(s.label);
      if (s.starving) {
        const word = html("strong", head, s.starving === 1 ? "one flow starves" : `${s.starving} flows starve`);
        word.className = "starves";
      }
      s.bars.forEach((b) => {
        const line = html("div", card);
        line.className = b.starves ? "bar starves" : "bar";
        const name = html("span", line, b.cc === s.cc ? b.name : `${b.name} (${b.cc})`);
        name.className = "flow-name";
        name.title = name.textContent;
        const rail = html("span", line);
        rail.className = "rail";
        const fill = html("span", rail);
        fill.style.width = `${(100 * b.mbps) / most}%`;
        fill.style.background = colour(i);
        html("span", line, number(b.mbps, 2) + (b.of_fair === null ? "" : ` · ${(100 * b.of_fair).toFixed(0)} %`)).className = "value";
      });
      const [least, low, middle, high, top] = s.quantiles.map((q) => number(q, 2));
      if (s.flows > s.bars.length) {
        const line = html("div", card);
        line.className = "bar all";
        html("span", line, `all ${s.flows} flows`).className = "flow-name";
        const rail = html("span", line);
        rail.className = "rail";
        [[0, 4, "range"], [1, 3, "most"]].forEach(([a, b, name]) => {
          const part = html("span", rail);
          part.className = name;
          part.style.left = `${(100 * s.quantiles[a]) / most}%`;
          part.style.width = `${(100 * (s.quantiles[b] - s.quantiles[a])) / most}%`;
          part.style.background = colour(i);
        });
        const median = html("span", rail);
        median.className = "median";
        median.style.left = `${(100 * s.quantiles[2]) / most}%`;
        html("span", line, `median ${middle}`).className = "value";
        html("p", card, `${s.flows} flows, those with the least above; thin: least ${least} to most ${top} Mbit/s, thick: 10 % ${low} to 90 % ${high}, line: median ${middle}`).className = "note";
      }
    });
    const equal = data.shares.some((s) => s.bars.some((b) => b.of_fair !== null));
    $("#shares-note").textContent = "Goodput in Mbit/s" + (data.table.runs > 1 ? ", means over seeds" : "") +
      (equal ? "; beside it the share of what the flows over the same bottleneck have on average: a flow with less than 25 % starves." : ".");
  }

  const NOTHING = { t: [], goodput: [], rtt: [], base: [], cdf: { p: [], ms: [] } };
  // The selected flow, and a scheme's curves of it.
  const chosen = () => data.flows[+$("#flow").value] || data.flows[0];
  const own = (s) => (chosen() && s.curves[chosen().flow]) || NOTHING;

  // // Upper limit of a plot. With `cut`, single peaks (a handover) are cut off and do not flatten
  // the rest.
  function ceiling(ys, cut) {
    const most = ys.reduce((a, b) => Math.max(a, b), 0);
    if (!cut || ys.length < 100) return most * 1.06;
    const usual = [...ys].sort((a, b) => a - b)[Math.floor(ys.length * 0.99)];
    return usual > 0 ? Math.min(most * 1.06, usual * 1.15) : most * 1.06;
  }

  // Positions where a curve exceeds the plot, one mark for neighbours.
  function beyond(c, high) {
    const span = (c.x[c.x.length - 1] - c.x[0]) / 120 || 1;
    const found = [];
    c.x.forEach((x, k) => {
      if (c.y[k] !== null && c.y[k] > high && !(x - found[found.length - 1] < span)) found.push(x);
    });
    return found;
  }

  // A plot of curves over x. `curves`: {x, y, i, base}. Returns nothing; redraws into `figure`.
  function plot(figure, curves, options) {
    const box = figure.querySelector(".plot");
    const width = Math.max(280, box.clientWidth);
    const height = options.height || (width < 560 ? 190 : 220);
    // Handovers are marked above the plot, where there are no curves.
    const lane = options.marks && data.marks.some((e) => e[1] === "handover") ? 11 : 0;
    const m = { left: 46, right: 10, top: 8 + lane, bottom: 26 };
    const inner = { w: width - m.left - m.right, h: height - m.top - m.bottom };
    const visible = curves.filter((c) => shown.has(data.schemes[c.i].cc));
    const ys = visible.flatMap((c) => c.y.filter((v) => v !== null));
    if (!ys.length) {
      const why = shown.size ? options.empty || "no samples" : "all schemes are hidden: choose one above";
      const text = html("p", undefined, `Nothing to draw: ${why}.`);
      text.className = "empty";
      box.replaceChildren(text);
      return;
    }
    const [x0, x1] = options.x(visible);
    const high = options.top || Math.max(1e-9, ceiling(ys, options.cut));
    const low = options.bottom ? options.bottom(ys, high) : 0;
    const px = (x) => m.left + ((x - x0) / (x1 - x0 || 1)) * inner.w;
    const py = (y) => m.top + inner.h - ((y - low) / (high - low || 1)) * inner.h;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": figure.querySelector("figcaption").textContent });
    ticks(low, high, 4).forEach((v) => {
      make("line", { class: "grid", x1: m.left, x2: width - m.right, y1: py(v), y2: py(v) }, svg);
      make("text", { x: m.left - 6, y: py(v) + 4, "text-anchor": "end" }, svg, v);
    });
    ticks(x0, x1, width < 560 ? 4 : 8).forEach((v) => {
      make("line", { class: "axis", x1: px(v), x2: px(v), y1: m.top + inner.h, y2: m.top + inner.h + 4 }, svg);
      const anchor = px(v) > width - 28 ? "end" : "middle";
      make("text", { x: anchor === "end" ? width - 2 : px(v), y: height - 8, "text-anchor": anchor }, svg, v + options.unit);
    });
    if (options.marks) drawMarks(svg, px, m.top, inner.h, { make, marks: data.marks, flow: chosen(), routes: data.map.routes, duration: data.duration_s });
    make("line", { class: "axis", x1: m.left, x2: width - m.right, y1: m.top + inner.h, y2: m.top + inner.h }, svg);
    visible.filter((c) => c.band && (options.bands || visible.filter((other) => other.band).length <= MOST_BANDS)).forEach((c) => {
      const points = c.band.x.map((x, k) => [x, c.band.low[k], c.band.high[k]]).filter((p) => p[1] !== null && p[0] >= x0 && p[0] <= x1);
      const edge = (list, which) => list.map((p) => `${px(p[0]).toFixed(1)} ${py(Math.min(p[which], high)).toFixed(1)}`).join("L");
      if (points.length) make("path", { class: "band", d: `M${edge(points, 1)}L${edge(points.reverse(), 2)}Z`, style: `fill:${colour(c.i)}` }, svg);
    });
    visible.forEach((c) => {
      let d = "";
      let pen = false;
      c.x.forEach((x, k) => {
        const y = c.y[k];
        if (y === null || x < x0 || x > x1) { pen = false; return; }
        d += `${pen ? "L" : "M"}${px(x).toFixed(1)} ${py(Math.min(y, high)).toFixed(1)}`;
        pen = true;
      });
      const line = c.capacity ? { class: "curve capacity" } : c.base ? { class: "curve base" } : { class: "curve", "stroke-dasharray": dashes(c.i) };
      make("path", c.capacity ? { ...line, d } : { ...line, d, style: `stroke:${colour(c.i)}` }, svg);
      if (!c.capacity) beyond(c, high).filter((x) => x >= x0 && x <= x1).forEach((x) => {
        const [a, b] = [px(x), m.top];
        make("path", { d: `M${a - 3} ${b + 5}L${a + 3} ${b + 5}L${a} ${b}Z`, style: `fill:${colour(c.i)}` }, svg);
      });
    });
    box.replaceChildren(svg);
    hover(figure, svg, visible, { px, m, inner, width, x0, x1, options });
  }

  function hover(figure, svg, curves, g) {
    const line = make("line", { class: "cursor", y1: g.m.top, y2: g.m.top + g.inner.h, visibility: "hidden" }, svg);
    const hide = () => {
      line.setAttribute("visibility", "hidden");
      figure.querySelectorAll(".tip").forEach((e) => e.remove());
    };
    const x = (event) => {
      const box = svg.getBoundingClientRect();
      const at = ((event.clientX - box.left) / box.width) * g.width;
      return g.x0 + ((at - g.m.left) / g.inner.w) * (g.x1 - g.x0);
    };
    svg.addEventListener("pointermove", (event) => {
      const at = Math.min(g.x1, Math.max(g.x0, x(event)));
      hide();
      line.setAttribute("visibility", "visible");
      line.setAttribute("x1", g.px(at));
      line.setAttribute("x2", g.px(at));
      const tip = html("div", figure);
      tip.className = "tip";
      html("div", tip, `${at.toFixed(2)}${g.options.unit}`);
      curves.filter((c) => !c.base && !c.capacity).forEach((c) => {
        const row = html("div", tip);
        swatch(row, c.i);
        row.append(`${data.schemes[c.i].label} ${number(c.y[nearest(c.x, at)], g.options.digits)}`);
      });
      const share = g.px(at) / g.width;
      tip.style.top = "26px";
      tip.style[share > 0.6 ? "right" : "left"] = `${(share > 0.6 ? 1 - share : share) * 100 + 1.5}%`;
    });
    svg.addEventListener("pointerleave", hide);
    if (g.options.marks) svg.addEventListener("click", (event) => { $("#time").value = x(event); place(); });
  }

  function nearest(list, value) {
    let low = 0;
    let high = list.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (list[middle] < value) low = middle + 1; else high = middle;
    }
    return low > 0 && value - list[low - 1] < list[low] - value ? low - 1 : low;
  }

  function curves() {
    const time = { x: () => [0, data.duration_s], unit: " s", marks: true };
    const bandOf = (s, name) => {
      const b = chosen() && data.bands[s.cc] && data.bands[s.cc][chosen().flow];
      return b ? { x: b.t, low: b[name][0], high: b[name][1] } : null;
    };
    const of = (name) => data.schemes.map((s, i) => ({ x: own(s).t, y: own(s)[name], i, band: bandOf(s, name) }));
    const first = data.schemes.findIndex((s) => shown.has(s.cc));
    const bound = first >= 0 && own(data.schemes[first]).capacity && own(data.schemes[first]).capacity.length
      ? [{ x: own(data.schemes[first]).t, y: own(data.schemes[first]).capacity, i: first, capacity: true }] : [];
    const many = Object.keys(data.bands).length > 0;
    const apart = many && data.schemes.filter((s, i) => shown.has(s.cc) && of("goodput")[i].band).length > MOST_BANDS;
    $("#capacity-note").textContent = (bound.length ? "(grey: what the slowest port of the path carries)" : "") +
      (many && !apart ? " (bands: least and most of all seeds)" : "");
    const base = data.schemes.map((s, i) => ({ x: own(s).t, y: own(s).base, i, base: true }));
    const fromLow = (ys, high) => { const least = ys.reduce((a, b) => Math.min(a, b), high); return least > high / 2 ? least * 0.96 : 0; };
    plot($("#goodput"), [...bound, ...of("goodput")], { ...time, digits: 2, cut: true });
    const strip = (s) => (chosen() && s.limits[chosen().flow]) || { bins: [], said: "", notes: [] };
    const strips = data.schemes.filter((s) => shown.has(s.cc)).map((s) => ({ label: `${s.label}: ${strip(s).said}`, bins: strip(s).bins, notes: strip(s).notes.map((n) => `${s.label}: ${n}`) }));
    limitStrips($("#limits"), strips, data.limits, { make, html, ticks, duration: data.duration_s });
    const without = "no RTT samples, as this flow has no ACKs";
    plot($("#rtt"), of("rtt").some((c) => c.y.some((v) => v !== null)) ? [...base, ...of("rtt")] : [], { ...time, digits: 1, bottom: fromLow, cut: true, empty: without });
    multiples(apart ? of("goodput") : [], time);
    plot($("#queue"), data.schemes.map((s, i) => ({ x: s.queue.t, y: s.queue.ms, i })), { ...time, digits: 2, cut: true });
    // The last half per cent of samples is cut off, as it would compress the rest.
    const span = (visible) => {
      const ms = visible.map((c) => c.x).filter((x) => x.length);
      const low = Math.min(...ms.map((x) => x[0]));
      const high = Math.max(...ms.map((x) => x[Math.floor(x.length * 0.995) - 1] ?? x[x.length - 1]));
      return ms.length ? [low - (high - low) * 0.02, high + (high - low) * 0.02] : [0, 1];
    };
    const cdf = data.schemes.map((s, i) => ({ x: own(s).cdf.ms, y: own(s).cdf.p, i }));
    plot($("#cdf"), cdf, { x: span, unit: " ms", digits: 3, top: 1, empty: without });
    const times = data.schemes.map((s) => data.completions[s.cc] || NOTHING.cdf);
    const [factor, unit] = Math.max(0, ...times.flatMap((t) => t.ms)) < LONG_MS ? [1, " ms"] : [1000, " s"];
    const done = times.map((t, i) => ({ x: t.ms.map((ms) => ms / factor), y: t.p, i }));
    $("#completions").hidden = !done.some((c) => c.x.length);
    if (!$("#completions").hidden) plot($("#fct"), done, { x: span, unit, digits: 3, top: 1 });
  }

  // A small plot of goodput for each scheme, on one scale, with the band of its seeds.
  function multiples(curves, time) {
    const figure = $("#multiples");
    const of = curves.filter((c) => c.band && shown.has(data.schemes[c.i].cc));
    figure.hidden = !of.length;
    const grid = figure.querySelector(".grid-of");
    grid.replaceChildren();
    const top = Math.max(1e-9, ceiling(of.flatMap((c) => [...c.y, ...c.band.high].filter((v) => v !== null)), true));
    // All places first: the width of each depends on their number.
    const figures = of.map((c) => {
      const one = html("figure", grid);
      const caption = html("figcaption", one);
      swatch(caption, c.i);
      caption.append(data.schemes[c.i].label);
      html("div", one).className = "plot";
      return one;
    });
    of.forEach((c, k) => plot(figures[k], [c], { ...time, digits: 2, top, height: 130, bands: true }));
  }

  function legend() {
    data.schemes.forEach((s, i) => {
      const button = html("button", $("#curves .legend"));
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      swatch(button, i);
      button.append(s.label);
      button.addEventListener("click", () => {
        if (shown.has(s.cc)) shown.delete(s.cc); else shown.add(s.cc);
        button.setAttribute("aria-pressed", String(shown.has(s.cc)));
        curves();
      });
    });
    const kinds = new Set(data.marks.map((m) => m[1]));
    const words = [];
    if (kinds.has("handover")) words.push("▼ above a plot: handovers of this flow's ends");
    if (kinds.has("outage-begin") || kinds.has("unreachable") || kinds.has("handover")) words.push("dark bars: outages");
    if (kinds.has("path-change") || kinds.has("reconfiguration")) words.push("ticks at the foot: changes of the path");
    $("#marks-note").textContent = [...words, "single peaks are cut off (▲)", "click a plot to see the path at that time"].join("; ") + ".";
  }

  // Position of a node at time t; tracks have a point per second while it is in use.
  function position(id, t) {
    const track = data.map.nodes[id] && data.map.nodes[id].track;
    if (!track || !track.length) return null;
    let k = track.findIndex((p) => p[0] > t);
    if (k === 0) return [track[0][1], track[0][2]];
    if (k < 0) k = track.length;
    const a = track[k - 1];
    const b = track[k];
    // // A gap means that it was not in use; its last known position is the best available.
    if (!b || b[0] - a[0] > 5) return [a[1], a[2]];
    const share = (t - a[0]) / (b[0] - a[0]);
    const turn = ((b[2] - a[2] + 540) % 360) - 180;
    return [a[1] + share * (b[1] - a[1]), a[2] + share * turn];
  }

  function routeAt(pair, t) {
    const steps = data.map.routes[pair] || [];
    let found = null;
    for (const step of steps) { if (step[0] > t) break; found = step; }
    return found ? found[1] : [];
  }

  function frame(pair) {
    // All positions on the routes of a pair, longitudes unwrapped around the first.
    const ids = new Set((data.map.routes[pair] || []).flatMap((s) => s[1]));
    const points = [...ids].flatMap((id) => (data.map.nodes[id] ? data.map.nodes[id].track.map((p) => [p[1], p[2]]) : []));
    if (!points.length) return null;
    const centre = points[0][1];
    const lons = points.map((p) => centre + (((p[1] - centre + 540) % 360) - 180));
    const lats = points.map((p) => p[0]);
    const least = (list) => list.reduce((a, b) => Math.min(a, b));
    const most = (list) => list.reduce((a, b) => Math.max(a, b));
    let [west, east, south, north] = [least(lons) - 6, most(lons) + 6, least(lats) - 6, most(lats) + 6];
    // Twice as wide as high, so that maps of north-south paths are readable.
    const grow = Math.max(0, 2 * (north - south) - (east - west)) / 2;
    west -= grow; east += grow;
    const rise = Math.max(0, (east - west) / 2.4 - (north - south)) / 2;
    return { west, east, south: Math.max(-90, south - rise), north: Math.min(90, north + rise), centre };
  }

  function place() {
    const t = +$("#time").value;
    const pair = chosen() ? chosen().pair : null;
    const nodes = routeAt(pair, t);
    $("#time-shown").textContent = `${t.toFixed(1)} s`;
    const view = frame(pair);
    const box = $("#map .picture");
    const svg = view ? world(view, nodes, t, box.clientWidth) : row(nodes, box.clientWidth);
    box.replaceChildren(svg);
    const base = own(data.schemes[0]);
    const ms = base.t.length ? base.base[nearest(base.t, t)] : null;
    $("#map-note").textContent = nodes.length
      ? `${nodes.length - 1} links${ms === null ? "" : `, base RTT of ${chosen().name} ${number(ms, 1)} ms`}${view ? "" : "; the network has no places, so the path is drawn as a row"}`
      : "no path at this time";
  }

  function world(view, nodes, t, width) {
    const height = Math.round((width * (view.north - view.south)) / (view.east - view.west));
    const x = (lon) => ((view.centre + (((lon - view.centre + 540) % 360) - 180) - view.west) / (view.east - view.west)) * width;
    const y = (lat) => ((view.north - lat) / (view.north - view.south)) * height;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `map of the path at ${t} s` });
    for (const shift of [-360, 0, 360]) {
      let d = "";
      for (const ring of coast) {
        for (let k = 0; k < ring.length; k += 2) {
          const lon = ((ring[k] / 10 + shift - view.west) / (view.east - view.west)) * width;
          d += `${k ? "L" : "M"}${lon.toFixed(1)} ${y(ring[k + 1] / 10).toFixed(1)}`;
        }
        d += "Z";
      }
      make("path", { class: "land", d, "fill-rule": "evenodd" }, svg);
    }
    ticks(view.south, view.north, 4).forEach((v) => make("line", { class: "lines", x1: 0, x2: width, y1: y(v), y2: y(v) }, svg));
    const places = nodes.map((id) => position(id, t)).map((p) => p && [x(p[1]), y(p[0])]);
    const known = places.filter((p) => p);
    make("path", { class: "path", d: known.map((p, k) => `${k ? "L" : "M"}${p[0].toFixed(1)} ${p[1].toFixed(1)}`).join("") }, svg);
    places.forEach((p, k) => {
      if (!p) return;
      const end = k === 0 || k === nodes.length - 1;
      const dot = make("circle", { class: end ? "end" : "satellite", cx: p[0], cy: p[1], r: end ? 5 : 4 }, svg);
      make("title", {}, dot, data.map.nodes[nodes[k]].name);
    });
    terminals(svg, x, y, { width, height });
    return svg;
  }

  // The ends stay on the map without a path.
  function terminals(svg, x, y, box) {
    const steps = data.map.routes[chosen().pair] || [];
    const full = steps.find((s) => s[1].length > 1);
    if (!full) return;
    [full[1][0], full[1][full[1].length - 1]].forEach((id, k) => {
      const p = position(id, 0);
      const [px, py] = [x(p[1]), y(p[0])];
      make("circle", { class: "end", cx: px, cy: py, r: 5 }, svg);
      const right = px > box.width * 0.7;
      // On the side of the place that the path does not take.
      const next = position(full[1][k ? full[1].length - 2 : 1], full[0]);
      const above = py > box.height - 20 || (py > 20 && next !== null && y(next[0]) > py);
      make("text", { class: "name", x: px + (right ? -9 : 9), y: py + (above ? -10 : 18), "text-anchor": right ? "end" : "start" }, svg, data.map.nodes[id].name);
    });
  }

  function row(nodes, width) {
    const height = 90;
    const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "the path as a row of nodes" });
    const at = (k) => 40 + (k * (width - 80)) / Math.max(1, nodes.length - 1);
    if (nodes.length) make("line", { class: "path", x1: at(0), x2: at(nodes.length - 1), y1: 36, y2: 36 }, svg);
    nodes.forEach((id, k) => {
      const end = k === 0 || k === nodes.length - 1;
      make("circle", { class: end ? "end" : "satellite", cx: at(k), cy: 36, r: end ? 6 : 5 }, svg);
      const crowded = nodes.length > width / 60;
      if (end || !crowded) make("text", { x: at(k), y: 64, "text-anchor": "middle" }, svg, data.map.names[id] || `node ${id}`);
    });
    return svg;
  }

  function controls() {
    $("#time").max = data.duration_s;
    $("#time").value = 0;
    $("#time").addEventListener("input", place);
    data.flows.forEach((f, k) => { html("option", $("#flow"), f.name).value = k; });
    $("#flow").addEventListener("change", show);
    $("#flow-choice").hidden = data.flows.length < 2;
    const more = data.flows_in_all - data.flows.length;
    $("#flow-note").textContent = more ? `${more} more flows are in the record; their curves are not on this page.` : "";
  }

  // Redraws everything that depends on the selected flow.
  function show() {
    document.querySelectorAll(".of").forEach((e) => { e.textContent = chosen() ? `· ${chosen().name}` : ""; });
    curves();
    place();
  }

  // Additional sections of a measurement: lines, a table, a figure each.
  function sections() {
    data.sections.forEach((s) => {
      const e = html("section", $("#sections"));
      html("h2", e, s.title);
      s.lines.forEach((l) => { html("p", e, l).className = "note"; });
      if (s.table) {
        const box = html("div", e);
        box.className = "scroll";
        const table = html("table", box);
        const heads = html("tr", html("thead", table));
        s.table[0].forEach((c) => html("th", heads, c));
        const body = html("tbody", table);
        s.table.slice(1).forEach((cells) => {
          const line = html("tr", body);
          cells.forEach((c, k) => html(k ? "td" : "th", line, c));
        });
      }
      if (s.image) {
        const image = html("img", e);
        image.alt = s.title;
        image.src = s.image;
        image.className = "picture";
      }
    });
  }

  function manifests() {
    data.manifests.forEach((m) => {
      const d = html("details", $("#manifest .manifests"));
      const cost = m.packet_hops === null ? "" : `, ${m.packet_hops.toLocaleString("en")} packet-hops in ${m.wall_s} s`;
      html("summary", d, `${m.cc}, ${data.measured === null ? "seed" : "cycle"} ${m.seed}: version ${m.version}${cost}`);
      html("pre", d, m.scenario_toml.trim());
      html("pre", d, JSON.stringify({ ...m, scenario_toml: undefined }, null, 1));
    });
  }

  drawing.paint(data.schemes);
  head();
  table();
  shares();
  controls();
  legend();
  sections();
  // Measurements have no data on the network.
  $("#map").hidden = $("#queue").hidden = data.measured !== null;
  manifests();
  show();
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth !== width) { width = window.innerWidth; show(); }
  });
  // Tests and screenshots wait for this.
  document.documentElement.dataset.drawn = "yes";
})();
