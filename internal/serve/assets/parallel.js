"use strict";

// parallel draws runs as lines over parallel axes. Two marks on an axis select the runs between them. axes are {name, values, numeric},
// with a value or null for each run. runs are {name, colour}. parallel calls changed(passing) with the selected runs, and hovered(run)
// with the index of a run, or -1. It returns {update, highlight, clear, destroy}.
Serve.parallel = function (element, axes, runs, changed, hovered) {
  const marks = axes.map(() => null); // [low, high] from 0 to 1
  const scales = axes.map(Serve.parallelScale);
  const height = 360;
  const [top, bottom] = [44, height - 46]; // of the axes; runs without a value pass below
  const y = (axis, run) => {
    const t = scales[axis].at(axes[axis].values[run]);
    return t === null ? bottom + 24 : bottom - t * (bottom - top);
  };
  let svg, lines, parts, step, left;

  // svgElement returns an SVG element with attributes.
  function svgElement(name, attributes = {}, ...children) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  function draw() {
    const width = Math.max(element.clientWidth, 110 * axes.length);
    step = width / axes.length;
    left = step / 2;
    svg = svgElement("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "parallel coordinates of runs" });
    lines = runs.map((run, i) => line(i));
    parts = axes.map((axis, i) => drawAxis(i));
    svg.append(svgElement("g", {}, ...lines), ...parts.map((p) => p.group));
    element.replaceChildren(svg);
    axes.forEach((axis, i) => place(i));
    fade();
  }

  function line(run) {
    const points = axes.map((axis, i) => `${left + i * step},${y(i, run)}`).join(" ");
    const colour = Unravel.category(runs[run].colour);
    const group = svgElement("g", { class: "parallel-line" }, svgElement("polyline", { points, stroke: colour, class: "seen" }),
      svgElement("polyline", { points, class: "near" }));
    group.addEventListener("pointerenter", () => hovered(run));
    group.addEventListener("pointerleave", () => hovered(-1));
    return group;
  }

  function drawAxis(i) {
    const x = left + i * step;
    const group = svgElement("g", { class: "parallel-axis", transform: `translate(${x} 0)` });
    const title = svgElement("text", { y: 16, "text-anchor": "middle", class: "title" }, Serve.shortened(axes[i].short || axes[i].name, Math.floor(step / 7.5)));
    title.append(svgElement("title", {}, axes[i].name));
    const range = svgElement("rect", { x: -7, width: 14, class: "range", visibility: "hidden" });
    const track = svgElement("rect", { x: -14, y: top - 8, width: 28, height: bottom - top + 16, class: "track" });
    group.append(title, svgElement("line", { y1: top, y2: bottom }), range, track);
    for (const [t, text] of scales[i].ticks) {
      const at = bottom - t * (bottom - top);
      const label = svgElement("text", { x: 13, y: at + 4, class: "tick" }, Serve.shortened(text, Math.floor((step - 28) / 7)));
      label.append(svgElement("title", {}, text));
      group.append(svgElement("line", { x1: -3, x2: 3, y1: at, y2: at }), label);
    }
    if (axes[i].values.some((v) => scales[i].at(v) === null)) group.append(svgElement("text", { x: 13, y: bottom + 28, class: "tick" }, "none"));
    const handles = ["lower", "upper"].map((which, side) => handle(i, which, side));
    group.append(...handles);
    track.addEventListener("pointerdown", (event) => drag(event, i, -1));
    track.addEventListener("dblclick", () => mark(i, null));
    return { group, range, handles };
  }

  function handle(axis, which, side) {
    const made = svgElement("path", { d: side ? "M -9 0 L 9 0 L 0 -9 Z" : "M -9 0 L 9 0 L 0 9 Z", class: "handle", tabindex: 0, role: "slider",
      "aria-label": `${axes[axis].name}, ${which} marker`, "aria-orientation": "vertical", "aria-valuemin": 0, "aria-valuemax": 100 });
    made.addEventListener("keydown", (event) => {
      const range = marks[axis] || [0, 1];
      const by = { ArrowUp: 0.02, ArrowRight: 0.02, ArrowDown: -0.02, ArrowLeft: -0.02, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 }[event.key];
      if (event.key === "Escape") mark(axis, null);
      else if (by === undefined) return;
      else mark(axis, moved(range, side, range[side] + by));
      event.preventDefault();
    });
    made.addEventListener("pointerdown", (event) => drag(event, axis, side));
    return made;
  }

  // moved returns the marks after a move of one mark. The lower mark stays below the upper mark.
  function moved([low, high], side, to) {
    to = Math.min(Math.max(to, 0), 1);
    return side ? [low, Math.max(to, low)] : [Math.min(to, high), high];
  }

  // drag moves a mark (side 0 or 1), or draws a new range (-1), while the pointer is down.
  function drag(event, axis, side) {
    event.preventDefault();
    const target = event.target;
    const at = (e) => Math.min(Math.max((bottom - (e.clientY - svg.getBoundingClientRect().top)) / (bottom - top), 0), 1);
    const from = at(event);
    const before = marks[axis] || [0, 1];
    target.setPointerCapture(event.pointerId);
    if (target.focus) target.focus({ preventScroll: true });
    const move = (e) => {
      const to = at(e);
      if (side >= 0) mark(axis, moved(before, side, to));
      else if (Math.abs(to - from) > 0.02) mark(axis, [Math.min(from, to), Math.max(from, to)]);
    };
    const end = () => {
      target.removeEventListener("pointermove", move);
      target.removeEventListener("pointerup", end);
      target.removeEventListener("pointercancel", end);
    };
    target.addEventListener("pointermove", move);
    target.addEventListener("pointerup", end);
    target.addEventListener("pointercancel", end);
  }

  // mark sets the marks of an axis. Marks at both ends select all runs, so the axis then has none.
  function mark(axis, range) {
    marks[axis] = range && (range[0] > 0 || range[1] < 1) ? range : null;
    place(axis);
    fade();
    changed(passing(), marks.some(Boolean));
  }

  // place draws the marks of an axis.
  function place(axis) {
    const range = marks[axis] || [0, 1];
    const { range: area, handles } = parts[axis];
    const at = (t) => bottom - t * (bottom - top);
    area.setAttribute("visibility", marks[axis] ? "visible" : "hidden");
    area.setAttribute("y", at(range[1]));
    area.setAttribute("height", Math.max(at(range[0]) - at(range[1]), 1));
    handles.forEach((made, side) => {
      made.setAttribute("transform", `translate(0 ${at(range[side])})`);
      made.setAttribute("aria-valuenow", Math.round(100 * range[side]));
      made.setAttribute("aria-valuetext", scales[axis].text(range[side]));
    });
  }

  function passing() {
    return runs.map((run, i) => axes.every((axis, a) => {
      if (!marks[a]) return true;
      const t = scales[a].at(axis.values[i]);
      return t !== null && t >= marks[a][0] - 1e-9 && t <= marks[a][1] + 1e-9;
    }));
  }

  function fade() {
    passing().forEach((pass, i) => lines[i].classList.toggle("out", !pass));
  }

  // highlight brings a run to the front; -1: no run.
  function highlight(run) {
    lines.forEach((one, i) => one.classList.toggle("on", i === run));
    svg.classList.toggle("one", run >= 0);
  }

  function clear() {
    marks.fill(null);
    axes.forEach((axis, i) => place(i));
    fade();
    changed(passing(), false);
  }

  draw();
  document.addEventListener("unravel-theme", draw);
  const ended = Unravel.resized(element, draw);
  return {
    highlight,
    clear,
    destroy() {
      ended();
      document.removeEventListener("unravel-theme", draw);
      element.replaceChildren();
    },
  };
};

// parallelScale maps the values of an axis to 0 to 1: numbers linearly, or by their logarithms for a wide range; texts in order.
Serve.parallelScale = function (axis) {
  const known = axis.values.filter((v) => v !== null);
  if (!axis.numeric) {
    const texts = [...new Set(known)].sort();
    const at = (v) => (v === null ? null : texts.length < 2 ? 0.5 : texts.indexOf(v) / (texts.length - 1));
    const every = Math.ceil(texts.length / 14);
    const ticks = texts.filter((v, i) => i % every === 0).map((v) => [at(v), v]);
    return { at, ticks, text: (t) => texts[Math.round(t * (texts.length - 1))] ?? "" };
  }
  let [low, high] = [Math.min(...known), Math.max(...known)];
  if (!(high > low)) [low, high] = [low - 1, high + 1];
  const log = low > 0 && high / low >= 50;
  const [to, from] = log ? [Math.log, Math.exp] : [(v) => v, (v) => v];
  const span = to(high) - to(low);
  const value = (t) => from(to(low) + t * span);
  const text = (t) => (Math.abs(value(t)) < 100 ? Unravel.format(value(t), 3) : Unravel.format(Math.round(value(t)), 6));
  const ticks = [0, 0.25, 0.5, 0.75, 1].map((t) => [t, text(t)]);
  return { at: (v) => (v === null ? null : (to(v) - to(low)) / span), ticks, text };
};

// shortened cuts a text in its middle.
Serve.shortened = function (text, most) {
  if (text.length <= most) return text;
  const head = Math.max(1, Math.floor((most - 1) / 2));
  return text.slice(0, head) + "…" + text.slice(text.length - Math.max(1, most - 1 - head));
};
