#version 450
// Sums over the rows of part p of set i, from p height to (p+1) height - 1, for each channel c:
//   s[p, i, 0, c] = sum of u, s[p, i, 1, c] = sum of u (x - shift)
// gradient 0: u = x - shift and shift is the set's first row; equal elements then have a variance of exactly 0.
// gradient 1: u is the gradient dy of y, 0 where relu is 1 and y is not positive; shift is the mean, moments[i, 0, c].
// Each of 16 threads of a channel adds up every sixteenth row in order; then a tree adds them.
layout(local_size_x = 16, local_size_y = 16) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer M_ { float moments[]; };
layout(set = 0, binding = 2) readonly buffer D_ { float dy[]; };
layout(set = 0, binding = 3) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 4) writeonly buffer S_ { float s[]; };
layout(push_constant) uniform P { uint sets, rows, channels, height, gradient, relu; };
shared float sums[16][16];
shared float products[16][16];
void main() {
  uint lane = gl_LocalInvocationID.x, t = gl_LocalInvocationID.y;
  uint c = gl_WorkGroupID.x * 16u + lane, p = gl_WorkGroupID.y, set = gl_WorkGroupID.z;
  uint end = min(rows, (p + 1u) * height), first = set * rows * channels + c;
  float sum = 0.0, square = 0.0;
  if (c < channels) {
    float shift = gradient != 0u ? moments[2u * set * channels + c] : x[first];
    for (uint r = p * height + t; r < end; r += 16u) {
      uint at = first + r * channels;
      float d = x[at] - shift, u = d;
      if (gradient != 0u) u = relu != 0u && !(y[at] > 0.0) ? 0.0 : dy[at];
      sum += u;
      square += u * d;
    }
  }
  sums[t][lane] = sum;
  products[t][lane] = square;
  barrier();
  for (uint h = 8u; h > 0u; h >>= 1) {
    if (t < h) {
      sums[t][lane] += sums[t + h][lane];
      products[t][lane] += products[t + h][lane];
    }
    barrier();
  }
  if (t == 0u && c < channels) {
    uint to = 2u * (p * sets + set) * channels + c;
    s[to] = sums[0][lane];
    s[to + channels] = products[0][lane];
  }
}
