"use strict";

// codes draws codes as points, coloured by any factor: in a plane of any two axes, and on a turning torus of two circles or
// sphere. The pointer shows the picture and the levels of a point. A click shows its neighbours.
Unravel.codes = function (element, data) {
  let parts = [];

  function update(next) {
    for (const part of parts) part.destroy();
    element.replaceChildren();
    parts = next ? Unravel.codesParts(element, Unravel.points(next)) : [];
  }

  update(data);
  return { update, destroy: () => update(null) };
};

// codesParts fills the element and returns the created widgets.
Unravel.codesParts = function (element, points) {
  const chosen = Unravel.codesDefaults(points);
  const names = points.axes.map((a) => a.name);
  const boxes = Unravel.element("div", { className: "side-by-side" });
  const legend = Unravel.element("div");
  const status = Unravel.element("output", { className: "hidden-text", "aria-live": "polite" });
  const parts = [Unravel.codesPlane(boxes, points, chosen, status)];
  const shapes = Unravel.turningShapes(points);
  if (shapes.length > 0) parts.push(Unravel.turning(boxes, points, shapes, chosen, status));

  function draw() {
    for (const part of parts) part.draw();
    legend.replaceChildren();
    if (chosen.colour) legend.append(Unravel.legend(chosen.colour));
  }
  const choice = (label, key) => Unravel.choose(label, names, points.axes.indexOf(chosen[key]), (i) => {
    chosen[key] = points.axes[i];
    draw();
  });
  const colour = Unravel.choose("colour", ["one for all", ...names], points.axes.indexOf(chosen.colour) + 1, (i) => {
    chosen.colour = points.axes[i - 1];
    draw();
  });
  element.append(Unravel.element("div", { className: "controls" }, choice("across", "x"), choice("up", "y"), colour), legend, boxes, status);
  document.addEventListener("unravel-theme", draw);
  draw();
  return [...parts, { destroy: () => document.removeEventListener("unravel-theme", draw) }];
};

// codesDefaults chooses the first axes: circles against each other or against a factor; principal components of many columns;
// otherwise the two columns with the largest variance. The colour is the factor that these axes explain best.
Unravel.codesDefaults = function (points) {
  const angles = points.axes.filter((a) => a.circle);
  const factors = points.axes.filter((a) => a.factor);
  const alike = factors.filter((f) => f.kind === "circular");
  const wide = 16; // columns
  const components = points.axes.filter((a) => a.component !== undefined);
  const columns = points.width > wide && components.length > 1 ? components : Unravel.byVariance(points);
  const colour = (angles.length > 0 && alike[0]) || Unravel.bestTold(columns.slice(0, 2), factors);
  const last = points.axes[points.axes.length - 1];
  if (angles.length > 1) return { x: angles[0], y: angles[1], colour };
  if (angles.length === 1) return { x: angles[0], y: alike[0] || factors[0] || columns[0], colour };
  if (columns.length > 1) return { x: columns[0], y: columns[1], colour };
  return { x: columns[0], y: factors[0] || last, colour };
};

// bestTold returns the factor that explains most of the variance of some axes, or undefined without factors.
Unravel.bestTold = function (axes, factors) {
  const told = new Map(factors.map((f) => [f, Math.max(...axes.map((a) => Unravel.explained(a, f)))]));
  return [...factors].sort((a, b) => told.get(b) - told.get(a))[0];
};

// explained returns the share of an axis's variance between the levels of a factor, corrected for chance:
// (between/(k-1)) / (between/(k-1) + within/(n-k)). Continuous factors have 20 bins.
Unravel.explained = function (axis, factor) {
  const [low, high] = Unravel.limits(factor);
  const bin = (v) => (factor.size ? v : Math.min(19, Math.floor((20 * (v - low)) / (high - low || 1))));
  const groups = new Map();
  axis.values.forEach((v, i) => {
    const key = bin(factor.values[i]);
    if (!Number.isFinite(v) || !Number.isFinite(key)) return;
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(v);
  });
  const mean = (list) => list.reduce((sum, v) => sum + v, 0) / list.length;
  const all = mean([...groups.values()].flat());
  let [between, within, n] = [0, 0, 0];
  for (const list of groups.values()) {
    const middle = mean(list);
    between += list.length * (middle - all) ** 2;
    within += list.reduce((sum, v) => sum + (v - middle) ** 2, 0);
    n += list.length;
  }
  const [a, b] = [between / (groups.size - 1), within / (n - groups.size)];
  return a / (a + b) || 0;
};

// byVariance lists the axes of columns by decreasing variance.
Unravel.byVariance = function (points) {
  const variance = new Map();
  const columns = points.axes.filter((a) => a.column !== undefined);
  for (const a of columns) {
    const finite = [...a.values].filter(Number.isFinite);
    const mean = finite.reduce((sum, v) => sum + v, 0) / finite.length;
    variance.set(a, finite.reduce((sum, v) => sum + (v - mean) ** 2, 0) / finite.length || 0);
  }
  return columns.sort((a, b) => variance.get(b) - variance.get(a));
};

// codesPlane draws one axis against another.
Unravel.codesPlane = function (parent, points, chosen, status) {
  const canvas = Unravel.element("canvas", { tabIndex: 0, role: "application" });
  const box = Unravel.element("div", { className: "cloud" }, canvas);
  parent.append(box);
  const tip = Unravel.tip(box, points);
  const places = new Float32Array(2 * points.count);
  let marked = -1;

  function draw() {
    const width = box.clientWidth;
    const height = Math.round(Math.min(Math.max(width * 0.75, 280), Unravel.rem(36)));
    const context = Unravel.canvas(canvas, width, height);
    canvas.setAttribute("aria-label", `${chosen.y.name} (up) against ${chosen.x.name} (across) of ${points.count} images; arrow keys go from point to point`);
    Unravel.codesScales(context, width, height, chosen, points, places);
    Unravel.dots(context, places, Unravel.colouring(chosen.colour), marked);
  }

  function mark(i) {
    marked = i;
    draw();
    if (i < 0) tip.hide();
    else tip.show(i, places[2 * i], places[2 * i + 1]);
  }

  const stop = Unravel.pointing(canvas, points, () => places, () => chosen.x.values, mark, status);
  const ended = Unravel.resized(box, draw);
  return {
    draw,
    destroy() {
      stop();
      ended();
    },
  };
};

// codesScales draws the frame with titles and ticks, and computes the places of the points.
Unravel.codesScales = function (context, width, height, chosen, points, places) {
  const frame = { left: Unravel.rem(3.9), right: width - Unravel.rem(1), top: Unravel.rem(0.6), bottom: height - Unravel.rem(2.9) };
  const scale = (axis, from, to) => {
    let [low, high] = axis.circle ? [0, axis.turn] : Unravel.limits(axis);
    const pad = axis.circle ? 0 : (high - low) * 0.03 || 0.5;
    low -= pad;
    high += pad;
    return { low, high, at: (v) => from + ((v - low) / (high - low)) * (to - from) };
  };
  const x = scale(chosen.x, frame.left, frame.right);
  const y = scale(chosen.y, frame.bottom, frame.top);
  for (let i = 0; i < points.count; i++) {
    places[2 * i] = x.at(chosen.x.values[i]); // NaN: not drawn
    places[2 * i + 1] = y.at(chosen.y.values[i]);
  }
  Unravel.frame(context, frame, chosen, x, y);
};

// frame draws grid, ticks and titles of axes.
Unravel.frame = function (context, frame, chosen, x, y) {
  context.font = Unravel.font();
  context.fillStyle = Unravel.css("--faint");
  context.strokeStyle = Unravel.css("--rule");
  context.lineWidth = 1;
  context.beginPath();
  context.textAlign = "center";
  const texts = (axis, ticks) => (axis.circle || axis.levels ? ticks.map((v) => Unravel.level(axis, v)) : Unravel.formatTicks(ticks));
  const across = Unravel.ticks(chosen.x, x.low, x.high, (frame.right - frame.left) / Unravel.rem(5));
  const acrossTexts = texts(chosen.x, across);
  across.forEach((v, i) => {
    context.moveTo(x.at(v), frame.top);
    context.lineTo(x.at(v), frame.bottom);
    context.fillText(acrossTexts[i], x.at(v), frame.bottom + Unravel.rem(1));
  });
  context.textAlign = "right";
  const up = Unravel.ticks(chosen.y, y.low, y.high, (frame.bottom - frame.top) / Unravel.rem(3.2));
  const upTexts = texts(chosen.y, up);
  up.forEach((v, i) => {
    context.moveTo(frame.left, y.at(v));
    context.lineTo(frame.right, y.at(v));
    context.fillText(chosen.y.levels ? upTexts[i].slice(0, 9) : upTexts[i], frame.left - 6, y.at(v) + 4);
  });
  context.stroke();
  context.fillStyle = Unravel.css("--ink");
  context.textAlign = "center";
  context.fillText(chosen.x.name, (frame.left + frame.right) / 2, frame.bottom + Unravel.rem(2.3), frame.right - frame.left);
  context.save();
  context.translate(Unravel.rem(0.75), (frame.top + frame.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(chosen.y.name, 0, 0, frame.bottom - frame.top);
  context.restore();
};

// ticks chooses about n round values in an interval: quarter turns on circles, and integers for levels.
Unravel.ticks = function (axis, low, high, about) {
  if (axis.circle) return [0, 1, 2, 3, 4].map((quarter) => (quarter * Math.PI) / 2);
  const rough = (high - low) / Math.max(about, 2);
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  if (axis.size) step = Math.max(1, Math.round(step));
  const list = [];
  for (let i = Math.ceil(low / step); i <= Math.floor(high / step) && list.length < 50; i++) {
    if (!axis.size || (i * step >= 0 && i * step < axis.size)) list.push(i * step);
  }
  return list;
};

// dots draws the points with finite places, and a ring around the marked point.
Unravel.dots = function (context, places, colour, marked, radius = Unravel.rem(0.19)) {
  for (let i = 0; i < places.length / 2; i++) {
    const x = places[2 * i];
    const y = places[2 * i + 1];
    if (!Number.isFinite(x + y)) continue;
    context.fillStyle = colour(i);
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
  }
  if (marked >= 0) {
    context.strokeStyle = Unravel.css("--ink");
    context.lineWidth = 2;
    context.beginPath();
    context.arc(places[2 * marked], places[2 * marked + 1], radius + 4, 0, 2 * Math.PI);
    context.stroke();
  }
};

// pointing follows the pointer and the keyboard over points on a canvas. It calls mark(i) with the point, or with -1 for none. A
// click or Enter shows the neighbours. pointing returns a function that stops it.
Unravel.pointing = function (canvas, points, places, order, mark, status) {
  const ending = new AbortController();
  const on = (name, call) => canvas.addEventListener(name, call, { signal: ending.signal });
  let current = -1;

  function go(i) {
    if (i === current) return;
    current = i;
    mark(i);
  }
  const open = () => {
    if (current >= 0) document.dispatchEvent(new CustomEvent("unravel-picture", { detail: current }));
  };
  on("pointermove", (event) => {
    if (event.buttons === 0 || event.pointerType === "touch") go(Unravel.nearest(places(), event.offsetX, event.offsetY));
  });
  on("pointerdown", (event) => go(Unravel.nearest(places(), event.offsetX, event.offsetY, 24)));
  on("pointerleave", () => go(-1));
  on("blur", () => go(-1));
  on("click", open);
  on("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") open();
    if (event.key === "Escape") go(-1);
    if (!step) return;
    event.preventDefault();
    const values = order();
    const sorted = [...Array(points.count).keys()].filter((i) => Number.isFinite(values[i])).sort((a, b) => values[a] - values[b]);
    if (sorted.length === 0) return;
    const at = current < 0 ? (step > 0 ? -1 : 0) : sorted.indexOf(current);
    go(sorted[(at + step + sorted.length) % sorted.length]);
    status.textContent = Unravel.describe(points, current).join(", ");
  });
  return () => ending.abort();
};
