#version 450
#extension GL_GOOGLE_include_directive : require
// dw[ky, kx, c, o] = sum over the small image's pixels (i, y, x) of big[i, s y + ky - padH, s x + kx - padW, c]
// small[i, y, x, o], in the order of the pixels: the gradient of the weights of a convolution, or of a transposed one.
// Group z adds up the pixels from z part to (z+1) part - 1 and stores into dw[z, ...].
layout(set = 0, binding = 0) readonly buffer X_ { float big[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float small[]; };
layout(set = 0, binding = 2) writeonly buffer W_ { float dw[]; };
#include "conv.glsl"
uint channel, output_;
int moveY, moveX;
void row(uint m) {
  channel = m % bigC;
  moveY = int(m / (bigC * side)) - int(padH);
  moveX = int(m / bigC % side) - int(padW);
}
float left(uint k) {
  int y = int(k / smallW % smallH * stride) + moveY, x = int(k % smallW * stride) + moveX;
  if (y < 0 || y >= int(bigH) || x < 0 || x >= int(bigW)) return 0.0;
  return big[((k / (smallW * smallH) * bigH + uint(y)) * bigW + uint(x)) * bigC + channel];
}
void column(uint n) { output_ = n; }
float right(uint k) { return small[k * smallC + output_]; }
void store(uint m, uint n, float v) { dw[(gl_WorkGroupID.z * side * side * bigC + m) * smallC + n] = v; }
#include "gemm.glsl"
void main() {
  product(side * side * bigC, smallC, gl_WorkGroupID.z * part, min(batch * smallH * smallW, (gl_WorkGroupID.z + 1u) * part));
}
