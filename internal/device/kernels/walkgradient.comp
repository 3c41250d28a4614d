#version 450
#extension GL_GOOGLE_include_directive : require
// The gradients of walk.comp, back from its last step: g = dz, and for each k g = (g - (z_k.g) z_k)/sqrt(max(|v_k|^2,
// 1e-12)), without the part along z_k where |v_k|^2 is at most 1e-12. dmu is the last g, and
// dlogT[row] = s/2 sum_k g_k.noise[k]. A thread reads only elements of dmu, which holds g, that it wrote itself.
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer G_ { float dz[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float logT[]; };
layout(set = 0, binding = 2) readonly buffer N_ { float noise[]; };
layout(set = 0, binding = 3) readonly buffer W_ { float walk[]; };
layout(set = 0, binding = 4) readonly buffer S_ { float squares[]; };
layout(set = 0, binding = 5) buffer M_ { float dmu[]; };
layout(set = 0, binding = 6) writeonly buffer D_ { float dlogT[]; };
layout(push_constant) uniform P { uint rows, columns, steps; };
void main() {
  ROWS_EACH(row, rows) {
    uint to = row * columns;
    COLUMNS_EACH(j, columns) dmu[to + j] = dz[to + j];
    float slope = 0.0;
    for (uint k = steps; k-- > 0u;) {
      uint at = (k * rows + row) * columns;
      float v = 0.0, square = squares[k * rows + row], scale = 1.0 / sqrt(max(square, 1e-12));
      COLUMNS_EACH(j, columns) v += walk[at + j] * dmu[to + j];
      float along = total(v);
      if (!(square > 1e-12)) along = 0.0;
      COLUMNS_EACH(j, columns) {
        float g = scale * (dmu[to + j] - along * walk[at + j]);
        dmu[to + j] = g;
        slope += g * noise[at + j];
      }
    }
    slope = total(slope);
    if (gl_LocalInvocationID.x == 0u) dlogT[row] = 0.5 * slope * (exp(0.5 * logT[row]) / sqrt(float(steps)));
  }
}
