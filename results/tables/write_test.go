package tables_test

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/internal/show"
	"github.com/unravel-ml/unravel/metrics"
	. "github.com/unravel-ml/unravel/results/tables"
)

// pictures lists the pictures among the files of a result.
func pictures(r *Result) []show.File {
	return slices.DeleteFunc(show.Files(r), func(f show.File) bool { return !strings.HasSuffix(f.Name, ".png") })
}

// written returns a function's output for a result.
func written(t *testing.T, r *Result, write func(io.Writer, *Result) error) string {
	t.Helper()
	return text(t, func(w io.Writer) error { return write(w, r) })
}

// asText returns a result as text.
func asText(t *testing.T, r *Result, width int) string {
	t.Helper()
	return text(t, func(w io.Writer) error { return show.Text(w, r, width) })
}

// fileOf returns a file of a result.
func fileOf(t *testing.T, r *Result, name string) string {
	t.Helper()
	files := show.Files(r)
	at := slices.IndexFunc(files, func(f show.File) bool { return f.Name == name })
	if at < 0 {
		t.Fatalf("no %s in %v", name, files)
	}
	return text(t, files[at].Write)
}

// text returns the output of a writer.
func text(t *testing.T, write func(io.Writer) error) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, write(&b))
	return b.String()
}

// marked returns a table with a cell of every status. The codes of the seeds have mean 1.5.
func marked(t *testing.T) *Result {
	t.Helper()
	x := table(t, seeded{random: true}, &reading{},
		"T,D,a_1 & b,c%,1.5,,\nT,D,a_1 & b,|d|,2.0,,\nT,D,a_1 & b,e,-9.00,,\nT,D,a_1 & b,f<,9.0,,\n"+
			"T,D,gone,c%,0.10,,\nT,D,gone,|d|,,,dash\nT,D,gone,e,0.3,,\nT,D,gone,f<,0.4,,\n"+
			"T,D,β,c%,1.5,,\nT,D,β,|d|,,,dash\nT,D,β,e,1.5,,\nT,D,β,f<,9.0,,")
	x.Title, x.Source, x.Remarks = "A <title> & more", "X 2024, table $1", []string{"A remark with *stars*."}
	x.Rows[0].Label = "a_1 & b"
	x.Rows = append(x.Rows, Row{Label: "gone", Missing: "there is no model"}, Row{Label: "β", From: x.Rows[0].From})
	x.Columns = nil
	for i, label := range []string{"c%", "|d|", "e", "f<"} {
		x.Columns = append(x.Columns, Column{Label: label, Group: "group " + string("112"[min(i, 2)]), Transform: "x",
			Metric: metrics.Choice{Name: "reading", Value: &reading{}}, Doc: map[int]string{0: "what <c> is"}[i]})
	}
	x.Notes = []Note{{Rows: []string{"a_1 & b", "β"}, Columns: []string{"f<"}, Reason: "a 50% guess"},
		{Rows: []string{"β"}, Columns: []string{"e"}, Reason: "none"}}
	return compute(t, x, false)
}

func TestPrint(t *testing.T) {
	want := `A <title> & more (X 2024, table $1)
4 of 10 printed cells reproduced (quick scale, 4 seeds); different for a known reason: 2; different for no known reason: 1; not computed: 4; reproduced, although a note says otherwise: 1

              group 1        group 2
              c%     |d|     e        f<
a_1 & b       1.500  1.500~  1.500!   1.500a
  paper       1.5    2.0     -9.00    9.0
  difference  0.000 -0.500  +10.500  -7.500
gone          -b     -b      -b       -b
  paper       0.10   -       0.3      0.4
  difference  -      -       -        -
β             1.500  1.500   1.500?   1.500a
  paper       1.5    -       1.5      9.0
  difference  0.000  -       0.000   -7.500

~ agrees within two standard errors of the difference
! differs, and the cause is not known
? agrees, although the table has a note that it does not
a a 50% guess
b there is no model
`
	r := marked(t)
	must.Equal(t, asText(t, r, 100), want)
	if one := text(t, func(w io.Writer) error {
		r := marked(t)
		r.Seeds = 1
		return show.Text(w, r,
			100)
	}); !strings.Contains(one, "(quick scale, 1 seed)") {
		t.Error(one)
	}
	narrow := asText(t, r, 40)
	if strings.Count(narrow, "a_1 & b") != 2 || !strings.Contains(narrow, "\n? agrees, although the table has a note\n  that it does not\n") {
		t.Error(narrow)
	}
	if tiny := asText(t, r, 1); strings.Count(tiny, "a_1 & b") != 4 {
		t.Error(tiny)
	}
}

func TestWriteCSV(t *testing.T) {
	records, err := csv.NewReader(strings.NewReader(written(t, marked(t), show.CSV))).ReadAll()
	if err != nil || len(records) != 13 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for i, want := range map[int]string{
		0:  "table row column ours std n theirs difference status reason",
		1:  "x a_1 & b c% 1.5 1.2909944487358056 4 1.5 0 same ",
		2:  "x a_1 & b |d| 1.5 1.2909944487358056 4 2.0 -0.5 near ",
		4:  "x a_1 & b f< 1.5 1.2909944487358056 4 9.0 -7.5 known a 50% guess",
		5:  "x gone c%   0 0.10  missing there is no model",
		10: "x β |d| 1.5 1.2909944487358056 4   unprinted ",
	} {
		must.Equal(t, strings.Join(records[i], " "), want, "line", i)
	}
}

func TestWriteMarkdown(t *testing.T) {
	got := written(t, marked(t), show.Markdown)
	for _, want := range []string{
		"# A \\<title> & more\n\nX 2024, table $1. 4 of 10 printed cells",
		"|  | c% | \\|d\\| | e | f\\< |\n|---|---:|---:|---:|---:|\n| **a\\_1 & b** | 1.500 | 1.500 (\\~) | 1.500 (!) | 1.500 (a) |\n| paper | 1.5 | 2.0 | -9.00 | 9.0 |\n| difference | 0.000 | -0.500 | +10.500 | -7.500 |\n",
		"\n* (a): a 50% guess\n* (b): there is no model\n\n* c%: what \\<c> is\n\nA remark with \\*stars\\*.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestWriteLaTeX(t *testing.T) {
	got := written(t, marked(t), show.LaTeX)
	for _, want := range []string{
		"% A <title> & more (X 2024, table $1)\n",
		"\\begin{tabular}{lrrrr}\n\\hline\n & \\multicolumn{2}{c}{group 1} & \\multicolumn{2}{c}{group 2} \\\\\n & c\\% & \\textbar{}d\\textbar{} & e & f\\textless{} \\\\\n\\hline\n",
		"a\\_1 \\& b & 1.500 & 1.500\\rlap{\\textsuperscript{\\textasciitilde{}}} & 1.500\\rlap{\\textsuperscript{!}} & 1.500\\rlap{\\textsuperscript{a}} \\\\\n",
		"{\\small $-$9.00}", "{\\small $+$10.500}", "gone & --\\rlap{\\textsuperscript{b}} &", "$\\beta$ & 1.500 &",
		"\\hline\n\\end{tabular}\n", "\\textsuperscript{a} a 50\\% guess.\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	depth := 0
	for _, r := range regexp.MustCompile(`\\[{}\\]`).ReplaceAllString(got, "") {
		depth += map[rune]int{'{': 1, '}': -1}[r]
	}
	must.Equal(t, depth, 0, "braces are open")
}

// The page needs no other files, closes its elements, and shows everything.
func TestWriteHTML(t *testing.T) {
	got := written(t, marked(t), show.HTML)
	decoder := xml.NewDecoder(strings.NewReader(regexp.MustCompile("<meta [^>]*>").ReplaceAllString(got, "")))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, got)
		}
	}
	for _, outside := range []string{"http", "<script", "src=", "@import", "url(", "<link"} {
		if strings.Contains(got, outside) {
			t.Errorf("the page has %s", outside)
		}
	}
	for _, want := range []string{"A &lt;title&gt; &amp; more", `<td class="known">1.500<sup>a</sup><small>9.0</small><small>-7.500</small></td>`,
		`<td class="near">1.500<sup>~</sup>`, `<th class="group" colspan="2">group 1</th>`, "a 50% guess", "what &lt;c&gt; is", "A remark with *stars*.",
		`<title>a_1 &amp; b, e: 1.5, printed -9.00</title>`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	must.Equal(t, strings.Count(got, "<circle "), 7, "dots")
}

// The plot has dots and lines at the correct positions.
func TestPlot(t *testing.T) {
	x := table(t, seeded{random: true}, &reading{}, "T,D,r,c,2.0,,\nT,D,s,c,0.5,,")
	x.Rows = append(x.Rows, Row{Label: "s", From: x.Rows[0].From})
	got := written(t, compute(t, x, false), show.HTML)
	for _, want := range []string{ // from 0 to 2 in steps of 0.5, 340 pixels in all, beginning at 40
		`<text x="40" y="380" dy="16" text-anchor="middle">0</text>`, `<text x="125" y="380" dy="16" text-anchor="middle">0.5</text>`,
		`<text x="380" y="380" dy="16" text-anchor="middle">2</text>`, `<line class="same" x1="40" y1="380" x2="380" y2="40"/>`,
		`cx="380" cy="125" r="4"><title>r, c: 1.5, printed 2.0`, `cx="125" cy="125" r="4"><title>s, c: 1.5, printed 0.5`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	must.Equal(t, strings.Count(got, `text-anchor="middle"`), 5, "ticks")
	zero := table(t, seeded{}, &reading{}, "T,D,r,c,0,,")
	if got := written(t, compute(t, zero, false), show.HTML); !strings.Contains(got, `cx="40" cy="380"`) || strings.Contains(got, "NaN") {
		t.Error(got)
	}
	none := table(t, nil, &reading{}, "T,D,r,c,0,,")
	none.Rows[0] = Row{Label: "r", Missing: "no model"}
	if got := written(t, compute(t, none, false), show.HTML); strings.Contains(got, "NaN") || strings.Contains(got, "<circle ") {
		t.Error(got)
	}
}

// A group may have one column. A table without marks ends with its last row.
func TestPlain(t *testing.T) {
	x := table(t, seeded{}, &reading{}, "T,D,r,c,0,,\nT,D,r,d,0,,\nT,D,r,e,0,,")
	x.Columns = append(x.Columns, x.Columns[0], x.Columns[0])
	for i, group := range []string{"one", "two", "two"} {
		x.Columns[i].Label, x.Columns[i].Group = []string{"c", "d", "e"}[i], group
	}
	r := compute(t, x, false)
	want := `
              one    two
              c      d      e
r             0.000  0.000  0.000
  paper       0      0      0
  difference  0.000  0.000  0.000
`
	if got := asText(t, r, 80); !strings.HasSuffix(got, ")\n"+want) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := written(t, r, show.HTML); !strings.Contains(got, `colspan="1">one</th><th class="group" colspan="2">two</th>`) {
		t.Error(got)
	}
	if got := written(t, r, show.LaTeX); !strings.Contains(got, "& \\multicolumn{1}{c}{one} & \\multicolumn{2}{c}{two}") {
		t.Error(got)
	}
}

// A table can have more footnotes than letters.
func TestFootnotes(t *testing.T) {
	x := table(t, seeded{}, &reading{}, "T,D,r,c,1,,")
	var lines strings.Builder
	x.Rows = nil
	for i := range 54 {
		label := strings.Repeat("r", i+1)
		lines.WriteString("T,D," + label + ",c,1,,\n")
		x.Rows = append(x.Rows, Row{Label: label, Missing: "reason " + label + "."})
	}
	must.OK(t, x.Print(header+lines.String()))
	got := asText(t, compute(t, x, false), 200)
	for mark, n := range map[string]int{"a": 1, "z": 26, "aa": 27, "az": 52, "ba": 53, "bb": 54} {
		if want := "\n" + mark + " reason " + strings.Repeat("r", n) + ".\n"; !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestWriteJSON(t *testing.T) {
	r := marked(t)
	var back Result
	must.OK(t, json.Unmarshal([]byte(text(t, r.WriteJSON)), &back))
	if back.Name != "x" || back.Printed != 10 || len(back.Rows) != 3 || !reflect.DeepEqual(*back.Cell("β", "e").Theirs,
		1.5) || back.Cell("gone", "e").Ours != nil {
		t.Errorf("%+v", back)
	}
}

// failing is a writer that always fails.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteErrors(t *testing.T) {
	r := marked(t)
	for _, file := range append(show.Files(r),
		show.File{Name: "text", Write: func(w io.Writer) error { return show.Text(w, r, 80) }}, show.File{Name: "json", Write: r.WriteJSON}) {
		if err := file.Write(failing{}); err == nil || err.Error() != "table x: full" {
			t.Errorf("%s: %v", file.Name, err)
		}
	}
}
