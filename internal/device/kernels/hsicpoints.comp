#version 450
#extension GL_GOOGLE_include_directive : require
// points[a, c] = the element of x [n, width] in the column that table lists at c, for the known rows a (choose.comp). With
// circular 1, points are on circles of circumference 1: points[a, 2c] = cos(2 pi x)/(2 pi), points[a, 2c+1] = sin(..)/(2 pi).
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float table[]; };
layout(set = 0, binding = 2) readonly buffer C_ { float chosen[]; };
layout(set = 0, binding = 3) writeonly buffer P_ { float points[]; };
layout(push_constant) uniform P { uint width, columns, circular; };
#include "functions.glsl"
void main() {
  uint known = uint(chosen[0]);
  EACH(k, known * columns) {
    uint a = k / columns, c = k % columns;
    float v = x[uint(chosen[1u + a]) * width + uint(table[c])];
    if (circular == 0u) points[k] = v;
    else {
      vec2 on = turn(6.28318531 * (v - floor(v))) * 0.159154943;
      points[2u * k] = on.y;
      points[2u * k + 1u] = on.x;
    }
  }
}
