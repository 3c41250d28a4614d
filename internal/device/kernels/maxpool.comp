#version 450
#extension GL_GOOGLE_include_directive : require
// Max pooling of images x [batch, h, w, channels]. With place 0 y is the largest pixel of each window; with place 1 the
// word of y is the index of the first such pixel, row by row.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Y_ { uint y[]; };
#include "pool.glsl"
layout(push_constant) uniform P { uint total, channels, place; Side rows, columns; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < total; i += gl_NumWorkGroups.x * 256u) {
    uint c = i % channels, column = i / channels % columns.count, row = i / (channels * columns.count);
    uint image = row / rows.count * rows.n;
    row %= rows.count;
    uint at = start(rows, row) * columns.n + start(columns, column);
    float most = x[(image * columns.n + at) * channels + c];
    for (uint r = start(rows, row); r < end(rows, row); r++) for (uint k = start(columns, column); k < end(columns, column); k++) {
      float v = x[((image + r) * columns.n + k) * channels + c];
      if (v > most) {
        most = v;
        at = r * columns.n + k;
      }
    }
    y[i] = place != 0u ? at : floatBitsToUint(most);
  }
}
