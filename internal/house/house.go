// Package house holds the tests of the project's layout: which package may import which, and what public
// packages show of internal ones. See the map in ARCHITECTURE.md.
package house
