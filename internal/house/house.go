// Package house holds the tests of the project's layout. They check which package may import which, and which internal
// names public packages show. They compare the exported API with testdata/api.txt, and sizes of the code with
// testdata/limits.txt. See the map in ARCHITECTURE.md.
package house
