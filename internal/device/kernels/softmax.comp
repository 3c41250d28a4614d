#version 450
#extension GL_GOOGLE_include_directive : require
// For each row, by f: 0 y = e^x/sum e^x, 1 y = x - ln sum e^x, both with the largest x subtracted first; the gradients
// 2 z = y (dy - y.dy) of 0 and 3 z = dy - e^y sum dy of 1.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; }; // y for gradients
layout(set = 0, binding = 1) readonly buffer G_ { float dy[]; };
layout(set = 0, binding = 2) writeonly buffer Z_ { float z[]; };
layout(push_constant) uniform P { uint rows, columns, f; };
#include "functions.glsl"
void main() {
  ROWS_EACH(row, rows) {
    uint at = row * columns;
    float most = x[at], v = 0.0;
    if (f < 2u) {
      COLUMNS_EACH(j, columns) most = max(most, x[at + j]);
      most = greatest(most);
    }
    COLUMNS_EACH(j, columns) v += f < 2u ? exp(x[at + j] - most) : f == 2u ? x[at + j] * dy[at + j] : dy[at + j];
    float sum = total(v), logarithm = f == 1u ? ln(sum) : 0.0;
    COLUMNS_EACH(j, columns) {
      float u = x[at + j];
      switch (f) {
        case 0: u = exp(u - most) / sum; break;
        case 1: u = (u - most) - logarithm; break;
        case 2: u *= dy[at + j] - sum; break;
        default: u = dy[at + j] - exp(u) * sum;
      }
      z[at + j] = u;
    }
  }
}
