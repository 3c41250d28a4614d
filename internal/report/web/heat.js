"use strict";

// heat draws heat maps. The lists next to a map, or a click on a name, sort rows and columns.
Unravel.heat = function (element, data) {
  const open = 6; // maps that are drawn at once; others are folded away
  let parts = [];

  function update(next) {
    for (const part of parts) part.destroy();
    element.replaceChildren();
    const grid = Unravel.element("div", { className: "maps" });
    element.append(grid);
    parts = next.maps.slice(0, open).map((map) => Unravel.heatMap(grid, map));
    const rest = next.maps.slice(open);
    if (rest.length === 0) return;
    const folded = Unravel.element("div", { className: "maps" });
    const more = Unravel.element("details", {}, Unravel.element("summary", {}, rest.length === 1 ? "1 more map" : rest.length + " more maps"), folded);
    element.append(more);
    more.addEventListener("toggle", () => {
      if (more.open && folded.childElementCount === 0) parts.push(...rest.map((map) => Unravel.heatMap(folded, map)));
    });
  }

  update(data);
  return { update, destroy: () => update({ maps: [] }) };
};

// heatMap draws one map.
Unravel.heatMap = function (parent, data) {
  const map = Unravel.heatRead(data);
  const canvas = Unravel.element("canvas", { tabIndex: 0, role: "application" });
  const said = Unravel.element("output", { className: "reading", "aria-live": "polite" }, " ");
  const place = Unravel.element("div", { className: "cloud" }, canvas);
  const bar = Unravel.element("div", { className: "legend" });
  const controls = Unravel.element("div", { className: "controls" });
  const box = Unravel.element("div", { className: "panel" }, Unravel.element("h3", {}, data.title), controls, bar, place, said);
  parent.append(box);

  function draw() {
    map.layout = Unravel.heatLayout(map, place.clientWidth);
    const context = Unravel.canvas(canvas, map.layout.width, map.layout.height);
    canvas.setAttribute("aria-label", `${data.title}: ${map.rows.length} rows (${data.down || "rows"}), ${map.columns.length} columns (${data.across || "columns"}); arrow keys read the cells`);
    Unravel.heatDraw(context, map);
    Unravel.heatBar(bar, map);
  }
  const sortBy = (label, key, names, across) => Unravel.choose(label, ["as they come", "largest cell", ...names], map[key].by + 2, (i) => {
    map[key].by = i - 2;
    Unravel.heatSort(map);
    draw();
  });
  const offer = () => controls.replaceChildren(
    sortBy("sort rows by", "down", map.columns.map((name) => "column " + name)), sortBy("sort columns by", "across", map.rows.map((name) => "row " + name)));
  const unpoint = Unravel.heatPointing(canvas, map, said, () => {
    Unravel.heatSort(map);
    offer();
    draw();
  }, draw);
  const ended = Unravel.resized(place, draw);
  document.addEventListener("unravel-theme", draw);
  offer();
  Unravel.heatSort(map);
  draw();
  return {
    destroy() {
      unpoint();
      ended();
      document.removeEventListener("unravel-theme", draw);
      box.remove();
    },
  };
};

// heatRead reads a map. down and across hold the order of rows and columns, and their sort key: -2 none, -1 the largest cell, otherwise
// a column or a row.
Unravel.heatRead = function (data) {
  const values = Unravel.array(data.values);
  const n = data.columns.length;
  const map = { rows: data.rows, columns: data.columns, unit: data.unit, signed: data.signed, cell: (i, j) => values[i * n + j], at: null };
  map.down = { order: data.rows.map((unused, i) => i), by: data.sorted ? -1 : -2 };
  map.across = { order: data.columns.map((unused, j) => j), by: -2 };
  let low = 0;
  let high = 0;
  for (const v of values) {
    if (Number.isFinite(v)) {
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
  }
  if (data.signed) low = -(high = Math.max(-low, high));
  map.low = low;
  map.high = high > low ? high : low + 1;
  return map;
};

// heatSort sorts rows and columns by their keys.
Unravel.heatSort = function (map) {
  const size = (v) => (Number.isNaN(v) ? -Infinity : v);
  const sorted = (side, count, other, cell) => {
    side.order = [...Array(count).keys()];
    if (side.by >= 0) side.order.sort((a, b) => size(cell(b, side.by)) - size(cell(a, side.by)));
    if (side.by !== -1) return;
    // by the place of the largest cell in the order of the other side, then by its size: this gives blocks along the diagonal
    const best = side.order.map((i) => {
      let at = 0;
      for (let k = 1; k < other.order.length; k++) if (size(cell(i, other.order[k])) > size(cell(i, other.order[at]))) at = k;
      return { at, value: size(cell(i, other.order[at])) };
    });
    side.order.sort((a, b) => best[a].at - best[b].at || best[b].value - best[a].value);
  };
  sorted(map.across, map.columns.length, map.down, (j, i) => map.cell(i, j));
  sorted(map.down, map.rows.length, map.across, (i, j) => map.cell(i, j));
};

// heatLayout chooses sizes of cells and margins for a width.
Unravel.heatLayout = function (map, available) {
  const context = document.createElement("canvas").getContext("2d");
  context.font = Unravel.font();
  const longest = (names) => Math.max(...names.map((name) => context.measureText(name).width));
  const left = Math.min(longest(map.rows) + 12, available * 0.4);
  const cellWidth = Math.max(1, Math.min(Unravel.rem(4), (available - left - 2) / map.columns.length));
  const upright = longest(map.columns) + 8 > cellWidth;
  const top = upright ? Math.min(longest(map.columns) + 12, Unravel.rem(8)) : Unravel.rem(1.4);
  const cellHeight = map.rows.length > 40 ? Math.max(3, Unravel.rem(35) / map.rows.length) : Unravel.rem(1.5);
  return { left, top, cellWidth, cellHeight, upright, width: available, height: Math.ceil(top + cellHeight * map.rows.length + 2) };
};

// heatColour returns the colour [r, g, b] of a value, or undefined if the value is not finite.
Unravel.heatColour = function (map, v) {
  if (!Number.isFinite(v)) return undefined;
  return Unravel.mix(map.signed ? "diverging" : "sequential", (v - map.low) / (map.high - map.low));
};

// heatDraw draws names and cells, with numbers if they fit.
Unravel.heatDraw = function (context, map) {
  const l = map.layout;
  context.font = Unravel.font();
  context.textBaseline = "middle";
  const numbers = l.cellWidth >= Unravel.rem(2.7) && l.cellHeight >= Unravel.rem(1.1);
  map.down.order.forEach((i, row) => {
    map.across.order.forEach((j, column) => {
      const v = map.cell(i, j);
      const colour = Unravel.heatColour(map, v);
      const x = l.left + column * l.cellWidth;
      const y = l.top + row * l.cellHeight;
      context.fillStyle = colour ? Unravel.rgb(colour) : Unravel.css("--missing");
      context.fillRect(x, y, l.cellWidth - (l.cellWidth > 8 ? 1 : 0), l.cellHeight - (l.cellHeight > 8 ? 1 : 0));
      if (!numbers || !colour) return;
      context.fillStyle = Unravel.dark(colour) ? "#ffffff" : "#000000";
      context.textAlign = "center";
      context.fillText(Unravel.format(v, 2), x + l.cellWidth / 2, y + l.cellHeight / 2);
    });
  });
  Unravel.heatNames(context, map);
  if (!map.at) return;
  context.strokeStyle = Unravel.css("--ink");
  context.lineWidth = 2;
  context.strokeRect(l.left + map.at[1] * l.cellWidth - 0.5, l.top + map.at[0] * l.cellHeight - 0.5, l.cellWidth, l.cellHeight);
};

// dark reports whether white has more contrast with a colour than black, by relative luminance.
Unravel.dark = function (colour) {
  const [r, g, b] = colour.map((v) => ((v / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b < 0.179;
};

// shorten cuts a text to a width of a canvas, with an ellipsis.
Unravel.shorten = function (context, text, width) {
  if (context.measureText(text).width <= width) return text;
  const letters = [...text];
  while (letters.length > 1 && context.measureText(letters.join("") + "…").width > width) letters.pop();
  return letters.join("") + "…";
};

// heatNames draws the names of rows and columns that fit.
Unravel.heatNames = function (context, map) {
  const l = map.layout;
  const skip = (size) => Math.max(1, Math.ceil(Unravel.rem(0.9) / size));
  context.fillStyle = Unravel.css("--ink");
  context.textAlign = "right";
  map.down.order.forEach((i, row) => {
    if (row % skip(l.cellHeight)) return;
    context.fillText(Unravel.shorten(context, map.rows[i], l.left - 10), l.left - 6, l.top + (row + 0.5) * l.cellHeight);
  });
  map.across.order.forEach((j, column) => {
    if (column % skip(l.cellWidth)) return;
    context.save();
    context.translate(l.left + (column + 0.5) * l.cellWidth, l.top - 6);
    if (l.upright) context.rotate(-Math.PI / 2);
    context.textAlign = l.upright ? "left" : "center";
    context.fillText(Unravel.shorten(context, map.columns[j], l.upright ? l.top - 12 : l.cellWidth), 0, l.upright ? 0 : -6);
    context.restore();
  });
};

// heatBar draws the colour bar.
Unravel.heatBar = function (bar, map) {
  const ramp = Unravel.element("span", { className: "ramp" });
  ramp.style.background = `linear-gradient(to right, ${Unravel.palette(map.signed ? "diverging" : "sequential").map(Unravel.rgb).join(", ")})`;
  bar.replaceChildren(Unravel.format(map.low, 3), ramp, `${Unravel.format(map.high, 3)} ${map.unit || ""}`);
};

// heatPointing shows the cell under the pointer or chosen by arrow keys, and sorts after a click on a name.
Unravel.heatPointing = function (canvas, map, said, sorted, draw) {
  const ending = new AbortController();
  const on = (name, call) => canvas.addEventListener(name, call, { signal: ending.signal });
  const place = (event) => {
    const l = map.layout;
    return [Math.floor((event.offsetY - l.top) / l.cellHeight), Math.floor((event.offsetX - l.left) / l.cellWidth)];
  };
  const inside = ([row, column]) => row >= 0 && column >= 0 && row < map.rows.length && column < map.columns.length;
  function read(at) {
    map.at = at;
    draw();
    said.textContent = " ";
    if (!at) return;
    const [i, j] = [map.down.order[at[0]], map.across.order[at[1]]];
    const v = map.cell(i, j);
    said.textContent = `${Unravel.isolate(map.rows[i])}, ${Unravel.isolate(map.columns[j])}: ${Unravel.format(v)}`;
  }
  on("pointermove", (event) => read(inside(place(event)) ? place(event) : null));
  on("pointerleave", () => read(null));
  on("blur", () => read(null));
  on("click", (event) => {
    const [row, column] = place(event);
    if (row < 0 && column >= 0 && column < map.columns.length) map.down.by = map.across.order[column];
    else if (column < 0 && row >= 0 && row < map.rows.length) map.across.by = map.down.order[row];
    else return;
    sorted();
  });
  on("keydown", (event) => {
    const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const next = map.at ? [map.at[0] + step[0], map.at[1] + step[1]] : [0, 0];
    if (inside(next)) read(next);
  });
  return () => ending.abort();
};
