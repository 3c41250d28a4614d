package eval_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
)

// Each row has a group element: levels or angles of a period, or rotations as matrices or quaternions.
func TestEvalGroups(t *testing.T) {
	long.NotShort(t)
	t.Chdir(t.TempDir())
	s := rng.New(1, "groups")
	var codes, levels, degrees, quaternions, matrices, hues, pose, inverse strings.Builder
	for range 300 {
		a, b := s.IntN(24), s.IntN(16)
		sin, cos := math.Sincos(2 * math.Pi * float64(a) / 24)
		q := [4]float64{s.NormFloat64(), s.NormFloat64(), s.NormFloat64(), s.NormFloat64()}
		if n := s.IntN(24); n > 0 { // some poses are frequent
			other := rng.New(uint64(n), "pose")
			q = [4]float64{other.NormFloat64(), other.NormFloat64(), other.NormFloat64(), other.NormFloat64()}
		}
		one := &metrics.Input{Codes: matrix.Matrix{Rows: 1}}
		must.OK(t, one.AddRotations(matrix.Matrix{Rows: 1, Cols: 4, Data: q[:]}))
		g := one.Factors[0].Rotations[0]
		sinB, cosB := math.Sincos(2 * math.Pi * float64(b) / 16)
		fmt.Fprintf(&codes, "%v,%v,%v,%v\n", 3*cos+sin, sin, cosB+cos, sinB)
		fmt.Fprintf(&levels, "%d,%d\n", a, b)
		fmt.Fprintf(&degrees, "%v,%v\n", float64(a)*15-90.5, float64(b)*22.5)
		fmt.Fprintf(&quaternions, "%v,%v,%v,%v\n", q[0], q[1], q[2], q[3])
		row := strings.Trim(strings.ReplaceAll(fmt.Sprint(g), " ", ","), "[]")
		fmt.Fprintln(&matrices, row)
		fmt.Fprintf(&pose, "%v,%v,%v\n", 2*g[0]+g[3], g[3], g[6])
		fmt.Fprintf(&inverse, "%v,%v,%v\n", g[0], g[1], g[2])
		fmt.Fprintf(&hues, "%v,%v,%v,%v,%v\n", 2*g[0]+g[3], g[3], g[6]+cosB, cosB, sinB)
	}
	for name, text := range map[string]*strings.Builder{"codes.csv": &codes, "levels.csv": &levels,
		"degrees.csv": &degrees, "q.csv": &quaternions, "m.csv": &matrices, "hues.csv": &hues, "pose.csv": &pose, "inverse.csv": &inverse} {
		must.Write(t, name, text.String())
	}
	files := []string{"--codes", "codes.csv", "--metrics", "dlsbd", "--factors"}
	for _, args := range [][]string{{"levels.csv", "--types", "circular:24,circular:16"}, {"degrees.csv", "--types", "circular:360"},
		{"levels.csv", "--types", "circular:24,circular:16", "--option", "dlsbd.bootstrap=20"}} {
		m, log := clitest.Measure(t, append(files, args...)...)
		if !(m["dlsbd"].Value < 1e-18) || log != "" {
			t.Errorf("%v: %v, log %q", args, m, log)
		}
	}
	for _, file := range []string{"q.csv", "m.csv"} {
		m, _ := clitest.Measure(t, "--codes", "hues.csv", "--metrics", "dlsbd", "--rotations", file, "--factors", "levels.csv",
			"--types", "ordinal,circular:16", "--option", "dlsbd.objects=together")
		p := m["dlsbd"].Parts[0]
		if fmt.Sprint(p.Labels) != "[factor1 rotation]" || len(p.Values) != 2 {
			t.Fatalf("%s: %+v", file, p)
		}
	}
	turned, _ := clitest.Measure(t, "--codes", "pose.csv", "--metrics", "dlsbd", "--rotations", "q.csv")
	inverted, _ := clitest.Measure(t, "--codes", "inverse.csv", "--metrics", "dlsbd", "--rotations", "m.csv")
	if a, b := turned["dlsbd"].Value, inverted["dlsbd"].Value; !(a < 0.1 && b > 0.4) {
		t.Errorf("codes that turn with rotations: %v, with their inverses: %v", a, b)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--codes", "codes.csv", "--rotations", "levels.csv"}, 1, "[300 3 3] or [300 9], matrices, or [300 4], quaternions"},
		{[]string{"--codes", "codes.csv", "--rotations", "codes.csv", "--types", "circular"}, 2, "--types belong to --factors"},
		{[]string{"--codes", "codes.csv", "--factors", "levels.csv", "--types", "circular:x"}, 2, `the period "x"`},
		{[]string{"--codes", "codes.csv", "--factors", "levels.csv", "--types", "ordinal:4"}, 2, `the period "4"`},
	} {
		clitest.Mistake(t, clitest.Run(t, append([]string{"eval"}, c.args...)...), c.code, c.want)
	}
	must.Write(t, "m.csv", strings.Replace(matrices.String(), "\n", "\n1,0,0,0,1,0,0,0,-1\n", 1))
	must.Write(t, "codes.csv", "1,2\n"+codes.String()[:0]+"3,4\n5,6\n")
	must.Write(t, "three.csv", "1,0,0,0,1,0,0,0,1\n1,0,0,0,1,0,0,0,-1\n1,0,0,0,1,0,0,0,1\n")
	clitest.Mistake(t, clitest.Run(t, "eval", "--codes", "codes.csv", "--rotations", "three.csv"), 1, "three.csv: row 1", "not a rotation")
}
