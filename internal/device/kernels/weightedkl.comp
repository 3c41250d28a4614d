#version 450
#extension GL_GOOGLE_include_directive : require
// Twice the divergence of N(mu, e^2s) from N(0, 1), with a weight w = weights[i % columns] for each column, and the
// gradients of the divergence with g = scale dout[0]. By f:
//   0 d = w (mu^2 + e^2s - 2s - 1), 1 d = g w mu (by mu), 2 d = g w (e^2s - 1) (by s)
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float mu[]; };
layout(set = 0, binding = 1) readonly buffer S_ { float s[]; };
layout(set = 0, binding = 2) readonly buffer W_ { float weights[]; };
layout(set = 0, binding = 3) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 4) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P { uint n, columns, f; float scale; };
#include "functions.glsl"
void main() {
  EACH(i, n) {
    float w = weights[i % columns], m = mu[i], t = 2.0 * s[i];
    if (f == 0u) d[i] = w * (m * m + (expm1(t) - t));
    else d[i] = scale * dout[0] * w * (f == 1u ? m : expm1(t));
  }
}
