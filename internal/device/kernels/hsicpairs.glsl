// The pairs of rows for a median distance: see hsicdistances.comp.
bool everyPair(uint known) { return known <= 362u; } // known (known-1)/2 <= 65536
uint partnersOf(uint known) {
  if (known < 2u) return 0u;
  return everyPair(known) ? known - 1u : max(1u, 65536u / known);
}
