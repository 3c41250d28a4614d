#version 450
// Columns of x [rows, width], n elements in all. With f 0, y = x - the first row; with f 1, y = y - sums/rows, with sums
// of the columns of y. Equal elements of a column become 0 exactly.
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) readonly buffer X_ { float x[]; };
layout(set = 0, binding = 1) readonly buffer S_ { float sums[]; };
layout(set = 0, binding = 2) buffer Y_ { float y[]; };
layout(push_constant) uniform P { uint n, width, rows, f; };
void main() {
  for (uint i = gl_GlobalInvocationID.x; i < n; i += gl_NumWorkGroups.x * 256u) {
    y[i] = f == 0u ? x[i] - x[i % width] : y[i] - sums[i % width] / float(rows);
  }
}
