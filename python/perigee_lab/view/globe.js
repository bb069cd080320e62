// SPDX-License-Identifier: Apache-2.0 OR MIT
// The Earth, its satellites and the paths over them. One unit is the Earth's radius; y points to
// the north pole.
"use strict";
// eslint-disable-next-line no-unused-vars
function Globe(data, coast, canvas, labels) {
  const V = Vendor;
  const COLOURS = { sea: "#12263a", land: "#3d5247", shore: "#6d8577", grid: "#1c3650", satellite: "#8fa3b5", laser: "#5b7288", terminal: "#ffffff", station: "#ff5cd0" };
  const GROUND = 1.003, RING_POINTS = 48;
  const sky = data.sky;
  const count = sky.names.length;
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const frames = new Int16Array(bytes(sky.frames));
  const last = frames.length / (3 * count) - 1;
  const lasers = sky.lasers.map(([t, packed]) => [t, new Uint32Array(bytes(packed))]);
  const ground = sky.ground.map((g) => place(g.place[0], g.place[1], GROUND));
  const now = new Float32Array(3 * count);
  const shows = { lasers: true, coverage: true, loads: true, names: true };

  function place(lat, lon, radius) {
    const [f, l] = [(lat * Math.PI) / 180, (lon * Math.PI) / 180];
    return new V.Vector3(Math.cos(f) * Math.cos(l), Math.sin(f), -Math.cos(f) * Math.sin(l)).multiplyScalar(radius);
  }

  // Without a graphics card, every sample of a pixel costs CPU time: no antialiasing there.
  const soft = software();
  const renderer = new V.WebGLRenderer({ canvas, antialias: !soft });
  const scene = new V.Scene();
  const camera = new V.PerspectiveCamera(35, 1, 0.05, 100);
  const controls = new V.OrbitControls(camera, canvas);
  Object.assign(controls, { enablePan: false, minDistance: 1.25, maxDistance: 24, rotateSpeed: 0.5, zoomSpeed: 0.7 });

  function software() {
    const gl = document.createElement("canvas").getContext("webgl2");
    const known = gl?.getExtension("WEBGL_debug_renderer_info");
    return known ? /swiftshader|llvmpipe|software/i.test(gl.getParameter(known.UNMASKED_RENDERER_WEBGL)) : false;
  }

  // Texture of the sphere: land as in the report, and a grid of 30 degrees.
  function surface() {
    const map = document.createElement("canvas");
    [map.width, map.height] = [4096, 2048];
    const g = map.getContext("2d");
    const [x, y] = [(lon) => ((lon + 180) / 360) * map.width, (lat) => ((90 - lat) / 180) * map.height];
    g.fillStyle = COLOURS.sea;
    g.fillRect(0, 0, map.width, map.height);
    g.beginPath();
    for (const ring of coast) {
      for (let k = 0; k < ring.length; k += 2) g[k ? "lineTo" : "moveTo"](x(ring[k] / 10), y(ring[k + 1] / 10));
      g.closePath();
    }
    [g.fillStyle, g.strokeStyle, g.lineWidth] = [COLOURS.land, COLOURS.shore, 2];
    g.fill("evenodd");
    g.stroke();
    g.strokeStyle = COLOURS.grid;
    g.beginPath();
    for (let lon = -180; lon < 180; lon += 30) { g.moveTo(x(lon), 0); g.lineTo(x(lon), map.height); }
    for (let lat = -60; lat <= 60; lat += 30) { g.moveTo(0, y(lat)); g.lineTo(map.width, y(lat)); }
    g.stroke();
    const texture = new V.CanvasTexture(map);
    texture.colorSpace = V.SRGBColorSpace;
    texture.anisotropy = soft ? 1 : 4;
    return texture;
  }

  function geometry(length) {
    const g = new V.BufferGeometry();
    const attribute = new V.BufferAttribute(new Float32Array(length), 3);
    attribute.setUsage(V.DynamicDrawUsage);
    g.setAttribute("position", attribute);
    return g;
  }
  function add(object) {
    object.frustumCulled = false;
    scene.add(object);
    return object;
  }
  const see = (colour, opacity) => ({ color: new V.Color(colour), transparent: opacity < 1, opacity, depthWrite: opacity === 1 });

  add(new V.Mesh(new V.SphereGeometry(1, 96, 64), new V.MeshBasicMaterial({ map: surface() })));
  const dots = add(new V.Points(geometry(3 * count), new V.PointsMaterial({ ...see(COLOURS.satellite, 1), size: 2.6, sizeAttenuation: false })));
  const most = Math.max(0, ...lasers.map(([, pairs]) => pairs.length));
  const mesh = add(new V.LineSegments(geometry(3 * most), new V.LineBasicMaterial(see(COLOURS.laser, 0.3))));
  // Many terminals are small and translucent, so that their density is visible; stations are on top.
  const stations = ground.map((_, k) => k).filter((k) => sky.ground[k].kind !== "terminal");
  const terminals = ground.map((_, k) => k).filter((k) => sky.ground[k].kind === "terminal");
  for (const [of, colour, size] of [[terminals, COLOURS.terminal, terminals.length > 100 ? 2 : 6], [stations, COLOURS.station, 7]]) {
    const places = geometry(3 * of.length);
    of.forEach((k, i) => places.attributes.position.setXYZ(i, ground[k].x, ground[k].y, ground[k].z));
    const look = { ...see(colour, of.length > 400 && size === 2 ? 0.45 : 1), size, sizeAttenuation: false };
    add(new V.Points(places, new V.PointsMaterial(look))).renderOrder = size;
  }
  const used = add(new V.Points(geometry(3 * 256), new V.PointsMaterial({ ...see("#fb923c", 1), size: 6, sizeAttenuation: false })));

  function thick(width, order) {
    const material = new V.LineMaterial({ linewidth: width, vertexColors: true });
    const lines = add(new V.LineSegments2(new V.LineSegmentsGeometry(), material));
    lines.renderOrder = order;
    return lines;
  }
  // Loads are visible on both sides of a path over the same links.
  const traffic = thick(5, 1), route = thick(2.4, 2);
  const rings = [0, 1].map(() => ({
    edge: add(new V.LineLoop(geometry(3 * RING_POINTS), new V.LineBasicMaterial(see("#fbbf77", 0.9)))),
    cone: add(new V.Mesh(geometry(9 * RING_POINTS), new V.MeshBasicMaterial({ ...see("#fbbf77", 0.12), side: V.DoubleSide }))),
  }));

  // Cubic between the frames (Catmull and Rom): linear interpolation would leave the orbit.
  function move(t) {
    const u = Math.min(Math.max(t / sky.step_s, 0), last);
    const k = Math.min(Math.floor(u), Math.max(last - 1, 0)), s = u - k, n = 3 * count;
    const [a, b, c, d] = [Math.max(k - 1, 0), k, Math.min(k + 1, last), Math.min(k + 2, last)].map((f) => f * n);
    const w = [(-s + 2 * s * s - s * s * s) / 2, (2 - 5 * s * s + 3 * s * s * s) / 2, (s + 4 * s * s - 3 * s * s * s) / 2, (s * s * s - s * s) / 2];
    for (let i = 0; i < n; i += 1) {
      // Beyond the first and the last frame, extrapolates linearly.
      const [p, q] = [frames[b + i], frames[c + i]];
      const before = a === b ? 2 * p - q : frames[a + i];
      const after = d === c ? 2 * q - p : frames[d + i];
      now[i] = (w[0] * before + w[1] * p + w[2] * q + w[3] * after) / data.scale;
    }
  }
  const at = (vertex) => (vertex < 0 ? ground[-1 - vertex] : new V.Vector3().fromArray(now, 3 * vertex));
  const name = (vertex) => (vertex < 0 ? sky.ground[-1 - vertex].name : sky.names[vertex]);

  function fill(object, points) {
    const { position } = object.geometry.attributes;
    const n = Math.min(points.length, position.count);
    for (let k = 0; k < n; k += 1) position.setXYZ(k, points[k].x, points[k].y, points[k].z);
    position.needsUpdate = true;
    object.geometry.setDrawRange(0, n);
  }
  function strokes(object, segments, colours) {
    object.visible = segments.length > 0;
    if (!segments.length) return;
    // A new geometry each time, since disposing it is the only way to free its attributes on the
    // graphics card.
    object.geometry.dispose();
    object.geometry = new V.LineSegmentsGeometry();
    object.geometry.setPositions(segments.flatMap(([a, b]) => [a.x, a.y, a.z, b.x, b.y, b.z]));
    object.geometry.setColors(colours.flatMap((c) => [c.r, c.g, c.b, c.r, c.g, c.b]));
  }

  // Footprint of a satellite above the mask: the circle of the Earth's central angle acos(cos e
  // / r) - e.
  function footprint(ring, satellite, mask_deg) {
    const shown = satellite !== undefined && shows.coverage;
    ring.edge.visible = ring.cone.visible = shown;
    if (!shown) return;
    const top = at(satellite), r = top.length(), e = (mask_deg * Math.PI) / 180;
    const angle = Math.acos(Math.min(1, Math.cos(e) / r)) - e;
    const up = top.clone().normalize();
    const side = new V.Vector3(0, 1, 0).cross(up).normalize(), front = up.clone().cross(side);
    const points = Array.from({ length: RING_POINTS }, (_, k) => {
      const turn = (2 * Math.PI * k) / RING_POINTS;
      return up.clone().multiplyScalar(Math.cos(angle))
        .addScaledVector(side, Math.sin(angle) * Math.cos(turn)).addScaledVector(front, Math.sin(angle) * Math.sin(turn)).multiplyScalar(GROUND);
    });
    fill(ring.edge, points);
    fill(ring.cone, points.flatMap((p, k) => [top, p, points[(k + 1) % RING_POINTS]]));
  }

  const HOT = [[0, "#7aa6c2"], [50, "#f0e442"], [90, "#d55e00"]].map(([v, c]) => [v, new V.Color(c)]);
  function heat(pct) {
    const k = pct < 50 ? 0 : 1;
    return HOT[k][1].clone().lerp(HOT[k + 1][1], Math.min(1, (pct - HOT[k][0]) / (HOT[k + 1][0] - HOT[k][0])));
  }

  // Labels of places are elements over the canvas, where the browser renders sharp text.
  const signs = new Map();
  function sign_of(k) {
    if (!signs.has(k)) {
      const sign = document.createElement("span");
      sign.textContent = sky.ground[k].name;
      labels.appendChild(sign);
      signs.set(k, sign);
    }
    return signs.get(k);
  }
  const MOST_NAMED = 30;
  const named = ground.length <= 12 ? ground.map((_, k) => k) : stations.length <= MOST_NAMED ? stations : [];
  function name_places(chosen) {
    // The path's ends first; a name that would cover another one is left out.
    const wanted = new Set([...[...chosen].filter((v) => v < 0).map((v) => -1 - v), ...named]);
    for (const k of wanted) sign_of(k);
    for (const sign of signs.values()) sign.hidden = true;
    const taken = [];
    for (const k of wanted) {
      const p = ground[k], sign = signs.get(k);
      if (!shows.names || p.dot(camera.position) <= 1) continue;
      const v = p.clone().project(camera);
      const x = ((v.x + 1) / 2) * canvas.clientWidth, y = ((1 - v.y) / 2) * canvas.clientHeight;
      const wide = 7 * sign.textContent.length + 8;
      if (taken.some(([a, b, w]) => x < a + w && a < x + wide && Math.abs(y - b) < 15)) continue;
      taken.push([x, y, wide]);
      sign.hidden = false;
      sign.style.left = `${x}px`;
      sign.style.top = `${y}px`;
    }
  }

  function resize() {
    const [w, h] = [canvas.clientWidth, canvas.clientHeight];
    if (!w || !h) return;
    renderer.setPixelRatio(soft ? 1 : Math.min(window.devicePixelRatio || 1, 2));
    renderer.setSize(w, h, false);
    camera.aspect = w / h;
    camera.updateProjectionMatrix();
    for (const line of [route, traffic]) line.material.resolution.set(w, h);
  }

  // Points the camera at the centre of some nodes, from a distance that shows the entire Earth.
  function look(vertices) {
    const middle = vertices.reduce((sum, v) => sum.add(at(v)), new V.Vector3());
    if (middle.length() < 1e-6) middle.set(1, 0.3, 0);
    const tall = 1.25 / Math.tan(((camera.fov / 2) * Math.PI) / 180);
    camera.position.copy(middle.normalize().multiplyScalar(Math.max(tall, tall / camera.aspect)));
    controls.update();
  }

  // `state`: the route (vertices), links with their load, the picked satellite or link.
  function draw(t, state) {
    move(t);
    dots.geometry.attributes.position.array.set(now);
    dots.geometry.attributes.position.needsUpdate = true;
    mesh.visible = shows.lasers && most > 0;
    if (mesh.visible) {
      const pairs = lasers.reduce((found, entry) => (entry[0] <= t ? entry[1] : found), lasers[0][1]);
      const { position } = mesh.geometry.attributes;
      for (let k = 0; k < pairs.length; k += 1) position.array.set(now.subarray(3 * pairs[k], 3 * pairs[k] + 3), 3 * k);
      position.needsUpdate = true;
      mesh.geometry.setDrawRange(0, pairs.length);
    }
    const nodes = state.route;
    const hops = nodes.slice(1).map((v, k) => [at(nodes[k]), at(v)]);
    strokes(route, hops, hops.map(() => new V.Color("#fb923c")));
    const busy = shows.loads ? state.loads : [];
    strokes(traffic, busy.map((l) => [at(l.from), at(l.to)]), busy.map((l) => heat(l.used_pct)));
    const satellites = nodes.filter((v) => v >= 0);
    const marked = state.picked !== null && state.picked.vertex !== undefined ? [state.picked.vertex] : [];
    fill(used, [...satellites, ...marked].map(at));
    const mask = Math.min(...sky.ground.map((g) => g.mask_deg ?? 25));
    const ends = marked.length ? marked.filter((v) => v >= 0) : [...new Set([satellites[0], satellites[satellites.length - 1]])];
    rings.forEach((ring, k) => footprint(ring, ends[k], mask));
    name_places(new Set(nodes));
    renderer.render(scene, camera);
  }

  const hidden = (p) => {
    // Hidden if the segment to the camera intersects the sphere.
    const eye = camera.position, d = p.clone().sub(eye), a = d.dot(d), b = 2 * eye.dot(d), c = eye.dot(eye) - 1;
    const q = b * b - 4 * a * c;
    return q > 0 && (-b - Math.sqrt(q)) / (2 * a) < 0.999 && p.length() > 1.01 ? true : p.length() <= 1.01 && p.dot(eye) < 1;
  };
  function on_screen(p) {
    const v = p.clone().project(camera);
    return [((v.x + 1) / 2) * canvas.clientWidth, ((1 - v.y) / 2) * canvas.clientHeight];
  }

  // The nearest object to a point of the canvas: a satellite or place within 9 pixels, else a
  // link within 6.
  function pick(x, y, links) {
    let best = null, least = 9;
    for (let v = -ground.length; v < count; v += 1) {
      const p = at(v);
      if (hidden(p)) continue;
      const [px, py] = on_screen(p), d = Math.hypot(px - x, py - y);
      if (d < least) [best, least] = [{ vertex: v }, d];
    }
    if (best) return best;
    least = 6;
    for (const link of links) {
      const [p, q] = [at(link.from), at(link.to)];
      if (hidden(p) && hidden(q)) continue;
      const [[ax, ay], [bx, by]] = [on_screen(p), on_screen(q)];
      const l2 = (bx - ax) ** 2 + (by - ay) ** 2 || 1;
      const s = Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / l2));
      const d = Math.hypot(ax + s * (bx - ax) - x, ay + s * (by - ay) - y);
      if (d < least) [best, least] = [{ link }, d];
    }
    return best;
  }

  function where(vertex) {
    const p = at(vertex), r = p.length();
    return { lat: (Math.asin(p.y / r) * 180) / Math.PI, lon: (Math.atan2(-p.z, p.x) * 180) / Math.PI, km: (r - 1) * 6371 };
  }
  const zoom = (factor) => camera.position.setLength(Math.min(24, Math.max(1.25, camera.position.length() * factor)));
  const turn = (x, y) => {
    camera.position.applyAxisAngle(new V.Vector3(0, 1, 0), x);
    camera.position.addScaledVector(new V.Vector3(0, 1, 0), y * camera.position.length()).setLength(camera.position.length());
    camera.lookAt(0, 0, 0);
  };
  move(0);
  return { draw, pick, resize, look, where, name, zoom, turn, shows, controls, count };
}
