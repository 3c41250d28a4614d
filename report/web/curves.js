"use strict";

// curves draws panels of curves with a legend that follows the pointer, zoom along x (drag, double click for all), and
// linear or logarithmic axes.
// update(data) keeps the panels of the same titles, with their axes and zoom.
Unravel.curves = function (element, data) {
  let panels = [];

  function update(next) {
    const old = new Map(panels.map((p) => [p.title, p]));
    panels = next.panels.map((panel) => {
      const there = old.get(panel.title);
      old.delete(panel.title);
      if (there) there.update(panel);
      return there || Unravel.curvesPanel(element, panel);
    });
    for (const gone of old.values()) gone.destroy();
  }

  update(data);
  return { update, destroy: () => update({ panels: [] }) };
};

// curvesTable aligns series on one ascending list of x, as uPlot wants them: [x, y of series 0, ...], null for gaps.
Unravel.curvesTable = function (series) {
  const xs = [...new Set(series.flatMap((s) => [...Unravel.array(s.x)]))].filter(Number.isFinite).sort((a, b) => a - b);
  const place = new Map(xs.map((x, i) => [x, i]));
  return [xs, ...series.map((s) => {
    const column = new Array(xs.length).fill(undefined); // undefined: no point here; null: a gap
    const x = Unravel.array(s.x);
    Unravel.array(s.y).forEach((y, i) => {
      if (place.has(x[i])) column[place.get(x[i])] = Number.isFinite(y) ? y : null;
    });
    return column;
  })];
};

// curvesPanel draws one panel.
Unravel.curvesPanel = function (parent, panel) {
  const box = Unravel.element("div", { className: "panel" });
  const place = Unravel.element("div", { className: "plot", role: "img", "aria-label": panel.title });
  const positive = panel.series.some((s) => Unravel.array(s.y).some((y) => y > 0));
  const check = Unravel.element("input", { type: "checkbox", checked: panel.log && positive, disabled: !positive });
  box.append(Unravel.element("h3", {}, panel.title), Unravel.element("label", { className: "check" }, check, " logarithmic"), place);
  parent.append(box);
  let table = Unravel.curvesTable(panel.series);
  let plot;

  // shown are the points that the axis has a place for.
  function shown() {
    return check.checked ? table.map((column, i) => (i ? column.map((y) => (y === undefined || y > 0 ? y : null)) : column)) : table;
  }

  function draw() {
    if (plot) plot.destroy();
    plot = new uPlot(Unravel.curvesOptions(panel, place.clientWidth, check.checked), shown(), place);
  }

  // update shows more points; a zoomed axis stays as it is.
  function update(next) {
    const same = next.series.map((s) => s.name).join("\n") === panel.series.map((s) => s.name).join("\n");
    const { min, max } = plot.scales.x;
    const zoomed = min > table[0][0] || max < table[0].at(-1);
    panel = next;
    table = Unravel.curvesTable(panel.series);
    if (!same) draw();
    else plot.setData(shown(), !zoomed);
    if (zoomed) plot.setScale("x", { min, max });
  }

  check.addEventListener("change", draw);
  document.addEventListener("unravel-theme", draw);
  const ended = Unravel.resized(place, () => plot.setSize({ width: place.clientWidth, height: 300 }));
  draw();
  return {
    title: panel.title,
    update,
    destroy() {
      ended();
      document.removeEventListener("unravel-theme", draw);
      plot.destroy();
      box.remove();
    },
  };
};

// curvesOptions are uPlot's options of a panel.
Unravel.curvesOptions = function (panel, width, log) {
  const axis = (label) => ({
    label,
    stroke: Unravel.css("--faint"),
    grid: { stroke: Unravel.css("--rule"), width: 1 },
    ticks: { stroke: Unravel.css("--rule"), width: 1 },
  });
  const value = (plot, v) => (v == null ? "–" : Unravel.format(v));
  return {
    width,
    height: 300,
    scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
    axes: [axis(panel.x), { ...axis(panel.y), size: 64, values: (plot, ticks) => ticks.map((v) => (v == null ? "" : Unravel.format(v))) }],
    series: [
      { label: panel.x, value },
      ...panel.series.map((s, i) => ({ label: s.name, value, stroke: Unravel.category(s.colour ?? i), width: 2, spanGaps: false })),
    ],
  };
};
