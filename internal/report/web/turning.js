"use strict";

// turningShapes lists the surfaces of codes: a torus for each two circles, and each sphere.
Unravel.turningShapes = function (points) {
  const shapes = [];
  const circles = points.axes.filter((a) => a.circle);
  const most = 6; // of more circles the first
  for (let i = 0; i < Math.min(circles.length, most); i++) {
    for (let j = i + 1; j < Math.min(circles.length, most); j++) shapes.push(Unravel.torus(circles[i], circles[j]));
  }
  for (const s of points.spaces.filter((s) => s.kind === "sphere" && s.columns.length === 3)) shapes.push(Unravel.ball(points, s));
  return shapes;
};

// torus is a surface of two angles: the first around the axis, the second around the tube.
Unravel.torus = function (first, second) {
  const tube = 0.42;
  const at = (a, b) => [(1 - tube + tube * Math.cos(b)) * Math.cos(a), (1 - tube + tube * Math.cos(b)) * Math.sin(a), tube * Math.sin(b)];
  const lines = [];
  const turns = Array.from({ length: 49 }, (unused, i) => (i / 48) * 2 * Math.PI);
  for (let k = 0; k < 24; k++) lines.push(turns.map((t) => at((k / 24) * 2 * Math.PI, t)));
  for (let k = 0; k < 8; k++) lines.push(turns.map((t) => at(t, (k / 8) * 2 * Math.PI)));
  return {
    name: `torus of ${first.circle.name} and ${second.circle.name}`,
    lines,
    point: (i) => at(first.values[i], second.values[i]),
  };
};

// ball is a sphere in space.
Unravel.ball = function (points, space) {
  const columns = space.columns.map((c) => Unravel.column(points.codes, points.width, c));
  const turns = Array.from({ length: 49 }, (unused, i) => (i / 48) * 2 * Math.PI);
  const at = (a, b) => [Math.cos(b) * Math.cos(a), Math.cos(b) * Math.sin(a), Math.sin(b)];
  const lines = [];
  for (let k = 0; k < 12; k++) lines.push(turns.map((t) => at((k / 12) * Math.PI, t)));
  for (let k = 1; k < 8; k++) lines.push(turns.map((t) => at(t, (k / 8 - 0.5) * Math.PI)));
  return { name: space.name, lines, point: (i) => columns.map((c) => c[i]) };
};

// turning draws points on a turning surface. Dragging and arrow keys turn it; without reduced motion it also turns by itself.
Unravel.turning = function (parent, points, shapes, chosen, status) {
  const canvas = Unravel.element("canvas", { tabIndex: 0, role: "application", className: "turning" });
  const button = Unravel.element("button", { type: "button" });
  const controls = Unravel.element("div", { className: "controls" }, button);
  const box = Unravel.element("div", { className: "cloud" }, canvas, controls);
  parent.append(box);
  const tip = Unravel.tip(box, points);
  const view = { shape: shapes[0], yaw: 0.6, pitch: 0.9, turns: !matchMedia("(prefers-reduced-motion: reduce)").matches, visible: true, places: new Float32Array(2 * points.count), marked: -1 };
  if (shapes.length > 1) {
    controls.append(Unravel.choose("surface", shapes.map((s) => s.name), 0, (i) => {
      view.shape = shapes[i];
      draw();
    }));
  }

  function draw() {
    const side = Math.min(box.clientWidth, Unravel.rem(34));
    const context = Unravel.canvas(canvas, side, side);
    canvas.setAttribute("aria-label", `${view.shape.name}, ${points.count} images; arrow keys turn it`);
    Unravel.turningDraw(context, side, points, view, Unravel.colouring(chosen.colour));
  }

  const stop = Unravel.turningMotion(canvas, button, view, draw);
  const unpoint = Unravel.turningPointer(canvas, view, draw, tip);
  const ended = Unravel.resized(box, draw);
  return {
    draw,
    destroy() {
      stop();
      unpoint();
      ended();
    },
  };
};

// turningDraw draws lines and points at the back, then at the front.
Unravel.turningDraw = function (context, side, points, view, colour) {
  const [cy, sy, cp, sp] = [Math.cos(view.yaw), Math.sin(view.yaw), Math.cos(view.pitch), Math.sin(view.pitch)];
  const scale = side * 0.46;
  const project = ([x, y, z]) => {
    const across = x * cy - y * sy;
    const back = x * sy + y * cy;
    return [side / 2 + scale * across, side / 2 - scale * (z * sp + back * cp), z * cp - back * sp]; // the last: towards the eye
  };
  context.strokeStyle = Unravel.css("--rule");
  context.lineWidth = 1;
  for (const line of view.shape.lines) {
    context.beginPath();
    for (const p of line) context.lineTo(...project(p).slice(0, 2));
    context.stroke();
  }
  const seen = Array.from({ length: points.count }, (unused, i) => project(view.shape.point(i)));
  const order = [...seen.keys()].sort((a, b) => seen[a][2] - seen[b][2]);
  const radius = Unravel.rem(0.15);
  for (const i of order) {
    const [x, y, near] = seen[i];
    view.places[2 * i] = x;
    view.places[2 * i + 1] = y;
    context.globalAlpha = 0.35 + 0.65 * Math.min(1, Math.max(0, (near + 0.6) / 1.2));
    context.fillStyle = colour(i);
    context.beginPath();
    context.arc(x, y, radius * (1 + near / 3), 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
  if (view.marked >= 0) Unravel.dots(context, view.places.slice(2 * view.marked, 2 * view.marked + 2), colour, 0);
};

// turningMotion turns the visible view frame by frame. It returns a function that stops it.
Unravel.turningMotion = function (canvas, button, view, draw) {
  let frame = 0;
  let before = 0;
  const name = () => {
    button.textContent = view.turns ? "Stop turning" : "Turn";
  };
  function step(now) {
    frame = 0;
    if (!view.turns || !view.visible) return;
    if (view.marked < 0 && !view.held) {
      view.yaw += Math.min(now - before, 100) * 0.0003;
      draw();
    }
    before = now;
    frame = requestAnimationFrame(step);
  }
  const go = () => {
    if (frame === 0 && view.turns && view.visible) {
      before = performance.now();
      frame = requestAnimationFrame(step);
    }
  };
  button.addEventListener("click", () => {
    view.turns = !view.turns;
    name();
    go();
  });
  const seen = new IntersectionObserver((entries) => {
    view.visible = entries[entries.length - 1].isIntersecting;
    go();
  });
  seen.observe(canvas);
  name();
  go();
  return () => {
    cancelAnimationFrame(frame);
    view.turns = false;
    seen.disconnect();
  };
};

// turningPointer turns the view by dragging and by arrow keys, and shows the point under the pointer.
Unravel.turningPointer = function (canvas, view, draw, tip) {
  const ending = new AbortController();
  const on = (name, call) => canvas.addEventListener(name, call, { signal: ending.signal });
  const turn = (across, up) => {
    view.yaw += across;
    view.pitch = Math.min(Math.PI, Math.max(0, view.pitch + up));
    draw();
  };
  const mark = (i) => {
    if (i === view.marked) return;
    view.marked = i;
    draw();
    if (i < 0) tip.hide();
    else tip.show(i, canvas.offsetLeft + view.places[2 * i], view.places[2 * i + 1]);
  };
  on("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    view.held = true;
    mark(-1);
  });
  on("pointermove", (event) => {
    if (view.held) turn(event.movementX * 0.008, -event.movementY * 0.008);
    else mark(Unravel.nearest(view.places, event.offsetX, event.offsetY, 10));
  });
  for (const name of ["pointerup", "pointercancel"]) {
    on(name, () => {
      view.held = false;
    });
  }
  on("pointerleave", () => mark(-1));
  on("click", () => {
    if (view.marked >= 0) document.dispatchEvent(new CustomEvent("unravel-picture", { detail: view.marked }));
  });
  on("keydown", (event) => {
    const move = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
    if (!move) return;
    event.preventDefault();
    turn(...move);
  });
  return () => ending.abort();
};
