// SPDX-License-Identifier: Apache-2.0 OR MIT
// Draws handovers, outages and changes of the path into a plot, in ink, which no scheme has.
"use strict";
// `page`: make, marks, the selected flow, routes by pair, duration.
const drawMarks = (svg, px, top, height, page) => {
  const { make, marks, flow, routes, duration } = page;
  // A triangle above the plot, and a faint line.
  const handover = (t) => {
    const x = px(t);
    make("line", { class: "handover", x1: x, x2: x, y1: top, y2: top + height }, svg);
    make("path", { class: "handover-mark", d: `M${x - 4} ${top - 9}L${x + 4} ${top - 9}L${x} ${top - 2}Z` }, svg);
  };
  // A faint span with a bar at its top.
  const outage = (a, b) => {
    const [x, width] = [px(a), Math.max(1, px(b) - px(a))];
    make("rect", { class: "outage", x, y: top, width, height }, svg);
    make("rect", { class: "outage-bar", x, y: top, width, height: 4 }, svg);
  };
  const change = (t) => make("line", { class: "change", x1: px(t), x2: px(t), y1: top + height - 6, y2: top + height }, svg);
  // Only handovers and outages on the selected flow's path.
  const own = marks.filter((m) => !m[5] || !flow || m[5].includes(flow.pair));
  own.filter((m) => m[1] === "handover").forEach(([t, , value]) => {
    handover(t);
    if (value > 0) outage(t, t + value);
  });
  const steps = flow && routes[flow.pair];
  if (steps && steps.length) {
    // From the routes of the pair: changes, and spans without a route. Both ends may be off at once.
    const open = new Map();
    own.forEach(([t, kind, , , node]) => {
      if (kind === "outage-begin") {
        if (!open.has(node)) open.set(node, t);
      } else if (kind === "outage-end" && open.has(node)) {
        outage(open.get(node), t);
        open.delete(node);
      }
    });
    open.forEach((t) => outage(t, duration));
    steps.forEach(([t, nodes], k) => {
      if (!nodes.length) outage(t, k + 1 < steps.length ? steps[k + 1][0] : duration);
      else if (k) change(t);
    });
    return;
  }
  let open = null;
  own.filter((m) => m[1] !== "handover").forEach(([t, kind]) => {
    if (kind === "path-change" || kind === "reconfiguration") {
      change(t);
    } else if (kind === "outage-begin" || kind === "unreachable") {
      open = open === null ? t : open;
    } else if (open !== null) {
      outage(open, t);
      open = null;
    }
  });
  if (open !== null) outage(open, duration);
};
