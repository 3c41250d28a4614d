"use strict";

// The tables of papers with values from the folder's runs: the list, or one table.
Serve.tables = {
  start() {
    const q = new URLSearchParams(location.search);
    this.name = q.get("name") || "";
    this.scale = q.get("scale") || "";
    if (!this.name) {
      this.list().catch((error) => Serve.fail(error.message));
      return;
    }
    document.getElementById("tables").hidden = true;
    document.getElementById("scale").addEventListener("change", (event) => {
      this.scale = event.target.value;
      history.replaceState(null, "", "?" + new URLSearchParams({ name: this.name, scale: this.scale }));
      this.look();
    });
    this.look = Serve.while(5000, () => this.load());
  },

  // list shows all tables, and asks for their progress one after the other.
  async list() {
    const all = await Serve.get("tables");
    const row = (t) => {
      const link = Unravel.element("a", { href: "tables?" + new URLSearchParams({ name: t.name }) }, t.name);
      return Unravel.element("tr", {}, Unravel.element("th", { scope: "row" }, link), Unravel.element("td", {}, t.title),
        Unravel.element("td", {}, t.source), Unravel.element("td", {}, t.trains ? "…" : "no runs"));
    };
    const rows = all.map(row);
    const heads = ["table", "what", "source", "runs"].map((h) => Unravel.element("th", { scope: "col" }, h));
    document.getElementById("tables").replaceChildren(Unravel.element("div", { className: "wide" }, Unravel.element("table", {},
      Unravel.element("thead", {}, Unravel.element("tr", {}, ...heads)), Unravel.element("tbody", {}, ...rows))));
    document.getElementById("summary").textContent = `${all.length} tables come with Unravel. Finished runs in this folder fill the tables of trained models; unravel table NAME computes the other tables.`;
    for (const [i, t] of all.entries()) {
      if (t.trains) rows[i].lastChild.replaceChildren(await this.progress(t));
    }
    document.getElementById("tables").dataset.ready = "true";
  },

  // progress shows how many runs a table has, at the scale with most runs.
  async progress(t) {
    let best = null;
    for (const scale of t.scales) {
      const one = await Serve.get("table", { name: t.name, scale });
      if (!best || one.finished + one.recorded > best.finished + best.recorded) best = one;
    }
    return this.bar(best, `${best.finished} of ${best.needed} (${best.scale})${this.recorded(best)}`);
  },

  recorded: (t) => (t.recorded ? `, ${t.recorded} in the ledger` : ""),

  bar(t, text) {
    return Unravel.element("span", {}, Unravel.element("progress", { max: Math.max(t.needed, 1), value: t.finished, "aria-label": "finished runs" }), " " + text);
  },

  async load() {
    try {
      const q = { name: this.name };
      if (this.scale) q.scale = this.scale;
      const t = await Serve.get("table", q);
      Serve.fail("");
      const text = JSON.stringify(t);
      if (text !== this.text) this.show(t);
      this.text = text;
    } catch (error) {
      Serve.fail(error instanceof TypeError ? "The server does not answer: it has ended, or cannot be reached." : error.message);
    }
  },

  show(t) {
    document.title = t.name;
    document.getElementById("title").textContent = t.title;
    document.getElementById("summary").textContent = `${t.source}. ${t.summary}.`;
    document.getElementById("table-part").hidden = false;
    const scale = document.getElementById("scale");
    scale.replaceChildren(...t.scales.map((s) => Unravel.element("option", { value: s }, s)));
    scale.value = t.scale;
    document.getElementById("command").textContent = t.command;
    const running = t.running ? `, ${t.running} running` : "";
    document.getElementById("filled").replaceChildren(t.trains
      ? this.bar(t, `${t.finished} of ${t.needed} runs are finished${running}${this.recorded(t)}; ${t.needed - t.finished - t.recorded} are missing`)
      : "No row of this table needs training: the command computes the whole table.");
    this.table(t);
    const shown = new Set(t.lines.flatMap((line) => line.cells).filter((c) => c.status !== "missing").flatMap((c) => this.marks(t, c)));
    document.getElementById("marks").replaceChildren(...[...shown].flatMap((n) => [Unravel.element("dt", {}, n.mark), Unravel.element("dd", {}, n.text)]));
    document.getElementById("remarks").replaceChildren(...(t.remarks || []).map((r) => Unravel.element("p", {}, r)));
  },

  table(t) {
    const cell = (name, text, more = {}) => Unravel.element(name, more, text);
    const groups = Unravel.element("tr", {}, cell("td", ""), ...t.groups.map((g) => cell("th", g.name, { colSpan: g.columns, scope: "colgroup" })));
    const heads = Unravel.element("tr", {}, cell("td", ""), ...t.heads.map((h) => cell("th", h.label, { scope: "col", title: h.doc || "" })));
    document.querySelector("#table thead").replaceChildren(...(t.groups.some((g) => g.name) ? [groups, heads] : [heads]));
    document.querySelector("#table tbody").replaceChildren(...t.lines.map((line) => Unravel.element("tr", {},
      cell("th", line.label, { scope: "row" }), ...line.cells.map((c) => this.cell(t, c)))));
  },

  // cell shows our value, the printed value, and their comparison.
  cell(t, c) {
    const there = (text) => text && text !== "-";
    const made = Unravel.element("td", { className: c.status }, Unravel.element("span", { className: "ours" }, there(c.ours) ? c.ours : "–"));
    if (c.status === "missing") made.title = this.marks(t, c).map((n) => n.text).join("; ");
    else if (c.mark) made.append(Unravel.element("sup", {}, c.mark));
    if (there(c.theirs)) made.append(Unravel.element("small", { title: "printed" }, c.theirs));
    if (there(c.third)) made.append(Unravel.element("small", { title: t.third }, c.third));
    return made;
  },

  // marks lists the footnotes of a cell.
  marks(t, c) {
    const list = (c.mark || "").split(",");
    return (t.notes || []).filter((n) => list.includes(n.mark));
  },
};

document.addEventListener("DOMContentLoaded", () => Serve.tables.start());
