#version 450
#extension GL_GOOGLE_include_directive : require
// A discriminator's logits [rows, columns]: the log ratio of a row is l, or l_0 - l_1 for two columns. With side -1 for
// the first half of the rows and 1 for the second, gradient 0 gives the terms
//   f 0: d[row] = l, f 1: d[row] = ln(1 + e^(side l))
// and gradient 1 the logits' gradients d = g, or g side/(1 + e^(-side l)), with g = scale dout[0]; -d for column 1.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float logits[]; };
layout(set = 0, binding = 1) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 2) writeonly buffer D_ { float d[]; };
layout(push_constant) uniform P { uint rows, columns, f, gradient; float scale; };
#include "functions.glsl"
void main() {
  EACH(row, rows) {
    float l = columns == 1u ? logits[row] : logits[2u * row] - logits[2u * row + 1u], side = row < rows / 2u ? -1.0 : 1.0;
    if (gradient == 0u) {
      d[row] = f == 0u ? l : softplus(side * l);
      continue;
    }
    float g = scale * dout[0];
    if (f == 1u) g *= side * logistic(side * l);
    d[row * columns] = g;
    if (columns == 2u) d[2u * row + 1u] = -g;
  }
}
