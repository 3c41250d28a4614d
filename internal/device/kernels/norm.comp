#version 450
// y = (x - mean)/sqrt(variance + epsilon) gamma + beta, and max(y, 0) if relu is 1, for x [sets, rows, channels] and
// moments [sets, 2, channels]. Without affine gamma is 1 and beta 0.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer M_ { float moments[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float gamma[]; };
layout(set = 0, binding = 3) readonly buffer B_ { float beta[]; };
layout(set = 0, binding = 4) writeonly buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint n, rows, channels, affine, relu; float epsilon; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    uint c = i % channels, at = i / (rows * channels) * 2u * channels + c;
    float scale = 1.0 / sqrt(moments[at + channels] + epsilon), v = x[i] - moments[at];
    v = affine != 0u ? scale * gamma[c] * v + beta[c] : scale * v;
    y[i] = relu != 0u && v < 0.0 ? 0.0 : v;
  }
}
