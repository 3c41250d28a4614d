#version 450
// dx = r gamma u + line[i, 0, c] (x - mean) + line[i, 1, c], with r = 1/sqrt(variance + epsilon) and u the gradient dy,
// 0 where relu is 1 and y is not positive. If given is 1, the moments do not depend on x, and line is 0. Without fused
// products the two terms of a group of one element cancel exactly.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer M_ { float moments[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float gamma[]; };
layout(set = 0, binding = 3) readonly buffer L_ { float line[]; };
layout(set = 0, binding = 4) readonly buffer D_ { float dy[]; };
layout(set = 0, binding = 5) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 6) writeonly buffer E_ { float dx[]; };
layout(push_constant) uniform P { uint n, rows, channels, affine, relu, given; float epsilon; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    uint c = i % channels, at = i / (rows * channels) * 2u * channels + c;
    float r = 1.0 / sqrt(moments[at + channels] + epsilon), u = relu != 0u && !(y[i] > 0.0) ? 0.0 : dy[i];
    precise float d = r * (affine != 0u ? gamma[c] * u : u);
    if (given == 0u) d += line[at] * (x[i] - moments[at]) + line[at + channels];
    dx[i] = d;
  }
}
