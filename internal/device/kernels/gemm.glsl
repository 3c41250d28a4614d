// A product C[M,N] = A[M,K] B[K,N] by tiles of 8 ROWS by 8 COLUMNS outputs. 64 threads each add up ROWS by COLUMNS
// outputs, in the order of k, so that no result depends on the size of the tile. Group x is the tile's row, y its
// column, z a part of the work that the including file knows. That file defines
//   void row(uint m), float left(uint k): an element of A in row m, which stays the same for a thread
//   void column(uint n), float right(uint k): an element of B
//   void store(uint m, uint n, float v)
//   left and right are called for k inside [from, to) only.
layout(local_size_x = 8, local_size_y = 8) in;
#define DEPTH 8u
const uint TALL = 8u * ROWS, WIDE = 8u * COLUMNS;
shared float lefts[DEPTH][TALL];
shared float rights[DEPTH][WIDE];

void product(uint M, uint N, uint from, uint to) {
  uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y, t = ty * 8u + tx;
  uint top = gl_WorkGroupID.x * TALL, edge = gl_WorkGroupID.y * WIDE;
  uint m = top + t % TALL, n = edge + t % WIDE;
  row(min(m, M - 1u));
  column(min(n, N - 1u));
  float sums[ROWS][COLUMNS];
  for (int i = 0; i < ROWS; i++) for (int j = 0; j < COLUMNS; j++) sums[i][j] = 0.0;
  for (uint first = from; first < to; first += DEPTH) {
    for (uint i = t / TALL; i < DEPTH; i += 64u / TALL) {
      uint k = first + i;
      lefts[i][t % TALL] = m < M && k < to ? left(k) : 0.0;
    }
    for (uint i = t / WIDE; i < DEPTH; i += 64u / WIDE) {
      uint k = first + i;
      rights[i][t % WIDE] = n < N && k < to ? right(k) : 0.0;
    }
    barrier();
    for (uint k = 0; k < DEPTH; k++) {
      float x[ROWS], y[COLUMNS];
      for (int i = 0; i < ROWS; i++) x[i] = lefts[k][ty * ROWS + i];
      for (int j = 0; j < COLUMNS; j++) y[j] = rights[k][tx + 8 * j];
      for (int i = 0; i < ROWS; i++) for (int j = 0; j < COLUMNS; j++) sums[i][j] += x[i] * y[j];
    }
    barrier();
  }
  for (int i = 0; i < ROWS; i++) for (int j = 0; j < COLUMNS; j++) {
    uint r = top + ty * ROWS + i, c = edge + tx + 8u * j;
    if (r < M && c < N) store(r, c, sums[i][j]);
  }
}
