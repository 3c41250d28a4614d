package findings_test

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/docs"
	"github.com/unravel-ml/unravel/cli/internal/findings"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/results/tables"
)

// TestResultsPage compares docs/papers/results.md with the current ledger and tables. The default test compares only
// lines without training, measuring or computing, and one small table.
func TestResultsPage(t *testing.T) {
	long.NotShort(t)
	t.Parallel()
	got := must.Read(t, "../../../docs/papers/results.md")
	if !long.Enabled() {
		checkResultsOfLedger(t, string(got))
		return
	}
	want := must.Get(docs.ResultsPage(t.Context()))(t)
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			t.Fatalf("docs/papers/results.md:%d: want %q; make it again: go run ./cmd/unravel docs --results docs/papers/results.md", i+1, b[i])
		}
	}
	if len(a) > len(b) {
		t.Errorf("docs/papers/results.md:%d: it goes on", len(b)+1)
	}
}

// findingNumber matches the number of a finding. Numbers start again for each paper.
var findingNumber = regexp.MustCompile(`(?m)^\d+\. `)

// checkResultsOfLedger compares the page's lines on tables in the ledger, and on findings that need no other table.
func checkResultsOfLedger(t *testing.T, page string) {
	t.Helper()
	var all []*tables.Result
	for _, name := range tables.Names() {
		table := must.Get(tables.Open(name))(t)
		if name != "enriching-table3" && (!table.Trains() || name == "dialects") { // the table dialects takes long to measure
			continue
		}
		r := must.Get(docs.Recorded(t.Context(), table))(t)
		all = append(all, r)
		if name == "hierarchical-ablation" { // its reference values come from another program, not from the paper
			var alone bytes.Buffer
			must.OK(t, findings.Write(&alone, []*tables.Result{r}, nil))
			if strings.Contains(alone.String(), "distinct printed cells") {
				t.Errorf("%s counts as printed:\n%s", name, alone.String())
			}
		}
	}
	papers := must.Get(findings.Papers())(t)
	computed := func(x findings.Test) bool {
		return slices.ContainsFunc(all, func(r *tables.Result) bool { return r.Name == x.Table })
	}
	for i := range papers {
		papers[i].Findings = slices.DeleteFunc(papers[i].Findings, func(f findings.Finding) bool {
			return slices.ContainsFunc(f.Tests, func(x findings.Test) bool { return !computed(x) })
		})
	}
	var made bytes.Buffer
	must.OK(t, findings.Write(&made, all, papers))
	page = findingNumber.ReplaceAllString(page, "1. ")
	unprinted := regexp.MustCompile(`(?m)^These tables have no printed values: .*`).FindString(page)
	count := 0
	for line := range strings.Lines(findingNumber.ReplaceAllString(made.String(), "1. ")) {
		if strings.HasPrefix(line, "Of the ") || strings.HasPrefix(line, "| [") || strings.HasPrefix(line, "| **all** |") {
			continue // they count all tables or findings
		}
		if strings.HasPrefix(line, "These tables have no printed values: ") { // a part of the names
			for name := range strings.FieldsSeq(strings.TrimSuffix(line, ".\n")) {
				if !strings.Contains(unprinted, strings.TrimSuffix(name, ",")) {
					t.Errorf("docs/papers/results.md: %s is not among the tables without printed values", name)
				}
			}
			continue
		}
		if count++; !strings.Contains(page, line) {
			t.Errorf("docs/papers/results.md lacks %q; make it again: go run ./cmd/unravel docs --results docs/papers/results.md", line)
		}
	}
	if count < 250 {
		t.Errorf("%d lines are compared, want 250 and more", count)
	}
}
