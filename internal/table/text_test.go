package table

import (
	"slices"
	"strings"
	"testing"
)

func TestReadText(t *testing.T) {
	for text, want := range map[string][]string{
		"file,a\nx.png, one \n":                      {"file", "a", "x.png", "one"},
		"\ufefffile;a\r\n\r\nx.png;\"o;n\"\"e\"\r\n": {"file", "a", "x.png", `o;n"e`},
		"file\ta\nx.png\t\n":                         {"file", "a", "x.png", ""},
		"file\nx.png":                                {"file", "x.png"},
	} {
		table, err := ReadText(strings.NewReader(text), "t")
		if err != nil || len(table.Rows) != 1 || !slices.Equal(append(table.Names, table.Rows[0]...), want) {
			t.Errorf("%q: %+v, %v; want %q", text, table, err, want)
		}
	}
	for text, want := range map[string]string{
		"": "is empty", "a,b\n": "no lines", "a,a\n1,2\n": `two columns are called "a"`, "a,b\n1,2\n3\n": "line 3 has 1 fields; want 2",
		"a,b\n1,\"2\n": "line 2, column", "\xff\xfea": "UTF-16",
	} {
		if _, err := ReadText(strings.NewReader(text), "name"); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "name") {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
	if _, err := ReadTextFile(t.TempDir()); err == nil {
		t.Error("a folder is read")
	}
}

func FuzzReadText(f *testing.F) {
	f.Add("file,a\nx.png, one \n")
	f.Add("\ufefffile;a\r\n\r\nx.png;\"o;n\"\"e\"\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := ReadText(strings.NewReader(text), "t")
		if err != nil {
			return
		}
		if len(table.Rows) == 0 || len(table.Rows) != len(table.Lines) {
			t.Errorf("%d rows and %d lines", len(table.Rows), len(table.Lines))
		}
		for _, row := range table.Rows {
			if len(row) != len(table.Names) {
				t.Errorf("%d fields and %d names", len(row), len(table.Names))
			}
		}
	})
}
