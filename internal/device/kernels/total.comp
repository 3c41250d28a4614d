#version 450
// y[at] = a sum_(i<n) x[i] + b, by one group: each thread adds up every 256th element in order; then a tree.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint n, at; float a, b; };
shared float sums[256];
void main() {
  uint t = gl_LocalInvocationID.x;
  float v = 0.0;
  for (uint i = t; i < n; i += 256u) v += x[i];
  sums[t] = v;
  barrier();
  for (uint h = 128u; h > 0u; h >>= 1) {
    if (t < h) sums[t] += sums[t + h];
    barrier();
  }
  if (t == 0u) y[at] = a * sums[0] + b;
}
