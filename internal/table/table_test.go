package table

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/npy"
)

func TestReadCSV(t *testing.T) {
	numbers := []float64{1, 2, 3, 4}
	ints := []int64{1, 2, 3, 4}
	for name, c := range map[string]struct {
		text string
		want Table
	}{
		"commas":      {"1,2\n3,4\n", Table{2, 2, nil, numbers, ints, []int{1, 2}}},
		"no last end": {"1,2\r\n3,4", Table{2, 2, nil, numbers, ints, []int{1, 2}}},
		"semicolons":  {"1;2\n3;4\n", Table{2, 2, nil, numbers, ints, []int{1, 2}}},
		"tabs":        {"1\t2\n\n3\t4\n", Table{2, 2, nil, numbers, ints, []int{1, 3}}},
		"header":      {"\ufeffx,\"the y\"\n1, 2\n 3,4 \n", Table{2, 2, []string{"x", "the y"}, numbers, ints, []int{2, 3}}},
		"one column":  {"size\n1\n2\n3\n4\n", Table{4, 1, []string{"size"}, numbers, ints, []int{2, 3, 4, 5}}},
		"floats":      {"\n0.1,-2e300\n3,1e-320\n", Table{2, 2, nil, []float64{0.1, -2e300, 3, 1e-320}, nil, []int{2, 3}}},
		"exact":       {"9007199254740993\n-9223372036854775808\n", Table{2, 1, nil, []float64{1 << 53, math.MinInt64}, []int64{1<<53 + 1, math.MinInt64}, []int{1, 2}}},
	} {
		got, err := ReadCSV(strings.NewReader(c.text), "x.csv")
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"":                  "x.csv: there are no numbers in it",
		"a,b\n":             "no numbers",
		"1,2\n3\n":          "x.csv: line 2 has 1 fields; want 2",
		"a,b\n\n1,2\n3,x\n": `x.csv: line 4, field 2: "x" is not a number`,
		",0\n0,1\n":         `line 1, field 1: "" is not a number`,
		"1,1e999\n":         "line 1, field 2: 1e999 is too large a number",
		"1,2\n1,\"2\n":      "x.csv: line 2, column",
		"1;2,5;3\n1;2;3\n":  `field 2: "2,5"`,
	} {
		if _, err := ReadCSV(strings.NewReader(text), "x.csv"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v does not say %q", text, err, want)
		}
	}
}

// A table that can be read is complete, and reads the same after it is written again.
func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{"1,2\n3,4\n", "a;b\n1;NaN\n", "\ufeffx\ty\n\n1\t-inf\n", "\"1\",0x1p-3\n", "1,2\n3", "\"\n", ",,\n1,2,3"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		a, err := ReadCSV(bytes.NewReader(text), "x")
		if err != nil {
			return
		}
		if a.Rows < 1 || a.Cols < 1 || len(a.Data) != a.Rows*a.Cols || a.Names != nil && len(a.Names) != a.Cols || a.Ints != nil && len(a.Ints) != len(a.Data) {
			t.Fatalf("%d x %d: %d names, %d numbers, %d integers", a.Rows, a.Cols, len(a.Names), len(a.Data), len(a.Ints))
		}
		var b bytes.Buffer
		for i, v := range a.Data {
			end := ","
			if i%a.Cols == a.Cols-1 {
				end = "\n"
			}
			if a.Ints != nil {
				fmt.Fprint(&b, a.Ints[i], end)
			} else {
				fmt.Fprint(&b, v, end)
			}
		}
		c, err := ReadCSV(&b, "y")
		if err != nil || c.Rows != a.Rows || c.Cols != a.Cols || a.Ints != nil && !reflect.DeepEqual(a.Ints, c.Ints) {
			t.Fatalf("written again: %+v, %v; want %+v", c, err, a)
		}
		for i, v := range a.Data {
			if c.Data[i] != v && !(math.IsNaN(v) && math.IsNaN(c.Data[i])) {
				t.Fatalf("number %d: %v, want %v", i, c.Data[i], v)
			}
		}
	})
}

// array makes a .npy file with a given header.
func array(descr string, fortran bool, shape string, data string) string {
	order := "False"
	if fortran {
		order = "True"
	}
	h := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	h += strings.Repeat(" ", 117-len(h)) + "\n"
	return "\x93NUMPY\x01\x00\x76\x00" + h + data
}

func TestRead(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, content string) {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	archive := func(name string, members map[string]string, order ...string) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, m := range order {
			w, err := z.Create(m + ".npy")
			if err == nil {
				_, err = w.Write([]byte(members[m]))
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		write(name, b.String())
	}
	var plain bytes.Buffer
	if err := npy.Write(&plain, []int{2, 2}, []float64{0.1, math.Pi, 3, 4}); err != nil {
		t.Fatal(err)
	}
	floats := &Table{Rows: 2, Cols: 2, Data: []float64{0.1, math.Pi, 3, 4}}
	whole := &Table{Rows: 2, Cols: 2, Data: []float64{1, 2, 3, 4}, Ints: []int64{1, 2, 3, 4}}
	lines := *whole
	lines.Lines = []int{1, 2}
	column := &Table{Rows: 2, Cols: 1, Data: []float64{1, 0}, Ints: []int64{1, 0}}
	big := array(">i2", true, "(2, 2)", "\x00\x01\x00\x03\x00\x02\x00\x04")
	flags := array("|b1", false, "(2,)", "\x01\x00")
	write("floats.npy", plain.String())
	write("big.npy", big)
	write("table.CSV", "1,2\n3,4\n")
	write("scalar.npy", array("<i2", false, "()", "\x01\x00"))
	write("large.npy", array("<u8", false, "(1, 1)", strings.Repeat("\xff", 8)))
	members := map[string]string{"big": big, "flags": flags, "codes": plain.String()}
	archive("one.npz", members, "flags")
	archive("role.npz", members, "big", "codes")
	archive("two.npz", members, "big", "flags")
	archive("none.npz", nil)
	for path, want := range map[string]*Table{
		"floats.npy": floats, "big.npy": whole, "table.CSV": &lines, "one.npz": column, "role.npz": floats, "role.npz:big": whole, "two.npz:flags": column,
	} {
		if got, err := Read(path, "codes"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", path, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"two.npz":         "two.npz: there are the arrays big, flags; want one called codes, or a name behind the file's, such as two.npz:big",
		"two.npz:flag":    `two.npz: no array "flag"; there are big, flags`,
		"none.npz":        "there is no array in it",
		"scalar.npy":      "scalar.npy: the array has shape []; want two dimensions",
		"large.npy":       "large.npy: element 0 of a uint64 array does not fit",
		"missing.npz:big": "missing.npz",
		"missing.csv":     "missing.csv",
	} {
		if _, err := Read(path, "codes"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v does not say %q", path, err, want)
		}
	}
	floats.Data[3] = math.Inf(-1)
	if err := floats.Finite(); err == nil || err.Error() != "row 1, column 1 is -Inf; want finite numbers" {
		t.Error(err)
	}
	if err := whole.Finite(); err != nil {
		t.Error(err)
	}
}
