#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
// dw[ky, kx, c, o] = sum over the small image's pixels (i, y, x) of big[i, s y + ky - padH, s x + kx - padW, c]
// small[i, y, x, o], in the order of the pixels: the gradient of the weights of a convolution, or of a transposed one.
// Group z adds up the pixels from z part to (z+1) part - 1 and stores into dw[z, ...].
layout(set = 0, binding = 0) readonly buffer X_ { float big[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float small[]; };
layout(set = 0, binding = 2) writeonly buffer W_ { float dw[]; };
#include "conv.glsl"
#define LEFT_ALONG false
#define RIGHT_ALONG false
int moveY[ROWS], moveX[ROWS], place[ROWS]; // from a patch's first pixel to the pixel and the channel
int pixelY, pixelX, leftAt;                // a patch's first pixel, and its place in big
uint output_[READ], rightAt;
void row(int i, uint m) {
  moveY[i] = int(m / (bigC * side)) - int(padH);
  moveX[i] = int(m / bigC % side) - int(padW);
  place[i] = (moveY[i] * int(bigW) + moveX[i]) * int(bigC) + int(m % bigC);
}
void leftTerm(uint k) {
  pixelY = int(k / smallW % smallH * stride);
  pixelX = int(k % smallW * stride);
  leftAt = ((int(k / (smallW * smallH) * bigH) + pixelY) * int(bigW) + pixelX) * int(bigC);
}
float left(int i) {
  int y = pixelY + moveY[i], x = pixelX + moveX[i];
  return y >= 0 && y < int(bigH) && x >= 0 && x < int(bigW) ? big[leftAt + place[i]] : 0.0;
}
void column(int j, uint n) { output_[j] = n; }
void rightTerm(uint k) { rightAt = k * smallC; }
float right(int j) { return small[rightAt + output_[j]]; }
void store(uint m, uint n, float v) { dw[(gl_WorkGroupID.z * side * side * bigC + m) * smallC + n] = v; }
#include "gemm.glsl"
void main() {
  product(side * side * bigC, smallC, gl_WorkGroupID.z * part, min(batch * smallH * smallW, (gl_WorkGroupID.z + 1u) * part));
}
