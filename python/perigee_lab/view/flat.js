// SPDX-License-Identifier: Apache-2.0 OR MIT
// Map of the Earth with satellites and paths on a plain canvas, for browsers without WebGL. Longitude and
// latitude are x and y (plate carree). It has the interface of Globe().
"use strict";
// eslint-disable-next-line no-unused-vars
function FlatMap(data, coast, canvas) {
  const COLOURS = { sea: "#12263a", land: "#3d5247", shore: "#6d8577", grid: "#1c3650", satellite: "#8fa3b5", laser: "#5b728866", terminal: "#ffffff", station: "#ff5cd0", path: "#fb923c", ring: "#fbbf77" };
  const sky = data.sky, count = sky.names.length, g = canvas.getContext("2d");
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const frames = new Int16Array(bytes(sky.frames));
  const last = frames.length / (3 * count) - 1;
  const lasers = sky.lasers.map(([t, packed]) => [t, new Uint32Array(bytes(packed))]);
  const shows = { lasers: true, coverage: true, loads: true, names: true };
  const view = { lon: 0, lat: 0, scale: 1 };
  const MOST_NAMED = 30, RING_POINTS = 48;
  let size = [1, 1], changed = () => {};
  let now = [];

  // Direction and height between two frames: along the chord, which is within 0.1 degrees of the orbit.
  function move(t) {
    const u = Math.min(Math.max(t / sky.step_s, 0), last);
    const k = Math.min(Math.floor(u), Math.max(last - 1, 0)), s = u - k, next = Math.min(k + 1, last);
    now = Array.from({ length: count }, (_, v) => {
      const [x, y, z] = [0, 1, 2].map((i) => {
        const [p, q] = [frames[3 * (k * count + v) + i], frames[3 * (next * count + v) + i]];
        return (p + (q - p) * s) / data.scale;
      });
      const r = Math.hypot(x, y, z);
      return [(Math.atan2(-z, x) * 180) / Math.PI, (Math.asin(y / r) * 180) / Math.PI, r];
    });
  }
  const at = (v) => (v < 0 ? [sky.ground[-1 - v].place[1], sky.ground[-1 - v].place[0], 1] : now[v]);
  const name = (v) => (v < 0 ? sky.ground[-1 - v].name : sky.names[v]);
  const where = (v) => ({ lat: at(v)[1], lon: at(v)[0], km: (at(v)[2] - 1) * 6371 });

  // Pixels per degree: the whole map has the width of the canvas at scale 1.
  const unit = () => Math.max(size[0] / 360, size[1] / 720) * view.scale;
  const turned = (lon) => ((lon - view.lon + 540) % 360 + 360) % 360 - 180;
  const point = (lon, lat) => [size[0] / 2 + turned(lon) * unit(), size[1] / 2 - (lat - view.lat) * unit()];
  // The ends of a line by the shorter way around the Earth.
  function ends(a, b) {
    const [x, y] = point(a[0], a[1]), east = turned(b[0] - a[0] + view.lon);
    return [x, y, x + east * unit(), size[1] / 2 - (b[1] - view.lat) * unit()];
  }
  // A line that leaves the map at one side enters it at the other.
  function stroke(pairs, colour, width) {
    const round = 360 * unit();
    [g.strokeStyle, g.lineWidth] = [colour, width];
    g.beginPath();
    for (const [a, b] of pairs) {
      const [x, y, p, q] = ends(a, b);
      for (const off of [0, -round, round]) {
        if (off && Math.abs(p + off - size[0] / 2) > round / 2 && Math.abs(x + off - size[0] / 2) > round / 2) continue;
        g.moveTo(x + off, y);
        g.lineTo(p + off, q);
      }
    }
    g.stroke();
  }
  function dots(places, colour, width) {
    g.fillStyle = colour;
    for (const [lon, lat] of places) {
      const [x, y] = point(lon, lat);
      g.fillRect(x - width / 2, y - width / 2, width, width);
    }
  }

  function surface() {
    g.fillStyle = "#05080c";
    g.fillRect(0, 0, size[0], size[1]);
    const round = 360 * unit(), top = size[1] / 2 - (90 - view.lat) * unit();
    g.save();
    g.beginPath();
    g.rect(size[0] / 2 - round / 2, top, round, round / 2);
    g.clip();
    g.fillStyle = COLOURS.sea;
    g.fill();
    [g.fillStyle, g.strokeStyle, g.lineWidth] = [COLOURS.land, COLOURS.shore, 0.8];
    const [left, middle] = [size[0] / 2 - view.lon * unit(), size[1] / 2 + view.lat * unit()];
    g.beginPath();
    for (const off of [-round, 0, round]) {
      for (const ring of coast) {
        for (let k = 0; k < ring.length; k += 2) g[k ? "lineTo" : "moveTo"](left + off + (ring[k] / 10) * unit(), middle - (ring[k + 1] / 10) * unit());
        g.closePath();
      }
    }
    g.fill("evenodd");
    g.stroke();
    [g.strokeStyle, g.lineWidth] = [COLOURS.grid, 1];
    g.beginPath();
    for (let lon = -180; lon < 180; lon += 30) { const [x] = point(lon, 0); g.moveTo(x, top); g.lineTo(x, top + round / 2); }
    for (let lat = -60; lat <= 60; lat += 30) { const [, y] = point(0, lat); g.moveTo(size[0] / 2 - round / 2, y); g.lineTo(size[0] / 2 + round / 2, y); }
    g.stroke();
    g.restore();
  }

  // Footprint of a satellite above the mask: the circle of the Earth's central angle acos(cos e / r) - e.
  function footprint(v, mask_deg) {
    const [lon, lat, r] = at(v).map((x, i) => (i < 2 ? (x * Math.PI) / 180 : x)), e = (mask_deg * Math.PI) / 180;
    const angle = Math.acos(Math.min(1, Math.cos(e) / r)) - e;
    const points = Array.from({ length: RING_POINTS + 1 }, (_, k) => {
      const turn = (2 * Math.PI * k) / RING_POINTS;
      const up = Math.asin(Math.sin(lat) * Math.cos(angle) + Math.cos(lat) * Math.sin(angle) * Math.cos(turn));
      const side = Math.atan2(Math.sin(turn) * Math.sin(angle) * Math.cos(lat), Math.cos(angle) - Math.sin(lat) * Math.sin(up));
      return [((lon + side) * 180) / Math.PI, (up * 180) / Math.PI];
    });
    stroke(points.slice(1).map((p, k) => [points[k], p]), COLOURS.ring, 1.2);
  }
  const heat = (pct) => (pct < 50 ? "#7aa6c2" : pct < 90 ? "#f0e442" : "#d55e00");

  // The path's ends first; a name that would cover another one is left out.
  function names(chosen) {
    const stations = sky.ground.map((_, k) => k).filter((k) => sky.ground.length <= 12 || sky.ground[k].kind !== "terminal");
    const wanted = new Set([...chosen.filter((v) => v < 0).map((v) => -1 - v), ...(stations.length <= MOST_NAMED ? stations : [])]);
    const taken = [];
    [g.font, g.textBaseline, g.lineWidth, g.strokeStyle, g.fillStyle] = ["12.8px system-ui, sans-serif", "middle", 3, "#05080c", "#e7edf4"];
    for (const k of wanted) {
      const [x, y] = point(sky.ground[k].place[1], sky.ground[k].place[0]), wide = g.measureText(sky.ground[k].name).width + 8;
      if (taken.some(([a, b, w]) => x < a + w && a < x + wide && Math.abs(y - b) < 15)) continue;
      taken.push([x, y, wide]);
      g.strokeText(sky.ground[k].name, x + 8, y);
      g.fillText(sky.ground[k].name, x + 8, y);
    }
  }

  function draw(t, state) {
    move(t);
    surface();
    if (shows.lasers && lasers.length) {
      const pairs = lasers.reduce((found, entry) => (entry[0] <= t ? entry[1] : found), lasers[0][1]);
      stroke(Array.from({ length: pairs.length / 2 }, (_, k) => [at(pairs[2 * k]), at(pairs[2 * k + 1])]), COLOURS.laser, 0.6);
    }
    dots(now, COLOURS.satellite, 2);
    const of = (terminal) => sky.ground.filter((s) => (s.kind === "terminal") === terminal).map((s) => [s.place[1], s.place[0]]);
    dots(of(true), COLOURS.terminal, of(true).length > 100 ? 2 : 6);
    dots(of(false), COLOURS.station, 7);
    if (shows.loads) for (const l of state.loads) stroke([[at(l.from), at(l.to)]], heat(l.used_pct), 5);
    const nodes = state.route, marked = state.picked?.vertex === undefined ? [] : [state.picked.vertex];
    stroke(nodes.slice(1).map((v, k) => [at(nodes[k]), at(v)]), COLOURS.path, 2.4);
    const used = nodes.filter((v) => v >= 0);
    dots([...used, ...marked].map(at), COLOURS.path, 6);
    const rings = marked.length ? marked.filter((v) => v >= 0) : [used[0], used[used.length - 1]].filter((v) => v !== undefined);
    if (shows.coverage) for (const v of new Set(rings)) footprint(v, Math.min(...sky.ground.map((s) => s.mask_deg ?? 25)));
    if (shows.names) names(nodes);
  }

  // The nearest satellite or place within 9 pixels, else a link within 6.
  function pick(x, y, links) {
    let best = null, least = 9;
    for (let v = -sky.ground.length; v < count; v += 1) {
      const [px, py] = point(at(v)[0], at(v)[1]), d = Math.hypot(px - x, py - y);
      if (d < least) [best, least] = [{ vertex: v }, d];
    }
    if (best) return best;
    least = 6;
    for (const link of links) {
      const [ax, ay, bx, by] = ends(at(link.from), at(link.to));
      const s = Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / ((bx - ax) ** 2 + (by - ay) ** 2 || 1)));
      const d = Math.hypot(ax + s * (bx - ax) - x, ay + s * (by - ay) - y);
      if (d < least) [best, least] = [{ link }, d];
    }
    return best;
  }

  function resize() {
    size = [canvas.clientWidth, canvas.clientHeight];
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    [canvas.width, canvas.height] = [size[0] * ratio, size[1] * ratio];
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  // The middle of some nodes in the middle, at a scale that shows all of them.
  function look(vertices) {
    const first = at(vertices[0])[0], east = vertices.map((v) => ((at(v)[0] - first + 540) % 360) - 180);
    const lats = vertices.map((v) => at(v)[1]), wide = Math.max(...east) - Math.min(...east), high = Math.max(...lats) - Math.min(...lats);
    view.lon = first + (Math.max(...east) + Math.min(...east)) / 2;
    view.scale = Math.min(8, Math.max(1, Math.min(0.6 * 360 / Math.max(wide, 1), 0.6 * 180 / Math.max(high, 1))));
    view.lat = (Math.max(...lats) + Math.min(...lats)) / 2;
  }
  const zoom = (factor) => { view.scale = Math.min(40, Math.max(0.5, view.scale / factor)); };
  const turn = (x, y) => { [view.lon, view.lat] = [view.lon - (x * 180) / Math.PI, Math.min(90, Math.max(-90, view.lat + (y * 180) / Math.PI))]; };

  let held = null;
  canvas.addEventListener("pointerdown", (e) => { held = [e.clientX, e.clientY]; });
  window.addEventListener("pointerup", () => { held = null; });
  canvas.addEventListener("pointermove", (e) => {
    if (!held) return;
    view.lon -= (e.clientX - held[0]) / unit();
    view.lat = Math.min(90, Math.max(-90, view.lat + (e.clientY - held[1]) / unit()));
    held = [e.clientX, e.clientY];
    changed();
  });
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoom(e.deltaY > 0 ? 1.12 : 0.89); changed(); }, { passive: false });
  const controls = { addEventListener: (_, call) => { changed = call; } };
  move(0);
  return { draw, pick, resize, look, where, name, zoom, turn, shows, controls, count };
}
