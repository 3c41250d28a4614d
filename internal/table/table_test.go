package table

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

func TestNumbers(t *testing.T) {
	numbers := []float64{1, 2, 3, 4}
	ints := [][]int64{{1, 3}, {2, 4}}
	spaces := []string{"x.csv: spaces separate the fields"}
	for name, c := range map[string]struct {
		text string
		want Table
	}{
		"commas":      {"1,2\n3,4\n", Table{Rows: 2, Cols: 2, Data: numbers, Ints: ints, Lines: []int{1, 2}}},
		"no last end": {"1,2\r\n3,4", Table{Rows: 2, Cols: 2, Data: numbers, Ints: ints, Lines: []int{1, 2}}},
		"semicolons":  {"1;2\n3;4\n", Table{Rows: 2, Cols: 2, Data: numbers, Ints: ints, Lines: []int{1, 2}}},
		"tabs":        {"1\t2\n\n3\t4\n", Table{Rows: 2, Cols: 2, Data: numbers, Ints: ints, Lines: []int{1, 3}}},
		"spaces":      {"  1 2 \r\n 3   4\n", Table{Rows: 2, Cols: 2, Data: numbers, Ints: ints, Lines: []int{1, 2}, Notes: spaces}},
		"savetxt":     {"# x y\n1 2\n3 4\n", Table{Rows: 2, Cols: 2, Names: []string{"x", "y"}, Data: numbers, Ints: ints, Lines: []int{2, 3}, Notes: spaces}},
		"# and names": {"# x,y\n1,2\n3,4\n", Table{Rows: 2, Cols: 2, Names: []string{"x", "y"}, Data: numbers, Ints: ints, Lines: []int{2, 3}}},
		"header":      {"\ufeffx,\"the y\"\n1, 2\n 3,4 \n", Table{Rows: 2, Cols: 2, Names: []string{"x", "the y"}, Data: numbers, Ints: ints, Lines: []int{2, 3}}},
		"one column":  {"size\n1\n2\n3\n4\n", Table{Rows: 4, Cols: 1, Names: []string{"size"}, Data: numbers, Ints: [][]int64{{1, 2, 3, 4}}, Lines: []int{2, 3, 4, 5}}},
		"floats":      {"\n0.1,-2e300\n3,1e-320\n", Table{Rows: 2, Cols: 2, Data: []float64{0.1, -2e300, 3, 1e-320}, Ints: make([][]int64, 2), Lines: []int{2, 3}}},
		"mixed":       {"1,.5\n9007199254740993,1\n", Table{Rows: 2, Cols: 2, Data: []float64{1, .5, 1 << 53, 1}, Ints: [][]int64{{1, 1<<53 + 1}, nil}, Lines: []int{1, 2}}},
		"exact":       {"9007199254740993\n-9223372036854775808\n", Table{Rows: 2, Cols: 1, Data: []float64{1 << 53, math.MinInt64}, Ints: [][]int64{{1<<53 + 1, math.MinInt64}}, Lines: []int{1, 2}}},
	} {
		c.want.file = "x.csv"
		got, err := readTable(c.text, false)
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"":                   "x.csv is empty",
		"a,b\n":              "the only line, a,b, is",
		"1,2\n3\n":           "x.csv: line 2 has 1 field; want 2",
		"a\n\"3\n4\"\n\n5\n": "x.csv: line 4 is empty; want NaN for an unknown value, or no empty line",
		"a,b\n\n1,2\n3,x\n":  `x.csv: line 4, field 2: "x" is not a number; want numbers alone (column b)`,
		",1\n0,1\n":          `line 1, field 1: "" is not a number`,
		"1,1e999\n":          "line 1, field 2: 1e999 is too large a number",
		"1,2\n1,\"2\n":       "x.csv: parse error on line 2, column",
		"1,2\n1,-inf\n":      "line 2, field 2: -inf is not finite",
		"x,y\n1,NA\n":        `line 2, field 2: "NA" is not a number; want numbers alone (column y)`,
		"1,2024-1-31\n":      "looks like a date",
		"a|b\n3|4\n":         `x.csv: line 2, field 1: "3|4" is several numbers; want commas, semicolons or tabs between them (column a|b)`,
		"a\n3 4\n":           `x.csv: line 2, field 1: "3 4" is several numbers; want commas, semicolons or tabs between them (column a)`,
		"1 2e0\n3 4 5\n":     "x.csv: line 2 has 3 fields; want 2, as line 1 has",
	} {
		must.ErrorOf(readTable(text, false))(t, want, text)
	}
}

// array returns a .npy file with a given header.
func array(descr string, fortran bool, shape string, data string) string {
	order := "False"
	if fortran {
		order = "True"
	}
	h := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	h += strings.Repeat(" ", 117-len(h)) + "\n"
	return "\x93NUMPY\x01\x00\x76\x00" + h + data
}

// matRow returns a MATLAB file with a row of numbers.
func matRow(name string, values ...float64) string {
	element := func(kind uint32, data any) []byte {
		b := new(bytes.Buffer)
		binary.Write(b, binary.LittleEndian, data)
		size := b.Len()
		b.Write(make([]byte, -size&7))
		return append(binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, kind), uint32(size)), b.Bytes()...)
	}
	double := []uint32{6, 0}
	matrix := bytes.Join([][]byte{element(6, double), element(5, []int32{1, int32(len(values))}), element(1, []byte(name)),
		element(9, values)}, nil)
	return fmt.Sprintf("%-124s\x00\x01IM", "MATLAB 5.0 MAT-file") + string(element(14, matrix))
}

func TestRead(t *testing.T) {
	arrayFiles := must.Get(filepath.Abs("../arrays/testdata"))(t)
	arrayFiles += string(filepath.Separator)
	t.Chdir(t.TempDir())
	write := func(name, content string) {
		must.Write(t, name, content)
	}
	archive := func(name string, members map[string]string, order ...string) {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, m := range order {
			w, err := z.Create(m + ".npy")
			if err == nil {
				_, err = w.Write([]byte(members[m]))
			}
			must.OK(t, err)
		}
		must.OK(t, z.Close())
		write(name, b.String())
	}
	var plain bytes.Buffer
	must.OK(t, npy.Write(&plain, []int{2, 2}, []float64{0.1, math.Pi, 3, 4}))
	floats := &Table{Rows: 2, Cols: 2, Data: []float64{0.1, math.Pi, 3, 4}}
	whole := &Table{Rows: 2, Cols: 2, Data: []float64{1, 2, 3, 4}, Ints: [][]int64{{1, 3}, {2, 4}}}
	lines := *whole
	lines.Lines = []int{1, 2}
	column := &Table{Rows: 2, Cols: 1, Data: []float64{1, 0}, Ints: [][]int64{{1, 0}}}
	big := array(">i2", true, "(2, 2)", "\x00\x01\x00\x03\x00\x02\x00\x04")
	flags := array("|b1", false, "(2,)", "\x01\x00")
	write("floats.npy", plain.String())
	write("big.npy", big)
	write("table.CSV", "1,2\n3,4\n")
	write("scalar.npy", array("<i2", false, "()", "\x01\x00"))
	write("codes.hdf", "\x89HDF\r\n\x1a\n")
	write("text.h5", "codes")
	write("row.mat", matRow("codes", 1, 0))
	ramp := &Table{Rows: 9, Cols: 1, Data: []float64{0, 1, 2, 3, 4, 5, 6, 7, 8}}
	write("large.npy", array("<u8", false, "(1, 1)", strings.Repeat("\xff", 8)))
	members := map[string]string{"big": big, "flags": flags, "codes": plain.String()}
	archive("one.npz", members, "flags")
	archive("role.npz", members, "big", "codes")
	archive("two.npz", members, "big", "flags")
	archive("deep.npz", map[string]string{"images": array("|u1", false, "(1, 1, 1)", "x"), "z": big}, "images", "z")
	archive("none.npz", nil)
	for path, want := range map[string]*Table{
		"floats.npy": floats, "big.npy": whole, "table.CSV": &lines, "one.npz": column, "role.npz": floats, "role.npz:big": whole, "two.npz:flags": column,
		arrayFiles + "arrays.h5:in/vector": ramp, arrayFiles + "matlab73.mat:vector": ramp, "row.mat": {Rows: 2, Cols: 1, Data: []float64{1, 0}},
	} {
		got, err := Read(path, "codes")
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got.file = ""; !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", path, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"two.npz":      "two.npz: there are the arrays big, flags; want one called codes, or a name behind the file's, such as two.npz:big",
		"two.npz:flag": `two.npz: no array "flag"; there are big, flags`,
		"deep.npz":     "such as deep.npz:z",
		"none.npz":     "there is no array in it",
		"scalar.npy":   "scalar.npy: the array has shape []; want two dimensions",
		"large.npy":    "large.npy ([1 1], uint64): element 0 does not fit",
		"codes.hdf":    "codes.hdf: not a .npy file: it begins with \"\\x89HDF\\r\\n\", want \"\\x93NUMPY\"; want a file that ends in .npy, .npz, .h5, .hdf5, .mat, .csv, .tsv or .txt",
		"text.h5":      "text.h5: not an HDF5 file",

		arrayFiles + "plain.mat": "plain.mat: there are the arrays images, words, none, text; want one called codes, or a name behind the file's, such as",
		"missing.npz:big":        "missing.npz",
		"missing.csv":            "missing.csv",
	} {
		must.ErrorOf(Read(path, "codes"))(t, want, path)
	}
	for path, want := range map[string]string{"two.npz:flags": "two.npz:big", "role.npz:codes": "role.npz:big",
		"two.npz:big": "", "two.npz": "two.npz:big", "one.npz:flags": "", "role.npz:x": "role.npz:big",
		"none.npz:x": "", "missing.npz:x": "", "floats.npy": ""} {
		must.Equal(t, Beside(path, "big"), want, "the array big beside", path)
	}
	write("block.npy", array("<u1", false, "(2, 2, 2)", "\x01\x02\x03\x04\x05\x06\x07\x08"))
	if got, err := ReadBlocks("block.npy", "codes"); err != nil || got.Rows != 2 || got.Cols != 4 {
		t.Errorf("codes in a block: %+v, %v", got, err)
	}
	for path, want := range map[string]string{"one.npz": "flags", "two.npz:flags": "flags",
		arrayFiles + "arrays.h5:in/vector": "vector", "row.mat": "codes", "role.npz:big": "", "floats.npy": ""} {
		got := must.Get(ReadFactors(path, "factors", nil))(t)
		must.Equal(t, strings.Join(got.Names, ","), want, "names of the columns of", path)
	}
	must.Equal(t, must.Get(ReadFactors("row.mat", "codes", nil))(t).Names == nil, true, "no name for the array of the role")
	must.ErrorOf(ReadFactors("block.npy", "factors", nil))(t, "the array has shape [2 2 2]; want two dimensions")
	floats.Data[3] = math.Inf(-1)
	if err := floats.Finite(); err == nil || err.Error() != "row 1, column 1 is -Inf; want finite numbers" {
		t.Error(err)
	}
	if err := whole.Finite(); err != nil {
		t.Error(err)
	}
}

// A column with the numbers of all rows gets a remark, in any order and also among names.
func TestNumberedRows(t *testing.T) {
	const n = 30
	column := func(value func(i int) int) (list []float64) {
		for i := range n {
			list = append(list, float64(value(i)))
		}
		return list
	}
	level := column(func(i int) int { return i % 3 })
	for _, test := range []struct {
		name    string
		values  []float64
		names   bool
		want    string
		columns int
	}{
		{"shuffled from 1", column(func(i int) int { return 7*i%n + 1 }), true, "t.csv: column id has the numbers of all rows in another order, 1 to 30; leave it out if it is an index", 2},
		{"shuffled from 0", column(func(i int) int { return 7 * i % n }), true, "t.csv: column id has the numbers of all rows in another order, 0 to 29; leave it out if it is an index", 2},
		{"from 1", column(func(i int) int { return i + 1 }), false, "t.csv: column 0 counts the rows, 1 to 30; leave it out if it is an index", 2},
		{"from 0", column(func(i int) int { return i }), true, "t.csv: column id counts the rows, 0 to 29; leave it out if it is an index", 2},
		{"without names", column(func(i int) int { return i }), false, "a text table with names of columns would keep it", 1},
		{"from 2", column(func(i int) int { return i + 2 }), true, "", 2},
		{"with a gap", column(func(i int) int { return 2 * i }), true, "", 2},
		{"twice", column(func(i int) int { return i / 2 }), true, "", 2},
	} {
		m := &Table{Rows: n, Cols: 2, file: "t.csv"}
		for i := range n {
			m.Data = append(m.Data, test.values[i], level[i])
		}
		if test.names {
			m.Names = []string{"id", "level"}
		}
		m.DropCounter()
		if got := strings.Join(m.Notes, "; "); (got == "") != (test.want == "") || !strings.Contains(got, test.want) || m.Cols != test.columns {
			t.Errorf("%s: %d columns, %q; want %d, %q", test.name, m.Cols, got, test.columns, test.want)
		}
	}
}

// Whole numbers that round to one number are no levels of a factor, except as words of a categorical factor.
func TestRoundedLevels(t *testing.T) {
	for text, want := range map[string]string{
		"12345678901234567890 12345678901234567891":    "line 2, field 1: 12345678901234567891 rounds to the same number as 12345678901234567890 in line 1; want fewer digits, or kind categorical",
		"9007199254740993 9007199254740992 0.5":        "9007199254740992 rounds to the same number as 9007199254740993",
		"9007199254740993 9007199254740992":            "", // exact integers
		"12345678901234567890 12345678901234567890":    "",
		"+0012345678901234567890 12345678901234567890": "",
		"1e30 1.0e30 100000000000000000000":            "",
	} {
		x := NewText("t", nil, nil, nil, false)
		for i, field := range strings.Fields(text) {
			x.Rows, x.Lines, x.first = append(x.Rows, []string{field}), append(x.Lines, i+1), []int{1}
		}
		if _, err := x.Factor(0, false, false); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
		if c, err := x.Factor(0, true, true); err != nil || want != "" && len(c.Words) != len(x.Rows) {
			t.Errorf("%s, categorical: %+v, %v", text, c, err)
		}
	}
}
