#version 450
// u[i] = c3 g[i] + c4 w[i]: a clipped gradient with weight decay.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer W_ { float w[]; };
layout(set = 0, binding = 1) readonly buffer G_ { float g[]; };
layout(set = 0, binding = 2) readonly buffer C_ { float c[]; };
layout(set = 0, binding = 3) writeonly buffer U_ { float u[]; };
layout(push_constant) uniform P { uint n; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) u[i] = c[3] * g[i] + c[4] * w[i];
}
