// Products of matrices, convolutions and pooling for decoder.js, on images [1, channels, height, width].
"use strict";

(function () {
  const operations = Unravel.operations = Unravel.operations || {};

  // multiply sets c [m, n] to a' b for a [k, m] and b [k, n]. Tiles of 4 x 4 sums stay in registers.
  function multiply(m, n, k, a, b, c) {
    const wholeM = m - m % 4, wholeN = n - n % 4;
    for (let j = 0; j < wholeN; j += 4) {
      for (let i = 0; i < wholeM; i += 4) {
        tile(m, n, k, a, b, c, i, j);
      }
    }
    edge(m, n, k, a, b, c, wholeM, m, 0, n);
    edge(m, n, k, a, b, c, 0, wholeM, wholeN, n);
  }

  function tile(m, n, k, a, b, c, i, j) {
    let s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
    let s20 = 0, s21 = 0, s22 = 0, s23 = 0, s30 = 0, s31 = 0, s32 = 0, s33 = 0;
    for (let p = 0, q = i, r = j; p < k; p++, q += m, r += n) {
      const a0 = a[q], a1 = a[q + 1], a2 = a[q + 2], a3 = a[q + 3];
      const b0 = b[r], b1 = b[r + 1], b2 = b[r + 2], b3 = b[r + 3];
      s00 += a0 * b0; s01 += a0 * b1; s02 += a0 * b2; s03 += a0 * b3;
      s10 += a1 * b0; s11 += a1 * b1; s12 += a1 * b2; s13 += a1 * b3;
      s20 += a2 * b0; s21 += a2 * b1; s22 += a2 * b2; s23 += a2 * b3;
      s30 += a3 * b0; s31 += a3 * b1; s32 += a3 * b2; s33 += a3 * b3;
    }
    let at = i * n + j;
    c[at] = s00; c[at + 1] = s01; c[at + 2] = s02; c[at + 3] = s03; at += n;
    c[at] = s10; c[at + 1] = s11; c[at + 2] = s12; c[at + 3] = s13; at += n;
    c[at] = s20; c[at + 1] = s21; c[at + 2] = s22; c[at + 3] = s23; at += n;
    c[at] = s30; c[at + 1] = s31; c[at + 2] = s32; c[at + 3] = s33;
  }

  // edge computes the sums of rows [top, bottom) and columns [left, right), a row of c at a time.
  function edge(m, n, k, a, b, c, top, bottom, left, right) {
    if (left === right) return;
    for (let i = top; i < bottom; i++) {
      const row = c.subarray(i * n + left, i * n + right);
      row.fill(0);
      for (let p = 0; p < k; p++) {
        const x = a[p * m + i];
        for (let j = left, to = 0, at = p * n + left; j < right; j++, to++, at++) row[to] += x * b[at];
      }
    }
  }

  // transposed returns a function that writes the transpose of x [rows, columns]. For constants it runs once.
  function transposed(x, rows, columns) {
    const y = new Float32Array(rows * columns);
    const run = () => {
      for (let i = 0; i < rows; i++) for (let j = 0; j < columns; j++) y[j * rows + i] = x.data[i * columns + j];
    };
    run();
    return {data: y, run: x.constant ? () => {} : run};
  }

  // affine computes x w + b for rows, as sums of the rows of w with the weights in a row of x.
  function affine(x, w, bias, out) {
    const [k, n] = w.shape, rows = x.shape[0];
    for (let row = 0; row < rows; row++) {
      const y = out.subarray(row * n, (row + 1) * n);
      if (bias) y.set(bias.data); else y.fill(0);
      let p = 0;
      for (; p + 3 < k; p += 4) {
        const a = x.data[row * k + p], b = x.data[row * k + p + 1], c = x.data[row * k + p + 2], d = x.data[row * k + p + 3];
        for (let j = 0, at = p * n; j < n; j++, at++) {
          y[j] += a * w.data[at] + b * w.data[at + n] + c * w.data[at + 2 * n] + d * w.data[at + 3 * n];
        }
      }
      for (; p < k; p++) {
        const a = x.data[row * k + p];
        for (let j = 0, at = p * n; j < n; j++, at++) y[j] += a * w.data[at];
      }
    }
  }

  operations.Gemm = ([x, w, bias]) => ({shape: [x.shape[0], w.shape[1]], run: (out) => affine(x, w, bias, out)});

  // MatMul multiplies matrices, a matrix and a vector, or stacks of matrices.
  operations.MatMul = ([x, y]) => {
    if (y.shape.length === 1) {
      const w = {shape: [y.shape[0], 1], data: y.data};
      return {shape: x.shape.slice(0, -1), run: (out) => affine(x, w, null, out)};
    }
    const m = x.shape[x.shape.length - 2], k = x.shape[x.shape.length - 1], n = y.shape[y.shape.length - 1];
    const stack = x.shape.length > y.shape.length ? x.shape.slice(0, -2) : y.shape.slice(0, -2);
    const each = (t, size) => (t.shape.length > 2 ? size : 0);
    return {
      shape: [...stack, m, n],
      run: (out) => {
        for (let i = 0; i * m * n < out.length; i++) {
          const a = {shape: [m, k], data: x.data.subarray(i * each(x, m * k))};
          const b = {shape: [k, n], data: y.data.subarray(i * each(y, k * n))};
          affine(a, b, null, out.subarray(i * m * n, (i + 1) * m * n));
        }
      },
    };
  };

  // window describes the positions of a window of h x w pixels on images. pads come before height and width, then after them.
  function window(shape, size, w) {
    const [, channels, height, width] = shape, [h, wide] = size;
    const [sy, sx] = w.strides || [1, 1], [dy, dx] = w.dilations || [1, 1], [top, left, bottom, right] = w.pads || [0, 0, 0, 0];
    const outH = Math.floor((height + top + bottom - (h - 1) * dy - 1) / sy) + 1;
    const outW = Math.floor((width + left + right - (wide - 1) * dx - 1) / sx) + 1;
    return {channels, height, width, h, w: wide, sy, sx, dy, dx, top, left, outH, outW};
  }

  // patches writes the pixels under every element of the window: rows [channels, h, w], columns [outH, outW].
  function patches(o, x, to) {
    let at = 0;
    for (let c = 0; c < o.channels; c++) {
      for (let i = 0; i < o.h; i++) {
        for (let j = 0; j < o.w; j++) {
          for (let y = 0; y < o.outH; y++) {
            const row = y * o.sy + i * o.dy - o.top, from = (c * o.height + row) * o.width;
            const inside = row >= 0 && row < o.height;
            for (let z = 0; z < o.outW; z++, at++) {
              const column = z * o.sx + j * o.dx - o.left;
              to[at] = inside && column >= 0 && column < o.width ? x[from + column] : 0;
            }
          }
        }
      }
    }
  }

  operations.Conv = ([x, filters, bias], w) => {
    const [out, channels, h, wide] = filters.shape, o = window(x.shape, [h, wide], w), pixels = o.outH * o.outW, k = channels * h * wide;
    const weights = transposed(filters, out, k);
    const single = h * wide === 1 && o.sy * o.sx === 1 && pixels === o.height * o.width;
    const columns = single ? null : new Float32Array(k * pixels);
    return {
      shape: [1, out, o.outH, o.outW],
      run: (to) => {
        weights.run();
        if (!single) patches(o, x.data, columns);
        multiply(out, pixels, k, weights.data, single ? x.data : columns, to);
        addBias(to, bias, pixels);
      },
    };
  };

  function addBias(images, bias, pixels) {
    if (!bias) return;
    for (let c = 0, at = 0; c < bias.data.length; c++) {
      const b = bias.data[c];
      for (const end = at + pixels; at < end; at++) images[at] += b;
    }
  }

  // ConvTranspose multiplies every pixel with all filters, and sums the products for each pixel of the result.
  operations.ConvTranspose = ([x, filters, bias], w) => {
    const [channels, out, h, wide] = filters.shape, [, , height, width] = x.shape, pixels = height * width;
    const [sy, sx] = w.strides || [1, 1], [top, left, bottom, right] = w.pads || [0, 0, 0, 0], [moreH, moreW] = w.output_padding || [0, 0];
    const outH = (height - 1) * sy + h - top - bottom + moreH, outW = (width - 1) * sx + wide - left - right + moreW;
    const products = new Float32Array(out * h * wide * pixels);
    return {
      shape: [1, out, outH, outW],
      run: (to) => {
        multiply(out * h * wide, pixels, channels, filters.data, x.data, products);
        to.fill(0);
        for (let c = 0, from = 0; c < out; c++) {
          for (let i = 0; i < h; i++) {
            for (let j = 0; j < wide; j++, from += pixels) {
              scatter(products, from, height, width, to, c * outH * outW, outH, outW, i - top, j - left, sy, sx);
            }
          }
        }
        addBias(to, bias, outH * outW);
      },
    };
  };

  // scatter adds an image to every sy-th row and sx-th column of another image. The first row and column may be outside.
  function scatter(from, at, height, width, to, base, outH, outW, top, left, sy, sx) {
    const first = Math.max(0, Math.ceil(-left / sx)), last = Math.min(width, Math.floor((outW - 1 - left) / sx) + 1);
    for (let y = 0; y < height; y++) {
      const row = y * sy + top;
      if (row < 0 || row >= outH) continue;
      let q = base + row * outW + left + first * sx;
      for (let z = first, p = at + y * width + first; z < last; z++, p++, q += sx) to[q] += from[p];
    }
  }

  // pooled reduces the pixels under a window. Pixels outside the image do not count.
  function pooled(x, o, out, mean) {
    let at = 0;
    for (let c = 0; c < o.channels; c++) {
      for (let y = 0; y < o.outH; y++) {
        for (let z = 0; z < o.outW; z++, at++) {
          let most = -Infinity, sum = 0, count = 0;
          for (let i = Math.max(0, y * o.sy - o.top); i < Math.min(o.height, y * o.sy - o.top + o.h); i++) {
            for (let j = Math.max(0, z * o.sx - o.left); j < Math.min(o.width, z * o.sx - o.left + o.w); j++, count++) {
              const v = x[(c * o.height + i) * o.width + j];
              sum += v;
              if (v > most) most = v;
            }
          }
          out[at] = mean ? sum / count : most;
        }
      }
    }
  }

  function pool(mean, whole) {
    return ([x], w) => {
      const o = window(x.shape, whole ? x.shape.slice(2) : w.kernel_shape, w);
      return {shape: [1, o.channels, o.outH, o.outW], run: (out) => pooled(x.data, o, out, mean)};
    };
  }

  operations.MaxPool = pool(false, false);
  operations.AveragePool = pool(true, false);
  operations.GlobalMaxPool = pool(false, true);
  operations.GlobalAveragePool = pool(true, true);

  // weightsAlong lists, for every pixel along a side, the two pixels of a smaller image that it mixes, and the share of the second.
  function weightsAlong(n, times, linear) {
    return Array.from({length: n * times}, (_, i) => {
      const at = linear ? Math.min(Math.max((i + 0.5) / times - 0.5, 0), n - 1) : Math.floor(i / times), first = Math.floor(at);
      return [first, Math.min(first + 1, n - 1), at - first];
    });
  }

  operations.Resize = ([x, , scales], w) => {
    const [, channels, height, width] = x.shape, linear = w.mode === "linear";
    const rows = weightsAlong(height, scales.data[2], linear), columns = weightsAlong(width, scales.data[3], linear);
    return {
      shape: [1, channels, rows.length, columns.length],
      run: (out) => {
        let at = 0;
        for (let c = 0; c < channels; c++) {
          for (const [top, bottom, down] of rows) {
            const above = (c * height + top) * width, below = (c * height + bottom) * width;
            for (const [left, right, across] of columns) {
              const first = x.data[above + left] * (1 - across) + x.data[above + right] * across;
              const second = x.data[below + left] * (1 - across) + x.data[below + right] * across;
              out[at++] = first * (1 - down) + second * down;
            }
          }
        }
      },
    };
  };
})();
