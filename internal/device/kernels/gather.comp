#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// small[i, y, x, o] = f(sum over (ky, kx, c) of big[i, s y + ky - padH, s x + kx - padW, c] w[ky, kx, c, o] + bias[o]),
// pixels outside the image being 0: a convolution, and the gradient of a transposed one by its input. It is a product
// of patches [pixels, side^2 bigC] and weights, with sums in the order of (ky, kx, c); patches are not stored. f as in
// product.comp. Part z of several adds up k from z part to (z+1) part - 1 and stores into small[z, ...].
layout(set = 0, binding = 0) readonly buffer X_ { float big[]; };
layout(set = 0, binding = 1) readonly buffer W_ { float w[]; };
layout(set = 0, binding = 2) readonly buffer V_ { float bias[]; };
layout(set = 0, binding = 3) writeonly buffer Y_ { float small[]; };
#include "conv.glsl"
#define LEFT_ALONG true
#define RIGHT_ALONG false
int top[ROWS], edge[ROWS], corner[ROWS]; // of a patch: its first pixel, and that pixel's place in big
int tapY, tapX, leftAt;
uint output_[READ], rightAt;
void row(int i, uint m) {
  top[i] = int(m / smallW % smallH * stride) - int(padH);
  edge[i] = int(m % smallW * stride) - int(padW);
  corner[i] = ((int(m / (smallW * smallH) * bigH) + top[i]) * int(bigW) + edge[i]) * int(bigC);
}
void leftTerm(uint k) {
  uint tap = k / bigC;
  tapY = int(tap / side);
  tapX = int(tap % side);
  leftAt = (tapY * int(bigW) + tapX) * int(bigC) + int(k - tap * bigC);
}
float left(int i) {
  int y = top[i] + tapY, x = edge[i] + tapX;
  return y >= 0 && y < int(bigH) && x >= 0 && x < int(bigW) ? big[corner[i] + leftAt] : 0.0;
}
void column(int j, uint n) { output_[j] = n; }
void rightTerm(uint k) { rightAt = k * smallC; }
float right(int j) { return w[rightAt + output_[j]]; }
void store(uint m, uint n, float v) {
  if (biased != 0u) v += bias[n];
  small[(gl_WorkGroupID.z * batch * smallH * smallW + m) * smallC + n] = v < 0.0 ? (below > 0.0 ? below * v : 0.0) : v;
}
#include "gemm.glsl"
void main() {
  uint from = gl_WorkGroupID.z * part;
  product(batch * smallH * smallW, smallC, from, min(side * side * bigC, from + part));
}
