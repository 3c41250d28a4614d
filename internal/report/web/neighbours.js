"use strict";

// neighbours shows the images with the nearest codes to a chosen image, and marks levels that differ.
Unravel.neighbours = function (element, data) {
  let stop = () => {};

  function update(next) {
    stop();
    element.replaceChildren();
    if (next) stop = Unravel.neighboursOf(element, Unravel.points(next));
  }

  update(data);
  return {
    update,
    destroy() {
      update(null);
      stop = () => {};
    },
  };
};

// distances lists the distances between the codes of rows i and j.
Unravel.distances = {
  Euclidean(points, i, j) {
    const { codes, width } = points;
    let sum = 0;
    for (let c = 0; c < width; c++) sum += (codes[i * width + c] - codes[j * width + c]) ** 2;
    return Math.sqrt(sum);
  },
  "angle (cosine)"(points, i, j) {
    const { codes, width } = points;
    let [product, a, b] = [0, 0, 0];
    for (let c = 0; c < width; c++) {
      const [x, y] = [codes[i * width + c], codes[j * width + c]];
      product += x * y;
      a += x * x;
      b += y * y;
    }
    return 1 - product / Math.sqrt(a * b);
  },
};

// neighboursOf fills the element. It returns a function that destroys the widget.
Unravel.neighboursOf = function (element, points) {
  const pool = points.pictures ? points.pictures.count : points.count;
  const offered = Math.min(pool, 24);
  const names = Object.keys(Unravel.distances);
  const wide = 16; // columns from which on angles say more than lengths
  const begin = points.width > wide ? 1 : 0;
  const state = { chosen: 0, first: 0, distance: names[begin] };
  const picker = Unravel.element("div", { className: "pictures", role: "group", "aria-label": "Images to choose from" });
  const others = Unravel.element("button", { type: "button", disabled: pool <= offered }, "Other images");
  const found = Unravel.element("ol", { className: "found" });
  const title = Unravel.element("h3", { "aria-live": "polite" });

  function offer() {
    picker.replaceChildren();
    for (let k = 0; k < offered; k++) {
      const i = (state.first + k) % pool;
      const button = Unravel.element("button", { type: "button", className: "plain", "aria-pressed": i === state.chosen }, Unravel.face(points, i, 48));
      button.addEventListener("click", () => choose(i));
      picker.append(button);
    }
  }

  function choose(i) {
    state.chosen = i;
    title.textContent = "Nearest to " + Unravel.describe(points, i).join(", ");
    for (let k = 0; k < offered; k++) picker.children[k].setAttribute("aria-pressed", (state.first + k) % pool === i);
    found.replaceChildren(Unravel.neighbour(points, i, i, NaN));
    for (const { j, d } of Unravel.nearestRows(points, i, pool, Unravel.distances[state.distance])) found.append(Unravel.neighbour(points, i, j, d));
  }

  others.addEventListener("click", () => {
    state.first = (state.first + offered) % pool;
    offer();
  });
  const select = Unravel.choose("distance", names, begin, (k) => {
    state.distance = names[k];
    choose(state.chosen);
  });
  const hear = (event) => choose(event.detail);
  document.addEventListener("unravel-picture", hear);
  const about = `Among ${pool} images. Marked levels differ from the chosen image.`;
  element.append(Unravel.element("div", { className: "controls" }, select, others), picker, title, Unravel.element("p", { className: "part" }, about), found);
  offer();
  choose(0);
  return () => document.removeEventListener("unravel-picture", hear);
};

// face returns the picture of a point, or the image's name if there is no picture.
Unravel.face = function (points, i, width) {
  const name = Unravel.imageName(points.names, points.rows, i);
  if (points.pictures && i < points.pictures.count) return points.pictures.element(i, width, name);
  return Unravel.element("span", { className: "faceless" }, name);
};

// nearestRows lists the nearest rows {j, d} to row i among the first n rows, nearest first.
Unravel.nearestRows = function (points, i, pool, distance) {
  const most = 12;
  const list = [];
  for (let j = 0; j < pool; j++) {
    const d = j === i ? NaN : distance(points, i, j);
    if (Number.isFinite(d)) list.push({ j, d });
  }
  return list.sort((a, b) => a.d - b.d).slice(0, most);
};

// neighbour returns the entry of row j in the list of row i: picture, distance and levels.
Unravel.neighbour = function (points, i, j, d) {
  const most = 8;
  const item = Unravel.element("li", { className: i === j ? "chosen" : "" }, Unravel.face(points, j, 80));
  item.append(Unravel.element("div", { className: "part" }, i === j ? "chosen" : "distance " + Unravel.format(d, 3)));
  for (const f of points.factors.slice(0, most)) {
    const [a, b] = [f.values[i], f.values[j]];
    const differs = a !== b && !(Number.isNaN(a) && Number.isNaN(b));
    item.append(Unravel.element("div", { className: differs ? "part differs" : "part" }, `${Unravel.isolate(f.name)} ${Unravel.level(f, b)}`));
  }
  return item;
};
