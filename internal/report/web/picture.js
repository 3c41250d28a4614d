// The picture of explore.js: the image of a code, from a decoder or from stored sheets of images.
"use strict";

(function () {
  // byte returns the brightness of a number: black at low, white at high.
  const byte = (v, low, high) => Math.round(255 * Math.min(Math.max((v - low) / (high - low), 0), 1));

  // pixels draws images of one to three channels. It draws more channels as grey images in a row.
  function pixels(canvas, image) {
    const {height, width, channels} = image, [low, high] = [Unravel.number(image.low), Unravel.number(image.high)];
    const tiled = channels > 3, across = tiled ? Math.min(channels, Math.ceil(Math.sqrt(channels * height / width))) : 1;
    const down = tiled ? Math.ceil(channels / across) : 1;
    canvas.width = across * (width + 1) - 1;
    canvas.height = down * (height + 1) - 1;
    const context = canvas.getContext("2d"), picture = context.createImageData(canvas.width, canvas.height), to = picture.data;
    to.fill(255);
    const draw = tiled ? (values) => {
      for (let k = 0; k < channels; k++) {
        const top = Math.floor(k / across) * (height + 1), left = k % across * (width + 1);
        for (let p = 0; p < height * width; p++) {
          const at = 4 * ((top + Math.floor(p / width)) * canvas.width + left + p % width);
          to[at] = to[at + 1] = to[at + 2] = byte(values[p * channels + k], low, high);
        }
      }
    } : (values) => {
      const second = channels === 1 ? 0 : 1, third = channels === 1 ? 0 : 2;
      for (let p = 0, from = 0, at = 0; p < height * width; p++, from += channels, at += 4) {
        to[at] = byte(values[from], low, high);
        to[at + 1] = byte(values[from + second], low, high);
        to[at + 2] = channels === 2 ? 0 : byte(values[from + third], low, high);
      }
    };
    return (values) => {
      draw(values);
      context.putImageData(picture, 0, 0);
    };
  }

  // curves draws sequences and vectors, with a curve for each channel.
  function curves(canvas, image) {
    const length = image.width === 1 ? image.channels : image.width, channels = image.width === 1 ? 1 : image.channels;
    const [low, high] = [Unravel.number(image.low), Unravel.number(image.high)], [width, height] = [480, 320];
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d");
    return (values) => {
      context.fillStyle = Unravel.css("--paper");
      context.fillRect(0, 0, width, height);
      const y = (v) => 4 + (height - 8) * (1 - (v - low) / (high - low));
      context.lineWidth = 1;
      context.strokeStyle = Unravel.css("--rule");
      context.strokeRect(0, y(0), width, 0);
      context.lineWidth = 2.5;
      for (let k = 0; k < channels; k++) {
        context.strokeStyle = Unravel.category(k);
        context.beginPath();
        for (let i = 0; i < length; i++) context.lineTo(i / Math.max(length - 1, 1) * width, y(values[i * channels + k]));
        context.stroke();
      }
    };
  }

  // nearest returns the step of a control with the values nearest to a code.
  function nearest(steps, columns, code) {
    const n = columns.length;
    let best = 0, least = Infinity;
    for (let i = 0; i < steps.length / n; i++) {
      let distance = 0;
      for (let j = 0; j < n; j++) distance += (steps[i * n + j] - code[columns[j]]) ** 2;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  }

  // loaded starts to load the picture of a sheet.
  function loaded(pictures, then) {
    const image = new Image();
    image.addEventListener("load", then);
    image.src = pictures.src;
    return image;
  }

  // sheets draws the stored picture that is nearest to a code, after moves of one or two controls.
  function sheets(canvas, data, controls, redraw) {
    const steps = new Map(data.steps.map((s) => [s.name, Unravel.array(s.values)]));
    const maps = data.maps.map((m) => ({...m, image: loaded(m.pictures, redraw)}));
    const context = canvas.getContext("2d");
    canvas.width = maps[0].pictures.width;
    canvas.height = maps[0].pictures.height;
    const find = (names) => maps.find((m) => (names.length === 1 ? m.rows === names[0] && !m.columns : names.includes(m.rows) && names.includes(m.columns)));
    const step = (name, code) => nearest(steps.get(name), controls.get(name).columns, code);
    return {
      has: (names) => find(names) !== undefined,
      draw(code, moved) {
        const m = find(moved.length ? moved : [data.steps[0].name]), {width, height, across} = m.pictures;
        if (!m.image.complete) return;
        const every = (name) => (controls.get(name).kind === "choice" ? 1 : m.every || 1);
        const count = (name) => Math.ceil(steps.get(name).length / controls.get(name).columns.length / every(name));
        const place = (name) => Math.round(step(name, code) / every(name)) % count(name); // the end of a circle is its start
        const at = m.columns ? place(m.rows) * count(m.columns) + place(m.columns) : place(m.rows);
        context.drawImage(m.image, at % across * width, Math.floor(at / across) * height, width, height, 0, 0, width, height);
      },
    };
  }

  // Unravel.picture(canvas, data, controls, redraw) returns {draw(code, moved), has(names)}. draw shows a code after moves of the named
  // controls. has reports whether controls can move together. picture calls redraw when it has loaded a sheet.
  Unravel.picture = function (canvas, data, controls, redraw) {
    if (data.sheets) return sheets(canvas, data.sheets, controls, redraw);
    const decoder = Unravel.decoder(data.decoder), show = (data.image.curves ? curves : pixels)(canvas, data.image);
    return {has: () => true, draw: (code) => show(decoder.decode(code))};
  };
})();
