#version 450
#extension GL_GOOGLE_include_directive : require
// Transport within groups of m rows: y_i = R_i Pi(sum_j R_j^T z_j), or with gradient 1 dz_i = R_i J sum_j R_j^T dy_j,
// J the derivative of Pi at the sum of R_j^T z_j. By action:
//   0 identity: R = I, Pi divides by m     1 circle, 3 plane: R turns by an angle in R^2
//   2 sphere, 4 space: R turns about an axis by an angle in R^3, given as 4 numbers
// Pi(v) = v/sqrt(max(|v|^2, 1e-12)) for circle and sphere, v/m for plane and space. A thread computes a group, or for
// the identity one column of a group.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer Z_ { float z[]; };
layout(set = 0, binding = 1) readonly buffer T_ { float turns[]; };
layout(set = 0, binding = 2) readonly buffer G_ { float dy[]; };
layout(set = 0, binding = 3) writeonly buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint groups, m, columns, action, gradient; };
#include "functions.glsl"
// the rotation of a row; by columns, as GLSL has them
mat3 rotation(uint row) {
  if (columns == 2u) {
    vec2 t = turn(turns[row]);
    return mat3(t.y, t.x, 0.0, -t.x, t.y, 0.0, 0.0, 0.0, 1.0);
  }
  vec3 k = vec3(turns[4u * row], turns[4u * row + 1u], turns[4u * row + 2u]);
  float size = sqrt(k.x * k.x + k.y * k.y + k.z * k.z);
  if (size == 0.0) return mat3(1.0);
  k /= size;
  vec2 t = turn(turns[4u * row + 3u]);
  float s = t.x, c = t.y, v = 1.0 - c;
  return mat3(c + v * k.x * k.x, v * k.y * k.x + s * k.z, v * k.z * k.x - s * k.y,
              v * k.x * k.y - s * k.z, c + v * k.y * k.y, v * k.z * k.y + s * k.x,
              v * k.x * k.z + s * k.y, v * k.y * k.z - s * k.x, c + v * k.z * k.z);
}
vec3 pointOf(uint row, bool slopes) {
  vec3 p = vec3(0.0);
  for (uint j = 0u; j < columns; j++) p[j] = slopes ? dy[row * columns + j] : z[row * columns + j];
  return p;
}
vec3 gathered(uint group, bool slopes) {
  vec3 sum = vec3(0.0);
  for (uint row = group * m; row < (group + 1u) * m; row++) sum += transpose(rotation(row)) * pointOf(row, slopes);
  return sum;
}
void main() {
  if (action == 0u) {
    EACH(i, groups * columns) {
      uint from = i / columns * m * columns + i % columns;
      float sum = 0.0;
      for (uint row = 0u; row < m; row++) sum += gradient != 0u ? dy[from + row * columns] : z[from + row * columns];
      for (uint row = 0u; row < m; row++) y[from + row * columns] = sum / float(m);
    }
    return;
  }
  EACH(group, groups) {
    vec3 v = gathered(group, false), p;
    float square = v.x * v.x + v.y * v.y + v.z * v.z, scale = 1.0 / sqrt(max(square, 1e-12));
    bool unit = action == 1u || action == 2u;
    p = unit ? scale * v : v / float(m);
    if (gradient != 0u) {
      vec3 g = gathered(group, true);
      float along = square > 1e-12 ? p.x * g.x + p.y * g.y + p.z * g.z : 0.0;
      p = unit ? scale * (g - along * p) : g / float(m);
    }
    for (uint row = group * m; row < (group + 1u) * m; row++) {
      vec3 q = rotation(row) * p;
      for (uint j = 0u; j < columns; j++) y[row * columns + j] = q[j];
    }
  }
}
