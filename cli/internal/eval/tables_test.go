package eval_test

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/unravel-ml/unravel/cli/internal/clitest"
	"github.com/unravel-ml/unravel/internal/must"
)

// inUTF16 returns a text as saved by spreadsheets: UTF-16 with a byte-order mark.
func inUTF16(text string) string {
	var b strings.Builder
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		b.Write([]byte{byte(unit), byte(unit >> 8)})
	}
	return b.String()
}

// numbered prefixes each line with its number, and the header with name.
func numbered(text, name string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, line := range lines {
		lines[i] = fmt.Sprint(i-1, ",", line)
	}
	lines[0] = name + strings.TrimPrefix(lines[0], "-1")
	return strings.Join(lines, "\n") + "\n"
}

// Codes and factors have the same values in every file format. The expected values come from scikit-learn's
// mutual_info_score over NumPy's histograms of 20 bins, and from NumPy's lstsq.
func TestEvalForms(t *testing.T) {
	const mig, mse = 0.4790148169101589, 0.0005073648523528069
	read := func(name string) string { return string(must.Read(t, filepath.Join("testdata", "tables", name))) }
	codes, factors := read("codes.csv"), read("factors.csv")
	t.Chdir(t.TempDir())
	withoutNames := func(text string) string { return text[strings.Index(text, "\n")+1:] }
	spreadsheet := strings.ReplaceAll(strings.NewReplacer(",", ";", ".", ",", "\n", "\r\n").Replace(codes), "\r\r", "\r")
	words := strings.NewReplacer("0,", "alpha,", "1,", "beta,", "2,", "gamma,").Replace(withoutNames(factors))
	for name, c := range map[string]struct{ codes, factors, remark string }{
		"plain":                       {codes, factors, ""},
		"an index without a name":     {numbered(codes, ""), numbered(factors, ""), `codes.csv: column 1, called "", is taken for an index`},
		"an index read again":         {numbered(codes, "Unnamed: 0"), factors, `codes.csv: column 1, called "Unnamed: 0", is taken for an index`},
		"an index and no names":       {withoutNames(numbered(codes, "")), withoutNames(numbered(factors, "")), "codes.csv: the first column counts the rows, 0 to"},
		"columns with numbers":        {"0,1,2\n" + withoutNames(codes), "0,1\n" + withoutNames(factors), "factors.csv: line 1 counts from 0 and is taken for the numbers of the columns"},
		"decimal commas":              {spreadsheet, factors, ""},
		"decimal commas and no names": {withoutNames(spreadsheet), factors, ""},
		"UTF-16":                      {inUTF16(strings.ReplaceAll(spreadsheet, ";", "\t")), inUTF16(strings.ReplaceAll(factors, ",", "\t")), ""},
		"words":                       {codes, "x,y\n" + words, "factor x: 0 is alpha, 1 is beta, 2 is gamma"},
	} {
		must.Write(t, "codes.csv", c.codes)
		must.Write(t, "factors.csv", c.factors)
		got, log := clitest.Measure(t, "--codes", "codes.csv", "--factors", "factors.csv", "--metrics", "mig")
		if !(math.Abs(got["mig"].Value-mig) <= 1e-12) || !strings.Contains(log, c.remark) {
			t.Errorf("%s: MIG %v, want %v; log %q, want %q", name, got["mig"].Value, mig, log, c.remark)
		}
		words := name == "words"
		if strings.Contains(log, "numbers of words") {
			t.Errorf("%s: log %q of a metric without values", name, log)
		}
		got, log = clitest.Measure(t, "--codes", "codes.csv", "--factors", "factors.csv", "--metrics", "mse")
		if v := got["mse"].Value; !words && !(math.Abs(v-mse) <= 1e-12) ||
			words != strings.Contains(log, "mse, mae, me and dci-regression take the numbers of words") {
			t.Errorf("%s: MSE %v, want %v; log %q", name, v, mse, log)
		}
	}
	for kinds, name := range map[string]string{"categorical": "gamma", "categorical,ordinal": "2024-01-31"} { // words and numbers in one column
		mixed := strings.NewReplacer("alpha,", "7,", "gamma,", name+",").Replace(words)
		must.Write(t, "factors.csv", "x,y\n"+mixed)
		if got, log := clitest.Measure(t, "--codes", "codes.csv", "--factors", "factors.csv", "--metrics", "mig", "--types",
			kinds); !(math.Abs(got["mig"].Value-mig) <= 1e-12) {
			t.Errorf("--types %s: MIG %v, want %v; log %q", kinds, got["mig"].Value, mig, log)
		}
	}
	must.Write(t, "codes.csv", codes)
	for want, text := range map[string]string{
		`factors.csv: line 3, field 1: "one" is a word, and 0 in line 2 a number`: strings.Replace(factors, "0,1", "one,1", 1),
		`factors.csv: line 2, field 2: "2024-01-31" looks like a date`:            strings.Replace(factors, "0,0", "0,2024-01-31", 1),
		"the first line of factors.csv, x,y, is read as names":                    factors[:len(factors)-4],
	} {
		must.Write(t, "factors.csv", text)
		clitest.Mistake(t, clitest.Run(t, "eval", "--codes", "codes.csv", "--factors", "factors.csv"), 1, want)
	}
	counted := ""
	for i := range strings.Count(codes, "\n") - 1 {
		counted += fmt.Sprintf("%d,%d\n", i, i%2)
	}
	must.Write(t, "factors.csv", counted)
	clitest.Mistake(t, clitest.Run(t, "eval", "--codes", "codes.csv", "--factors", "factors.csv", "--metrics", "med"), 1,
		"there is 1 factor; want at least 2 (factors.csv: the first column counts the rows")
}

// Random codes have no information about angles, even if every angle occurs in only one row. With 20 equal arcs, NumPy
// gives the variance 1.949 or 1.968, depending on the assignment of columns to factors.
func TestEvalAngles(t *testing.T) {
	source := must.Get(filepath.Abs(filepath.Join("testdata", "tables", "angles.npz")))(t)
	got, _ := clitest.Measure(t, "--codes", source, "--types", "circular:360", "--metrics", "variance,explicitness")
	if v := got["variance"].Value; !(math.Abs(v-1.968) <= 5e-4) ||
		!strings.Contains(strings.Join(got["variance"].Notes, ";"), "500 angles in 500 rows are levels as 20 equal arcs") {
		t.Errorf("variance %v, notes %q", v, got["variance"].Notes)
	}
	if v := got["explicitness"].Value; !(v < 0.6) {
		t.Errorf("explicitness %v", v)
	}
	_, log := clitest.Measure(t, "--codes", source, "--metrics", "variance", "--types", "continuous")
	if strings.Contains(log, "circular:360") {
		t.Errorf("log %q", log)
	}
	var degrees strings.Builder
	degrees.WriteString("angle\n")
	for i := range 500 {
		fmt.Fprintln(&degrees, 7*i%207)
	}
	t.Chdir(t.TempDir())
	must.Write(t, "degrees.csv", degrees.String())
	if _, log = clitest.Measure(t, "--codes", source, "--factors", "degrees.csv", "--metrics", "variance"); !strings.Contains(log,
		"factor angle has 207 levels; --types continuous would bin them, and circular:360 read them as degrees") {
		t.Errorf("log %q", log)
	}
	must.Write(t, "repeated.csv", "name,size,number\n"+strings.Repeat("a,1,7\nb,1,3\na,2,7\nb,2,3\n", 125))
	if _, log = clitest.Measure(t, "--codes", source, "--factors", "repeated.csv", "--metrics", "mig"); !strings.Contains(log,
		"factors name and number divide the images into the same groups, so metrics count them twice") {
		t.Errorf("log %q", log)
	}
	must.Write(t, "onehot.csv", "red,green,blue\n"+strings.Repeat("1,0,0\n0,0,1\n0,0,1\n0,1,0\n", 125))
	if _, log = clitest.Measure(t, "--codes", source, "--factors", "onehot.csv", "--metrics", "mig"); !strings.Contains(log,
		"factors red to blue are the one-hot columns of one factor") {
		t.Errorf("log %q", log)
	}
	must.Write(t, "marker.csv", "size\n"+strings.Repeat("1\n-1\n2\n0\n", 125))
	if _, log = clitest.Measure(t, "--codes", source, "--factors", "marker.csv", "--metrics", "variance"); !strings.Contains(log,
		"factor size is -1 in 125 rows and 0 to 2 in the others; if -1 means unknown") {
		t.Errorf("log %q", log)
	}
	for name, row := range map[string]string{"far.csv": "1e4,0", "near.csv": "2,0", "huge.csv": "1.7e308,0\n-1.7e308,0", "few.csv": "0,7"} {
		must.Write(t, name, "a,b\n"+strings.Repeat("0,0\n1,0\n0.5,0\n", 100)+row+"\n")
		_, log = clitest.Measure(t, "--codes", name, "--metrics", "code-spread")
		if told := strings.Contains(log,
			"code column z0 is 0 to 1 in 300 rows, and 0 to 1e+04 in all; metrics with bins of equal width"); told != (name == "far.csv") || strings.Contains(log, "z1") {
			t.Errorf("%s: log %q", name, log)
		}
	}
	must.Write(t, "farther.csv", "length\n9e6\n"+strings.Repeat("0.125\n0.25\n0.375\n", 166)+"1\n")
	if _, log = clitest.Measure(t, "--codes", source, "--factors", "farther.csv", "--types", "continuous", "--metrics",
		"variance"); !strings.Contains(log, "factor length is 0.125 to 1 in 499 rows, and 0.125 to 9e+06 in all; its bins") {
		t.Errorf("log %q", log)
	}
	must.Write(t, "half.csv", "angle\n"+strings.Repeat("0\n45\n90\n135\n", 125))
	const turn = "factor angle: values from 0 to 135 are taken as a full turn of 180; --types circular:360 would read degrees"
	for kind, want := range map[string]bool{"circular": true, "circular:180": false} {
		if _, log = clitest.Measure(t, "--codes", source, "--factors", "half.csv", "--types", kind, "--metrics", "dlsbd"); strings.Contains(log, turn) != want {
			t.Errorf("%s: log %q", kind, log)
		}
	}
}
