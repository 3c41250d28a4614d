"use strict";

// points reads the data of codes for the widgets about points.
//   count, width  numbers of rows and of columns
//   codes         [count, width]
//   axes          axes and colours of points: {name, kind, values, size, levels}
//   pictures      see Unravel.pictures; null: there are none
Unravel.points = function (data) {
  const codes = Unravel.array(data.codes);
  const [count, width] = codes.shape;
  const points = { count, width, codes, spaces: data.spaces || [], rows: Unravel.array(data.rows), names: data.names, pictures: null };
  points.factors = (data.factors || []).map((f) => ({ ...f, values: Unravel.array(f.values), factor: true }));
  points.axes = Unravel.pointAxes(points, data);
  if (data.thumbnails) points.pictures = Unravel.pictures(data.thumbnails);
  return points;
};

// column returns column j of a matrix.
Unravel.column = function (values, width, j) {
  return Float32Array.from({ length: values.length / width }, (unused, i) => values[i * width + j]);
};

// pointAxes lists angles of circles, columns, principal components and factors.
Unravel.pointAxes = function (points, data) {
  const axes = [];
  for (const s of points.spaces.filter((s) => s.kind === "circle")) {
    const [x, y] = s.columns.map((c) => Unravel.column(points.codes, points.width, c));
    const angles = x.map((v, i) => (Math.atan2(y[i], v) + 2 * Math.PI) % (2 * Math.PI));
    axes.push({ name: s.name + ", angle", kind: "circular", turn: 2 * Math.PI, values: angles, circle: s });
  }
  data.columns.forEach((name, j) => axes.push({ name, kind: "continuous", values: Unravel.column(points.codes, points.width, j), column: j }));
  if (data.components) {
    const values = Unravel.array(data.components.values);
    data.components.names.forEach((name, j) => axes.push({ name, kind: "continuous", values: Unravel.column(values, values.shape[1], j), component: j }));
  }
  for (const f of points.factors) axes.push({ ...f, turn: f.kind === "circular" ? f.size : undefined });
  axes.push({ name: "number of the image", kind: "continuous", values: Float32Array.from(points.rows) });
  return axes;
};

// limits returns the smallest and the largest finite number of an axis.
Unravel.limits = function (axis) {
  let low = Infinity;
  let high = -Infinity;
  for (const v of axis.values) {
    if (v < low && v !== -Infinity) low = v;
    if (v > high && v !== Infinity) high = v;
  }
  return low > high ? [0, 1] : [low, high];
};

// level writes the value of an axis: a name of a level, an angle in degrees, or a number.
Unravel.level = function (axis, v) {
  if (Number.isNaN(v)) return "unknown";
  if (axis.circle) return Math.round((v * 180) / Math.PI) + "°";
  if (axis.levels && axis.levels[v] !== undefined) return axis.levels[v];
  return Unravel.format(v);
};

// colouring returns a function from a row to a CSS colour, by an axis: the palette for categories, the cyclic map for circles,
// the sequential map for ordered values, and grey for unknown values.
Unravel.colouring = function (axis) {
  if (!axis) return () => Unravel.category(0);
  const unknown = Unravel.css("--missing");
  const shade = Unravel.shading(axis);
  const known = new Map(); // few colours are asked for many times
  return (i) => {
    const v = axis.values[i];
    if (!known.has(v)) known.set(v, Number.isFinite(v) ? shade(v) : unknown);
    return known.get(v);
  };
};

// shading returns a function from a finite value of an axis to a CSS colour.
Unravel.shading = function (axis) {
  if (axis.kind === "categorical") return (v) => Unravel.category(v);
  if (axis.kind === "circular") return (v) => Unravel.rgb(Unravel.mix("cyclic", (v / axis.turn) % 1));
  const [low, high] = Unravel.limits(axis);
  return (v) => Unravel.rgb(Unravel.mix("points", high > low ? (v - low) / (high - low) : 0.5));
};

// legend explains the colours of an axis: names of categories, or a bar.
Unravel.legend = function (axis) {
  const most = 24;
  const box = Unravel.element("div", { className: "legend" });
  const entry = (colour, text) => {
    const swatch = Unravel.element("span", { className: "swatch" });
    swatch.style.background = colour;
    box.append(Unravel.element("span", {}, swatch, " ", text));
  };
  if (axis.kind === "categorical") {
    for (let l = 0; l < Math.min(axis.size, most); l++) entry(Unravel.category(l), Unravel.level(axis, l));
    if (axis.size > most) box.append(`and ${axis.size - most} more`);
  } else {
    const [low, high] = axis.circle ? [0, axis.turn] : axis.turn ? [0, axis.size - 1] : Unravel.limits(axis);
    const map = axis.kind === "circular" ? "cyclic" : "points";
    const bar = Unravel.element("span", { className: "ramp" });
    bar.style.background = `linear-gradient(to right, ${Unravel.palette(map).map(Unravel.rgb).join(", ")})`;
    box.append(Unravel.level(axis, low), bar, Unravel.level(axis, high));
  }
  if (axis.values.some((v) => !Number.isFinite(v))) entry(Unravel.css("--missing"), "unknown");
  return box;
};

// pictures reads a sheet of thumbnails: count, and draw(canvas, i), which draws picture i once the sheet is loaded.
Unravel.pictures = function (sheet) {
  const image = new Image();
  const loaded = new Promise((done) => image.addEventListener("load", done, { once: true }));
  image.src = sheet.src;
  return {
    count: sheet.count,
    width: sheet.width,
    height: sheet.height,
    loaded,
    draw(canvas, i) {
      canvas.width = sheet.width;
      canvas.height = sheet.height;
      const left = (i % sheet.across) * sheet.width;
      const top = Math.floor(i / sheet.across) * sheet.height;
      canvas.getContext("2d").drawImage(image, left, top, sheet.width, sheet.height, 0, 0, sheet.width, sheet.height);
    },
    // element returns a canvas with picture i, of the given width in CSS pixels.
    element(i, width, label) {
      const canvas = Unravel.element("canvas", { className: "picture", role: "img", "aria-label": label });
      canvas.style.width = width + "px";
      canvas.style.aspectRatio = `${sheet.width} / ${sheet.height}`;
      loaded.then(() => this.draw(canvas, i));
      return canvas;
    },
  };
};

// describe lists the known levels of a point, one line for each factor.
Unravel.describe = function (points, i) {
  return [Unravel.imageName(points.names, points.rows, i), ...points.factors.map((f) => `${Unravel.isolate(f.name)}: ${Unravel.level(f, f.values[i])}`)];
};

// tip creates a box for the point under the pointer: show(i, x, y) and hide(), in pixels of its parent.
Unravel.tip = function (parent, points) {
  const most = 12;
  const box = Unravel.element("div", { className: "tip", hidden: true });
  parent.append(box);
  return {
    show(i, x, y) {
      const lines = Unravel.describe(points, i);
      const shown = lines.slice(0, most).map((line) => Unravel.element("div", {}, line));
      if (lines.length > most) shown.push(Unravel.element("div", {}, `and ${lines.length - most} more factors`));
      box.replaceChildren(...shown);
      if (points.pictures && i < points.pictures.count) box.prepend(points.pictures.element(i, 96, lines[0]));
      box.hidden = false;
      const left = x + 14 + box.offsetWidth > parent.clientWidth ? x - 14 - box.offsetWidth : x + 14;
      box.style.left = Math.max(0, Math.min(left, parent.clientWidth - box.offsetWidth)) + "px";
      box.style.top = Math.max(0, y - box.offsetHeight / 2) + "px";
    },
    hide() {
      box.hidden = true;
    },
  };
};

// nearest returns the nearest point to a place on the screen, or -1 if no point is within a few pixels. places holds x and y by point.
Unravel.nearest = function (places, x, y, within = 16) {
  let best = -1;
  let least = within * within;
  for (let i = 0; i < places.length / 2; i++) {
    const d = (places[2 * i] - x) ** 2 + (places[2 * i + 1] - y) ** 2;
    if (d < least) {
      least = d;
      best = i;
    }
  }
  return best;
};

// choose returns a labelled list of texts, with number chosen selected. It calls change with the new number.
Unravel.choose = function (label, entries, chosen, change) {
  const select = Unravel.element("select", {}, ...entries.map((text, i) => Unravel.element("option", { value: i }, text)));
  select.value = chosen;
  select.addEventListener("change", () => change(Number(select.value)));
  return Unravel.element("label", {}, label, select);
};
