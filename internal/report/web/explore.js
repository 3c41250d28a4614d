// The widget explore: a picture of a code, and controls that move the code. See web.Explore for its data.
"use strict";

(function () {
  let widgets = 0;

  // every calls a function with all controls, including controls of options.
  function every(controls, call) {
    for (const c of controls) {
      call(c);
      for (const option of c.options || []) every(option.controls || [], call);
    }
  }

  // used marks the columns that a code uses: columns that no chosen option opens are unused.
  function used(controls, code, marks = new Set()) {
    for (const c of controls) {
      c.columns.forEach((at) => marks.add(at));
      const option = c.options && c.options[Math.round(code[c.columns[0]]) - 1];
      if (option) used(option.controls || [], code, marks);
    }
    return marks;
  }

  // nearest returns the nearest known code with an option, in the columns that both codes use. It prefers codes with the same other options.
  function nearest(controls, known, code, column, number) {
    const choices = new Set(), before = used(controls, code);
    every(controls, (c) => { if (c.kind === "choice") choices.add(c.columns[0]); });
    let best = null, least = Infinity;
    for (const row of known) {
      if (Math.round(row[column]) !== number) continue;
      let distance = 0;
      for (const at of used(controls, row)) {
        if (at === column || !before.has(at)) continue;
        distance += choices.has(at) ? (row[at] === code[at] ? 0 : 1e12) : (row[at] - code[at]) ** 2;
      }
      if (distance < least) [best, least] = [row, distance];
    }
    return best;
  }

  // chosen returns a code with another option, from 0. A newly opened column takes the value of the nearest known code with this option.
  function chosen(controls, known, code, column, option) {
    const before = used(controls, code), from = nearest(controls, known, code, column, option + 1), next = code.slice();
    const choices = new Set();
    every(controls, (c) => { if (c.kind === "choice") choices.add(c.columns[0]); });
    for (let at = 0; at < next.length; at++) {
      if (before.has(at) || at === column) continue;
      next[at] = from ? from[at] : 0;
      if (choices.has(at) && next[at] < 0.5) next[at] = 1;
    }
    next[column] = option + 1;
    const after = used(controls, next);
    return next.map((v, at) => (after.has(at) ? v : 0));
  }

  // rows splits an array into its rows.
  function rows(stored) {
    const values = Unravel.array(stored), [n, width] = stored.shape;
    return Array.from({length: n}, (_, i) => Float64Array.from(values.subarray(i * width, (i + 1) * width)));
  }

  const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

  // player holds the code and draws it, at most once a frame.
  class Player {
    constructor(element, data) {
      Object.assign(this, {element, data, id: "explore" + ++widgets, buttons: new Map(), steps: new Map(), labels: [], last: [], frames: 0, waiting: 0, timer: 0});
      this.read(data);
      const numbers = Array.from(Unravel.array(data.starts.rows));
      this.images = numbers.map((number, i) => Unravel.imageName(data.starts.names, numbers, i));
      this.named = new Map();
      every(data.controls, (c) => this.named.set(c.name, c));
      this.start = 0;
      this.code = this.starts[0].slice();
      this.build();
      this.redraw = () => this.draw();
      document.addEventListener("unravel-theme", this.redraw);
      this.show(0);
    }

    // read reads the codes of data.
    read(data) {
      this.data = data;
      this.starts = rows(data.starts.codes);
      this.known = rows(data.known).concat(this.starts);
    }

    // learn replaces the decoder by a newer one with the same controls, and keeps the elements.
    learn(next) {
      const untouched = this.code.every((v, i) => v === this.starts[this.start][i]), controls = this.data.controls;
      every(next.controls, (c) => {
        const {low, high, factor, share} = c, old = this.named.get(c.name);
        Object.assign(old, {low, high, factor, share});
        (c.options || []).forEach((option, i) => { old.options[i].share = option.share; });
      });
      this.read({...next, controls});
      if (untouched) this.code = this.starts[this.start].slice();
      for (const write of this.labels) write();
      this.picture = Unravel.picture(this.canvas, this.data, this.named, () => this.draw());
      this.draw();
    }

    // build creates the elements.
    build() {
      const {data} = this, make = Unravel.element;
      this.canvas = make("canvas", {className: "explore-picture", role: "img", "aria-label": "decoded image"});
      this.picture = Unravel.picture(this.canvas, data, this.named, () => this.draw());
      this.original = make("canvas", {className: "explore-original", role: "img", "aria-label": "image that the code comes from"});
      this.caption = make("figcaption", {});
      const reset = make("button", {type: "button", className: "reset"}, "Reset");
      reset.addEventListener("click", () => this.show(this.start));
      this.thumbnails = data.sheets ? [] : this.images.map((image, i) => this.thumbnail(image, i));
      const strip = make("div", {className: "explore-starts", role: "group", "aria-label": "Start from an image"}, ...this.thumbnails);
      this.controls = data.controls.map((c) => Unravel.exploreControl(this, c));
      const picture = make("figure", {}, this.canvas, make("figcaption", {}, "decoded"));
      const view = make("div", {className: "explore-view"}, make("div", {className: "explore-pictures"}, picture, make("figure", {}, this.original, this.caption)), reset);
      const list = make("div", {className: "explore-controls", role: "group", "aria-label": "Controls of the code"}, ...this.controls.map((c) => c.element));
      const note = data.note ? [make("p", {className: "note"}, `At most two controls move at a time, in steps: the pictures are made beforehand, as ${data.note}.`)] : [];
      this.element.replaceChildren(...note, make("div", {className: "explore"}, view, make("div", {className: "explore-side"}, strip, list)));
      this.sheet = new Image();
      this.sheet.addEventListener("load", () => this.stamps());
      this.sheet.src = data.pictures.src;
    }

    // thumbnail returns the button of a start image.
    thumbnail(image, i) {
      const canvas = document.createElement("canvas");
      const button = Unravel.element("button", {type: "button", "aria-label": "Start from " + image, title: image}, canvas);
      button.addEventListener("click", () => this.show(i));
      button.canvas = canvas;
      return button;
    }

    // stamps draws the start images from their contact sheet.
    stamps() {
      this.thumbnails.forEach((button, i) => this.stamp(button.canvas, i));
      this.stamp(this.original, this.start);
    }

    stamp(canvas, i) {
      const {width, height, across} = this.data.pictures;
      canvas.width = width;
      canvas.height = height;
      if (this.sheet.complete) canvas.getContext("2d").drawImage(this.sheet, i % across * width, Math.floor(i / across) * height, width, height, 0, 0, width, height);
    }

    // show starts from the encoder's code of a start image.
    show(i) {
      this.start = i;
      this.code = this.starts[i].slice();
      this.last = [];
      this.stamp(this.original, i);
      this.caption.textContent = this.images[i];
      this.thumbnails.forEach((button, k) => button.setAttribute("aria-pressed", String(k === i)));
      this.draw();
    }

    // ballNames has the number of each sphere by its first column.
    ballNames(starts) {
      const spheres = [...this.named.values()].filter((c) => c.kind === "sphere");
      return starts.map((at) => spheres.find((c) => c.columns[0] === at).name.replace(/\D/g, ""));
    }

    // choose sets the option of a choice, from 0.
    choose(column, option) {
      this.code = chosen(this.data.controls, this.known, this.code, column, option);
    }

    // moved draws the code after a control has changed it. Stored sheets show two controls at a time; the other controls return to the start.
    moved(control) {
      const pair = [control.name, ...this.last.filter((name) => name !== control.name)].slice(0, 2);
      const next = this.picture.has(pair) ? pair : [control.name];
      if (this.data.sheets && next.join() !== this.last.join()) {
        const now = this.code;
        this.code = this.starts[this.start].slice();
        for (const c of next.map((name) => this.named.get(name)).sort((a, b) => a.columns[0] - b.columns[0])) {
          if (c.kind === "choice") this.choose(c.columns[0], Math.round(now[c.columns[0]]) - 1);
          else c.columns.forEach((at) => { this.code[at] = now[at]; });
        }
      }
      this.last = next;
      this.draw();
    }

    // draw draws the code in the next frame.
    draw() {
      this.waiting ||= requestAnimationFrame(() => {
        this.waiting = 0;
        const begun = performance.now();
        this.picture.draw(this.code, this.last);
        for (const c of this.controls) c.refresh();
        this.frames++;
        this.element.dispatchEvent(new CustomEvent("unravel-frame", {bubbles: true, detail: {code: Array.from(this.code), milliseconds: performance.now() - begun}}));
      });
    }

    // play starts or stops the animation of a control. With reduced motion it moves in steps.
    play(control) {
      const on = this.playing !== control.name;
      this.stop();
      if (!on) return;
      this.playing = control.name;
      this.buttons.get(control.name).setAttribute("aria-pressed", "true");
      const step = this.steps.get(control.name), begun = performance.now(), from = this.code.slice(), pause = still() ? 900 : 0;
      let before = 0;
      const tick = (now) => {
        const turns = pause ? before + 1 / 12 : Math.max(now - begun, 0) / 6000;
        step(turns, before, from);
        before = turns;
        this.next(tick, pause);
      };
      this.next(tick, pause);
    }

    next(tick, pause) {
      this.timer = pause ? setTimeout(tick, pause) : requestAnimationFrame(tick);
      this.cancel = pause ? clearTimeout : cancelAnimationFrame;
    }

    stop() {
      if (!this.playing) return;
      this.cancel.call(window, this.timer);
      this.buttons.get(this.playing).setAttribute("aria-pressed", "false");
      this.playing = undefined;
    }

    // destroy stops animations and listeners.
    destroy() {
      this.stop();
      cancelAnimationFrame(this.waiting);
      document.removeEventListener("unravel-theme", this.redraw);
      this.element.replaceChildren();
    }
  }

  // shape returns a text that is equal for data with the same controls and start images.
  const learned = ["low", "high", "share", "factor"];
  const shape = (data) => JSON.stringify([data.columns, !data.sheets, data.image, data.starts.rows, data.controls], (key, v) => (learned.includes(key) ? undefined : v));

  // Unravel.explore(element, data) shows the widget. It returns {update, destroy, code, frames}. update(data) sets a newer decoder, and keeps
  // controls and code if they still fit. The element receives "unravel-frame" after every picture.
  Unravel.explore = function (element, data) {
    let player = new Player(element, data);
    return {
      update(next) {
        if (!next.sheets && shape(player.data) === shape(next)) {
          player.learn(next);
          return;
        }
        player.destroy();
        player = new Player(element, next);
      },
      set(code) {
        player.code = Float64Array.from(code);
        player.draw();
      },
      destroy: () => player.destroy(),
      get code() { return Array.from(player.code); },
      get frames() { return player.frames; },
    };
  };
})();
