#version 450
#extension GL_GOOGLE_include_directive : require
// d[i] = dy[i] t[i] s'(at[i]) with the slope s of activation f as a function of at: the value y, or x for gelu (7) and
// silu (8).
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer A_ { float at[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float along[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dy[]; };
layout(set = 0, binding = 3) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P { uint n, f; };
#include "functions.glsl"
float curvature(float v) {
  switch (f) {
    case 2: return 1.0 - 2.0 * v;
    case 3: return -2.0 * v;
    case 4: return exp(-v);
    case 6: return v > 0.0 ? 0.0 : 1.0;
    case 7: { float z = min(abs(v), 40.0); return exp(-0.5 * z * z) * (2.0 - z * z) * 0.39894228; }
    case 8: { float s = logistic(v), r = logistic(-v); return s * r * (2.0 + clamp(v, -750.0, 750.0) * (r - s)); }
  }
  return 0.0;
}
void main() {
  EACH(i, n) d[i] = dy[i] * along[i] * curvature(at[i]);
}
