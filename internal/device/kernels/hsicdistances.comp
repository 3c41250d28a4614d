#version 450
#extension GL_GOOGLE_include_directive : require
// squares[i, s-1] = |x_i - x_j|^2 of the known rows i and j = i+s, for s up to the partners of a row; infinity where a pair
// would be listed twice. A row has all other rows as partners if they are at most 65536 pairs, otherwise 65536/known.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float points[]; };
layout(set = 0, binding = 1) readonly buffer C_ { float chosen[]; };
layout(set = 0, binding = 2) writeonly buffer S_ { float squares[]; };
layout(push_constant) uniform P { uint columns; };
#include "functions.glsl"
#include "hsicpairs.glsl"
void main() {
  uint known = uint(chosen[0]), width = partnersOf(known);
  EACH(k, known * width) {
    uint i = k / width, j = i + 1u + k % width;
    float sum = 0.0;
    for (uint c = 0u; c < columns; c++) {
      float d = points[i * columns + c] - points[j % known * columns + c];
      sum += d * d;
    }
    squares[k] = everyPair(known) && j >= known ? uintBitsToFloat(0x7f800000u) : sum;
  }
}
