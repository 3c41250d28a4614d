#version 450
#extension GL_GOOGLE_include_directive : require
// engine.RMSProp's update with the numbers c of the step: rate c0, alpha c1, 1 - alpha c2, clip c3, decay c4, epsilon
// c5, momentum c6.
//   g' = c3 g + c4 w, s = c1 s + c2 g'^2, d = g'/(sqrt(s) + c5), w = w - c0 d
// With mean, m = c1 m + c2 g' and the root is sqrt(s - m^2). With velocity, v = c6 v + d and w = w - c0 v.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer W_ { float w[]; };
layout(set = 0, binding = 1) buffer S_ { float s[]; };
layout(set = 0, binding = 2) buffer M_ { float m[]; };
layout(set = 0, binding = 3) buffer V_ { float v[]; };
layout(set = 0, binding = 4) readonly buffer G_ { float g[]; };
layout(set = 0, binding = 5) readonly buffer C_ { float c[]; };
layout(push_constant) uniform P { uint n, mean, velocity, decay; };
#include "functions.glsl"
void main() {
  EACH(i, n) {
    float x = w[i], d = c[3] * g[i];
    if (decay != 0u) d += c[4] * x;
    float q = c[1] * s[i] + c[2] * (d * d);
    s[i] = q;
    if (mean != 0u) {
      float a = c[1] * m[i] + c[2] * d;
      m[i] = a;
      q = max(q - a * a, 0.0);
    }
    d = d / (sqrt(q) + c[5]);
    if (velocity != 0u) {
      d += c[6] * v[i];
      v[i] = d;
    }
    w[i] = x - c[0] * d;
  }
}
