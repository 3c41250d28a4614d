"use strict";

// The page that compares runs. Its address has the chosen runs and settings.
Serve.compare = {
  pause: 4000,
  waits: [], // for metrics to be seen: functions that end that
  marked: null, // by place: whether a run is between the marks of the axes

  start() {
    const q = new URLSearchParams(location.search);
    this.runs = q.getAll("run");
    this.filter = q.getAll("filter").join(" ");
    this.by = q.get("by") || "";
    this.colour = q.get("colour") || "";
    this.checked = new Set();
    document.getElementById("filter").value = this.filter;
    document.getElementById("query").addEventListener("submit", (event) => {
      event.preventDefault();
      this.filter = document.getElementById("filter").value.trim();
      this.ask();
    });
    for (const name of ["by", "colour"]) {
      document.getElementById(name).addEventListener("change", (event) => {
        this[name] = event.target.value;
        this.ask();
      });
    }
    const click = (id, call) => document.getElementById(id).addEventListener("click", call);
    click("only", () => this.choose([...this.checked]));
    click("keep", () => this.choose(this.data.runs.filter((run, i) => this.marked[i]).map((run) => run.dir)));
    click("clear", () => this.axes.clear());
    click("all", () => this.choose([]));
    document.addEventListener("unravel-theme", () => this.data && this.metrics(this.data));
    this.look = Serve.while(this.pause, () => this.load());
  },

  parameters() {
    const q = new URLSearchParams();
    for (const name of this.runs) q.append("run", name);
    for (const f of this.filter.split(/\s+/).filter(Boolean)) q.append("filter", f);
    if (this.by) q.set("by", this.by);
    if (this.colour) q.set("colour", this.colour);
    return q;
  },

  // ask shows another comparison with a separate address.
  ask() {
    const q = this.parameters().toString();
    history.pushState(null, "", q ? "?" + q : location.pathname);
    this.look();
  },

  choose(names) {
    this.runs = names;
    this.checked.clear();
    this.ask();
  },

  async load() {
    const q = this.parameters();
    try {
      const data = await Serve.get("compare", q);
      const text = JSON.stringify({ ...data, version: 0 });
      if (text !== this.text) this.show(data);
      this.text = text;
      await this.curves(q, data);
      Serve.fail("");
    } catch (error) {
      Serve.fail(error instanceof TypeError ? "The server does not answer: it has ended, or cannot be reached." : error.message);
    }
  },

  show(data) {
    this.data = data;
    let text = Serve.count(data.matched, "run");
    if (data.runs.length < data.matched) text += `; the first ${data.runs.length} are compared`;
    if (data.missing?.length) text += `; missing: ${data.missing.join(", ")}`;
    if (data.repeats?.length) text += `; not in means, with the config, seed and results of another run: ${data.repeats.join(", ")}`;
    document.getElementById("summary").textContent = data.matched ? text : "No run passes the filters.";
    document.getElementById("all").hidden = !this.runs.length;
    this.options("by", [["", "nothing: every run by itself"], ["-seed", "seeds (runs that differ in the seed only)"], ...data.settings.map((s) => [s, "runs with the same " + s])]);
    this.options("colour", [["", this.by ? "groups" : "runs"], ...data.settings.map((s) => [s, s])]);
    this.legend(data);
    this.metrics(data);
    this.parallel(data);
    this.table(data);
    this.groups(data);
  },

  // options fills a control, and keeps the chosen entry.
  options(name, list) {
    if (this[name] && !list.some(([value]) => value === this[name])) list.push([this[name], this[name]]);
    const control = document.getElementById(name);
    control.replaceChildren(...list.map(([value, text]) => Unravel.element("option", { value }, text)));
    control.value = this[name];
  },

  legend(data) {
    const place = document.getElementById("legend");
    place.hidden = !data.colours.length;
    place.replaceChildren(...data.colours.map((value, i) => {
      const dot = Unravel.element("span", { className: "interval-dot", "aria-hidden": "true" });
      dot.style.background = Unravel.category(i);
      return Unravel.element("li", {}, dot, this.colour ? `${this.colour} ${value}` : value);
    }));
  },

  // metrics draws results with intervals: means of groups, or the stored intervals of runs.
  metrics(data) {
    this.legend(data);
    for (const end of this.waits) end();
    this.waits = [];
    const grouped = data.groups.length > 0;
    document.getElementById("metrics-part").hidden = !data.metrics.length;
    document.getElementById("metrics-note").textContent = grouped
      ? "Means over the runs of each group, with 95 % intervals by Student's distribution."
      : "Values of runs, with the intervals that were stored with them (metrics.interval, or eval --interval).";
    document.getElementById("metrics").replaceChildren(...data.metrics.map((m, i) => {
      const rows = grouped
        ? data.groups.map((g, at) => ({ name: `${g.name} (${g.runs})`, colour: this.colourOf(data, at), ...Serve.number(g.results[i]) }))
        : data.runs.map((r) => ({ name: r.dir, colour: r.colour, ...Serve.number(r.results[i]) }));
      const place = Unravel.element("div", { className: "interval-panel" });
      place.style.minHeight = Unravel.rem(1.6 * Math.min(rows.length, Serve.intervals.most) + 4) + "px";
      this.waits.push(Unravel.seen(place, () => place.replaceWith(Serve.intervals(m.name, m.better, rows))));
      return place;
    }));
  },

  // colourOf returns the colour of a group's runs.
  colourOf(data, group) {
    return data.runs.find((r) => r.group === group)?.colour ?? group;
  },

  parallel(data) {
    if (this.axes) this.axes.destroy();
    this.axes = null;
    const numbers = (values) => values.every((v) => v === null || (v.trim() !== "" && Number.isFinite(Number(v))));
    const axes = data.settings.map((name, i) => {
      const values = data.runs.map((r) => r.settings[i]);
      const numeric = numbers(values);
      return { name, numeric, short: Serve.shortKey(name, data.settings), values: numeric ? values.map((v) => (v === null ? null : Number(v))) : values };
    });
    data.metrics.forEach((m, i) => axes.push({ name: m.name, numeric: true, values: data.runs.map((r) => Serve.number(r.results[i]).value) }));
    const shown = axes.filter((axis) => axis.values.some((v) => v !== null));
    document.getElementById("parallel-part").hidden = shown.length < 2 || data.runs.length < 2;
    this.marked = data.runs.map(() => true);
    if (shown.length < 2 || data.runs.length < 2) return;
    this.axes = Serve.parallel(document.getElementById("parallel"), shown, data.runs.map((r) => ({ name: r.dir, colour: r.colour })),
      (passing, some) => this.brushed(passing, some), (run) => this.hover(run));
  },

  brushed(passing, some) {
    this.marked = passing;
    const n = passing.filter(Boolean).length;
    document.getElementById("parallel-run").textContent = some ? `${n} of ${passing.length} runs are between all markers` : "";
    document.getElementById("keep").disabled = !some || !n;
    document.getElementById("clear").disabled = !some;
    for (const row of document.querySelectorAll("#table tbody tr")) row.classList.toggle("out", !passing[row.dataset.at]);
  },

  // hover shows one run on the axes and in the table.
  hover(run) {
    this.axes.highlight(run);
    for (const row of document.querySelectorAll("#table tbody tr")) row.classList.toggle("on", Number(row.dataset.at) === run);
    if (run >= 0) document.getElementById("parallel-run").textContent = this.data.runs[run].dir;
  },

  table(data) {
    const heads = ["", "run", "state", ...data.settings, ...data.metrics.map((m) => m.name)];
    const rows = data.runs.map((run, at) => {
      const box = Unravel.element("input", { type: "checkbox", checked: this.checked.has(run.dir), "aria-label": "choose " + run.dir });
      box.addEventListener("change", () => {
        if (box.checked) this.checked.add(run.dir);
        else this.checked.delete(run.dir);
        document.getElementById("only").disabled = !this.checked.size;
      });
      const link = Unravel.element("a", { href: "run?dir=" + encodeURIComponent(run.dir), title: run.dir }, run.dir);
      const cells = [{ node: box, key: null }, { node: link, key: run.dir }, { node: Serve.state(run.state), key: run.state }];
      for (const text of run.settings) cells.push({ node: Serve.cell(text), key: text });
      for (const e of run.results) cells.push({ node: Serve.estimate(Serve.number(e)), key: e ? String(e.value) : null });
      return { at, cells };
    });
    Serve.sortable(document.getElementById("table"), heads, rows, (row, at) => {
      row.dataset.at = at;
      row.addEventListener("pointerenter", () => this.axes && this.hover(at));
      row.addEventListener("pointerleave", () => this.axes && this.hover(-1));
      row.addEventListener("focusin", () => this.axes && this.hover(at));
      row.addEventListener("focusout", () => this.axes && this.hover(-1));
    });
    document.getElementById("only").disabled = !this.checked.size;
  },

  groups(data) {
    document.getElementById("groups-part").hidden = !data.groups.length;
    const rows = data.groups.map((g, at) => ({
      at,
      cells: [{ node: g.name, key: g.name }, { node: String(g.runs), key: String(g.runs) },
        ...g.results.map((e) => ({ node: Serve.estimate(Serve.number(e)), key: e ? String(e.value) : null }))],
    }));
    Serve.sortable(document.getElementById("groups"), ["group", "runs", ...data.metrics.map((m) => m.name)], rows);
  },

  // curves draws all curves in one panel if they have changed.
  async curves(q, data) {
    const key = q + JSON.stringify(data.runs.map((r) => [r.dir, r.progress]));
    if (key === this.drawn) return;
    const answer = await Serve.get("compare/curves", q);
    this.drawn = key;
    document.getElementById("curves-note").textContent = answer.curves.panels.length
      ? (answer.runs < data.matched ? `The curves of the first ${answer.runs} runs.` : "")
      : "No run has finished an epoch yet.";
    const place = document.getElementById("curves");
    if (this.panels) this.panels.update(answer.curves);
    else this.panels = Unravel.curves(place, answer.curves, true);
  },
};

// number reads an estimate from the server: {value, low, high}. value is null without an estimate.
Serve.number = function (e) {
  if (!e) return { value: null };
  const read = { value: Unravel.number(e.value) };
  if (e.low !== undefined) Object.assign(read, { low: Unravel.number(e.low), high: Unravel.number(e.high) });
  if (e.runs) read.note = `mean of ${e.runs}`;
  return read;
};

// shortKey returns the shortest unique end of a key path.
Serve.shortKey = function (name, all) {
  const parts = name.split(".");
  for (let n = 1; n < parts.length; n++) {
    const short = parts.slice(-n).join(".");
    if (!/^\d/.test(short) && !all.some((o) => o !== name && (o === short || o.endsWith("." + short)))) return short;
  }
  return name;
};

// sortable fills a table with heads that sort it. rows are {at, cells: [{node, key}]}. each(row, at) may change a row's element.
Serve.sortable = function (table, heads, rows, each = () => {}) {
  const order = table.order || { column: -1, down: false };
  table.order = order;

  // compare orders numbers before texts, and missing values last.
  function compare(a, b) {
    const [x, y] = [a.cells[order.column].key, b.cells[order.column].key];
    if (x === null || y === null) return (x === null) - (y === null);
    const [m, n] = [Number(x), Number(y)];
    const both = Number.isFinite(m) && Number.isFinite(n);
    const by = both ? m - n : Number.isFinite(m) - Number.isFinite(n) ? Number.isFinite(n) - Number.isFinite(m) : x < y ? -1 : x > y ? 1 : 0;
    return order.down ? -by : by;
  }

  function head(name, column) {
    if (!name) return Unravel.element("td");
    const by = order.column === column ? (order.down ? "descending" : "ascending") : "none";
    const button = Unravel.element("button", { type: "button", title: "Sort by " + name }, name + { ascending: " ▲", descending: " ▼", none: "" }[by]);
    button.addEventListener("click", () => {
      order.down = order.column === column && !order.down;
      order.column = column;
      fill();
      table.querySelectorAll("thead button")[column - (heads[0] ? 0 : 1)].focus();
    });
    return Unravel.element("th", { scope: "col", "aria-sort": by }, button);
  }

  function fill() {
    table.querySelector("thead tr").replaceChildren(...heads.map(head));
    const sorted = order.column < 0 || order.column >= heads.length ? rows : [...rows].sort(compare);
    table.querySelector("tbody").replaceChildren(...sorted.map((row) => {
      const made = Unravel.element("tr", {}, ...row.cells.map((cell) => Unravel.element("td", {}, cell.node)));
      each(made, row.at);
      return made;
    }));
  }

  fill();
};

document.addEventListener("DOMContentLoaded", () => Serve.compare.start());
window.addEventListener("popstate", () => location.reload());
