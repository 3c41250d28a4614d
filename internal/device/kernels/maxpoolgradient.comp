#version 450
#extension GL_GOOGLE_include_directive : require
// dx of a pixel is the sum of dy, in order, over the windows with this pixel as their largest. at holds the index of
// the largest pixel of each window.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer A_ { uint at[]; };
layout(set = 0, binding = 1) readonly buffer G_ { float dy[]; };
layout(set = 0, binding = 2) writeonly buffer D_ { float dx[]; };
#include "pool.glsl"
layout(push_constant) uniform P { uint total, channels; Side rows, columns; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < total; i += gl_NumWorkGroups.x * 256u) {
    uint c = i % channels, k = i / channels % columns.n, r = i / (channels * columns.n);
    uint image = r / rows.n * rows.count;
    r %= rows.n;
    float sum = 0.0;
    for (uint row = first(rows, r); row <= last(rows, r) && row < rows.count; row++)
      for (uint column = first(columns, k); column <= last(columns, k) && column < columns.count; column++) {
        uint j = ((image + row) * columns.count + column) * channels + c;
        if (at[j] == r * columns.n + k) sum += dy[j];
      }
    dx[i] = sum;
  }
}
