#version 450
// The numbers of dx in normgradient.comp, from s[i, 0, c], the sum of the gradient u, and s[i, 1, c], the sum of
// u (x - mean), over set i. With r = 1/sqrt(variance + epsilon), n elements in a group of wide channels, and sums over
// these channels,
//   line[i, 0, c] = -r^3 (sum of gamma s1)/n, line[i, 1, c] = -r (sum of gamma s0)/n
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer S_ { float s[]; };
layout(set = 0, binding = 1) readonly buffer M_ { float moments[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float gamma[]; };
layout(set = 0, binding = 3) writeonly buffer L_ { float line[]; };
layout(push_constant) uniform P { uint sets, rows, channels, wide, affine; float epsilon; };
void main() {
  uint groups = channels / wide;
  for (uint i = gl_GlobalInvocationID.x; i < sets * groups; i += gl_NumWorkGroups.x * 256u) {
    uint from = i % groups * wide, at = i / groups * 2u * channels;
    float r = 1.0 / sqrt(moments[at + channels + from] + epsilon), n = float(rows) * float(wide), sum = 0.0, square = 0.0;
    for (uint c = from; c < from + wide; c++) {
      float w = affine != 0u ? gamma[c] : 1.0;
      sum += w * s[at + c];
      square += w * s[at + channels + c];
    }
    for (uint c = from; c < from + wide; c++) {
      line[at + c] = -r * (r * (r * square)) / n;
      line[at + channels + c] = -r * sum / n;
    }
  }
}
