// Runs ONNX networks with onnxruntime (WebAssembly, one thread): node check.mjs JOBS, where JOBS is a JSON
// list of {model, input, output, shape}: files, the latter two of raw float32, little endian, and the input's shape.
import { readFileSync, writeFileSync } from "node:fs";
import * as ort from "onnxruntime-web";

ort.env.wasm.numThreads = 1;
for (const job of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  try {
    const session = await ort.InferenceSession.create(readFileSync(job.model), { executionProviders: ["wasm"] });
    const bytes = readFileSync(job.input);
    const data = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
    const result = await session.run({ [session.inputNames[0]]: new ort.Tensor("float32", data, job.shape) });
    const out = result[session.outputNames[0]].data;
    writeFileSync(job.output, Buffer.from(out.buffer, out.byteOffset, out.byteLength));
    await session.release();
  } catch (error) {
    console.error(`${job.model}: ${error.message ?? error}`);
    process.exitCode = 1;
  }
}
