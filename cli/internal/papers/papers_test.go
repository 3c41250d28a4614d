package papers

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/results/tables"
)

// A slow computation logs its progress at intervals.
func TestTableProgress(t *testing.T) {
	long.NotShort(t)
	var out, log bytes.Buffer
	s := &ui.Streams{Out: &out, Log: &log}
	c := &Command{Scale: "quick"}
	table := must.Get(tables.Open("enriching-table4"))(t)
	table.Scales[0].Seeds = 30
	must.Get(c.compute(t.Context(), table, s, time.Nanosecond))(t)
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) < 2 || len(lines) > 31 || !strings.HasPrefix(lines[0], "computing ") ||
		lines[len(lines)-1] != "computing mpd of random (30 of 30)" {
		t.Errorf("%q", lines)
	}
	log.Reset()
	if _, err := c.compute(t.Context(), table, s, time.Hour); err != nil || log.Len() > 0 {
		t.Errorf("%q, %v", log.String(), err)
	}
}

// Each flag of a table needs the name of a table, and --check allows few other flags.
func TestFlagsTogether(t *testing.T) {
	const ofTable, apart = "belong to a table; want its name", "--check makes runs in a separate folder"
	pick := uint64(1)
	for name, c := range map[string]struct {
		set              func(*Command)
		alone, withCheck string // errors; empty: none
	}{
		"--no-run":     {func(c *Command) { c.NoRun = true }, ofTable, apart},
		"--dry-run":    {func(c *Command) { c.DryRun = true }, ofTable, apart},
		"--fresh":      {func(c *Command) { c.Fresh = true }, ofTable, apart},
		"--retry":      {func(c *Command) { c.Retry = true }, ofTable, apart},
		"--out":        {func(c *Command) { c.Out = "x" }, ofTable, apart},
		"--runs":       {func(c *Command) { c.Runs = "x" }, ofTable, apart},
		"--contribute": {func(c *Command) { c.Contribute = "x" }, ofTable, apart},
		"--accept":     {func(c *Command) { c.Accept = "x" }, ofTable, apart},
		"--replace":    {func(c *Command) { c.Replace = true }, ofTable, apart},
		"--on":         {func(c *Command) { c.On = "slurm" }, ofTable, apart},
		"--yes":        {func(c *Command) { c.Yes = true }, ofTable, ""},
		"--real":       {func(c *Command) { c.Real = true }, ofTable, ""},
		"--scale":      {func(c *Command) { c.Scale = "full" }, "", apart},
		"--all":        {func(c *Command) { c.All = true }, "", ""},
		"--json":       {func(c *Command) { c.JSON = true }, "", ""},
		"--jobs":       {func(c *Command) { c.Jobs = 2 }, "", ""},
		"--pick":       {func(c *Command) { c.Pick = &pick }, "--pick and --within belong to --check", ""},
		"--within":     {func(c *Command) { c.Within = time.Second }, "--pick and --within belong to --check", ""},
		"--within -1s": {func(c *Command) { c.Within = -time.Second }, "--pick and --within belong to --check", "want a time of more than 0"},
	} {
		for check, want := range map[ui.Count]string{0: c.alone, 1: c.withCheck} {
			one := &Command{}
			c.set(one)
			one.Check = check
			must.Error(t, one.validate(), want, name, check)
		}
	}
	must.Error(t, (&Command{Name: "x", All: true}).validate(), "--all lists tables; want no name of one")
}

// BenchmarkListTables counts the cells of all tables from runs in the ledger, like unravel table.
func BenchmarkListTables(b *testing.B) {
	for b.Loop() {
		must.Get(listTables(b.Context()))(b)
	}
}

// A task of a cluster gets the flags that decide which runs it makes.
func TestJob(t *testing.T) {
	table := &tables.Table{Name: "own"}
	for want, c := range map[string]*Command{
		"table own --scale full --runs dir":                {Name: "own", Scale: "full", Runs: "dir"},
		"table own --scale quick --runs dir --fresh":       {Name: "own", Scale: "quick", Runs: "dir", Fresh: true},
		"table own --scale full --runs dir --fresh --real": {Name: "own", Scale: "full", Runs: "dir", Fresh: true, Real: true},
	} {
		job, err := c.job(table)
		if err != nil || strings.Join(job.Command[1:], " ") != want {
			t.Errorf("%v, %v; want %s", job.Command, err, want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for text, want := range map[string]string{"": "", "four": "four", "fives": "fiv…", "ab cde": "ab…", "äöüß": "äöüß", "äöüßé": "äöü…"} {
		must.Equal(t, truncate(text, 4), want, text)
	}
}

// A table shows the largest scale with results, but trains the smallest unless a flag names another one.
func TestChooseScale(t *testing.T) {
	t.Chdir(t.TempDir()) // a folder without runs
	table := must.Get(tables.Open("lsbd-vae-table5"))(t)
	for name, c := range map[string]struct {
		set  func(*Command)
		want string
	}{
		"shown":          {func(*Command) {}, "medium"},
		"fresh":          {func(c *Command) { c.Fresh = true }, "quick"},
		"jobs":           {func(c *Command) { c.Jobs = 2 }, "quick"},
		"jobs, shown":    {func(c *Command) { c.Jobs, c.NoRun = 2, true }, "medium"},
		"planned":        {func(c *Command) { c.DryRun = true }, "quick"},
		"named":          {func(c *Command) { c.Scale = "full" }, "full"},
		"named, planned": {func(c *Command) { c.Scale, c.DryRun = "medium", true }, "medium"},
	} {
		var command Command
		c.set(&command)
		if err := command.chooseScale(table); err != nil || command.Scale != c.want {
			t.Errorf("%s: scale %s, error %v; want %s", name, command.Scale, err, c.want)
		}
	}
}
