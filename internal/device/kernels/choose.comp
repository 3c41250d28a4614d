#version 450
#extension GL_GOOGLE_include_directive : require
// The known rows among n rows of labels [n, factors], in order: chosen[0] = their number, chosen[1 + k] = row k of them,
// and chosen[1 + n + i] = the place k of row i, or -1.
// A row is known if its labels of all listed factors are >= 0. table lists count factors, every third number from at on.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer L_ { float labels[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 2) writeonly buffer C_ { float chosen[]; };
layout(push_constant) uniform P { uint n, factors, count, at; };
#include "functions.glsl"
bool known(uint row) {
  for (uint k = 0u; k < count; k++) if (!(labels[row * factors + uint(table[at + 3u * k])] >= 0.0)) return false;
  return true;
}
void main() {
  EACH(i, n) {
    uint before = 0u;
    for (uint j = 0u; j < i; j++) if (known(j)) before++;
    bool here = known(i);
    if (here) chosen[1u + before] = float(i);
    chosen[1u + n + i] = here ? float(before) : -1.0;
    if (i + 1u == n) chosen[0] = float(before + (here ? 1u : 0u));
  }
}
