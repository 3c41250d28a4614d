"use strict";

// intervals draws the values of one metric with their intervals, one below the other. rows are {name, value, low, high, colour, note}.
Serve.intervals = function (title, better, rows) {
  const known = rows.filter((r) => r.value !== null);
  const ends = known.flatMap((r) => [r.value, r.low ?? r.value, r.high ?? r.value]);
  let [low, high] = [Math.min(...ends), Math.max(...ends)];
  if (!(high > low)) [low, high] = [low - Math.abs(low || 1) * 0.1, high + Math.abs(high || 1) * 0.1];
  const place = (v) => `${(100 * (v - low)) / (high - low)}%`;

  function plot(row) {
    const area = Unravel.element("div", { className: "interval-plot", "aria-hidden": "true" });
    if (row.low !== undefined) {
      const bar = Unravel.element("span", { className: "interval-bar" });
      bar.style.left = place(row.low);
      bar.style.width = `${(100 * (row.high - row.low)) / (high - low)}%`;
      bar.style.background = Unravel.category(row.colour);
      area.append(bar);
    }
    const dot = Unravel.element("span", { className: "interval-dot" });
    dot.style.left = place(row.value);
    dot.style.background = Unravel.category(row.colour);
    area.append(dot);
    return area;
  }

  const box = Unravel.element("section", { className: "interval-panel", "aria-label": title });
  box.append(Unravel.element("h3", {}, title, Unravel.element("span", { className: "part" }, better ? ` ${better} is better` : "")));
  known.sort((a, b) => (better === "lower" ? a.value - b.value : b.value - a.value));
  for (const row of known.slice(0, Serve.intervals.most)) {
    box.append(Unravel.element("div", { className: "interval-row" },
      Unravel.element("span", { className: "interval-name", title: row.name }, row.name), plot(row),
      Unravel.element("span", { className: "value", title: row.note || "" }, Serve.estimate(row))));
  }
  box.append(Unravel.element("div", { className: "interval-row interval-axis", "aria-hidden": "true" }, Unravel.element("span"),
    Unravel.element("div", {}, Unravel.element("span", {}, Unravel.format(low, 3)), Unravel.element("span", {}, Unravel.format(high, 3))), Unravel.element("span")));
  if (known.length > Serve.intervals.most) box.append(Unravel.element("p", { className: "part" }, `and ${known.length - Serve.intervals.most} more, in the table`));
  return box;
};

// The drawing has at most this many rows of a metric; the table has all rows.
Serve.intervals.most = 30;

// estimate writes a number with its interval.
Serve.estimate = function (e) {
  if (!e || e.value === null) return "–";
  if (e.low === undefined) return Unravel.format(e.value);
  const middle = Math.abs((e.low + e.high) / 2 - e.value) <= 1e-6 * Math.abs(e.high - e.low);
  const digits = (v) => Unravel.format(v, 3);
  return middle ? `${Unravel.format(e.value)} ± ${Unravel.format((e.high - e.low) / 2, 2)}` : `${Unravel.format(e.value)} [${digits(e.low)}, ${digits(e.high)}]`;
};
