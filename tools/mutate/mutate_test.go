package main

import (
	"fmt"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestMutantsOf(t *testing.T) {
	const source = `package p

import "fmt"

const text = "a + b < 3 true"

// f is 1 + 1.
func f(x, y int) bool {
	for x < 9 {
		x += 2 * y
		break
	}
	fmt.Print(min(x, 0.5), 'y' == 'n')
	return true && x != -0x10
}
`
	found := must.Get(mutantsOf("p.go", []byte(source)))(t)
	var got []string
	for _, m := range found {
		got = append(got, fmt.Sprintf("%d: %s -> %s", m.line, m.old, m.new))
		text := string(m.apply([]byte(source)))
		if text[:m.offset] != source[:m.offset] || text[m.offset:m.offset+len(m.new)] != m.new ||
			text[m.offset+len(m.new):] != source[m.offset+len(m.old):] {
			t.Errorf("%s changes more:\n%s", m, text)
		}
	}
	want := []string{"9: < -> <=", "9: 9 -> 10", "10: += -> -=", "10: 2 -> 3", "10: * -> /", "11: break -> continue",
		"13: min -> max", "13: 0.5 -> 2", "13: == -> !=", "14: true -> false", "14: && -> ||", "14: != -> ==", "14: - -> +"}
	must.EqualSlices(t, got, want)
}

// The tests of the changed package come first, followed by the tests of its importers by distance.
func TestDependents(t *testing.T) {
	packages := []*goPackage{
		{ImportPath: "top", Imports: []string{"middle"}, TestGoFiles: []string{"t"}},
		{ImportPath: "middle", Imports: []string{"low"}},
		{ImportPath: "beside", Imports: []string{"low"}, XTestGoFiles: []string{"t"}},
		{ImportPath: "low", TestGoFiles: []string{"t"}},
		{ImportPath: "other", TestGoFiles: []string{"t"}},
		{ImportPath: "user", TestGoFiles: []string{"t"}, TestImports: []string{"middle"}},
	}
	for from, want := range map[string][]string{"low": {"low", "beside", "top", "user"}, "top": {"top"}, "middle": {"top", "user"}} {
		var got []string
		for _, p := range dependents(packages)[from] {
			got = append(got, p.ImportPath)
		}
		must.EqualSlices(t, got, want, "tests that see", from)
	}
}
