package plain

import (
	"bytes"
	"errors"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
)

func TestText(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "two\tcolumns\nand lines": "two\tcolumns\nand lines", "größe ± 1 €": "größe ± 1 €",
		"a\x1b[31mred\a\r\x7f": `a\x1b[31mred\x07\x0d\u007f`, "\u009b31m": `\u009b31m`, "\x9b\xff": `\x9b\xff`,
		"\u202egnp.exe": `\u202egnp.exe`,
	} {
		must.Equal(t, Text(in), want, in)
	}
}

// Text written in pieces gives the same result.
func TestWriter(t *testing.T) {
	const text = "größe \u009b1m ± \x1b]0;x\x07\n\xe2\x82x"
	for cut := range len(text) {
		var b bytes.Buffer
		w := NewWriter(&b)
		for _, part := range []string{text[:cut], text[cut:]} {
			if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
				t.Fatal(n, err)
			}
		}
		must.Equal(t, b.String(), Text(text), "cut at", cut)
	}
}

// full is a writer to a full disk.
type full struct{}

var errFull = errors.New("full")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestErrors(t *testing.T) {
	results, log := NewWriter(full{}), NewLog(full{})
	if _, err := results.Write([]byte("x")); err != errFull || results.Err() != errFull {
		t.Errorf("results: %v, %v", err, results.Err())
	}
	if n, err := log.Write([]byte("x")); n != 1 || err != nil || log.Err() != nil {
		t.Errorf("log: %d, %v, %v", n, err, log.Err())
	}
	if Terminal(log) != nil {
		t.Error("a terminal")
	}
}

func TestCSV(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, WriteCSV(&b, [][]string{
		{"=1+1", "+x", "-x", "@SUM(A1)", " =1", "\t=1", "\uff1dcmd", "'=1"},
		{"-1.5", "+1e9", "-Inf", "-", "", "x", "a=b", "x\x1b[1m"},
	}))
	const want = "'=1+1,'+x,'-x,'@SUM(A1),' =1,'\t=1,'\uff1dcmd,'=1\n-1.5,+1e9,-Inf,-,,x,a=b,x\\x1b[1m\n"
	must.Equal(t, b.String(), want)
}
