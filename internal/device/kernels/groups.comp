#version 450
#extension GL_GOOGLE_include_directive : require
// The groups of n rows by labels [n, factors]. Rows with equal labels >= 0 of a block's factor are a group:
// members[block, i, 0] = the first row of row i's group, or -1 without a group, and members[block, i, 1] = the group's
// rows. table begins with 3 numbers for each block: its factor, and the place and number of its columns.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer L_ { float labels[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 2) writeonly buffer M_ { float members[]; };
layout(push_constant) uniform P { uint n, blocks, factors; };
#include "functions.glsl"
void main() {
  EACH(k, n * blocks) {
    uint i = k % n, factor = uint(table[3u * (k / n)]);
    float label = labels[i * factors + factor], first = -1.0, size = 0.0;
    if (label >= 0.0) for (uint j = 0u; j < n; j++) if (labels[j * factors + factor] == label) {
      if (size == 0.0) first = float(j);
      size += 1.0;
    }
    members[2u * k] = first;
    members[2u * k + 1u] = size;
  }
}
