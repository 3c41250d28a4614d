package table

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// Text is a table of words.
type Text struct {
	Names []string   // of the columns
	Rows  [][]string // without spaces at both ends
	Lines []int      // of the rows in the file, from 1
	Comma rune       // between fields
}

// maxText bounds a table of words, in bytes.
const maxText = 1 << 30

// ReadTextFile is [ReadText] of a file.
func ReadTextFile(path string) (*Text, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // nothing was written
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no file; want a table with a line for each image", path)
	}
	return ReadText(f, path)
}

// ReadText reads lines of fields (RFC 4180) separated by commas, semicolons or tabs, whichever the first line has most of. The first
// line names the columns; a byte-order mark and empty lines are skipped. Errors start with name, and count lines and fields from 1.
func ReadText(r io.Reader, name string) (*Text, error) {
	limited := &io.LimitedReader{R: r, N: maxText + 1}
	src := bufio.NewReaderSize(limited, 1<<16)
	switch mark, _ := src.Peek(3); { // shorter in an empty file
	case string(mark) == "\ufeff":
		src.Discard(3) // the bytes just peeked at
	case len(mark) >= 2 && (string(mark[:2]) == "\xff\xfe" || string(mark[:2]) == "\xfe\xff"):
		return nil, fmt.Errorf("%s is UTF-16; want UTF-8 text", name)
	}
	t := &Text{Comma: separator(src)}
	lines := csv.NewReader(src)
	lines.Comma, lines.TrimLeadingSpace, lines.FieldsPerRecord = t.Comma, t.Comma != '\t', -1
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, placed(name, err)
		}
		for i, f := range fields {
			fields[i] = strings.TrimSpace(f)
		}
		line, _ := lines.FieldPos(0)
		switch {
		case limited.N == 0:
			return nil, fmt.Errorf("%s is larger than %d bytes; want a table with a line for each image", name, maxText)
		case t.Names == nil:
			if err := t.setNames(fields); err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", name, line, err)
			}
			continue
		case len(fields) != len(t.Names):
			return nil, fmt.Errorf("%s: line %d has %d fields; want %d, as many as line 1 has names", name, line, len(fields), len(t.Names))
		}
		t.Rows, t.Lines = append(t.Rows, fields), append(t.Lines, line)
	}
	switch {
	case t.Names == nil:
		return nil, fmt.Errorf("%s is empty; want names of columns, and a line for each image", name)
	case len(t.Rows) == 0:
		return nil, fmt.Errorf("%s has names of columns and no lines below; want a line for each image", name)
	}
	return t, nil
}

func (t *Text) setNames(names []string) error {
	for i, n := range names {
		if strings.ContainsRune(n, 0) {
			return fmt.Errorf("the name of column %d has a zero byte; want text", i+1)
		}
		if n != "" && slices.Contains(names[:i], n) {
			return fmt.Errorf("two columns are called %q; want distinct names", n)
		}
	}
	t.Names = names
	return nil
}

// Column returns the fields of a column.
func (t *Text) Column(i int) []string {
	column := make([]string, len(t.Rows))
	for r, row := range t.Rows {
		column[r] = row[i]
	}
	return column
}
