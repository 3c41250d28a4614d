#version 450
#extension GL_GOOGLE_include_directive : require
// d[i] = g times, by f, with g = scale dout[0] and m = logistic(y[i]),
//   0 (m - x[i]) m (1 - m)   1 x[i] - m   2 y[i] - x[i]   3 x[i] - y[i]   4 m - x[i]   5 -y[i]
//   6 x[i]                   7 a/2 (e^(a y[i]) - 1)
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 3) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P { uint n, f; float scale, a; };
#include "functions.glsl"
float slopeAt(uint i) {
  float m = f < 2u || f == 4u ? logistic(y[i]) : 0.0;
  switch (f) {
    case 0: return (m - x[i]) * (m * (1.0 - m));
    case 1: return x[i] - m;
    case 2: return y[i] - x[i];
    case 3: return x[i] - y[i];
    case 4: return m - x[i];
    case 5: return -y[i];
    case 6: return x[i];
  }
  return 0.5 * a * expm1(a * y[i]);
}
void main() {
  float g = scale * dout[0];
  EACH(i, n) d[i] = g * slopeAt(i);
}
