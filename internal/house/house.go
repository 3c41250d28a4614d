// Package house holds the tests of the project's layout: which package may import which, and which internal names
// public packages show. See the map in ARCHITECTURE.md.
package house
