// Kernels with one group of 64 threads for a row at a time. ROWS_EACH runs a loop over the rows; total and greatest
// combine one number of each thread in a tree, and return the result to all threads.
layout(local_size_x = 64) in;
shared float lanes[64];
#define ROWS_EACH(row, rows) for (uint row = gl_WorkGroupID.x; row < (rows); row += gl_NumWorkGroups.x)
#define COLUMNS_EACH(j, columns) for (uint j = gl_LocalInvocationID.x; j < (columns); j += 64u)
float total(float v) {
  uint t = gl_LocalInvocationID.x;
  barrier();
  lanes[t] = v;
  barrier();
  for (uint h = 32u; h > 0u; h >>= 1) {
    if (t < h) lanes[t] += lanes[t + h];
    barrier();
  }
  return lanes[0];
}
float greatest(float v) {
  uint t = gl_LocalInvocationID.x;
  barrier();
  lanes[t] = v;
  barrier();
  for (uint h = 32u; h > 0u; h >>= 1) {
    if (t < h) lanes[t] = max(lanes[t], lanes[t + h]);
    barrier();
  }
  return lanes[0];
}
