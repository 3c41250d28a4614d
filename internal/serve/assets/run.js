"use strict";

// The page of a run: its state, curves that grow during training, and pictures of its newest checkpoint.
Serve.run = {
  dir: "",
  drawn: null, // the data of the curves
  figureNames: "",
  at: 0, // bytes of the log that are in them

  async start() {
    this.dir = document.body.dataset.run;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.leave() : this.enter()));
    await this.enter();
  },

  // enter reads everything and follows the run.
  async enter() {
    try {
      await this.describe();
      await this.curves();
      Serve.fail("");
      this.follow();
    } catch (error) {
      Serve.fail(error instanceof TypeError ? "The server does not answer: it has ended, or cannot be reached." : error.message);
      clearTimeout(this.again);
      if (!document.hidden) this.again = setTimeout(() => this.enter(), 3000);
    }
  },

  leave() {
    if (this.events) this.events.close();
    this.events = null;
    clearTimeout(this.again);
  },

  // describe describes the run in words.
  async describe() {
    const run = await Serve.get("run", { dir: this.dir });
    document.getElementById("parts").hidden = false;
    this.state(run);
    this.facts(run);
    this.results(run.results || {});
    document.getElementById("config").textContent = run.config;
    document.getElementById("report-part").hidden = !run.report;
    document.getElementById("report-link").href = "report?dir=" + encodeURIComponent(this.dir);
    this.figures(run.figures);
    if (run.preview) this.preview(run.preview);
  },

  state(run) {
    const lines = [Unravel.element("p", {}, Serve.state(run.state), " ", Serve.progress(run))];
    if (run.problem) lines.push(Unravel.element("p", { className: "failure" }, run.problem));
    let text = "";
    if (run.left) text = `about ${Serve.duration(run.left)} of training left`;
    else if (run.state === "running") text = run.epoch && run.epoch >= run.epochs ? "measuring and drawing" : "the first epoch is under way";
    else if (run.state === "stopped") text = "interrupted; unravel train --resume continues it";
    if (text) lines.push(Unravel.element("p", { className: "part" }, text));
    document.getElementById("status").replaceChildren(...lines);
    if (this.was && this.was !== run.state) this.describe();
    this.was = run.state;
  },

  facts(run) {
    const machine = run.machine;
    const list = [["model", run.model], ["data set", run.dataset], ["seed", run.settings?.seed], ["duration", run.seconds ? Serve.duration(run.seconds) : ""],
      ["ended", Serve.moment(run.ended)], ["version", run.version], ["machine", machine && `${machine.os}/${machine.arch}, ${machine.threads} ${machine.threads === 1 ? "thread" : "threads"}, ${machine.kernels}`]];
    document.getElementById("facts").replaceChildren(...list.filter(([, value]) => value).map(([name, value]) =>
      Unravel.element("div", {}, Unravel.element("dt", {}, name), Unravel.element("dd", {}, value))));
  },

  results(results) {
    const names = Object.keys(results).sort();
    document.getElementById("results-part").hidden = !names.length;
    document.querySelector("#results tbody").replaceChildren(...names.map((name) => Unravel.element("tr", {},
      Unravel.element("th", { scope: "row" }, name), Unravel.element("td", { className: "value" }, Unravel.format(results[name])))));
  },

  figures(list) {
    document.getElementById("figures-part").hidden = !list.length;
    const key = list.map((f) => f.name).join("/");
    if (key === this.figureNames) return;
    this.figureNames = key;
    document.getElementById("figures").replaceChildren(...list.map(({ name, caption }) => Unravel.element("figure", {},
      Unravel.element("img", { src: "figure?" + new URLSearchParams({ dir: this.dir, name }), alt: caption, loading: "lazy" }),
      Unravel.element("figcaption", {}, caption))));
  },

  // curves reads and draws all curves.
  async curves() {
    const answer = await Serve.get("curves", { dir: this.dir });
    this.at = answer.at;
    this.drawn = { panels: [] };
    this.grow(answer.curves);
  },

  // grow adds points to the curves.
  grow(more) {
    for (const panel of more.panels) {
      let old = this.drawn.panels.find((p) => p.title === panel.title);
      if (!old) this.drawn.panels.push((old = { ...panel, series: [] }));
      for (const s of panel.series) {
        let there = old.series.find((o) => o.name === s.name);
        if (!there) old.series.push((there = { name: s.name, x: [], y: [] }));
        for (const x of Unravel.array(s.x)) there.x.push(x);
        for (const y of Unravel.array(s.y)) there.y.push(y);
      }
    }
    this.draw();
  },

  draw() {
    const place = document.getElementById("curves");
    if (!this.drawn.panels.length) {
      if (!this.widget) place.replaceChildren(Unravel.element("p", {}, this.was === "finished" ? "The run has no curves." : "There is no finished epoch yet."));
      return;
    }
    if (this.widget) {
      this.widget.update(this.drawn);
      return;
    }
    place.replaceChildren();
    this.widget = Unravel.curves(place, this.drawn);
  },

  // follow listens to events of the run.
  follow() {
    if (this.events) this.events.close();
    if (document.hidden) return;
    const events = new EventSource("api/events?" + new URLSearchParams({ dir: this.dir, from: this.at }));
    this.events = events;
    events.addEventListener("curves", (event) => {
      this.at = Number(event.lastEventId);
      this.grow(JSON.parse(event.data));
    });
    events.addEventListener("state", (event) => this.state(JSON.parse(event.data)));
    events.addEventListener("checkpoint", (event) => this.preview(JSON.parse(event.data)));
    for (const name of ["reset", "gone"]) {
      events.addEventListener(name, () => {
        events.close();
        this.enter();
      });
    }
    events.addEventListener("open", () => Serve.fail(""));
    events.addEventListener("error", () => {
      if (document.hidden) return;
      Serve.fail("The connection to the server is lost; trying again …");
      if (events.readyState === EventSource.CLOSED) this.again = setTimeout(() => this.enter(), 3000);
    });
  },

  // preview shows the pictures of a checkpoint.
  async preview(version) {
    if (!version || version === this.shown) return;
    this.shown = version;
    const note = document.getElementById("preview-note");
    document.getElementById("preview-part").hidden = false;
    note.textContent = "Opening the checkpoint …";
    try {
      const answer = await Serve.get("preview", { dir: this.dir });
      if (!answer) {
        this.shown = "";
        setTimeout(() => this.preview(version), 1000);
        return;
      }
      if (answer.problem) throw new Error(answer.problem);
      const at = answer.epoch === undefined ? "" : `After epoch ${answer.epoch}, step ${answer.step}. `;
      note.textContent = at + (answer.warning || "") + (answer.explore || answer.pictures.length ? "" : "The model has no decoder.");
      this.explore(answer.explore);
      document.getElementById("preview").replaceChildren(...answer.pictures.filter((p) => !this.figureNames.split("/").includes(p.name + ".png")).map((p) => Unravel.element("figure", {},
        Unravel.element("img", { src: p.src, alt: p.caption }), Unravel.element("figcaption", {}, p.caption))));
    } catch (error) {
      note.textContent = "It cannot be shown: " + error.message;
    }
  },

  // explore shows the decoder of the checkpoint with controls. The controls stay when a newer checkpoint arrives.
  explore(data) {
    if (!data) return;
    if (this.player) this.player.update(data);
    else this.player = Unravel.explore(document.getElementById("explore"), data);
  },
};

document.addEventListener("DOMContentLoaded", () => Serve.run.start());
