// Controls of explore.js by kind. Each is a function (state, control) that returns {element, refresh, step}. refresh shows the code of
// the state. step(turns, before) moves the control during its animation, which takes six seconds for a turn there and back.
"use strict";

(function () {
  // Unravel.exploreName returns the name of a control in words.
  Unravel.exploreName = function (control) {
    const [, word, number] = /^([a-z]+)(\d*)$/.exec(control.name) || [null, control.name, ""];
    const names = {z: "z" + number, a: "choice a" + number, circle: "circle " + number, sphere: "sphere " + number, spheres: "all spheres"};
    return names[word] || control.name;
  };

  // label returns the name of a control with the factor that the control follows.
  function label(element, control, name) {
    element.replaceChildren(name);
    if (!control.factor) return;
    const share = Math.round(100 * Unravel.number(control.share));
    const title = `it has ${share} % of the information about ${control.factor}: mutual information over entropy`;
    element.append(Unravel.element("small", {title}, `${control.factor}, ${share}\u00a0%`));
  }

  // Unravel.exploreRow returns a control with its name, its value and a button for its animation.
  Unravel.exploreRow = function (state, control, body, value) {
    const name = Unravel.exploreName(control);
    const play = Unravel.element("button", {type: "button", className: "play", "aria-label": "Play " + name, "aria-pressed": "false", title: "play"}, "▶");
    play.addEventListener("click", () => state.play(control));
    state.buttons.set(control.name, play);
    const words = Unravel.element("span", {className: "name"});
    state.labels.push(() => label(words, control, name));
    label(words, control, name);
    const row = Unravel.element("div", {className: "explore-row " + control.kind}, words, body, value, play);
    row.dataset.control = control.name;
    return row;
  };

  // there moves from 0 to 1 and back, like a pendulum.
  const there = (turns) => (1 - Math.cos(2 * Math.PI * turns)) / 2;

  // slider moves the value of get and set within a range, which may change.
  function slider(state, control, label, range, get, set) {
    const input = Unravel.element("input", {type: "range", "aria-label": label});
    const value = Unravel.element("output", {});
    input.addEventListener("input", () => {
      set(Number(input.value));
      state.moved(control);
    });
    return {
      input, value,
      refresh() {
        const v = get(), [low, high] = range();
        Object.assign(input, {min: low, max: high, step: (high - low) / 200});
        input.value = v;
        value.textContent = Unravel.format(Math.abs(v) < (high - low) / 1e6 ? 0 : v, 3);
        input.setAttribute("aria-valuetext", value.textContent);
      },
    };
  }

  function line(state, control) {
    const [at] = control.columns, range = () => [Unravel.number(control.low ?? 0), Unravel.number(control.high ?? 0)];
    const s = slider(state, control, Unravel.exploreName(control), range, () => state.code[at], (v) => { state.code[at] = v; });
    return {
      element: Unravel.exploreRow(state, control, s.input, s.value),
      refresh: s.refresh,
      step(turns, before, start) { // from where it is
        const [low, high] = range(), phase = Math.acos(1 - 2 * Math.min(Math.max((start[at] - low) / (high - low), 0), 1)) / (2 * Math.PI);
        state.code[at] = low + (high - low) * there(turns + phase);
        state.moved(control);
      },
    };
  }

  const degree = Math.PI / 180, namespace = "http://www.w3.org/2000/svg";

  // svg returns an SVG element.
  function svg(tag, attributes, ...children) {
    const made = document.createElementNS(namespace, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  // face draws a dial with a turning hand.
  function face() {
    const ticks = [];
    for (let a = 0; a < 360; a += 30) {
      const long = a % 90 === 0 ? 36 : 38;
      ticks.push(svg("line", {class: "tick", x1: long * Math.cos(a * degree), y1: long * Math.sin(a * degree), x2: 42 * Math.cos(a * degree), y2: 42 * Math.sin(a * degree)}));
    }
    const hand = svg("g", {class: "hand"}, svg("line", {x1: 0, y1: 0, x2: 33, y2: 0}), svg("circle", {cx: 33, cy: 0, r: 7}));
    return {hand, drawing: svg("svg", {viewBox: "-46 -46 92 92", "aria-hidden": "true"}, svg("circle", {class: "face", r: 42}), ...ticks, hand)};
  }

  function dial(state, control) {
    const [x, y] = control.columns, {hand, drawing} = face(), value = Unravel.element("output", {});
    const knob = Unravel.element("div", {
      className: "dial", tabIndex: 0, role: "slider", "aria-label": Unravel.exploreName(control), "aria-valuemin": 0, "aria-valuemax": 360,
      title: "drag to turn; arrow keys turn by 5 degrees",
    }, drawing);
    const angle = () => (Math.atan2(state.code[y], state.code[x]) / degree + 360) % 360;
    const set = (degrees) => {
      state.code[x] = Math.cos(degrees * degree);
      state.code[y] = Math.sin(degrees * degree);
      state.moved(control);
    };
    const follow = (e) => {
      const box = knob.getBoundingClientRect();
      set(Math.atan2(box.y + box.height / 2 - e.clientY, e.clientX - box.x - box.width / 2) / degree);
    };
    knob.addEventListener("pointerdown", (e) => {
      knob.setPointerCapture(e.pointerId);
      follow(e);
    });
    knob.addEventListener("pointermove", (e) => { if (knob.hasPointerCapture(e.pointerId)) follow(e); });
    const keys = {ArrowRight: 5, ArrowUp: 5, ArrowLeft: -5, ArrowDown: -5, PageUp: 45, PageDown: -45};
    knob.addEventListener("keydown", (e) => {
      if (keys[e.key]) set(Math.round(angle()) + keys[e.key]);
      else if (e.key === "Home") set(0);
      else if (e.key === "End") set(355);
      else return;
      e.preventDefault();
    });
    return {
      element: Unravel.exploreRow(state, control, knob, value),
      step: (turns, before) => set(angle() + 360 * (turns - before)),
      refresh() {
        const a = Math.round(angle()) % 360;
        hand.setAttribute("transform", `rotate(${-angle()})`);
        value.textContent = a + "°";
        knob.setAttribute("aria-valuenow", a);
        knob.setAttribute("aria-valuetext", a + " degrees");
      },
    };
  }

  // A sphere of more than three dimensions has a slider for each coordinate. A slider scales the other coordinates.
  function coordinates(state, control) {
    const {columns} = control, sliders = columns.map((at, axis) => slider(state, control, `${Unravel.exploreName(control)}, axis ${axis}`, () => [-1, 1], () => state.code[at], (v) => {
      const others = columns.filter((c) => c !== at), length = Math.hypot(...others.map((c) => state.code[c])), left = Math.sqrt(1 - v * v);
      others.forEach((c, i) => { state.code[c] = length > 1e-9 ? state.code[c] * left / length : i === 0 ? left : 0; });
      state.code[at] = v;
    }));
    const body = Unravel.element("div", {className: "coordinates"}, ...sliders.map((s) => Unravel.element("div", {}, s.input, s.value)));
    return {
      element: Unravel.exploreRow(state, control, body, Unravel.element("output", {})),
      refresh: () => sliders.forEach((s) => s.refresh()),
      step(turns, before) { // around the first two axes
        const [a, b] = columns, angle = 2 * Math.PI * (turns - before), [u, v] = [state.code[a], state.code[b]];
        state.code[a] = u * Math.cos(angle) - v * Math.sin(angle);
        state.code[b] = u * Math.sin(angle) + v * Math.cos(angle);
        state.moved(control);
      },
    };
  }

  // choice has a radio button for each option. Below the chosen option are the controls that it opens.
  function choice(state, control) {
    const [at] = control.columns, name = Unravel.exploreName(control), group = `${state.id}-${control.name}`;
    const options = control.options.map((option, i) => {
      const input = Unravel.element("input", {type: "radio", name: group, value: String(i + 1)});
      const share = Unravel.element("span", {className: "share"});
      const write = () => { share.textContent = `${Math.round(100 * Unravel.number(control.options[i].share))} %`; };
      state.labels.push(write);
      write();
      input.addEventListener("change", () => {
        state.choose(at, i);
        state.moved(control);
      });
      const nested = (option.controls || []).map((c) => Unravel.exploreControl(state, c));
      const inside = Unravel.element("div", {className: "nested", role: "group", "aria-label": `${name}, option ${i + 1}`}, ...nested.map((c) => c.element));
      return {input, nested, inside, label: Unravel.element("label", {className: "check"}, input, String(i + 1), share)};
    });
    const radios = Unravel.element("div", {className: "radios", role: "radiogroup", "aria-label": name}, ...options.map((o) => o.label));
    radios.addEventListener("keydown", (e) => {
      const to = {Home: options[0], End: options[options.length - 1]}[e.key];
      if (!to) return;
      to.input.focus();
      to.input.click();
      e.preventDefault();
    });
    const row = Unravel.exploreRow(state, control, radios, Unravel.element("output", {}));
    return {
      element: Unravel.element("div", {className: "explore-choice"}, row, ...options.map((o) => o.inside)),
      step(turns, before) { // five options in a turn
        if (Math.floor(5 * turns) === Math.floor(5 * before)) return;
        state.choose(at, (Math.round(state.code[at]) || 0) % options.length);
        state.moved(control);
      },
      refresh() {
        options.forEach((o, i) => {
          const open = Math.round(state.code[at]) === i + 1;
          o.input.checked = open;
          o.inside.hidden = !open || o.nested.length === 0;
          if (open) o.nested.forEach((c) => c.refresh());
        });
      },
    };
  }

  // Unravel.exploreControl returns a control of any kind.
  Unravel.exploreControl = function (state, control) {
    const kinds = {line, circle: dial, choice, turn: Unravel.exploreBall, sphere: control.columns.length === 3 ? Unravel.exploreBall : coordinates};
    const made = kinds[control.kind](state, control);
    state.steps.set(control.name, made.step);
    return made;
  };
})();
