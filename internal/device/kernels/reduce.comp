#version 450
#extension GL_GOOGLE_include_directive : require
// s[at + group] = the group's part of sum_i of, by f,
//   0 x[i]                   1 x[i]^2                2 x[i] y[i]        3 (x[i] - logistic(y[i]))^2
//   4 (x[i] - y[i])^2        5 ln(1+e^y[i]) - x[i] y[i]                 6 x[i]^2 + e^(a y[i]) - a y[i] - 1
//   7 (1 - x[i])^2           8 sqrt(x[i]), 0 where x[i] < 0
// A thread adds up its elements in order; then a tree adds the threads' sums.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 2) buffer S_ { float s[]; };
layout(push_constant) uniform P { uint n, f, at; float a; };
#include "functions.glsl"
shared float sums[256];
float term(uint i) {
  float v = x[i];
  switch (f) {
    case 1: return v * v;
    case 2: return v * y[i];
    case 3: v -= logistic(y[i]); return v * v;
    case 4: v -= y[i]; return v * v;
    case 5: return softplus(y[i]) - v * y[i];
    case 6: { float l = a * y[i]; return v * v + (expm1(l) - l); }
    case 7: v = 1.0 - v; return v * v;
    case 8: return sqrt(max(v, 0.0));
  }
  return v;
}
void main() {
  uint t = gl_LocalInvocationID.x;
  float v = 0.0;
  EACH(i, n) v += term(i);
  sums[t] = v;
  barrier();
  for (uint h = 128u; h > 0u; h >>= 1) {
    if (t < h) sums[t] += sums[t + h];
    barrier();
  }
  if (t == 0u) s[at + gl_WorkGroupID.x] = sums[0];
}
