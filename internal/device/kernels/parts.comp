#version 450
// y[i] = f(sum_p x[p, i] + bias[i % width]) over parts p in order; f as in product.comp. Without
// bias width is 0.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer V_ { float bias[]; };
layout(set = 0, binding = 2) writeonly buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint n, parts, width; float below; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    float v = 0.0;
    for (uint p = 0; p < parts; p++) v += x[p * n + i];
    if (width > 0u) v += bias[i % width];
    y[i] = v < 0.0 ? (below > 0.0 ? below * v : 0.0) : v;
  }
}
