"use strict";

// The list of runs. The server sorts and filters it, and the page asks for it every two seconds.
Serve.list = {
  pause: 2000,
  count: 100,
  version: "",

  start() {
    const q = new URLSearchParams(location.search);
    this.filter = q.getAll("filter").join(" ");
    this.sort = q.get("sort") || "";
    document.getElementById("filter").value = this.filter;
    document.getElementById("query").addEventListener("submit", (event) => {
      event.preventDefault();
      this.filter = document.getElementById("filter").value.trim();
      this.ask();
    });
    document.getElementById("sort").addEventListener("change", (event) => {
      this.sort = event.target.value;
      this.ask();
    });
    document.getElementById("more").addEventListener("click", () => {
      this.count += 400;
      this.look();
    });
    this.look = Serve.while(this.pause, () => this.load());
  },

  // parameters returns the parameters of the requested list.
  parameters() {
    const q = new URLSearchParams();
    for (const f of this.filter.split(/\s+/).filter(Boolean)) q.append("filter", f);
    if (this.sort) q.set("sort", this.sort);
    return q;
  },

  chosen: new Set(),

  // box returns the checkbox that chooses a run.
  box(run) {
    const made = Unravel.element("input", { type: "checkbox", checked: this.chosen.has(run.dir), "aria-label": "choose " + run.dir });
    made.addEventListener("change", () => {
      if (made.checked) this.chosen.add(run.dir);
      else this.chosen.delete(run.dir);
      this.choices();
    });
    return made;
  },

  // choices links to the comparison of the chosen runs. Without chosen runs, it links to all runs that pass the filters.
  choices() {
    const q = this.parameters();
    q.delete("sort");
    if (this.chosen.size) q.delete("filter");
    for (const name of this.chosen) q.append("run", name);
    const link = document.getElementById("compare");
    link.href = "compare?" + q;
    link.textContent = this.chosen.size ? `Compare the ${Serve.count(this.chosen.size, "chosen run")}` : "Compare these";
  },

  // ask shows another list with a separate address.
  ask() {
    const q = this.parameters().toString();
    history.replaceState(null, "", q ? "?" + q : location.pathname);
    this.count = 100;
    this.look();
  },

  async load() {
    const q = this.parameters();
    q.set("count", this.count);
    try {
      const list = await Serve.get("runs", q);
      Serve.fail("");
      if (list.total && "single" in document.body.dataset) location.reload(); // the run has begun: its page takes this one's place
      const version = [list.version, list.reading, q].join(" ");
      if (version === this.version) return;
      this.version = version;
      this.show(list);
      await Serve.searches();
    } catch (error) {
      if (!this.version) document.getElementById("summary").textContent = "";
      Serve.fail(error instanceof TypeError ? "The server does not answer: it has ended, or cannot be reached." : error.message);
    }
  },

  show(list) {
    this.summary(list);
    this.sorts(list);
    this.choices();
    const heads = ["run", "state", "progress", "loss", ...list.columns.map((c) => c.name), "seconds"];
    document.querySelector("#runs thead tr").replaceChildren(...heads.map((name) => this.head(name)));
    document.querySelector("#runs tbody").replaceChildren(...list.rows.map((run) => this.row(run)));
    document.getElementById("more").hidden = list.from + list.rows.length >= list.matched;
  },

  summary(list) {
    const states = ["running", "waiting", "stopped", "failed", "damaged", "finished"].filter((s) => list.states[s]);
    let text = Serve.count(list.total, "run");
    if (states.length) text += ": " + states.map((s) => `${list.states[s]} ${s}`).join(", ");
    if (list.matched < list.total) text += `; ${list.matched === 1 ? "1 passes" : list.matched + " pass"} the filters`;
    if (list.reading) text = "Reading the runs …";
    else if (!list.total) text = "There is no run here yet. unravel train creates one.";
    const place = document.getElementById("summary");
    if (place.textContent !== text) place.textContent = text;
  },

  // sorts lists the columns in the control for sorting.
  sorts(list) {
    const names = ["run", "state", "progress", "loss", ...list.columns.map((c) => c.name), "seconds", "ended"];
    const options = [["", "running, then newest"]];
    for (const name of names) options.push([name, name + ", ascending"], ["-" + name, name + ", descending"]);
    if (this.sort && !options.some(([value]) => value === this.sort)) options.push([this.sort, this.sort]);
    const key = JSON.stringify([options, this.sort]);
    if (key === this.options) return;
    this.options = key;
    const control = document.getElementById("sort");
    control.replaceChildren(...options.map(([value, text]) => Unravel.element("option", { value }, text)));
    control.value = this.sort;
  },

  head(name) {
    const by = this.sort.replace(/^-/, "") === name ? (this.sort[0] === "-" ? "descending" : "ascending") : "none";
    const mark = { ascending: " ▲", descending: " ▼", none: "" }[by];
    const button = Unravel.element("button", { type: "button", title: "Sort by " + name }, name + mark);
    button.addEventListener("click", () => {
      this.sort = this.sort === name ? "-" + name : name;
      this.options = "";
      this.ask();
    });
    return Unravel.element("th", { scope: "col", "aria-sort": by }, button);
  },

  row(run) {
    const cell = (...children) => Unravel.element("td", {}, ...children);
    const state = cell(Serve.state(run.state));
    if (run.problem) state.append(Unravel.element("span", { className: "problem", title: run.problem }, run.problem));
    const left = run.left ? `${Serve.duration(run.left)} left` : Serve.duration(run.seconds || NaN);
    return Unravel.element("tr", {},
      cell(this.box(run), " ", Unravel.element("a", { href: "run?dir=" + encodeURIComponent(run.dir), title: run.dir }, run.dir)),
      state, cell(Serve.progress(run)), cell(run.loss === undefined ? "–" : Unravel.format(run.loss)),
      ...(run.cells || []).map((text) => cell(Serve.cell(text))), cell(left || "–"));
  },
};

document.addEventListener("DOMContentLoaded", () => Serve.list.start());
