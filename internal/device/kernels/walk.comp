#version 450
#extension GL_GOOGLE_include_directive : require
// A random walk on the sphere: for k from 0 to steps-1, z_k = Pi(z_(k-1) + s noise[k]) with z_(-1) = mu, s = sqrt(t/
// steps), t = e^logT[row] and Pi(v) = v/sqrt(max(|v|^2, 1e-12)). walk [steps, rows, columns] holds all z_k and squares
// [steps, rows] all |v|^2. A thread reads only elements of walk that it wrote itself.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer X_ { float mu[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float logT[]; };
layout(set = 0, binding = 2) readonly buffer N_ { float noise[]; };
layout(set = 0, binding = 3) buffer W_ { float walk[]; };
layout(set = 0, binding = 4) writeonly buffer S_ { float squares[]; };
layout(push_constant) uniform P { uint rows, columns, steps; };
void main() {
  ROWS_EACH(row, rows) {
    float s = exp(0.5 * logT[row]) / sqrt(float(steps));
    for (uint k = 0u; k < steps; k++) {
      uint at = (k * rows + row) * columns;
      float v = 0.0;
      COLUMNS_EACH(j, columns) {
        float from = k == 0u ? mu[row * columns + j] : walk[at - rows * columns + j];
        float z = from + s * noise[at + j];
        walk[at + j] = z;
        v += z * z;
      }
      float square = total(v), scale = 1.0 / sqrt(max(square, 1e-12));
      COLUMNS_EACH(j, columns) walk[at + j] *= scale;
      if (gl_LocalInvocationID.x == 0u) squares[k * rows + row] = square;
    }
  }
}
