// Command prose counts constructions that make English hard to read, in comments of Go files and in Markdown pages.
//
//	go run ./tools/prose              hits in 1,000 words and the share of long sentences, by package and page
//	go run ./tools/prose -worst 20    also the sentences with the most hits
//	go run ./tools/prose -check       fails where a page or a folder of the first level is above its limit in tools/prose/limits.json
//	go run ./tools/prose -update      lowers limits that the text stays below
//
// The count is only an indicator. Replacing a word without rewriting the sentence makes the text worse.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
)

const limitsFile = "tools/prose/limits.json"

func main() {
	worst := flag.Int("worst", 0, "print this number of sentences, those with the most hits first")
	check := flag.Bool("check", false, "fail where the text is above its limit")
	update := flag.Bool("update", false, "lower the limits that the text stays below; without a file of limits, write it")
	flag.Parse()
	if err := run(os.Stdout, os.DirFS("."), *worst, *check, *update); err != nil {
		fmt.Fprintln(os.Stderr, "prose:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, root fs.FS, worst int, check, update bool) error {
	groups, err := read(root)
	if err != nil {
		return err
	}
	if check || update {
		limits, err := readLimits(root)
		if err != nil {
			return err
		}
		groups = together(groups)
		if update {
			return writeLimits(lower(limits, groups))
		}
		return checkLimits(w, groups, limits)
	}
	var list []sentence
	var total counts
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		c := count(groups[name])
		fmt.Fprintf(w, "%-34s %v\n", name, c)
		total.add(c)
		list = append(list, groups[name]...)
	}
	fmt.Fprintf(w, "%-34s %v\n", "all", total)
	printWorst(w, list, worst, func(s sentence) int { return s.hits })
	return nil
}

func (c counts) String() string {
	return fmt.Sprintf("%d words, %.1f hits in 1,000, %.1f %% long sentences", c.Words,
		1000*float64(c.Hits)/float64(max(1, c.Words)), 100*float64(c.Long)/float64(max(1, c.Sentences)))
}

// printWorst prints the sentences with the largest sizes, as far as these are positive.
func printWorst(w io.Writer, list []sentence, number int, size func(sentence) int) {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b sentence) int { return cmp.Compare(size(b), size(a)) })
	for _, s := range list[:min(number, len(list))] {
		if size(s) > 0 {
			fmt.Fprintf(w, "%s:%d: %d hits, %d words: %s\n", s.file, s.line, s.hits, s.length(), s.text)
		}
	}
}

// readLimits returns the limits of the groups above the target, or nil if the file does not exist.
func readLimits(root fs.FS) (map[string]counts, error) {
	data, err := fs.ReadFile(root, limitsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	limits := map[string]counts{}
	if err := json.Unmarshal(data, &limits); err != nil {
		return nil, fmt.Errorf("%s: %w", limitsFile, err)
	}
	return limits, nil
}

// lower returns limits, lowered to the counts of the groups, without the groups that reach the target. If limits is
// nil, it returns the counts.
func lower(limits map[string]counts, groups map[string][]sentence) map[string]counts {
	lowered := map[string]counts{}
	for name, list := range groups {
		c := count(list)
		limit, ok := limits[name]
		if limits == nil {
			limit, ok = c, true
		}
		if limit = limit.lowered(c); ok && limit.above(counts{}) {
			lowered[name] = limit
		}
	}
	return lowered
}

func writeLimits(limits map[string]counts) error {
	var b strings.Builder // one line per group, for readable diffs
	for i, name := range slices.Sorted(maps.Keys(limits)) {
		line, err := json.Marshal(limits[name])
		if err != nil {
			return err
		}
		if i > 0 {
			b.WriteString(",\n")
		}
		fmt.Fprintf(&b, "  %q: %s", name, line)
	}
	return os.WriteFile(limitsFile, []byte("{\n"+b.String()+"\n}\n"), 0o666)
}

// checkLimits prints the groups above their limits, with their worst sentences.
func checkLimits(w io.Writer, groups map[string][]sentence, limits map[string]counts) error {
	failed := 0
	for _, name := range slices.Sorted(maps.Keys(groups)) {
		c := count(groups[name])
		hits, long := c.allowed(limits[name])
		if c.Hits > hits {
			fmt.Fprintf(w, "%s: %v; it has %d hits, at most %d are allowed; the worst sentences:\n", name, c, c.Hits, hits)
			printWorst(w, groups[name], 5, func(s sentence) int { return s.hits })
		}
		if c.Long > long {
			fmt.Fprintf(w, "%s: %v; it has %d sentences of more than %d words, at most %d are allowed; the longest:\n",
				name, c, c.Long, longest, long)
			printWorst(w, groups[name], 5, sentence.length)
		}
		if c.above(limits[name]) {
			failed++
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d pages or folders are above their limits; rewrite the sentences that you added", failed)
	}
	return nil
}
