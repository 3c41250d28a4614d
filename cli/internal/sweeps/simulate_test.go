package sweeps_test

import (
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/cli/internal/ui"
	"github.com/unravel-ml/unravel/train/sweep"
)

// A simulated sweep leaves no files. Ended runs provide times. Mistakes about the machines are usage errors.
func TestSimulate(t *testing.T) {
	file, dir := clitest.WriteSweep(t, "seeds: [0, 1, 2, 3]\n")
	var s struct {
		sweep.Simulation
		Name, Limit string
		Assumed     []string
	}
	clitest.JSON(t, clitest.OK(t, "sweep", file, "--out", dir, "--simulate", "nodes=1,cores=2,start=0,ops=1e9", "--json").Out, &s)
	if s.Runs != 4 || s.Tasks != 2 || !(s.CoreHours > 0 && s.Wall >= s.Longest) || s.Limit != "the number of cores" ||
		len(s.Assumed) != 9 || ui.Exists(dir) {
		t.Errorf("%+v", s)
	}
	if o := clitest.OK(t, "sweep", file, "--out", dir, "--simulate", "nodes=64,cores=64"); !strings.Contains(o.Out,
		"4 at a time in 4096 places") || !strings.Contains(o.Out, "assumed       threads=1,start=1,spread=0.1,array=1001,ops=10000,latency=0.3,") {
		t.Error(o.Out)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sweep", file, "--simulate", "nodes=2"}, "cores is missing"},
		{[]string{"sweep", file, "--simulate", "nodes=2,cors=2"}, `did you mean "cores"?`},
		{[]string{"table", "enriching-table2", "--simulate", "nodes=2,cores=2"}, "trains nothing"},
		{[]string{"table", "enriching-table99", "--simulate", "nodes=2,cores=2"}, "there is no table"},
		{[]string{"table", "pairs-check", "--simulate", "nodes=2,cores=2", "--scale", "huge"}, `there is no scale "huge"`},
	} {
		clitest.Mistake(t, clitest.Run(t, c.args...), 2, c.want)
	}
}
