"use strict";

// searches shows the folder's searches below the list: the objective by trial, with the best so far, and by each setting.
Serve.searches = async function () {
  const place = document.getElementById("searches");
  const list = await Serve.get("searches");
  place.replaceChildren(...list.map(Serve.search));
};

Serve.search = function (search) {
  const title = Unravel.element("h2", {}, search.folder === "." ? "Search" : "Search in " + search.folder);
  if (search.problem) return Unravel.element("section", {}, title, Unravel.element("p", { className: "problem" }, search.problem));
  const best = search.trials[search.best];
  const text = `${search.method}: ${Serve.count(search.trials.length, "trial")}, ${search.better} ${search.objective} is better, budget ${search.budget}.`;
  const about = Unravel.element("p", {}, text);
  if (best) {
    const settings = search.keys.map((key, i) => `${key}=${best.settings[i]}`).join(", ");
    about.append(" Best: ", Serve.trialLink(best), ` with ${Unravel.format(best.value)} at epoch ${best.epochs}: ${settings}.`);
  }
  const shown = search.trials.filter((t) => t.value !== null);
  const panels = Unravel.element("div", { className: "search-panels" });
  if (shown.length) {
    const numeric = (values) => values.every((v) => v.trim() !== "" && Number.isFinite(Number(v)));
    panels.append(Serve.scatter(search, shown, "trial", shown.map((t) => t.trial), true));
    search.keys.forEach((key, i) => {
      const texts = shown.map((t) => t.settings[i]);
      panels.append(Serve.scatter(search, shown, key, numeric(texts) ? texts.map(Number) : texts, false));
    });
  }
  return Unravel.element("section", { "aria-label": title.textContent }, title, about, panels);
};

Serve.trialLink = (trial) => Unravel.element("a", { href: "run?dir=" + encodeURIComponent(trial.dir) }, trial.dir);

// scatter draws the objective of trials over values. With record, it adds the line of the best so far.
Serve.scatter = function (search, trials, name, values, record) {
  const make = (what, attributes, ...children) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", what);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const [width, height, left, top, right, bottom] = [400, 240, 64, 24, 390, 196];
  const [across, up] = [Serve.parallelScale({ values, numeric: typeof values[0] === "number" }), Serve.parallelScale({ values: trials.map((t) => t.value), numeric: true })];
  const x = (i) => left + across.at(values[i]) * (right - left);
  const y = (v) => bottom - up.at(v) * (bottom - top);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${search.objective} over ${name}` });
  svg.append(make("line", { x1: left, x2: right, y1: bottom, y2: bottom }), make("line", { x1: left, x2: left, y1: top, y2: bottom }));
  for (const [t, text] of up.ticks) svg.append(make("text", { x: left - 6, y: bottom - t * (bottom - top) + 4, "text-anchor": "end" }, Serve.shortened(text, 8)));
  const ticks = across.ticks.filter((_, i) => i % Math.ceil(across.ticks.length / 5) === 0 && (!record || i % 4 === 0));
  for (const [t, text] of ticks) {
    svg.append(make("text", { x: left + t * (right - left), y: bottom + 16, "text-anchor": t < 1 ? "middle" : "end" }, Serve.shortened(text, 10)));
  }
  svg.append(make("text", { x: left, y: 14 }, search.objective), make("text", { x: right, y: height - 8, "text-anchor": "end" }, Serve.shortened(name, 48)));
  if (record) {
    const points = [];
    const longest = Math.max(...trials.map((t) => t.epochs)); // trials of asha that stopped earlier do not compare
    let best = null;
    trials.forEach((t, i) => {
      if (t.epochs < longest) return;
      if (best !== null) points.push(`${x(i)},${y(best)}`);
      if (best === null || (search.better === "higher" ? t.value > best : t.value < best)) best = t.value;
      points.push(`${x(i)},${y(best)}`);
    });
    svg.append(make("polyline", { points: points.join(" ") }));
  }
  trials.forEach((t, i) => {
    const dot = make("circle", { cx: x(i), cy: y(t.value), r: 4, class: t === search.trials[search.best] ? "best" : "" });
    dot.append(make("title", {}, `${t.dir}: ${name} ${values[i]}, ${search.objective} ${Unravel.format(t.value)} at epoch ${t.epochs}`));
    svg.append(dot);
  });
  return Unravel.element("figure", {}, svg);
};
