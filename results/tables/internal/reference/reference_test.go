package reference

import (
	"bytes"
	"encoding/csv"
	"io/fs"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/configs"
	"github.com/unravel-ml/unravel/internal/must"
)

const head = "table,dataset,row,column,mean,std,note\n"

func TestParse(t *testing.T) {
	got, err := Parse("r.csv", []byte(head+
		"Table 2,Synthetic data,rotation,Rad.,0.40,,\n"+
		"Table 2,\"Data, small\",\"the \"\"first\"\"\",β,-12.5,0.004,as printed\n"+
		"Table 2,Synthetic data,rotation,Modularity,,,✗\n"))
	want := &File{Name: "r.csv", Cells: []Cell{
		{Table: "Table 2", Dataset: "Synthetic data", Row: "rotation", Column: "Rad.", Mean: Decimal{0.4, "0.40", 2}, Line: 2},
		{Table: "Table 2", Dataset: "Data, small", Row: `the "first"`, Column: "β", Mean: Decimal{-12.5, "-12.5", 1}, Std: Decimal{0.004, "0.004", 3}, Note: "as printed", Line: 3},
		{Table: "Table 2", Dataset: "Synthetic data", Row: "rotation", Column: "Modularity", Note: "✗", Line: 4},
	}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v\nwant %+v", got, err, want)
	}
	must.Equal(t, got.Find("Synthetic data", "rotation", "Rad."), &got.Cells[0], "found")
	if p := got.Find("Data, small", "rotation", "Rad."); p != nil {
		t.Errorf("found %v", p)
	}
	for digits, want := range []float64{0.5, 0.05, 0.005} {
		if half := (Decimal{Decimals: digits}).Half(); !(math.Abs(half-want) <= 1e-15) {
			t.Errorf("half a unit of %d digits is %v", digits, half)
		}
	}
}

func TestParseDamaged(t *testing.T) {
	good := head + "T,D,r,c,0.40,,\n"
	for name, test := range map[string]struct{ src, want string }{
		"empty":           {"", "r.csv: there are no cells"},
		"head alone":      {head, "r.csv: there are no cells"},
		"no head":         {"T,D,r,c,0.40,,\n", `r.csv:1: the header is "T,D,r,c,0.40,,"; want table,dataset,`},
		"other head":      {strings.Replace(good, "mean,std", "std,mean", 1), "r.csv:1: the header is"},
		"cut off":         {good + "T,D,r,d,0.4", "r.csv:3: the last line does not end with a line break"},
		"Windows lines":   {strings.ReplaceAll(good, "\n", "\r\n"), "r.csv:1: a control character"},
		"byte order mark": {"\ufeff" + good, "r.csv:1: a byte order mark"},
		"binary":          {good + "T,D,r,\x00,1,,\n", "r.csv:3: a control character"},
		"not UTF-8":       {good + "T,D,r,\xff,1,,\n", "r.csv:3: not UTF-8"},
		"too few fields":  {good + "T,D,r,d,1,\n", "r.csv:3: there are 6 fields; want 7"},
		"too many fields": {good + "T,D,r,d,1,,,\n", "r.csv:3: there are 8 fields; want 7"},
		"open quote":      {good + "T,D,\"r,d,1,,\n", "r.csv:"},
		"quote inside":    {good + "T,D,r\"x,d,1,,\n", "r.csv:3: bare \""},
		"no row":          {good + "T,D,,d,1,,\n", `r.csv:3: row is ""; want a name`},
		"space":           {good + "T,D,r, d,1,,\n", `r.csv:3: column is " d"`},
		"two lines":       {good + "T,D,\"r\nx\",d,1,,\n", `r.csv:3: row is "r\nx"`},
		"no number":       {good + "T,D,r,d,O.4,,\n", `r.csv:3: mean: "O.4" is not a decimal number such as 0.40`},
		"no zero":         {good + "T,D,r,d,.4,,\n", `mean: ".4" is not`},
		"no fraction":     {good + "T,D,r,d,4.,,\n", `mean: "4." is not`},
		"leading zero":    {good + "T,D,r,d,04,,\n", `mean: "04" is not`},
		"exponent":        {good + "T,D,r,d,1e3,,\n", `mean: "1e3" is not`},
		"infinite":        {good + "T,D,r,d,inf,,\n", `mean: "inf" is not`},
		"two minus signs": {good + "T,D,r,d,--1,,\n", `mean: "--1" is not`},
		"long":            {good + "T,D,r,d,0.1234567890123456,,\n", "r.csv:3: mean:"},
		"bad std":         {good + "T,D,r,d,1,x,\n", `r.csv:3: std: "x" is not`},
		"negative std":    {good + "T,D,r,d,1,-0.1,\n", "r.csv:3: std: -0.1 is negative"},
		"std alone":       {good + "T,D,r,d,,0.1,why\n", "r.csv:3: there is a std of 0.1 and no mean"},
		"nothing":         {good + "T,D,r,d,,,\n", "r.csv:3: there is no mean; want a note"},
		"repeated":        {good + "T,D,r,d,1,,\nT,D,r,c,0.5,,\n", `r.csv:4: row "r", column "c" of "D" was given in line 2`},
	} {
		must.ErrorOf(Parse("r.csv", []byte(test.src)))(t, test.want, name)
	}
}

// Unravel's files have as many cells as the papers' tables.
func TestFiles(t *testing.T) {
	want := map[string]int{"dialects": 0, "pairs-check": 0, "enriching-sentences": 100, "enriching-table2": 160,
		"enriching-table3": 30, "enriching-table4": 30, "enriching-table5": 256, "enriching-table5-printed": 80, "enriching-table5-digits": 256, "enriching-table6": 256, "enriching-table6-printed": 256, "enriching-table7": 56, "enriching-table8": 60, "enriching-table9": 100, "enriching-table10": 120, "enriching-table11": 140, "hierarchical-ablation": 10, "hierarchical-benchmark": 0,
		"hierarchical-figurea1": 0, "hierarchical-figurea2": 0, "hierarchical-figurea3": 0, "hierarchical-figurea6": 0, "hierarchical-figurea7": 0, "hierarchical-sensitivity": 0, "hierarchical-table1": 27, "lsbd-groups": 0, "lsbd-metric-table1": 6, "lsbd-vae-figure5": 79, "lsbd-vae-figure6": 0, "lsbd-vae-flatland": 1, "lsbd-vae-table5": 127, "lsbd-vae-table6": 127, "lsbd-vae-table7": 127, "lsbd-vae-table8": 77, "lsbd-vae-table9": 77, "modularity-ablation": 0, "negative-free-analytic": 62, "negative-free-figure6": 0,
		"negative-free-table1": 101, "negative-free-table4": 298, "negative-free-table5": 24, "negative-free-table6": 6, "negative-free-table7": 8, "negative-free-table8": 73,
		"negative-free-figure4": 42, "negative-free-figure5": 0, "negative-free-figure12": 0, "negative-free-figure13": 0, "negative-free-figure16": 0}
	files, err := fs.Glob(configs.Tables(), "reference/*.csv")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		r := must.Get(Read(configs.Tables(), file, file))(t)
		printed := 0
		for _, c := range r.Cells {
			if c.Mean.Text != "" {
				printed++
			}
		}
		if name := strings.TrimSuffix(strings.TrimPrefix(file, "reference/"), ".csv"); printed != want[name] {
			t.Errorf("%s: %d cells, want %d", file, printed, want[name])
		}
	}
	if _, err := Read(configs.Tables(), "reference/none.csv", "tables/reference/none.csv"); err == nil ||
		!strings.HasPrefix(err.Error(), "tables/reference/none.csv: ") {
		t.Error(err)
	}
}

// Parse never panics, and its errors name the file. Accepted input can be written and read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", head, head + "T,D,r,c,0.40,,\n", head + "T,D,\"r,1\",c,-1,0.2,n\nT,D,r,d,,,x\n",
		head + "T,D,r,c,1.,,\n", "\ufeff" + head} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		r, err := Parse("r.csv", src)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "r.csv:") {
				t.Fatalf("error %v does not name the file", err)
			}
			return
		}
		var again bytes.Buffer
		w := csv.NewWriter(&again)
		_ = w.Write(strings.Split(strings.TrimSpace(head), ",")) // to memory
		for _, c := range r.Cells {
			_ = w.Write([]string{c.Table, c.Dataset, c.Row, c.Column, c.Mean.Text, c.Std.Text, c.Note})
		}
		w.Flush()
		second, err := Parse("r.csv", again.Bytes())
		if err != nil {
			t.Fatalf("%v in\n%s", err, again.Bytes())
		}
		if !slices.EqualFunc(r.Cells, second.Cells, func(a, b Cell) bool { a.Line, b.Line = 0, 0; return a == b }) {
			t.Fatalf("%+v became %+v", r.Cells, second.Cells)
		}
	})
}
