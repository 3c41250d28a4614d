// Package house has tests of the project's structure. They check imports between packages, and internal names in public
// signatures. They compare the exported API with testdata/api.txt, and the size of the code with testdata/limits.txt.
// ARCHITECTURE.md describes the layers.
package house
