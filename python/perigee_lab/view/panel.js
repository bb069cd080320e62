// SPDX-License-Identifier: Apache-2.0 OR MIT
// Time controls, curves and selections around the globe.
(() => {
  "use strict";
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  const $ = (id) => document.getElementById(id);
  const state = { t: 0, playing: false, flow: 0, scheme: 0, picked: null, dirty: true };
  const fixed = (v, digits) => (v === null || v === undefined ? "–" : v.toFixed(digits));
  const MARK = { outage: "#e7edf433", change: "#e7edf4aa" };

  // The sky if the record has one, else a diagram of the network.
  let surface = $(data.sky ? "canvas" : "net");
  let globe = null;
  if (!data.sky) {
    $("canvas").hidden = true;
    $("net").removeAttribute("hidden");
    document.querySelectorAll(".sky").forEach((e) => { e.hidden = true; });
  } else {
    for (const kind of ["terminal", "station"]) {
      document.querySelector(`.key .${kind}`).parentElement.hidden = !data.sky.ground.some((g) => (g.kind === "terminal") === (kind === "terminal"));
    }
  }
  try {
    globe = data.sky ? Globe(data, read("coast"), $("canvas"), $("labels")) : Topology(data, $("net"));
  } catch (error) {
    console.warn(error);
    if (data.sky) {
      $("no-webgl").hidden = false;
      // A canvas that has had another context has no second one.
      surface = $("canvas").cloneNode();
      $("canvas").replaceWith(surface);
      surface.setAttribute("aria-label", "Map of the Earth with satellites and paths: drag to move, wheel to zoom, click to pick");
      $("labels").replaceChildren();
      globe = FlatMap(data, read("coast"), surface);
    }
  }

  // The network at an instant.
  const before = (steps, t) => {
    let [low, high] = [0, steps.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (steps[middle][0] <= t) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  };
  const flow = () => data.flows[state.flow];
  const steps = () => data.routes[flow().pair] || [];
  function route() {
    const k = before(steps(), state.t);
    return k < 0 ? [] : steps()[k][1];
  }
  function loads() {
    const all = data.loads[state.scheme];
    if (!all.length) return [];
    const k = Math.min(all[0].used_pct.length - 1, Math.floor((state.t / data.duration_s) * all[0].used_pct.length));
    return all.map((l) => ({ from: l.from, to: l.to, used_pct: l.used_pct[k], queue: l.queue[k] })).filter((l) => l.used_pct > 0);
  }

  // Curves.
  const colour = (i) => data.schemes[i].look.dark;
  const dashes = (i) => data.schemes[i].look.dashes.map((d) => d * 1.6);
  // Times without a path and outages of the selected flow.
  function outages() {
    const own = steps();
    const pathless = own.map(([t, nodes], k) => [t, k + 1 < own.length ? own[k + 1][0] : data.duration_s, nodes.length])
      .filter(([, , hops]) => hops === 0).map(([a, b]) => [a, b]);
    const cuts = concerning().filter(([, kind]) => kind === "outage-begin");
    return [...pathless, ...cuts.map(([t, , length_s]) => [t, t + length_s])];
  }
  const concerning = () => data.marks.filter(([, , , , , pairs]) => !pairs || pairs.includes(flow().pair));
  let spans = [];
  // Path changes; without satellites also changes of rate, delay and loss.
  function changes() {
    const scheduled = data.sky ? [] : concerning().filter(([, kind]) => kind === "reconfiguration").map(([t]) => t);
    return [...steps().map(([t]) => t), ...scheduled].filter((t) => t > 0).sort((a, b) => a - b);
  }
  const NOTHING = { t: [], goodput: [], rtt: [], base: [] };
  const of_flow = (s) => s.curves[flow().flow] || NOTHING;
  const PLOTS = [
    { id: "goodput", series: () => data.schemes.map((s) => [of_flow(s).t, of_flow(s).goodput]) },
    { id: "rtt", series: () => data.schemes.map((s) => [of_flow(s).t, of_flow(s).rtt]), base: true },
    { id: "queue", series: () => data.schemes.map((s) => [s.queue.t, s.queue.ms]) },
  ];

  // Bands of outages and lines of path changes.
  function over(u) {
    const { ctx } = u, { left, top, width, height } = u.bbox;
    const x = (t) => u.valToPos(t, "x", true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.fillStyle = MARK.outage;
    for (const [a, b] of spans) ctx.fillRect(x(a), top, Math.max(1, x(b) - x(a)), height);
    ctx.fillStyle = MARK.change;
    for (const t of changes()) ctx.fillRect(x(t), top, 1, height);
    ctx.restore();
  }
  // Single peaks do not flatten everything else.
  function ceiling(tables) {
    const all = tables.flatMap(([, y]) => y).filter((v) => v !== null).sort((a, b) => a - b);
    const most = all[all.length - 1] || 1, usual = all[Math.floor(all.length * 0.99)] || most;
    return Math.min(most * 1.06, usual * 1.25 || most);
  }
  function build(plot) {
    const tables = plot.series();
    if (plot.base) tables.push([of_flow(data.schemes[0]).t, of_flow(data.schemes[0]).base]);
    const joined = Vendor.uPlot.join(tables);
    const lines = tables.map((_, i) =>
      plot.base && i === tables.length - 1
        ? { label: "base RTT", stroke: "#ffffff", width: 1, dash: [2, 4], points: { show: false } }
        : { label: data.schemes[i].label, stroke: colour(i), width: 1.6, dash: dashes(i), spanGaps: true, points: { show: false } });
    const top = ceiling(tables);
    const axis = { stroke: "#9fb0c0", grid: { stroke: "#25303c", width: 1 }, ticks: { stroke: "#25303c" }, font: "11px system-ui" };
    const box = $(plot.id);
    plot.chart?.destroy();
    plot.chart = new Vendor.uPlot({
      width: box.clientWidth, height: box.clientHeight, legend: { show: false },
      scales: { x: { time: false, range: [0, data.duration_s] }, y: { range: [0, top] } },
      axes: [{ ...axis, size: 24, gap: 2 }, { ...axis, size: 46 }],
      series: [{}, ...lines],
      cursor: { sync: { key: "time" }, drag: { x: false, y: false } },
      hooks: { draw: [over] },
    }, joined, box);
    // The time cursor is a separate element, so that curves are not redrawn every frame.
    plot.now = document.createElement("div");
    plot.now.className = "now";
    plot.chart.over.appendChild(plot.now);
    plot.chart.over.addEventListener("click", (e) => seek(plot.chart.posToVal(e.offsetX, "x")));
  }
  const show_now = () => PLOTS.forEach((p) => {
    p.now.style.transform = `translateX(${p.chart.valToPos(state.t, "x")}px)`;
  });

  function legend() {
    $("legend").replaceChildren(...data.schemes.map((s, i) => {
      const item = document.createElement("span");
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
      svg.setAttribute("viewBox", "0 0 30 10");
      const look = { x1: 0, x2: 30, y1: 5, y2: 5, stroke: colour(i), "stroke-width": 2.2, "stroke-dasharray": dashes(i).join(" ") };
      for (const key in look) line.setAttribute(key, look[key]);
      svg.append(line);
      item.append(svg, s.label, Object.assign(document.createElement("b"), { id: `value${i}` }));
      return item;
    }));
  }
  function values() {
    data.schemes.forEach((s, i) => {
      const c = of_flow(s);
      let k = c.t.findIndex((t) => t >= state.t);
      if (k < 0) k = c.t.length - 1;
      $(`value${i}`).textContent = k < 0 ? "" : ` ${fixed(c.goodput[k], 1)} Mbit/s, ${fixed(c.rtt[k], 1)} ms`;
    });
  }

  // Description of the shown route.
  function route_words() {
    const nodes = route();
    if (!steps().length) {
      $("route").textContent = "";
      return;
    }
    const outage = nodes.length > 0 && spans.some(([a, b]) => a <= state.t && state.t < b);
    $("route").textContent = nodes.length
      ? `${outage ? "OUTAGE · " : ""}${nodes.length - 1} hops: ${nodes.map((v) => (globe ? globe.name(v) : v)).join(" → ")}`
      : "no path";
  }
  function picked_words() {
    const p = state.picked;
    $("picked").hidden = p === null || globe === null;
    if ($("picked").hidden) return;
    const line = (l) => `${globe.name(l.from)} → ${globe.name(l.to)}: ${fixed(l.used_pct, 1)} % used, ${fixed(l.queue, 0)} packets waiting`;
    if (p.link) {
      const l = loads().find((x) => x.from === p.link.from && x.to === p.link.to);
      $("picked").textContent = l ? line(l) : `${globe.name(p.link.from)} → ${globe.name(p.link.to)}: idle`;
      return;
    }
    const of = loads().filter((l) => l.from === p.vertex || l.to === p.vertex);
    $("picked").textContent = [`${globe.name(p.vertex)}${place_words(p.vertex)}`,
      ...(of.length ? of.map(line) : ["no load in this run"])].join("\n");
  }
  function place_words(vertex) {
    const w = globe.where(vertex);
    if (!w) return "";
    const side = (v, plus, minus) => `${Math.abs(v).toFixed(1)}° ${v < 0 ? minus : plus}`;
    return `: ${side(w.lat, "N", "S")}, ${side(w.lon, "E", "W")}${vertex < 0 ? "" : `, ${w.km.toFixed(0)} km`}`;
  }
  const clock = (t) => `${Math.floor(t / 60)}:${(t % 60).toFixed(1).padStart(4, "0")} of ${Math.floor(data.duration_s / 60)}:${(data.duration_s % 60).toFixed(0).padStart(2, "0")}`;

  function seek(t) {
    state.t = Math.min(data.duration_s, Math.max(0, t));
    state.dirty = true;
  }
  function play(on) {
    if (on && state.t >= data.duration_s) seek(0);
    state.playing = on;
    $("play").textContent = on ? "❚❚" : "▶";
    $("play").setAttribute("aria-label", on ? "stop" : "play");
  }
  function choose_flow(k) {
    state.flow = (k + data.flows.length) % data.flows.length;
    $("flow").value = state.flow;
    spans = outages();
    PLOTS.forEach(build);
    const first = steps().find(([, nodes]) => nodes.length);
    if (data.sky) globe?.look(first ? [first[1][0], first[1][first[1].length - 1]] : data.sky.ground.map((_, i) => -1 - i));
    const [lines, bands] = data.sky
      ? ["path changes of this flow", "it has no path, or an end hands over"]
      : ["changes of this flow's path, its rates, delays or losses", "an outage on it"];
    $("marks").textContent = `Lines: ${changes().length} ${lines}. Light bands: ${bands}. A click goes to that time.`;
    state.dirty = true;
  }
  function choose_scheme(k) {
    state.scheme = (k + data.schemes.length) % data.schemes.length;
    $("scheme").value = state.scheme;
    state.dirty = true;
  }

  // Frames are drawn only on changes; the rate is that of the last second of playing.
  const meter = { frames: 0, since: 0, ms: 0 };
  function frame(at) {
    if (state.playing) {
      seek(state.t + (Math.min(at - (state.last || at), 250) / 1e3) * +$("speed").value);
      if (state.t >= data.duration_s) play(false);
    }
    state.last = at;
    if (state.dirty) show();
    meter.frames += state.playing ? 1 : 0;
    if (at - meter.since >= 1000) {
      if (state.playing && meter.since) {
        const rate = (meter.frames * 1e3) / (at - meter.since);
        $("fps").textContent = `${rate.toFixed(0)} frames/s${globe && data.sky ? `, ${globe.count} satellites` : ""}`;
      }
      [meter.frames, meter.since] = [0, at];
    }
    requestAnimationFrame(frame);
  }
  function show() {
    state.dirty = false;
    $("at").value = state.t;
    $("clock").textContent = clock(state.t);
    globe?.draw(state.t, { route: route(), loads: loads(), picked: state.picked });
    route_words();
    picked_words();
    values();
    show_now();
  }

  // // Pointer position on the surface: within a diagram, events have the offset of the element
  // below.
  function within(e) {
    const box = surface.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  }
  function option(select, labels, on) {
    labels.forEach((text, i) => select.add(new Option(text, i)));
    select.addEventListener("change", () => on(+select.value));
  }
  function toggle(name) {
    $(name).checked = !$(name).checked;
    $(name).dispatchEvent(new Event("change"));
  }
  const jump = (direction) => {
    const all = direction > 0 ? changes().filter((t) => t > state.t + 1e-6) : changes().filter((t) => t < state.t - 1e-6).reverse();
    if (all.length) seek(all[0]);
  };
  const KEYS = {
    " ": () => play(!state.playing),
    ArrowLeft: (e) => seek(state.t - (e.shiftKey ? 10 : 1)),
    ArrowRight: (e) => seek(state.t + (e.shiftKey ? 10 : 1)),
    Home: () => seek(0),
    End: () => seek(data.duration_s),
    n: () => jump(1),
    p: () => jump(-1),
    l: () => data.sky && toggle("lasers"),
    c: () => data.sky && toggle("coverage"),
    o: () => toggle("loads"),
    a: () => toggle("names"),
    f: () => choose_flow(state.flow + 1),
    s: () => choose_scheme(state.scheme + 1),
    "+": () => globe?.zoom(0.85),
    "-": () => globe?.zoom(1.18),
    "?": () => $("help").click(),
    Escape: () => { state.picked = null; },
  };
  function keys(e) {
    // Lists and sliders handle some keys themselves.
    if (e.ctrlKey || e.metaKey || e.altKey || !KEYS[e.key]) return;
    if (e.target.tagName === "SELECT" || (e.target.tagName === "BUTTON" && e.key === " ")) return;
    if (e.target.type === "checkbox" && e.key === " ") return;
    e.preventDefault();
    KEYS[e.key](e);
    state.dirty = true;
  }

  function start() {
    $("subtitle").textContent = `${data.scenario} · ${data.sky ? `${data.sky.names.length} satellites · ${data.duration_s} s from ${data.sky.instant}` : `${data.duration_s} s`} · seed ${data.seeds[0]}${data.hosts ? ` · ${data.hosts}` : ""}`;
    $("at").max = data.duration_s;
    option($("flow"), data.flows.map((f) => f.name), choose_flow);
    option($("scheme"), data.schemes.map((s) => s.label), choose_scheme);
    legend();
    $("at").addEventListener("input", () => seek(+$("at").value));
    $("play").addEventListener("click", () => play(!state.playing));
    $("help").addEventListener("click", () => {
      $("keys").hidden = !$("keys").hidden;
      $("help").setAttribute("aria-expanded", String(!$("keys").hidden));
    });
    document.addEventListener("keydown", keys);
    if (globe) {
      for (const name of Object.keys(globe.shows)) {
        $(name).addEventListener("change", () => { globe.shows[name] = $(name).checked; state.dirty = true; });
      }
      globe.controls.addEventListener("change", () => { state.dirty = true; });
      let down = null;
      surface.addEventListener("pointerdown", (e) => { down = within(e); });
      surface.addEventListener("pointerup", (e) => {
        // A drag rotates the globe without picking.
        const [x, y] = within(e);
        if (!down || Math.hypot(x - down[0], y - down[1]) > 4) return;
        state.picked = globe.pick(x, y, loads());
        state.dirty = true;
      });
    }
    const fit = () => {
      globe?.resize();
      PLOTS.forEach((p) => p.chart?.setSize({ width: $(p.id).clientWidth, height: $(p.id).clientHeight }));
      // In this frame, as a canvas of another size is empty.
      show();
    };
    globe?.resize();
    choose_flow(0);
    new ResizeObserver(fit).observe($("globe"));
    new ResizeObserver(fit).observe($("curves"));
    requestAnimationFrame(frame);
  }
  start();
  // Interface for tests and scripts.
  window.perigee = { state, seek, play, choose_flow, choose_scheme, globe };
})();
