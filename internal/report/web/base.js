"use strict";

// Unravel is the only global of pages. It has shared functions and the widgets: functions (element, data) that return {update, destroy}.
const Unravel = {};

// element makes an element with properties and children, which are elements or texts. Texts are never parsed as HTML.
// A property that elements lack in JavaScript, such as aria-label, becomes an attribute.
Unravel.element = function (tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
};

// types has the typed array for each element type. JavaScript has none for f16; half converts it.
Unravel.types = { f32: Float32Array, i32: Int32Array };

// half returns the number with the given half-precision bits.
Unravel.half = function (bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
};

// array reads an array from JSON, {shape, type, data}, into a typed array with the property shape.
// It returns typed arrays unchanged.
Unravel.array = function (stored) {
  if (Array.isArray(stored) || ArrayBuffer.isView(stored)) return stored;
  const text = atob(stored.data || "");
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  let values;
  if (stored.type === "f16") {
    values = Float32Array.from(new Uint16Array(bytes.buffer), Unravel.half);
  } else {
    values = new Unravel.types[stored.type](bytes.buffer);
  }
  values.shape = stored.shape;
  return values;
};

// number reads a number from JSON. It can also be null, "NaN", "Inf" or "-Inf".
Unravel.number = function (stored) {
  if (typeof stored === "number") return stored;
  return { Inf: Infinity, "-Inf": -Infinity }[stored] ?? NaN;
};

// format writes a number with a few significant digits, like the tables of pages.
Unravel.format = function (v, digits = 4) {
  if (Number.isNaN(v)) return "unknown";
  if (!Number.isFinite(v)) return v > 0 ? "∞" : "−∞";
  const size = Math.abs(v);
  let text = v !== 0 && (size >= 1e6 || size < 1e-4) ? v.toExponential(digits - 1) : v.toPrecision(digits);
  if (text.includes("e")) text = text.replace(/\.?0+e/, "e");
  else if (text.includes(".")) text = text.replace(/\.?0+$/, "");
  return text.replace(/-/g, "−");
};

// formatTicks formats ticks with as many digits as make their texts distinct.
Unravel.formatTicks = function (ticks) {
  for (let digits = 4; ; digits++) {
    const texts = ticks.map((v) => Unravel.format(v, digits));
    if (digits === 15 || new Set(texts).size === ticks.length) return texts;
  }
};

// data reads the JSON of a page's element script of type application/json and id data-NAME; undefined if there is none.
Unravel.data = function (name) {
  const element = document.getElementById("data-" + name);
  return element ? JSON.parse(element.textContent) : undefined;
};

// isolate keeps the writing direction of a name separate from the surrounding text.
Unravel.isolate = (text) => `\u2068${text}\u2069`;

// imageName names the image of row i: its file, or its number in the data set.
Unravel.imageName = (names, rows, i) => (names ? Unravel.isolate(names[i]) : "image " + rows[i]);

// css returns a custom property of the style sheet, such as --ink, in the current theme.
Unravel.css = function (name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
};

// theme reads and changes the theme. Canvases redraw on the document's event "unravel-theme".
Unravel.theme = {
  media: matchMedia("(prefers-color-scheme: dark)"),

  // dark reports whether the page is dark.
  get dark() {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : this.media.matches;
  },

  // choose sets the theme "light" or "dark" and stores it.
  choose(name) {
    document.documentElement.dataset.theme = name;
    try {
      localStorage.setItem("unravel-theme", name);
    } catch {
      // a page without storage forgets the choice
    }
    this.changed();
  },

  // restore sets the stored theme.
  restore() {
    try {
      const name = localStorage.getItem("unravel-theme");
      if (name === "light" || name === "dark") document.documentElement.dataset.theme = name;
    } catch {
      // as above
    }
  },

  changed() {
    Unravel.palettes = {};
    document.dispatchEvent(new CustomEvent("unravel-theme"));
  },

  // button returns a button that changes the theme.
  button() {
    const control = Unravel.element("button", { type: "button", className: "theme" });
    const name = () => {
      control.textContent = this.dark ? "Light" : "Dark";
      control.setAttribute("aria-label", control.textContent + " colours");
    };
    control.addEventListener("click", () => this.choose(this.dark ? "light" : "dark"));
    document.addEventListener("unravel-theme", name);
    name();
    return control;
  },
};
Unravel.theme.media.addEventListener("change", () => Unravel.theme.changed());

// Pages print in light colours, because paper is white.
addEventListener("beforeprint", () => {
  Unravel.theme.before = document.documentElement.dataset.theme;
  document.documentElement.dataset.theme = "light";
  Unravel.theme.changed();
});
addEventListener("afterprint", () => {
  if (Unravel.theme.before) document.documentElement.dataset.theme = Unravel.theme.before;
  else delete document.documentElement.dataset.theme;
  Unravel.theme.changed();
});

// palettes holds the theme's colours as [r, g, b]. The first use reads them from the style sheet.
Unravel.palettes = {};

// palette returns the colours of a list of the style sheet: category, sequential, diverging or cyclic.
Unravel.palette = function (name) {
  Unravel.palettes[name] ||= Unravel.css("--" + name).split(/\s+/).map((hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16)));
  return Unravel.palettes[name];
};

// category returns colour i of the categorical palette, as CSS.
Unravel.category = function (i) {
  const colours = Unravel.palette("category");
  return Unravel.rgb(colours[i % colours.length]);
};

// rgb writes a colour [r, g, b] as CSS.
Unravel.rgb = (c) => `rgb(${c.map(Math.round).join(" ")})`;

// mix interpolates a colour map at t from 0 to 1.
Unravel.mix = function (name, t) {
  const colours = Unravel.palette(name);
  const at = Math.min(Math.max(t, 0), 1) * (colours.length - 1);
  const i = Math.min(Math.floor(at), colours.length - 2);
  return colours[i].map((v, channel) => v + (colours[i + 1][channel] - v) * (at - i));
};

// rem returns n times the page's font size, in CSS pixels.
Unravel.rem = (times) => times * parseFloat(getComputedStyle(document.documentElement).fontSize);

// font returns the font for texts on canvases.
Unravel.font = () => `${Unravel.rem(0.75)}px ${getComputedStyle(document.body).fontFamily}`;

// resized calls a function after each change of an element's width. It returns a function that stops this.
Unravel.resized = function (element, call) {
  let width = element.clientWidth;
  const observer = new ResizeObserver(() => {
    if (element.clientWidth === width) return;
    width = element.clientWidth;
    requestAnimationFrame(call);
  });
  observer.observe(element);
  return () => observer.disconnect();
};

// seen calls a function once, when an element comes near the visible part of the page, or when the page prints. It returns a function
// that stops this.
Unravel.seen = function (element, call) {
  const observer = new IntersectionObserver((entries) => entries.some((e) => e.isIntersecting) && now(), { rootMargin: "400px" });
  function end() {
    observer.disconnect();
    window.removeEventListener("beforeprint", now);
  }
  function now() {
    end();
    call();
  }
  observer.observe(element);
  window.addEventListener("beforeprint", now);
  return end;
};

// canvas sets the size of a canvas in CSS pixels, at the screen's resolution. It returns the context, which draws in CSS pixels.
Unravel.canvas = function (canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width + "px";
  canvas.style.height = height + "px";
  const context = canvas.getContext("2d");
  context.scale(ratio, ratio);
  return context;
};

// begin starts the widget of an element, <div data-widget="NAME" data-from="DATA">. The default of data-from is NAME.
Unravel.begin = function (element) {
  const name = element.dataset.widget;
  const data = Unravel.data(element.dataset.from || name);
  if (data === undefined || !Unravel[name]) return;
  try {
    element.widget = Unravel[name](element, data);
  } catch (failure) {
    element.append(Unravel.element("p", { className: "failure" }, "This part could not be drawn: " + failure.message));
    console.error(failure);
  }
};

// copier returns a button that copies the text of an element.
Unravel.copier = function (name) {
  const button = Unravel.element("button", { type: "button", "aria-label": "Copy the " + name }, "Copy");
  button.addEventListener("click", async () => {
    const text = document.getElementById(name).textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(document.getElementById(name)); // where copying is forbidden: ready to be copied by hand
      button.textContent = "Selected";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  return button;
};

// start starts all widgets of the page.
Unravel.start = function () {
  document.documentElement.classList.add("live");
  for (const place of document.querySelectorAll("[data-theme-button]")) place.append(Unravel.theme.button());
  for (const place of document.querySelectorAll("[data-copy]")) place.append(Unravel.copier(place.dataset.copy));
  for (const element of document.querySelectorAll("[data-widget]")) Unravel.begin(element);
};

Unravel.theme.restore();
document.addEventListener("DOMContentLoaded", Unravel.start);
