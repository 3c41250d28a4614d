#version 450
// a[i] = c0 a[i] + c1 w[i]: a step of an exponential moving average; a copy where c0 is 0.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer A_ { float a[]; };
layout(set = 0, binding = 1) readonly buffer W_ { float w[]; };
layout(set = 0, binding = 2) readonly buffer C_ { float c[]; };
layout(push_constant) uniform P { uint n; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) a[i] = c[0] == 0.0 ? w[i] : c[0] * a[i] + c[1] * w[i];
}
