#version 450
#extension GL_GOOGLE_include_directive : require
// For each row: z = x/sqrt(max(|x|^2, 1e-12)), or with gradient 1 its gradient z = (dy - (y.dy) y)/sqrt(max(|x|^2,
// 1e-12)) for y the normalised row; where |x|^2 is at most 1e-12 the part along y stays.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dy[]; };
layout(set = 0, binding = 3) writeonly buffer Z_ { float z[]; };
layout(push_constant) uniform P { uint rows, columns, gradient; };
void main() {
  ROWS_EACH(row, rows) {
    uint at = row * columns;
    float v = 0.0, w = 0.0;
    COLUMNS_EACH(j, columns) {
      v += x[at + j] * x[at + j];
      if (gradient != 0u) w += y[at + j] * dy[at + j];
    }
    float square = total(v), along = total(w), scale = 1.0 / sqrt(max(square, 1e-12));
    if (!(square > 1e-12)) along = 0.0;
    COLUMNS_EACH(j, columns) z[at + j] = scale * (gradient != 0u ? dy[at + j] - along * y[at + j] : x[at + j]);
  }
}
