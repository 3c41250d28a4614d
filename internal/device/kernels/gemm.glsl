// A product C[M,N] = A[M,K] B[K,N] by tiles of HEIGHT ROWS by 8 COLUMNS outputs. 8 HEIGHT threads each add up ROWS by
// COLUMNS outputs, in the order of k, so that no result depends on the size of the tile. Group x is the tile's row, y
// its column, z a part of the work that the including file knows. A thread reads elements of ROWS rows of A and READ
// columns of B, all at the same k of a slice of 8, while the slice before is added up. The including file defines
//   void row(int i, uint m): row i of the thread is row m of A
//   void leftTerm(uint k), float left(int i): the element of row i at k
//   void column(int j, uint n), void rightTerm(uint k), float right(int j): the same for columns of B
//   LEFT_ALONG, RIGHT_ALONG: whether neighbours in memory have neighbouring k, rather than m or n
//   void store(uint m, uint n, float v)
layout(local_size_x = 8, local_size_y = HEIGHT) in;
#define DEPTH 8u
const uint TALL = HEIGHT * ROWS, WIDE = 8u * COLUMNS;
// Two slices: a thread writes one while others still read the other. The last vec4 moves rows to other banks of memory.
shared vec4 lefts[2][DEPTH][TALL / 4u + 1u];
shared vec4 rights[2][DEPTH][WIDE / 4u + 1u];
float nextLeft[ROWS], nextRight[READ];

void fetch(uint leftK, uint rightK, uint to) {
  leftTerm(leftK);
  rightTerm(rightK);
  [[unroll]] for (int i = 0; i < ROWS; i++) nextLeft[i] = leftK < to ? left(i) : 0.0;
  [[unroll]] for (int j = 0; j < READ; j++) nextRight[j] = rightK < to ? right(j) : 0.0;
}

void product(uint M, uint N, uint from, uint to) {
  uint tx = gl_LocalInvocationID.x, ty = gl_LocalInvocationID.y, t = ty * 8u + tx;
  uint top = gl_WorkGroupID.x * TALL, edge = gl_WorkGroupID.y * WIDE;
  uint leftK = LEFT_ALONG ? tx : t / HEIGHT, rightK = RIGHT_ALONG ? tx : t / HEIGHT;
  uint m = LEFT_ALONG ? ty : t % HEIGHT, n = RIGHT_ALONG ? ty : t % HEIGHT;
  [[unroll]] for (int i = 0; i < ROWS; i++) row(i, min(top + m + HEIGHT * i, M - 1u));
  [[unroll]] for (int j = 0; j < READ; j++) column(j, min(edge + n + HEIGHT * j, N - 1u));
  float sums[ROWS][COLUMNS];
  [[unroll]] for (int i = 0; i < ROWS; i++) [[unroll]] for (int j = 0; j < COLUMNS; j++) sums[i][j] = 0.0;
  uint s = 0u;
  fetch(from + leftK, from + rightK, to);
  for (uint first = from; first < to; first += DEPTH) {
    [[unroll]] for (int i = 0; i < ROWS; i++) lefts[s][leftK][(m + HEIGHT * i) / 4u][(m + HEIGHT * i) % 4u] = nextLeft[i];
    [[unroll]] for (int j = 0; j < READ; j++) rights[s][rightK][(n + HEIGHT * j) / 4u][(n + HEIGHT * j) % 4u] = nextRight[j];
    barrier();
    fetch(first + DEPTH + leftK, first + DEPTH + rightK, to);
    for (uint k = 0u; k < DEPTH; k++) {
      float x[ROWS], y[COLUMNS];
      [[unroll]] for (int i = 0; i < ROWS; i += 4) {
        vec4 v = lefts[s][k][HEIGHT / 4 * i + ty];
        [[unroll]] for (int c = 0; c < 4; c++) x[i + c] = v[c];
      }
#if COLUMNS % 4 == 0
      [[unroll]] for (int j = 0; j < COLUMNS; j += 4) {
        vec4 v = rights[s][k][2 * j + tx];
        [[unroll]] for (int c = 0; c < 4; c++) y[j + c] = v[c];
      }
#else
      [[unroll]] for (int j = 0; j < COLUMNS; j++) y[j] = rights[s][k][(tx * COLUMNS + j) / 4u][(tx * COLUMNS + j) % 4u];
#endif
      [[unroll]] for (int i = 0; i < ROWS; i++) [[unroll]] for (int j = 0; j < COLUMNS; j++) sums[i][j] += x[i] * y[j];
    }
    s = 1u - s;
  }
  [[unroll]] for (int i = 0; i < ROWS; i++) [[unroll]] for (int j = 0; j < COLUMNS; j++) {
    uint r = top + i / 4 * HEIGHT * 4u + ty * 4u + i % 4;
#if COLUMNS % 4 == 0
    uint c = edge + j / 4 * 32u + tx * 4u + j % 4;
#else
    uint c = edge + tx * COLUMNS + j;
#endif
    if (r < M && c < N) store(r, c, sums[i][j]);
  }
}
