#version 450
#extension GL_GOOGLE_include_directive : require
// A relaxed choice for each row: z = softmax((l + h)/tau) with h = -ln(-ln(u + 1e-12) + 1e-12), or with gradient 1 the
// gradient z = y (dy - y.dy)/tau by l, with y in l and dy in u. temperature is tau; where it is 0, tau is t[0].
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer L_ { float l[]; };
layout(set = 0, binding = 1) readonly buffer U_ { float u[]; };
layout(set = 0, binding = 2) readonly buffer T_ { float t[]; };
layout(set = 0, binding = 3) buffer Z_ { float z[]; };
layout(push_constant) uniform P { uint rows, columns, gradient; float temperature; };
#include "functions.glsl"
void main() {
  float tau = temperature > 0.0 ? temperature : t[0];
  ROWS_EACH(row, rows) {
    uint at = row * columns;
    float v = 0.0;
    if (gradient != 0u) {
      COLUMNS_EACH(j, columns) v += l[at + j] * u[at + j];
      float mean = total(v);
      COLUMNS_EACH(j, columns) z[at + j] = l[at + j] * (u[at + j] - mean) / tau;
      continue;
    }
    float most = -3.0e38;
    COLUMNS_EACH(j, columns) {
      float h = l[at + j] - ln(-ln(u[at + j] + 1e-12) + 1e-12);
      z[at + j] = h;
      most = max(most, h);
    }
    most = greatest(most);
    COLUMNS_EACH(j, columns) {
      float e = exp((z[at + j] - most) / tau);
      z[at + j] = e;
      v += e;
    }
    float sum = total(v);
    COLUMNS_EACH(j, columns) z[at + j] /= sum;
  }
}
