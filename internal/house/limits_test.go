package house

import (
	"bytes"
	"fmt"
	"go/ast"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/unravel-ml/unravel/internal/must"
)

const (
	limitsFile   = "testdata/limits.txt"
	widest       = 120 // columns, a tab counted as one
	mostComplex  = 25  // cognitive complexity
	packageLines = 3000
	packageFiles = 30
)

// A measure is a size of the code that may not grow, such as the lines of a package.
type measure struct {
	value int
	step  int // limits are multiples of it, so small changes are allowed
	limit int // default limit
	where []string
}

// measures returns the sizes of the code. Tests, tools and examples do not count.
func measures(t *testing.T) map[string]measure {
	list := map[string]measure{}
	for _, f := range files(t) {
		text := must.Read(t, filepath.Join(root, f.path))
		if bytes.Contains(text[:min(400, len(text))], []byte("DO NOT EDIT")) {
			continue
		}
		add(list, "lines of "+f.folder, bytes.Count(text, []byte("\n")), 500, packageLines)
		add(list, "files of "+f.folder, 1, 5, packageFiles)
		folder, _, _ := strings.Cut(f.path, "/")
		for i, l := range bytes.Split(text, []byte("\n")) {
			if n := utf8.RuneCount(l); n > widest {
				add(list, "long lines of "+folder, 1, 10, 0, fmt.Sprintf("%4d columns: %s:%d", n, f.path, i+1))
			}
		}
		for _, d := range f.syntax.Decls {
			if d, ok := d.(*ast.FuncDecl); ok {
				if n := cognitive(d); n > mostComplex {
					add(list, "complex functions", 1, 1, 0, fmt.Sprintf("%4d: %s in %s", n, d.Name.Name, f.path))
				}
			}
		}
	}
	add(list, "exported identifiers", len(api(t)), 50, 0)
	return list
}

func add(list map[string]measure, name string, n, step, limit int, where ...string) {
	m := list[name]
	list[name] = measure{m.value + n, step, limit, append(m.where, where...)}
}

// lowered returns lower limits for measures: each is at most the next multiple of the step. Measures within the default
// limit have no entry.
func lowered(limits map[string]int, list map[string]measure) map[string]int {
	low := map[string]int{}
	for name, limit := range limits {
		m := list[name]
		if limit = min(limit, (m.value+m.step-1)/max(1, m.step)*m.step); limit > m.limit {
			low[name] = limit
		}
	}
	return low
}

// exceeded lists the measures above their limits.
func exceeded(limits map[string]int, list map[string]measure) (wrong []string) {
	for _, name := range slices.Sorted(maps.Keys(list)) {
		m := list[name]
		if limit := max(m.limit, limits[name]); m.value > limit {
			wrong = append(wrong, fmt.Sprintf("%s: %d, at most %d are allowed", name, m.value, limit))
		}
	}
	return wrong
}

// worst returns the first places in descending order. Each begins with its size.
func worst(where []string, most int) []string {
	list := slices.Sorted(slices.Values(where))
	slices.Reverse(list)
	return list[:min(most, len(list))]
}

func readLimits(t *testing.T) map[string]int {
	text := must.Read(t, limitsFile)
	limits := map[string]int{}
	for l := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(l, ": ")
		var n int
		if _, err := fmt.Sscan(value, &n); err != nil {
			t.Fatalf("%s: %q: %v", limitsFile, l, err)
		}
		limits[name] = n
	}
	return limits
}

// TestLimits checks that no size of the code exceeds its limit. Limits may only decrease.
func TestLimits(t *testing.T) {
	limits, list := readLimits(t), measures(t)
	if *update {
		limits = lowered(limits, list)
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(limits)) {
			fmt.Fprintf(&b, "%s: %d\n", name, limits[name])
		}
		must.Write(t, limitsFile, b.String())
	}
	for _, w := range exceeded(limits, list) {
		t.Error(w)
		name, _, _ := strings.Cut(w, ": ")
		if where := list[name].where; len(where) > 0 {
			t.Log("the worst of all:\n" + strings.Join(worst(where, 10), "\n"))
		}
	}
	if t.Failed() {
		t.Errorf("shorten or divide your code, or any other code there; a limit of internal/house/%s rises only in a commit that gives the reason", limitsFile)
	}
}

func TestLimitsFall(t *testing.T) {
	limits := map[string]int{"long lines of c": 200, "lines of a": 9000, "lines of b": 4000, "lines of gone": 5000}
	list := map[string]measure{
		"long lines of c": {value: 181, step: 10}, "lines of a": {value: 9001, step: 500, limit: 3000},
		"lines of b": {value: 2900, step: 500, limit: 3000}, "lines of new": {value: 3001, step: 500, limit: 3000},
	}
	if got, want := lowered(limits, list), map[string]int{"long lines of c": 190, "lines of a": 9000}; !maps.Equal(got, want) {
		t.Errorf("limits %v, want %v", got, want)
	}
	want := []string{"lines of a: 9001, at most 9000 are allowed", "lines of new: 3001, at most 3000 are allowed"}
	must.EqualSlices(t, exceeded(limits, list), want)
}
