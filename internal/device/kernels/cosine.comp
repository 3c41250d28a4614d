#version 450
#extension GL_GOOGLE_include_directive : require
// For each row p of the predictions and its target t, row i + rows/2 modulo rows of the targets, with the norms |p| and
// |t| at least 1e-12: c = p.t/(|p| |t|). gradient 0: d[row] = 2 - 2 c, computed as |p/|p| - t/|t||^2 where the norms
// are above their bound. gradient 1: d = g (t/(|p| |t|) - p c/|p|^2) with g = scale dout[0], without the second term
// where |p| is at its bound.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer X_ { float predictions[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float targets[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 3) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P { uint rows, columns, gradient; float scale; };
void main() {
  ROWS_EACH(row, rows) {
    uint at = row * columns, other = (row + rows / 2u) % rows * columns;
    float v = 0.0, w = 0.0, u = 0.0;
    COLUMNS_EACH(j, columns) {
      v += predictions[at + j] * predictions[at + j];
      w += targets[other + j] * targets[other + j];
      u += predictions[at + j] * targets[other + j];
    }
    float norm = sqrt(total(v)), target = sqrt(total(w)), dot_ = total(u);
    bool plain = norm > 1e-12 && target > 1e-12;
    if (gradient == 0u) {
      float apart = 0.0;
      COLUMNS_EACH(j, columns) {
        float e = predictions[at + j] / max(norm, 1e-12) - targets[other + j] / max(target, 1e-12);
        apart += e * e;
      }
      apart = total(apart);
      if (gl_LocalInvocationID.x == 0u) d[row] = plain ? apart : 2.0 - 2.0 * ((dot_ / max(norm, 1e-12)) / max(target, 1e-12));
      continue;
    }
    float p = max(norm, 1e-12), t = max(target, 1e-12), g = scale * dout[0];
    float along = norm > 1e-12 ? ((dot_ / p) / t) / p / p : 0.0;
    COLUMNS_EACH(j, columns) d[at + j] = g * ((targets[other + j] / t) / p - predictions[at + j] * along);
  }
}
