#version 450
// y[i.t + yAt] = x[i.s + xAt] for the places i of a box of 4 axes, with strides s in x and t in y.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint n, d1, d2, d3, xAt, s0, s1, s2, s3, yAt, t0, t1, t2, t3; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    uint a3 = i % d3, a2 = i / d3 % d2, a1 = i / (d3 * d2) % d1, a0 = i / (d3 * d2 * d1);
    y[yAt + a0 * t0 + a1 * t1 + a2 * t2 + a3 * t3] = x[xAt + a0 * s0 + a1 * s1 + a2 * s2 + a3 * s3];
  }
}
