"use strict";

// curves draws panels of curves with linear or logarithmic axes, a legend that follows the pointer, and zoom along x (drag; double
// click for all). A panel with lines appears when a curve has two points. update(data) keeps panels with equal titles, their axes and
// their zoom. With late, each panel draws when it comes into view.
Unravel.curves = function (element, data, late = false) {
  const grid = Unravel.element("div", { className: "panels" });
  let panels = [];
  element.append(grid);

  function update(next) {
    const old = panels;
    const shown = next.panels.filter((p) => !p.lines || p.series.some((s) => Unravel.array(s.x).length > 1));
    panels = shown.map((panel) => {
      const at = old.findIndex((p) => p.title === panel.title);
      if (at < 0) return Unravel.curvesPanel(grid, panel, late);
      old[at].update(panel);
      return old.splice(at, 1)[0];
    });
    for (const gone of old) gone.destroy();
    grid.append(...panels.map((p) => p.box)); // in the order of the data
  }

  update(data);
  return {
    update,
    destroy() {
      update({ panels: [] });
      grid.remove();
    },
  };
};

// curvesTable aligns series on one ascending list of x, as uPlot needs: [x, y of series 0, ...], with null for gaps. The first of two
// values at one x counts, because a run measures a metric again at its end, perhaps on other images.
Unravel.curvesTable = function (series) {
  const xs = [...new Set(series.flatMap((s) => [...Unravel.array(s.x)]))].filter(Number.isFinite).sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  return [xs, ...series.map((s) => {
    const column = new Array(xs.length).fill(undefined); // undefined: no point here; null: a gap
    const x = Unravel.array(s.x);
    Unravel.array(s.y).forEach((y, i) => {
      const at = place.get(x[i]);
      if (at !== undefined && column[at] === undefined) column[at] = Number.isFinite(y) ? y : null;
    });
    return column;
  })];
};

// curvesPanel draws one panel.
Unravel.curvesPanel = function (parent, panel, late) {
  const box = Unravel.element("div", { className: "panel" });
  const place = Unravel.element("div", { className: "plot", role: "group", "aria-label": Unravel.curvesSummary(panel) });
  const positive = panel.series.some((s) => Unravel.array(s.y).some((y) => y > 0));
  const check = Unravel.element("input", { type: "checkbox", checked: panel.log && positive, disabled: !positive });
  const whole = Unravel.element("button", { type: "button", hidden: true }, "Show all");
  const controls = Unravel.element("div", { className: "corner" }, whole, Unravel.element("label", { className: "check" }, check, " logarithmic"));
  box.append(Unravel.element("h3", {}, panel.title), controls, place);
  parent.append(box);
  let table = Unravel.curvesTable(panel.series);
  let plot = null; // not drawn yet
  let waits = () => {};

  // shown returns the points that the axis can show.
  function shown() {
    return check.checked ? table.map((column, i) => (i ? column.map((y) => (y === undefined || y > 0 ? y : null)) : column)) : table;
  }

  function draw() {
    if (plot) plot.destroy();
    place.style.minHeight = "";
    plot = new uPlot(Unravel.curvesOptions(panel, place.clientWidth, check.checked, table[0], whole), shown(), place);
    whole.hidden = true;
    Unravel.curvesKeys(plot);
  }

  // update shows new points and keeps the zoom of an axis.
  function update(next) {
    const same = next.series.map((s) => s.name).join("\n") === panel.series.map((s) => s.name).join("\n");
    panel = next;
    table = Unravel.curvesTable(panel.series);
    place.setAttribute("aria-label", Unravel.curvesSummary(panel));
    if (!plot) return;
    const { min, max } = plot.scales.x;
    const zoomed = !whole.hidden;
    if (!same) draw();
    else plot.setData(shown(), !zoomed);
    if (zoomed) plot.setScale("x", { min, max });
  }

  const again = () => plot && draw();
  check.addEventListener("change", again);
  whole.addEventListener("click", again);
  document.addEventListener("unravel-theme", again);
  const ended = Unravel.resized(place, () => plot && plot.setSize({ width: place.clientWidth, height: Unravel.rem(19) }));
  if (late) {
    place.style.minHeight = Unravel.rem(21) + "px";
    waits = Unravel.seen(place, draw);
  } else draw();
  return {
    box,
    title: panel.title,
    update,
    destroy() {
      ended();
      waits();
      document.removeEventListener("unravel-theme", again);
      if (plot) plot.destroy();
      box.remove();
    },
  };
};

// curvesSummary describes a panel in words: the last value of each curve.
Unravel.curvesSummary = function (panel) {
  const most = 8;
  const last = (s) => Unravel.array(s.y)[Unravel.array(s.x).indexOf(Unravel.array(s.x).at(-1))];
  const parts = panel.series.slice(0, most).map((s) => `${s.name} ends at ${Unravel.format(last(s) ?? NaN)}`);
  return `${panel.title}, by ${panel.x}: ${parts.join(", ")}`;
};

// curvesKeys lets the keyboard hide and show curves by their names in the legend, as a click does.
Unravel.curvesKeys = function (plot) {
  for (const name of [...plot.root.querySelectorAll(".u-legend .u-series th")].slice(1)) {
    name.tabIndex = 0;
    name.setAttribute("role", "button");
    name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      name.click();
    });
  }
};

// curvesOptions returns uPlot's options for a panel. The button whole is visible while the panel is zoomed.
Unravel.curvesOptions = function (panel, width, log, xs, whole) {
  const axis = (label) => ({
    label,
    stroke: Unravel.css("--faint"),
    grid: { stroke: Unravel.css("--rule"), width: 1 },
    ticks: { stroke: Unravel.css("--rule"), width: 1 },
    font: Unravel.font(),
    labelFont: Unravel.font(),
  });
  const last = (column) => column.findLast((v) => v !== null && v !== undefined);
  const value = (plot, v, series, at) => Unravel.curvesValue(at == null ? last(plot.data[series]) : v);
  const ends = (plot) => plot.data.slice(1).every((column) => column.at(-1) === last(column));
  const place = (plot, v, series, at) => (at == null && !ends(plot) ? "last of each" : value(plot, v, series, at));
  const texts = (plot, ticks) => Unravel.formatTicks(ticks);
  return {
    width,
    height: Unravel.rem(19),
    padding: [12, 16, 0, 0],
    scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
    axes: [
      { ...axis(panel.x), size: Unravel.rem(2.4), ...(xs.every(Number.isInteger) ? { incrs: Unravel.steps } : {}) },
      { ...axis(panel.y), size: Unravel.rem(4.25), values: texts, ...(log ? { splits: Unravel.powers, filter: (plot, ticks) => ticks } : {}) },
    ],
    hooks: { setScale: [(plot, key) => {
      const all = plot.data[0];
      if (key === "x") whole.hidden = plot.scales.x.min <= all[0] && plot.scales.x.max >= all[all.length - 1];
    }] },
    series: [
      { label: panel.x, value: place },
      ...panel.series.map((s, i) => {
        const colour = Unravel.category(s.colour ?? i);
        const dash = (s.colour ?? i) < Unravel.palette("category").length ? undefined : [7, 4];
        return { label: s.name, value, stroke: colour, dash, width: 2, spanGaps: false, points: { size: 5, fill: colour } };
      }),
    ],
  };
};

// steps returns the steps between integer ticks.
Unravel.steps = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].flatMap((e) => [1, 2, 5].map((m) => m * 10 ** e));

Unravel.curvesValue = (v) => (v === null || v === undefined ? "–" : Unravel.format(v));

// powers lists the ticks of a logarithmic axis: powers of ten and, if they are few, 2 and 5 times these powers.
Unravel.powers = function (plot, axis, low, high) {
  const decades = Math.log10(high / low);
  const every = Math.max(1, Math.ceil(decades / 8));
  const list = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
    if (e % every) continue;
    for (const m of decades < 2.5 ? [1, 2, 5] : [1]) {
      const v = Number(`${m}e${e}`);
      if (v >= low && v <= high) list.push(v);
    }
  }
  return list.length > 0 ? list : [low, high];
};
