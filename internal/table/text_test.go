package table

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/npy"
)

func TestReadText(t *testing.T) {
	for text, want := range map[string][]string{
		"file,a\nx.png, one \n":                      {"file", "a", "x.png", "one"},
		"\ufefffile;a\r\n\r\nx.png;\"o;n\"\"e\"\r\n": {"file", "a", "x.png", `o;n"e`},
		"file\ta\nx.png\t\n":                         {"file", "a", "x.png", ""},
		"file,\"a;;;\nb\"\nx.png,\"1\n2\"\n":         {"file", "a;;;\nb", "x.png", "1\n2"},
		"file\nx.png":                                {"file", "x.png"},
	} {
		table, err := ReadText(strings.NewReader(text), "t", true)
		if err != nil || len(table.Rows) != 1 || !slices.Equal(append(table.Names, table.Rows[0]...), want) {
			t.Errorf("%q: %+v, %v; want %q", text, table, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is empty", "a,b\n": "the only line, a,b",
		"a,a\n1,2\n": `two columns are called "a"`, "a,b\n1,2\n3\n": "line 3 has 1 field; want 2",
		"a,b\n1,\"2\n": "line 2, column", "a\x00,\x00": "UTF-16 without a byte-order mark",
		"x\nrot\ngr\xfcn\n": `:3: "gr\xfcn" is not UTF-8, but perhaps Latin-1`, "x\rgr\xfcn\r": `:2: "gr\xfcn" is not UTF-8`,
	} {
		if _, err := ReadText(strings.NewReader(text), "name", true); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.HasPrefix(err.Error(), "name") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	if _, err := ReadTextFile(t.TempDir(), true); err == nil {
		t.Error("a folder is read")
	}
}

// inUTF16 encodes text as UTF-16 with a byte-order mark.
func inUTF16(text string, little bool) string {
	var b strings.Builder
	for _, unit := range append([]uint16{0xfeff}, utf16.Encode([]rune(text))...) {
		low, high := byte(unit), byte(unit>>8)
		if little {
			b.Write([]byte{low, high})
		} else {
			b.Write([]byte{high, low})
		}
	}
	return b.String()
}

// readTable reads a table of factors or of codes.
func readTable(text string, factors bool) (*Table, error) {
	x, err := ReadText(strings.NewReader(text), "x.csv", false)
	if err != nil {
		return nil, err
	}
	if factors {
		return x.table(func(t *Text, c int) (*Column, error) { return t.Factor(c, false, false) })
	}
	return x.table(func(x *Text, c int) (*Column, error) { return x.Numbers(c, false) })
}

// All forms in which programs write a table give the same table.
func TestForms(t *testing.T) {
	const plain = "x,y\n0.5,-2\n1.25,3.5\n7,40\n"
	want := must.Get(readTable(plain, false))(t)
	german := "x;y\r\n0,5;-2\r\n1,25;3,5\r\n7;40\r\n"
	for name, text := range map[string]string{
		"decimal commas": german, "decimal commas, no names": german[5:], "tabs and decimal commas": strings.ReplaceAll(german, ";", "\t"),
		"UTF-16": inUTF16(strings.ReplaceAll(plain, ",", "\t"), true), "UTF-16, big": inUTF16(plain, false),
		"byte-order mark": "\ufeff" + plain, "quotes": strings.ReplaceAll(plain, "-2", `"-2"`), "no names": plain[4:],
		"index": ",x,y\n0,0.5,-2\n1,1.25,3.5\n2,7,40\n", "index read by pandas": "Unnamed: 0.1,Unnamed: 0,x,y\n0,0,0.5,-2\n1,7,1.25,3.5\n2,4,7,40\n",
		"numbered columns": "0,1\n0.5,-2.0\n1.25,3.5\n7.0,4e1\n", "index and numbered columns": ",0,1\n4,0.5,-2\n7,1.25,3.5\n5,7,40\n",
		"carriage returns": strings.ReplaceAll(plain, "\n", "\r"), "typographic minus": strings.ReplaceAll(plain, "-", "\u2212"), "a last separator": "x,y,\n0.5,-2,\n1.25,3.5,\n7,40,\n",
	} {
		got, err := readTable(text, false)
		if err == nil {
			got.WantRows(3)
		}
		if err != nil || got.Rows != want.Rows || got.Cols != want.Cols || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
			continue
		}
		left := strings.Contains(name, "index") || strings.Contains(name, "number") || strings.Contains(name, "last")
		must.Equal(t, left, len(got.Notes) > 0, name, "remarks", got.Notes)
	}
}

// A quoted field may have several lines. A missing end quote is an error before the end of the file.
func TestQuotedLines(t *testing.T) {
	if lines, err := NewLines(strings.NewReader("x,y\n1,\"a\nb\"\n"+strings.Repeat("\n", 2*maxQuoted)+"2,c\n"), "t.csv"); err != nil {
		t.Error(err)
	} else {
		for _, want := range []string{"x y", "1 a\nb", "2 c"} {
			if got, err := lines.Read(); err != nil || strings.Join(got, " ") != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
	}
	rest := strings.NewReader(strings.Repeat("1,2\n", 4*maxQuoted))
	lines, err := NewLines(io.MultiReader(strings.NewReader("x,y\n1,2\n\"1,2\n"), rest), "t.csv")
	for err == nil {
		_, err = lines.Read()
	}
	if err == io.EOF || !strings.HasPrefix(err.Error(), "t.csv:3: a quoted field does not end within 1048576 bytes") ||
		rest.Len() < 12*maxQuoted {
		t.Errorf("%v, %d bytes left", err, rest.Len())
	}
}

// The first line decides about the separator. Spaces before a field do not count. A tab between tabs is not such a space,
// but an empty field.
func TestSpaces(t *testing.T) {
	for text, want := range map[string][]string{"a, b,,\tc\n": {"a", "b", "", "c"}, "a; b\n": {"a", "b"},
		`a, "b,c"`: {"a", "b,c"}, "a\t b\t\tc\n": {"a", "b", "", "c"}, "a,b\nx;y;z;w,1\n": {"a", "b"}} {
		lines := must.Get(NewLines(strings.NewReader(text), "t.csv"))(t)
		must.EqualSlices(t, must.Get(lines.Read())(t), want, text)
	}
}

func TestFactors(t *testing.T) {
	nan := math.NaN()
	for text, want := range map[string]struct {
		data  []float64
		words []string // of column 0
	}{
		"shape,size\nheart,1\nellipse,\nNA,3\nheart,null\n": {[]float64{1, 1, 0, nan, nan, 3, 1, nan}, []string{"ellipse", "heart"}},
		"heart,1\nellipse,2\n":                              {[]float64{1, 1, 0, 2}, []string{"ellipse", "heart"}},
		"0,1\nheart,1\nellipse,2\n":                         {[]float64{1, 1, 0, 2}, []string{"ellipse", "heart"}},
		"a;b\n1,234;-1,250\n3,5;3\n2;0,125\n":               {[]float64{1.234, -1.25, 3.5, 3, 2, .125}, nil},
		"0,1\n3,1\n2,2\n":                                   {[]float64{0, 1, 3, 1, 2, 2}, nil},
		"\"a\nb\"\n1\n":                                     {[]float64{1}, nil},
		"a\n1_10\n11_0\n0x1p4\n":                            {[]float64{2, 1, 0}, []string{"0x1p4", "11_0", "1_10"}},
	} {
		got, err := readTable(text, true)
		if err != nil || !slices.EqualFunc(got.Data, want.data, func(a, b float64) bool { return a == b || a != a && b != b }) {
			t.Errorf("%q: %+v, %v; want %v", text, got, err, want.data)
			continue
		}
		if got.Words == nil != (want.words == nil) || want.words != nil && !slices.Equal(got.Words[0], want.words) {
			t.Errorf("%q: words %q, want %q", text, got.Words, want.words)
		}
	}
	for text, want := range map[string]string{
		"a,b\n1,x\n2,7\n":        `x.csv: line 2, field 2: "x" is a word, and 7 in line 3 a number; want numbers (empty where one is not known) or words in all lines, or kind categorical (column b)`,
		"day\n2024-01-31\n":      `x.csv: line 2, field 1: "2024-01-31" looks like a date; want numbers, such as days, or kind categorical (column day)`,
		"day\n31.1.2024 10:00\n": "looks like a date",
		"a\n0 1\n2 1\n":          `x.csv: line 2, field 1: "0 1" is several numbers; want commas, semicolons or tabs between them, or kind categorical (column a)`,
		"a;b\n1,5;1\n1.5;2\n":    "line 3, field 1: 1.5 beside 1,5 in line 2; want decimal points or decimal commas",
		"a;b\n999;1\n" + strings.Repeat("1,234;2\n", 10): "line 12, field 1: 1,234 beside 999 in line 2; want decimals in all lines, or no marks of thousands (column a)",
		"a\n" + differentWords(60):                       "60 different words in 60 rows",
		"a\ninf\n":                                       "line 2, field 1: inf is not finite; want a finite number (column a)",
		"a,,b\n1,5,2\n":                                  `column 2 is called ""; want a name`,
		"a,b\n1,2\n1,2,3\n":                              "line 3 has 3 fields; want 2, as line 1 has",
		"name,v\n\"a\nb\",1\nc,2,1\n":                    "line 4 has 3 fields",
	} {
		must.ErrorOf(readTable(text, true))(t, want, text)
	}
}

// A column may have 50 different words, or more if each occurs twice on average.
func TestManyWords(t *testing.T) {
	for i, c := range []struct {
		text string
		want bool
	}{
		{differentWords(50), true},
		{differentWords(51), false},
		{differentWords(51) + differentWords(51), true},
		{differentWords(51) + differentWords(50), false},
	} {
		got, err := readTable("a\n"+c.text, true)
		if (err == nil) != c.want || c.want && len(got.Words[0]) < 50 {
			t.Errorf("%d: %v", i, err)
		}
	}
	for n, cols := range map[int]int{50: 2, 51: 1} { // a first column of more words is an index
		got, err := readTable("file,v\n"+strings.ReplaceAll(differentWords(n), "\n", ",1\n"), true)
		if must.OK(t, err); got.Cols != cols || len(got.Notes) != 2-cols {
			t.Errorf("%d words: %d columns, %q", n, got.Cols, got.Notes)
		}
	}
}

func differentWords(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("w" + strings.Repeat("x", i) + "\n")
	}
	return b.String()
}

func TestDropCounter(t *testing.T) {
	for text, want := range map[string][]float64{
		"0,0.5\n1,0.25\n2,4\n": {0.5, 0.25, 4}, "0\n1\n2\n": {0, 1, 2}, "id,x\n0,5\n1,6\n2,7\n": {0, 5, 1, 6, 2, 7}, "0,5\n1,6\n3,7\n": {0, 5, 1, 6, 3, 7},
	} {
		got := must.Get(readTable(text, false))(t)
		if got.DropCounter(); !slices.Equal(got.Data, want) || got.Cols != len(want)/3 {
			t.Errorf("%q: %d columns, %v; want %v", text, got.Cols, got.Data, want)
		}
		if remarked := got.Rows*2 > len(got.Data) || got.Names != nil; remarked != (len(got.Notes) > 0) && text[:2] != "0\n" {
			t.Errorf("%q: remarks %q", text, got.Notes)
		}
	}
	name := t.TempDir() + "/x.npy"
	var b bytes.Buffer
	must.OK(t, errors.Join(npy.Write(&b, []int{3, 2}, []float64{0, .5, 1, .25, 2, 4}), os.WriteFile(name, b.Bytes(), 0o600)))
	got, err := Read(name, "codes")
	must.OK(t, err)
	if got.DropCounter(); got.Cols != 1 || !slices.Equal(got.Data, []float64{.5, .25, 4}) || len(got.Notes) != 1 {
		t.Errorf("%+v", got)
	}
	if got, err = readTable("0,a,c\n1,b,c\n2,a,d\n", true); err != nil {
		t.Fatal(err)
	}
	if got.DropCounter(); fmt.Sprint(got.Words, got.Data, got.Ints) != "[[a b] [c d]] [0 0 1 0 0 1] [[0 1 0] [0 0 1]]" {
		t.Errorf("words %q, levels %v, %v", got.Words, got.Data, got.Ints)
	}
}

// A first line of whole numbers from 0 is a row, unless there is one row too many.
func TestWantRows(t *testing.T) {
	for rows, want := range map[int][]float64{3: {0, 1, 3, 1, 2, 2}, 2: {3, 1, 2, 2}} {
		got := must.Get(readTable("0,1\n3,1\n2,2\n", true))(t)
		if got.WantRows(rows); got.Rows != rows || !slices.Equal(got.Data, want) || len(got.Notes) != 1 {
			t.Errorf("%d rows: %+v; want %v", rows, got, want)
		}
	}
}

// A single line of whole numbers from 0 is a row, and so is such a line above a column of missing values.
func TestCountedRow(t *testing.T) {
	for text, rows := range map[string]int{"0,1,2\n": 1, "0,1,2\n3,,4\n5,,6\n": 3} {
		if got := must.Get(readTable(text, true))(t); got.Rows != rows {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

// Settle distinguishes column numbers above codes and factors from rows. If a line alone does not decide, the number of
// rows in the other file does.
func TestSettle(t *testing.T) {
	for _, c := range []struct {
		codes, factors string
		rows           int
	}{
		{"0,1\n0.5,1.5\n0.25,2.0\n", "a,b\n0,1\n1,1\n0,0\n", 3}, // sine and cosine of 0
		{"0,1\n0.5,1.5\n0.25,2.0\n", "a,b\n0,1\n1,1\n", 2},
		{"0,1\n0.5,1.5\n0.25,2.0\n", "0,1\n2,1\n1,1\n", 2},
		{"0,1\n0.5,1.5\n0.25,2.0\n", "0\n2\n1\n", 3},
		{"0,1,2\n0.5,1.5,1.0\n0.25,2.0,1.0\n", "0\n2\n1\n", 2},
		{"0,1,2\n0.5,1.5,1.0\n0.25,2.0,1.0\n", "x,y\n2,w\n1,v\n", 2},
	} {
		codes, factors := readBoth(t, c.codes, c.factors)
		if err := Settle(codes, factors); err != nil || codes.Rows != c.rows || factors.Rows != c.rows ||
			len(codes.Data) != c.rows*codes.Cols || len(codes.Notes) != 1 {
			t.Errorf("%q, %q: %d and %d rows, want %d; remarks %q", c.codes, c.factors, codes.Rows, factors.Rows, c.rows, codes.Notes)
		}
	}
}

func readBoth(t *testing.T, codeText, factorText string) (codes, factors *Table) {
	t.Helper()
	codes, err := readTable(codeText, false)
	if err == nil {
		factors, err = readTable(factorText, true)
	}
	must.OK(t, err)
	return codes, factors
}

// Rows belong together by position, so an index in another order is an error, or a remark if only one table has it.
func TestIndexOrder(t *testing.T) {
	const remark = "not in ascending order"
	for _, c := range []struct {
		codes, factors string
		fails, remarks bool
	}{
		{",a\n0,5\n1,6\n2,7\n", ",x\n0,1\n1,2\n2,3\n", false, false},
		{",a\n2,5\n0,6\n1,7\n", "Unnamed: 0,x\n2,1\n0,2\n1,3\n", false, true},
		{",a\n0,5\n1,6\n2,7\n", ",x\n2,1\n0,2\n1,3\n", true, true},
		{"0,5.5\n1,6.5\n2,7.5\n", ",x\n2,1\n0,2\n1,3\n", true, true},
		{",a\nu,5\nv,6\n", ",x\nv,1\nu,2\n", true, false},
		{"a\n5\n6\n7\n", ",x\n2,1\n0,2\n1,3\n", false, true},
		{",a\n0,5\n1,6\n2,7\n", ",x\n3,1\n5,2\n9,3\n", false, false},
	} {
		codes, factors := readBoth(t, c.codes, c.factors)
		codes.DropCounter()
		if err := Settle(codes, factors); (err != nil) != c.fails || strings.Contains(fmt.Sprint(factors.Notes), remark) != c.remarks {
			t.Errorf("%q, %q: error %v, remarks %q", c.codes, c.factors, err, factors.Notes)
		}
	}
}

// A table without an error is complete, and errors name the file.
func FuzzReadText(f *testing.F) {
	for _, seed := range []string{
		"file,a\nx.png, one \n", "\ufefffile;a\r\n\r\nx.png;\"o;n\"\"e\"\r\n", ",0,1\n0,1.5,2\n", "0;1\n1,5;2\n", "a,b,\n1,,\n",
		inUTF16("x\ty\n1,5\tNA\n", true), inUTF16("x\n1\n", false), "Unnamed: 0,x\n0,1\n", "\"", ",,\n1,2,3", "0,1\nw,2\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, named := range []bool{false, true} {
			x, err := ReadText(strings.NewReader(text), "name", named)
			if err != nil {
				if !strings.HasPrefix(err.Error(), "name") {
					t.Errorf("error %v", err)
				}
				continue
			}
			if len(x.Rows) == 0 || len(x.Rows) != len(x.Lines) || named && x.Names == nil {
				t.Errorf("%d rows, %d lines, names %q", len(x.Rows), len(x.Lines), x.Names)
			}
			for _, row := range x.Rows {
				if len(row) != len(x.Rows[0]) || x.Names != nil && len(row) != len(x.Names) {
					t.Errorf("%d fields, %d in the first row, %d names", len(row), len(x.Rows[0]), len(x.Names))
				}
			}
			m, err := x.table(func(t *Text, c int) (*Column, error) { return t.Factor(c, false, false) })
			if err != nil {
				if !strings.HasPrefix(err.Error(), "name: ") {
					t.Errorf("error %v", err)
				}
				continue
			}
			m.WantRows(m.Rows - 1)
			m.DropCounter()
			if len(m.Data) != m.Rows*m.Cols || m.Cols < 1 || len(m.Ints) != m.Cols || len(m.Lines) != m.Rows ||
				m.Names != nil && len(m.Names) != m.Cols || m.Words != nil && len(m.Words) != m.Cols {
				t.Errorf("%+v", m)
			}
		}
	})
}
