#version 450
// s[p, c] = sum of x[r, c] over the rows r of part p, from p height to (p+1) height - 1; with product 1 the sum of
// x[r, c] y[r, c], with y from yFrom on. Each of 16 threads of a column adds up every sixteenth row in order; then a tree adds them.
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 2) writeonly buffer S_ { float s[]; };
layout(push_constant) uniform P { uint rows, width, height, product, yFrom; };
shared float sums[16][16];
void main() {
  uint c = gl_WorkGroupID.x * 16u + gl_LocalInvocationID.x, t = gl_LocalInvocationID.y, p = gl_WorkGroupID.y;
  float v = 0.0;
  uint end = min(rows, (p + 1u) * height);
  if (c < width) for (uint r = p * height + t; r < end; r += 16u) {
    uint at = r * width + c;
    v += product != 0u ? x[at] * y[yFrom + at] : x[at];
  }
  sums[t][gl_LocalInvocationID.x] = v;
  barrier();
  for (uint half_ = 8u; half_ > 0u; half_ >>= 1) {
    if (t < half_) sums[t][gl_LocalInvocationID.x] += sums[t + half_][gl_LocalInvocationID.x];
    barrier();
  }
  if (t == 0u && c < width) s[p * width + c] = sums[0][gl_LocalInvocationID.x];
}
