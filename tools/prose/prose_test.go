package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestHits(t *testing.T) {
	for text, want := range map[string]int{
		"The mean distance within a group.":                        0,
		"The mean is that of the group.":                           1,
		"Those who know it, and those of the group.":               2,
		"The group of which the mean is 0.":                        1,
		"Who is there? There is one.":                              0,
		"Is there another?":                                        1,
		"If one is there, it wins, and two are there":              2,
		"Zero stands in place of the mean.":                        1,
		"It prints what is wrong and what the remedy costs.":       2,
		"It sorts the names so that the order is fixed.":           1,
		"A group has a mean of its own.":                           1,
		"Names that are not in the list.":                          1,
		"It leaves the file as it is.":                             1,
		"Take the one that fits.":                                  1,
		"The number it divides by; the group it belongs to.":       2,
		"The method is by Huber, and the data are from a paper.":   2,
		"Use the mean, or else the median; elsewhere nothing.":     1,
		"None of the groups is empty.":                             1,
		"The group whose mean is 0, beside the others.":            2,
		"THAT OF which we speak":                                   2,
		"theirs is thereof; nonetheless a whatnot is outstanding.": 0,
	} {
		if got := hits(text); got != want {
			t.Errorf("%q has %d hits, want %d", text, got, want)
		}
	}
}

func TestRead(t *testing.T) {
	groups, err := read(fstest.MapFS{
		"a/b/c.go":        {Data: []byte("// Package c sums\n// rows. It is short.\npackage c // not counted.\n\n\t// Not a number! else\nvar s = 1\n")},
		"a/c_test.go":     {Data: []byte("// A test.\npackage c\n")},
		"a/made.go":       {Data: []byte("// Code made by x. DO NOT EDIT.\npackage c\n")},
		"main.go":         {Data: []byte("// Command.\npackage main\n")},
		"docs/p.md":       {Data: []byte("# Title\n\nOne two\nthree? Four `five`.\n\n```go\nelse.\n```\n\n| else | else |\nSix.\n")},
		"testdata/p.md":   {Data: []byte("else")},
		"docs/p.md.other": {Data: []byte("else")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]sentence{
		"a":         nil, // a program wrote it
		"a/b":       {{"a/b/c.go", 1, "Package c sums rows.", 0}, {"a/b/c.go", 2, "It is short.", 0}, {"a/b/c.go", 5, "Not a number!", 0}, {"a/b/c.go", 5, "else", 1}},
		".":         {{"main.go", 1, "Command.", 0}},
		"docs/p.md": {{"docs/p.md", 1, "# Title One two three?", 0}, {"docs/p.md", 4, "Four `five`.", 0}, {"docs/p.md", 11, "Six.", 0}},
	}
	if !maps.EqualFunc(groups, want, slices.Equal) {
		t.Errorf("got %v, want %v", groups, want)
	}
	groups = together(groups)
	if len(groups) != 3 || len(groups["docs/p.md"]) != 3 {
		t.Errorf("together %v", groups)
	}
	if c := count(groups["a"]); c != (counts{Words: 11, Hits: 1, Sentences: 1}) {
		t.Errorf("counts %+v", c)
	}
}

func TestAbove(t *testing.T) {
	limit := counts{Words: 1000, Hits: 10, Sentences: 100, Long: 10}
	for _, c := range []struct {
		name  string
		text  counts
		limit counts
		above bool
	}{
		{"at the limit", limit, limit, false},
		{"one more hit", counts{Words: 1000, Hits: 11, Sentences: 100}, limit, true},
		{"one more long sentence", counts{Words: 1000, Sentences: 100, Long: 11}, limit, true},
		{"good words cut", counts{Words: 500, Hits: 10, Sentences: 50, Long: 10}, limit, false},
		{"good words cut and a hit added", counts{Words: 500, Hits: 11, Sentences: 50}, limit, true},
		{"text at the same rate", counts{Words: 2000, Hits: 20, Sentences: 200, Long: 20}, limit, false},
		{"text at a higher rate", counts{Words: 2000, Hits: 21, Sentences: 200}, limit, true},
		{"a new text at the target", counts{Words: 3000, Hits: 6, Sentences: 200, Long: 10}, counts{}, false},
		{"a new text with too many hits", counts{Words: 3000, Hits: 7, Sentences: 200}, counts{}, true},
		{"a new text with too many long sentences", counts{Words: 3000, Sentences: 200, Long: 11}, counts{}, true},
		{"a short new text", counts{Words: 50, Hits: 2, Sentences: 4, Long: 1}, counts{}, false},
		{"an empty text", counts{}, counts{}, false},
	} {
		if got := c.text.above(c.limit); got != c.above {
			t.Errorf("%s: above is %t", c.name, got)
		}
	}
}

// TestUpdate checks that limits fall and never rise, and that a text at the target loses its limit.
func TestUpdate(t *testing.T) {
	text := func(good, bad int) []sentence {
		return sentences("x.md", []string{strings.Repeat("A fine word of text. ", good) + strings.Repeat("A word that of text. ", bad)})
	}
	groups := map[string][]sentence{"same": text(90, 10), "worse": text(90, 12), "better": text(95, 5), "good": text(100, 0), "new": text(90, 10)}
	limit := counts{Words: 500, Hits: 10, Sentences: 100}
	limits := map[string]counts{"same": limit, "worse": limit, "better": limit, "good": limit, "gone": limit}
	want := map[string]counts{"same": limit, "worse": limit, "better": {Words: 500, Hits: 5, Sentences: 100}}
	got := lower(limits, groups)
	if !maps.Equal(got, want) {
		t.Errorf("limits %+v, want %+v", got, want)
	}

	t.Chdir(t.TempDir())
	if err := os.MkdirAll("tools/prose", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := writeLimits(got); err != nil {
		t.Fatal(err)
	}
	if back, err := readLimits(os.DirFS(".")); err != nil || !maps.Equal(back, want) {
		t.Errorf("read %+v, %v", back, err)
	}
	var out bytes.Buffer
	err := checkLimits(&out, groups, got)
	if err == nil || !strings.HasPrefix(err.Error(), "2 pages or folders") {
		t.Errorf("check gives %v", err)
	}
	if s := out.String(); strings.Count(s, "at most 11 are allowed") != 1 || !strings.Contains(s, "new: 500 words, 20.0 hits") || !strings.Contains(s, "x.md:1: 1 hits, 5 words: A word that of text.") {
		t.Errorf("check prints %s", s)
	}
	if err := checkLimits(&out, groups, lower(nil, groups)); err != nil {
		t.Errorf("the first limits are the figures themselves: %v", err)
	}
}
