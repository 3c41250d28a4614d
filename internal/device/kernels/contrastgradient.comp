#version 450
// d[i, j] = g (s[i, j] + rest[i] x[i, j]) with g = scale dout[0], or without s if added is 0: the gradients of InfoNCE
// by queries (x the keys, s = sum_u p_u u) and by keys (x the queries).
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer R_ { float rest[]; };
layout(set = 0, binding = 2) readonly buffer S_ { float s[]; };
layout(set = 0, binding = 3) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 4) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P { uint n, columns, added; float scale; };
void main() {
  float g = scale * dout[0];
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    float v = rest[i / columns] * x[i];
    if (added != 0u) v += s[i];
    d[i] = g * v;
  }
}
