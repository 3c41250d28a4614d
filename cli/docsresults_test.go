package cli

import (
	"os"
	"strings"
	"testing"
)

// docs/results.md is what the ledger and the tables give today.
func TestResultsPage(t *testing.T) {
	want, err := resultsPage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range b {
		if i >= len(a) || a[i] != b[i] {
			t.Fatalf("docs/results.md:%d: want %q; make it again: go run ./cmd/unravel docs --results docs/results.md", i+1, b[i])
		}
	}
	if len(a) > len(b) {
		t.Errorf("docs/results.md:%d: it goes on", len(b)+1)
	}
}
