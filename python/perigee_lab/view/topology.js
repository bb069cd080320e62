// SPDX-License-Identifier: Apache-2.0 OR MIT
// // Diagram of a network without satellites: nodes and links, with the path of a flow and loads
// over it.
// It has the interface of Globe().
"use strict";
// eslint-disable-next-line no-unused-vars
function Topology(data, svg) {
  const net = data.network;
  const NS = "http://www.w3.org/2000/svg";
  const shows = { loads: true, names: true };
  const NAMED = 40, WORDS = 12, MARGIN = { x: 70, y: 70 };
  let size = [0, 0];

  const make = (tag, attributes, parent) => {
    const element = document.createElementNS(NS, tag);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    parent.appendChild(element);
    return element;
  };
  const layers = ["links", "loads", "route", "nodes", "words"].map((name) => make("g", { class: name }, svg));
  const [links, traffic, path, nodes, words] = layers;
  const at = (v) => [
    MARGIN.x + net.nodes[v].x * Math.max(1, size[0] - 2 * MARGIN.x),
    MARGIN.y + net.nodes[v].y * Math.max(1, size[1] - 2 * MARGIN.y),
  ];
  const line = (a, b, off, attributes, parent) => {
    const [[ax, ay], [bx, by]] = [at(a), at(b)];
    const far = Math.hypot(bx - ax, by - ay) || 1, [nx, ny] = [(-(by - ay) / far) * off, ((bx - ax) / far) * off];
    make("line", { x1: ax + nx, y1: ay + ny, x2: bx + nx, y2: by + ny, ...attributes }, parent);
    return [(ax + bx) / 2 + nx, (ay + by) / 2 + ny];
  };
  const text = (x, y, said, attributes, parent) => {
    make("text", { x, y, ...attributes }, parent).textContent = said;
  };
  // The globe's colours of loads.
  const heat = (pct) => (pct < 50 ? "#7aa6c2" : pct < 90 ? "#f0e442" : "#d55e00");
  const name = (v) => net.nodes[v].name;

  function draw(t, state) {
    layers.forEach((layer) => layer.replaceChildren());
    for (const [a, b] of net.links) line(a, b, 0, { stroke: "#5b7288", "stroke-width": 1.2 }, links);
    // The two directions of a link are drawn side by side.
    const busy = shows.loads ? state.loads : [];
    for (const l of busy) {
      const width = 1.5 + l.used_pct / 16;
      const [x, y] = line(l.from, l.to, 8, { stroke: heat(l.used_pct), "stroke-width": width }, traffic);
      if (busy.length > WORDS || l.used_pct < 5) continue;
      const waits = l.queue >= 1 ? `, ${l.queue.toFixed(0)} waiting` : "";
      text(x, y + (at(l.to)[0] < at(l.from)[0] ? -10 : 20), `${l.used_pct.toFixed(0)} %${waits}`, { class: "load" }, words);
    }
    state.route.slice(1).forEach((v, k) => line(state.route[k], v, 0, { stroke: "#fb923c", "stroke-width": 2.4 }, path));
    const on = new Set(state.route);
    net.nodes.forEach((n, v) => {
      const [cx, cy] = at(v);
      const picked = state.picked?.vertex === v;
      make("circle", { cx, cy, r: on.has(v) ? 7 : 5, fill: on.has(v) ? "#fb923c" : "#8fa3b5", stroke: picked ? "#ffffff" : "#05080c", "stroke-width": 2 }, nodes);
      if (shows.names && (net.nodes.length <= NAMED || on.has(v))) text(cx, cy - 14, n.name, { class: "node" }, words);
    });
    if (!net.nodes.length) text(size[0] / 2, size[1] / 2, "The record does not say which way packets took.", { class: "node" }, words);
  }

  // The nearest node within 14 pixels, else a loaded link within 10.
  function pick(x, y, all) {
    let best = null, least = 14;
    net.nodes.forEach((_, v) => {
      const [px, py] = at(v), d = Math.hypot(px - x, py - y);
      if (d < least) [best, least] = [{ vertex: v }, d];
    });
    if (best) return best;
    least = 10;
    for (const link of all) {
      const [[ax, ay], [bx, by]] = [at(link.from), at(link.to)];
      const far = Math.hypot(bx - ax, by - ay) || 1, [nx, ny] = [(-(by - ay) / far) * 8, ((bx - ax) / far) * 8];
      const s = Math.min(1, Math.max(0, ((x - ax - nx) * (bx - ax) + (y - ay - ny) * (by - ay)) / far ** 2));
      const d = Math.hypot(ax + nx + s * (bx - ax) - x, ay + ny + s * (by - ay) - y);
      if (d < least) [best, least] = [{ link }, d];
    }
    return best;
  }
  function resize() {
    size = [svg.clientWidth, svg.clientHeight];
    svg.setAttribute("viewBox", `0 0 ${size[0]} ${size[1]}`);
  }
  const nothing = () => {};
  return { draw, pick, resize, name, shows, where: () => null, look: nothing, zoom: nothing, turn: nothing, controls: { addEventListener: nothing }, count: 0 };
}
