// The decoder of a run in the page: a list of operations of ONNX, computed for one code at a time.
"use strict";

(function () {
  const count = (shape) => shape.reduce((n, k) => n * k, 1);

  // prepared returns the value of an operation: shared data or a new array, and the function that computes it.
  function prepared(operation, operands) {
    const make = Unravel.operations[operation.op];
    if (!make) throw new Error(`the operation ${operation.op} is not known`);
    const value = make(operands, operation.with || {});
    value.constant = value.constant || operands.every((x) => x.constant);
    if (!value.data) value.data = new Float32Array(count(value.shape));
    if (value.constant && value.run) { // computed once
      value.run(value.data);
      value.run = null;
    }
    return value;
  }

  // Unravel.decoder(data) allocates the arrays of a network. It returns {shape, decode}. decode(code) returns the image's pixels with
  // shape [height, width, channels], in an array that the next call overwrites.
  Unravel.decoder = function (data) {
    const values = new Map(), steps = [], code = {shape: data.arguments, data: new Float32Array(count(data.arguments)), constant: false};
    values.set(data.input, code);
    for (const {name, values: array} of data.constants) {
      const numbers = Unravel.array(array);
      values.set(name, {shape: array.shape, data: numbers, constant: true});
    }
    for (const operation of data.operations) {
      const value = prepared(operation, operation.in.map((name) => values.get(name)));
      values.set(operation.out, value);
      if (value.run) steps.push(value);
    }
    const out = values.get(data.output);
    return {
      shape: out.shape.slice(1),
      decode(numbers) {
        code.data.set(numbers);
        for (const step of steps) step.run(step.data);
        return out.data;
      },
    };
  };
})();
