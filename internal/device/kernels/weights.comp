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
uint rowEnd, at; // pixels before rowEnd are in the row of big that begins at at
bool inside;
void row(uint m) {
  channel = m % bigC;
  moveY = int(m / (bigC * side)) - int(padH);
  moveX = int(m / bigC % side) - int(padW);
  rowEnd = 0u;
}
float left(uint k) {
  if (k >= rowEnd) { // k grows: divide for each row only
    int y = int(k / smallW % smallH * stride) + moveY;
    inside = y >= 0 && y < int(bigH);
    at = (k / (smallW * smallH) * bigH + uint(y)) * bigW * bigC + channel;
    rowEnd = (k / smallW + 1u) * smallW;
  }
  int x = int((k + smallW - rowEnd) * stride) + moveX;
  return inside && x >= 0 && x < int(bigW) ? big[at + uint(x) * bigC] : 0.0;
}
void column(uint n) { output_ = n; }
float right(uint k) { return small[k * smallC + output_]; }
void store(uint m, uint n, float v) { dw[(gl_WorkGroupID.z * side * side * bigC + m) * smallC + n] = v; }
#include "gemm.glsl"
void main() {
  product(side * side * bigC, smallC, gl_WorkGroupID.z * part, min(batch * smallH * smallW, (gl_WorkGroupID.z + 1u) * part));
}
