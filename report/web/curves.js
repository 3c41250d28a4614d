"use strict";

// curves draws panels of curves with a legend that follows the pointer, zoom along x (drag, double click for all), and
// linear or logarithmic axes.
Unravel.curves = function (element, data) {
  const panels = [];

  function update(next) {
    while (panels.length) panels.pop().destroy();
    element.replaceChildren();
    for (const panel of next.panels) panels.push(Unravel.curvesPanel(element, panel));
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
  const table = Unravel.curvesTable(panel.series);
  let plot;

  function draw() {
    if (plot) plot.destroy();
    const shown = check.checked ? table.map((column, i) => (i ? column.map((y) => (y === undefined || y > 0 ? y : null)) : column)) : table;
    plot = new uPlot(Unravel.curvesOptions(panel, place.clientWidth, check.checked), shown, place);
  }

  check.addEventListener("change", draw);
  document.addEventListener("unravel-theme", draw);
  const ended = Unravel.resized(place, () => plot.setSize({ width: place.clientWidth, height: 300 }));
  draw();
  return {
    destroy() {
      ended();
      document.removeEventListener("unravel-theme", draw);
      plot.destroy();
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
