// The control of spheres for explore.js: dragging the ball turns the points on it. x points right, y up, and z to the viewer.
"use strict";

(function () {
  const side = 132, radius = 54, middle = side / 2;
  const degree = Math.PI / 180;

  // turned rotates a point about an axis of length 1 (Rodrigues).
  function turned([x, y, z], [u, v, w], angle) {
    const c = Math.cos(angle), s = Math.sin(angle), along = (u * x + v * y + w * z) * (1 - c);
    return [x * c + (v * z - w * y) * s + u * along, y * c + (w * x - u * z) * s + v * along, z * c + (u * y - v * x) * s + w * along];
  }

  // drawn draws the ball: its back half, then its front half.
  function drawn(context, points, labels) {
    const ink = Unravel.css("--faint"), strong = Unravel.css("--accent");
    context.clearRect(0, 0, side, side);
    context.beginPath();
    context.arc(middle, middle, radius, 0, 2 * Math.PI);
    context.fillStyle = Unravel.css("--panel");
    context.fill();
    for (const front of [false, true]) {
      context.globalAlpha = front ? 0.7 : 0.2;
      context.strokeStyle = ink;
      context.lineWidth = 1;
      grid(context, front);
      marks(context, front, ink);
      context.globalAlpha = front ? 1 : 0.45;
      points.forEach((p, i) => {
        if (p[2] >= 0 === front) point(context, p, strong, labels[i]);
      });
    }
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.strokeStyle = Unravel.css("--line");
    context.beginPath();
    context.arc(middle, middle, radius, 0, 2 * Math.PI);
    context.stroke();
  }

  // grid draws the half circles of latitude and longitude in one half of the ball.
  function grid(context, front) {
    for (let a = 0; a < 180; a += 30) circle(context, front, (t) => [Math.sin(t) * Math.cos(a * degree), Math.cos(t), Math.sin(t) * Math.sin(a * degree)]);
    for (let a = -60; a <= 60; a += 30) circle(context, front, (t) => [Math.cos(a * degree) * Math.sin(t), Math.sin(a * degree), Math.cos(a * degree) * Math.cos(t)]);
  }

  const place = ([x, y]) => [middle + radius * x, middle - radius * y];

  function circle(context, front, at) {
    context.beginPath();
    let on = false;
    for (let i = 0; i <= 72; i++) {
      const p = at(i * 5 * degree);
      if (p[2] >= -1e-9 === front) {
        context[on ? "lineTo" : "moveTo"](...place(p));
        on = true;
      } else {
        on = false;
      }
    }
    context.stroke();
  }

  // marks names the ends of the axes that a half shows.
  function marks(context, front, ink) {
    if (!front) return;
    context.fillStyle = ink;
    context.font = "11px sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText("x", middle + radius + 7, middle);
    context.fillText("y", middle, middle - radius - 7);
    context.fillText("z", middle + 5, middle + 7);
  }

  function point(context, p, colour, label) {
    const [x, y] = place(p);
    context.fillStyle = colour;
    context.beginPath();
    context.arc(x, y, 7, 0, 2 * Math.PI);
    context.fill();
    if (!label) return;
    context.fillStyle = Unravel.css("--on-accent");
    context.font = "bold 10px sans-serif";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(label, x, y);
  }

  const latitude = (p) => Math.round(Math.asin(Math.min(Math.max(p[1], -1), 1)) / degree);
  const longitude = (p) => Math.round(Math.atan2(p[0], p[2]) / degree);

  // listen turns the ball by pointer and keys; put sets a point where the ball is tapped.
  function listen(canvas, turn, put) {
    let last = null, far = false;
    canvas.addEventListener("pointerdown", (e) => {
      canvas.setPointerCapture(e.pointerId);
      [last, far] = [[e.clientX, e.clientY], false];
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!last) return;
      const dx = e.clientX - last[0], dy = e.clientY - last[1], way = Math.hypot(dx, dy);
      if (way < (far ? 0.5 : 3)) return;
      [last, far] = [[e.clientX, e.clientY], true];
      turn([dy / way, dx / way, 0], way / radius);
    });
    canvas.addEventListener("pointerup", (e) => {
      const box = canvas.getBoundingClientRect(), x = (e.clientX - box.x - middle) / radius, y = (middle - e.clientY + box.y) / radius;
      if (last && !far && x * x + y * y <= 1) put([x, y, Math.sqrt(1 - x * x - y * y)]);
      last = null;
    });
    canvas.addEventListener("pointercancel", () => { last = null; });
    const keys = {ArrowLeft: [0, -1, 0], ArrowRight: [0, 1, 0], ArrowUp: [-1, 0, 0], ArrowDown: [1, 0, 0], PageUp: [0, 0, 1], PageDown: [0, 0, -1]};
    canvas.addEventListener("keydown", (e) => {
      if (keys[e.key]) turn(keys[e.key], (e.shiftKey ? 30 : 5) * degree);
      else if (e.key === "Home") put([0, 0, 1]);
      else if (e.key === "End") put([0, 0, -1]);
      else return;
      e.preventDefault();
    });
  }

  // Unravel.exploreBall(state, control) is the control of a sphere, or of several that turn together.
  Unravel.exploreBall = function (state, control) {
    const together = control.kind === "turn", starts = control.columns.filter((_, i) => i % 3 === 0);
    const name = Unravel.exploreName(control);
    const canvas = Unravel.element("canvas", {
      className: "ball", tabIndex: 0, role: "slider", "aria-label": name, "aria-roledescription": "ball", "aria-valuemin": -180, "aria-valuemax": 180,
      title: "drag to turn; arrow keys turn by 5 degrees, with Shift by 30",
    });
    const context = Unravel.canvas(canvas, side, side), value = Unravel.element("output", {});
    const points = () => starts.map((at) => Array.from(state.code.slice(at, at + 3)));
    const set = (list) => {
      list.forEach((p, i) => {
        const length = Math.hypot(...p);
        p.forEach((v, j) => { state.code[starts[i] + j] = v / length; });
      });
      state.moved(control);
    };
    const turn = (axis, angle) => set(points().map((p) => turned(p, axis, angle)));
    // put turns the ball by the smallest rotation that brings the first point to a place
    const put = (to) => {
      const [a, ...rest] = points(), axis = [a[1] * to[2] - a[2] * to[1], a[2] * to[0] - a[0] * to[2], a[0] * to[1] - a[1] * to[0]];
      const sin = Math.hypot(...axis), angle = Math.atan2(sin, a[0] * to[0] + a[1] * to[1] + a[2] * to[2]);
      const about = sin > 1e-9 ? axis.map((v) => v / sin) : [0, 1, 0];
      set([to, ...rest.map((p) => turned(p, about, angle))]);
    };
    listen(canvas, turn, put);
    return {
      element: Unravel.exploreRow(state, control, canvas, value),
      step: (turns, before) => turn([0, 1, 0], 2 * Math.PI * (turns - before)),
      refresh() {
        const list = points(), text = together ? "" : `latitude ${latitude(list[0])}°, longitude ${longitude(list[0])}°`;
        drawn(context, list, together ? state.ballNames(starts) : []);
        value.textContent = text.replace(/-/g, "−");
        canvas.setAttribute("aria-valuenow", longitude(list[0]));
        canvas.setAttribute("aria-valuetext", list.map((p) => `latitude ${latitude(p)}, longitude ${longitude(p)} degrees`).join("; "));
      },
    };
  };
})();
