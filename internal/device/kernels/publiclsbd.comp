#version 450
#extension GL_GOOGLE_include_directive : require
// By f, for rows of z and y [rows, columns] with the product p = z.y of a row and the distance d = |z - y|:
//   0 out[row] = cosine (1 - clip(p, -1, 1)) + distance d
//   1, 2 out = dout[0] times the gradient by z or y of the sum of f 0; its parts are 0 where |p| >= 1 and where d = 0
#include "rows.glsl"
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer Y_ { float y[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dout[]; };
layout(set = 0, binding = 3) writeonly buffer O_ { float out_[]; };
layout(push_constant) uniform P { uint rows, columns, f; float cosine, distance_; };
void main() {
  ROWS_EACH(row, rows) {
    float p = 0.0, d = 0.0;
    COLUMNS_EACH(j, columns) {
      float a = z[row * columns + j], b = y[row * columns + j];
      p += a * b;
      d += (a - b) * (a - b);
    }
    p = total(p);
    d = sqrt(total(d));
    if (f == 0u) {
      if (gl_LocalInvocationID.x == 0u) out_[row] = cosine * (1.0 - clamp(p, -1.0, 1.0)) + distance_ * d;
    } else {
      float along = p > -1.0 && p < 1.0 ? -cosine : 0.0, apart = d > 0.0 ? distance_ / d : 0.0;
      COLUMNS_EACH(j, columns) {
        float a = z[row * columns + j], b = y[row * columns + j];
        out_[row * columns + j] = dout[0] * (f == 1u ? along * b + apart * (a - b) : along * a + apart * (b - a));
      }
    }
  }
}
