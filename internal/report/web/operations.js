// Operations on arrays for decoder.js, as in ONNX (operator set 17). An operation has operands, {shape, data, constant}, and attributes.
// It returns the shape of the result, and a function that computes it or shared data.
"use strict";

(function () {
  const operations = Unravel.operations = Unravel.operations || {};

  const count = (shape) => shape.reduce((n, k) => n * k, 1);

  // axisOf counts axes from the end if they are negative.
  const axisOf = (axis, shape) => (axis < 0 ? axis + shape.length : axis);

  // known returns the numbers of a constant operand, because shapes depend on them.
  function known(x) {
    if (!x.constant) throw new Error("a shape depends on the code; want one that does not");
    return Array.from(x.data);
  }

  // Functions of single elements.

  // erf uses Abramowitz and Stegun 7.1.26 near 1, and the series near 0. Both have an error of at most 2e-7.
  function erf(x) {
    const a = Math.abs(x);
    if (a < 0.5) {
      let term = a, sum = a;
      for (let n = 1; n < 9; n++) {
        term *= -a * a / n;
        sum += term / (2 * n + 1);
      }
      return Math.sign(x) * sum * 2 / Math.sqrt(Math.PI);
    }
    const t = 1 / (1 + 0.3275911 * a);
    const p = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t;
    return Math.sign(x) * (1 - p * Math.exp(-a * a));
  }

  const unary = {
    Abs: Math.abs, Sign: Math.sign, Ceil: Math.ceil, Floor: Math.floor, Sin: Math.sin, Cos: Math.cos, Exp: Math.exp, Log: Math.log, Sqrt: Math.sqrt,
    Tanh: Math.tanh, Erf: erf, Neg: (x) => -x, Reciprocal: (x) => 1 / x, Sigmoid: (x) => 1 / (1 + Math.exp(-x)),
    Softplus: (x) => (x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x))), Elu: (x) => (x > 0 ? x : Math.expm1(x)),
  };
  for (const [name, f] of Object.entries(unary)) {
    operations[name] = ([x]) => ({shape: x.shape, run: (out) => { for (let i = 0; i < out.length; i++) out[i] = f(x.data[i]); }});
  }

  function rectified(x, alpha, out) {
    for (let i = 0; i < out.length; i++) {
      const v = x[i];
      out[i] = v > 0 ? v : alpha * v;
    }
  }

  operations.Relu = ([x]) => ({shape: x.shape, run: (out) => rectified(x.data, 0, out)});
  operations.LeakyRelu = ([x], w) => ({shape: x.shape, run: (out) => rectified(x.data, w.alpha, out)});

  // broadcast returns the common shape of operands.
  function broadcast(a, b) {
    const n = Math.max(a.length, b.length), shape = new Array(n);
    for (let i = 1; i <= n; i++) {
      const p = a[a.length - i] ?? 1, q = b[b.length - i] ?? 1;
      if (p !== q && p !== 1 && q !== 1) throw new Error(`shapes [${a}] and [${b}] do not go together`);
      shape[n - i] = p === 1 ? q : p;
    }
    return shape;
  }

  // places lists, for every element of a shape, the element of the broadcast operand.
  function places(from, shape) {
    const strides = new Array(shape.length).fill(0);
    for (let i = 1, stride = 1; i <= from.length; i++) {
      strides[shape.length - i] = from[from.length - i] === 1 ? 0 : stride;
      stride *= from[from.length - i];
    }
    return walk(shape, strides, 0);
  }

  // walk lists the places of the elements of a shape in an array with these strides.
  function walk(shape, strides, first) {
    const list = new Int32Array(count(shape)), index = new Array(shape.length).fill(0);
    for (let i = 0, at = first; i < list.length; i++) {
      list[i] = at;
      for (let axis = shape.length - 1; axis >= 0; axis--) {
        at += strides[axis];
        if (++index[axis] < shape[axis]) break;
        at -= strides[axis] * shape[axis];
        index[axis] = 0;
      }
    }
    return list;
  }

  function stridesOf(shape) {
    const strides = new Array(shape.length);
    for (let axis = shape.length - 1, stride = 1; axis >= 0; axis--) {
      strides[axis] = stride;
      stride *= shape[axis];
    }
    return strides;
  }

  const binary = {
    Add: (a, b) => a + b, Sub: (a, b) => a - b, Mul: (a, b) => a * b, Div: (a, b) => a / b, Pow: Math.pow, Max: (a, b) => Math.max(a, b),
    Less: (a, b) => +(a < b), Greater: (a, b) => +(a > b), LessOrEqual: (a, b) => +(a <= b), GreaterOrEqual: (a, b) => +(a >= b), Equal: (a, b) => +(a === b),
  };
  for (const [name, f] of Object.entries(binary)) {
    operations[name] = ([a, b]) => {
      const shape = broadcast(a.shape, b.shape), p = places(a.shape, shape), q = places(b.shape, shape);
      return {shape, run: (out) => { for (let i = 0; i < out.length; i++) out[i] = f(a.data[p[i]], b.data[q[i]]); }};
    };
  }

  // Operations on shapes.

  const shared = ([x]) => ({shape: x.shape, data: x.data});
  operations.Identity = shared;
  operations.Cast = shared; // booleans are 0 and 1
  operations.Flatten = ([x], w) => ({shape: [count(x.shape.slice(0, w.axis)), count(x.shape.slice(w.axis))], data: x.data});
  operations.Shape = ([x]) => ({shape: [x.shape.length], data: Float32Array.from(x.shape), constant: true});

  operations.Reshape = ([x, to]) => {
    const shape = known(to), open = shape.indexOf(-1);
    if (open >= 0) shape[open] = count(x.shape) / -count(shape);
    if (count(shape) !== count(x.shape)) throw new Error(`shape [${x.shape}] cannot become [${shape}]`);
    return {shape, data: x.data};
  };

  // gathered copies the elements at places.
  const gathered = (x, from) => (out) => { for (let i = 0; i < out.length; i++) out[i] = x.data[from[i]]; };

  operations.Transpose = ([x], w) => {
    const strides = stridesOf(x.shape), shape = w.perm.map((axis) => x.shape[axis]);
    return {shape, run: gathered(x, walk(shape, w.perm.map((axis) => strides[axis]), 0))};
  };

  operations.Expand = ([x, to]) => {
    const shape = broadcast(x.shape, known(to));
    return {shape, run: gathered(x, places(x.shape, shape))};
  };

  operations.Slice = ([x, starts, ends, axes]) => {
    const shape = x.shape.slice(), strides = stridesOf(shape), from = known(starts), to = known(ends);
    let first = 0;
    (axes ? known(axes) : from.map((_, i) => i)).forEach((a, i) => {
      const axis = axisOf(a, x.shape), inside = (v) => Math.min(Math.max(v < 0 ? v + x.shape[axis] : v, 0), x.shape[axis]);
      shape[axis] = inside(to[i]) - inside(from[i]);
      first += inside(from[i]) * strides[axis];
    });
    return {shape, run: gathered(x, walk(shape, strides, first))};
  };

  operations.Gather = ([x, indices], w) => {
    const axis = axisOf(w.axis, x.shape), list = known(indices), shape = x.shape.slice();
    shape[axis] = list.length;
    const inner = count(shape.slice(axis + 1)), from = new Int32Array(count(shape));
    for (let i = 0; i < from.length; i++) {
      const outer = Math.floor(i / (list.length * inner)), at = Math.floor(i / inner) % list.length;
      from[i] = (outer * x.shape[axis] + list[at]) * inner + i % inner;
    }
    return {shape, run: gathered(x, from)};
  };

  operations.Concat = (list, w) => {
    const axis = axisOf(w.axis, list[0].shape), shape = list[0].shape.slice();
    shape[axis] = list.reduce((n, x) => n + x.shape[axis], 0);
    const outer = count(shape.slice(0, axis)), sizes = list.map((x) => count(x.shape.slice(axis)));
    return {
      shape,
      run: (out) => {
        let at = 0;
        for (let i = 0; i < outer; i++) {
          list.forEach((x, k) => {
            out.set(x.data.subarray(i * sizes[k], (i + 1) * sizes[k]), at);
            at += sizes[k];
          });
        }
      },
    };
  };

  // Pad adds a constant before and after every axis.
  operations.Pad = ([x, pads, value]) => {
    const list = known(pads), n = x.shape.length, shape = x.shape.map((size, axis) => size + list[axis] + list[axis + n]), strides = stridesOf(shape);
    const to = walk(x.shape, strides, strides.reduce((at, stride, axis) => at + stride * list[axis], 0));
    return {
      shape,
      run: (out) => {
        out.fill(value.data[0]);
        for (let i = 0; i < to.length; i++) out[to[i]] = x.data[i];
      },
    };
  };

  // DepthToSpace takes the block's row and column from the first parts of the channels (mode DCR).
  operations.DepthToSpace = ([x], w) => {
    const [, channels, height, width] = x.shape, b = w.blocksize, c = channels / (b * b), pixels = height * width;
    const shape = [1, c, b * height, b * width], from = walk([c, height, b, width, b], [pixels, width, b * c * pixels, 1, c * pixels], 0);
    return {shape, run: gathered(x, from)};
  };

  // Reductions.

  // reduction computes f of each group of elements along the reduced axes.
  function reduction(f) {
    return ([x, axes], w) => {
      const along = (axes ? known(axes) : w.axes).map((a) => axisOf(a, x.shape)), strides = stridesOf(x.shape);
      const kept = x.shape.map((n, axis) => (along.includes(axis) ? 1 : n));
      const starts = walk(kept, strides, 0), offsets = walk(along.map((a) => x.shape[a]), along.map((a) => strides[a]), 0);
      const shape = w.keepdims === 0 ? x.shape.filter((_, axis) => !along.includes(axis)) : kept;
      return {shape, run: (out) => { for (let i = 0; i < out.length; i++) out[i] = f(x.data, starts[i], offsets); }};
    };
  }

  function sum(x, first, offsets) {
    let s = 0;
    for (let i = 0; i < offsets.length; i++) s += x[first + offsets[i]];
    return s;
  }

  function most(x, first, offsets) {
    let m = -Infinity;
    for (let i = 0; i < offsets.length; i++) m = Math.max(m, x[first + offsets[i]]);
    return m;
  }

  // best returns the first place of the largest number by the given order.
  const best = (before) => (x, first, offsets) => {
    let at = 0;
    for (let i = 1; i < offsets.length; i++) if (before(x[first + offsets[i]], x[first + offsets[at]])) at = i;
    return at;
  };

  operations.ReduceSum = reduction(sum);
  operations.ReduceMax = reduction(most);
  operations.ReduceMean = reduction((x, first, offsets) => sum(x, first, offsets) / offsets.length);
  const arg = (f) => (x, w) => f([x[0]], {axes: [w.axis], keepdims: w.keepdims});
  operations.ArgMax = arg(reduction(best((a, b) => a > b)));
  operations.ArgMin = arg(reduction(best((a, b) => a < b)));

  // softmax computes the softmax along an axis, or its logarithm.
  const softmax = (log) => ([x], w) => {
    const axis = axisOf(w.axis, x.shape), strides = stridesOf(x.shape), n = x.shape[axis];
    const starts = walk(x.shape.map((size, a) => (a === axis ? 1 : size)), strides, 0), step = strides[axis];
    return {
      shape: x.shape,
      run: (out) => {
        for (const first of starts) {
          let top = -Infinity, total = 0;
          for (let i = 0, at = first; i < n; i++, at += step) top = Math.max(top, x.data[at]);
          for (let i = 0, at = first; i < n; i++, at += step) total += Math.exp(x.data[at] - top);
          for (let i = 0, at = first; i < n; i++, at += step) {
            const v = x.data[at] - top;
            out[at] = log ? v - Math.log(total) : Math.exp(v) / total;
          }
        }
      },
    };
  };
  operations.Softmax = softmax(false);
  operations.LogSoftmax = softmax(true);
})();
