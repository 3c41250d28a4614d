package papers

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/results/tables"
)

// A slow computation logs its progress, but not too often.
func TestTableProgress(t *testing.T) {
	var out, log bytes.Buffer
	s := &ui.Streams{Out: &out, Log: &log}
	c := &Command{Scale: "quick"}
	table, err := tables.Open("enriching-table4")
	if err != nil {
		t.Fatal(err)
	}
	table.Scales[0].Seeds = 30
	if _, err := c.compute(t.Context(), table, s, time.Nanosecond); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) < 2 || len(lines) > 31 || !strings.HasPrefix(lines[0], "computing ") || lines[len(lines)-1] != "computing mpd of random (30 of 30)" {
		t.Errorf("%q", lines)
	}
	log.Reset()
	if _, err := c.compute(t.Context(), table, s, time.Hour); err != nil || log.Len() > 0 {
		t.Errorf("%q, %v", log.String(), err)
	}
}

// BenchmarkListTables counts the cells of all tables from runs in the ledger, as unravel table does.
func BenchmarkListTables(b *testing.B) {
	for b.Loop() {
		if _, err := listTables(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
