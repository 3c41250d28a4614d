package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

func readCSVFile(path string) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadCSV(f, path)
}

// ReadCSV reads lines of numbers (RFC 4180) that are separated by commas, semicolons
// or tabs: by the one that the first line has most of. Names of the columns may be
// the first line; it is one if no field of it is a number. Empty lines are skipped,
// and so are spaces around numbers. The name is for errors, which give lines and
// fields as editors do, from 1.
func ReadCSV(r io.Reader, name string) (*Table, error) {
	src := bufio.NewReaderSize(r, 1<<16)
	if mark, err := src.Peek(3); err == nil && string(mark) == "\ufeff" {
		src.Discard(3) // they are there
	}
	lines := csv.NewReader(src)
	lines.Comma, lines.ReuseRecord, lines.TrimLeadingSpace, lines.FieldsPerRecord = separator(src), true, false, -1
	t := &Table{Ints: []int64{}}
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			break
		}
		var bad *csv.ParseError
		if errors.As(err, &bad) {
			return nil, fmt.Errorf("%s: line %d, column %d: %w", name, bad.Line, bad.Column, bad.Err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		line, _ := lines.FieldPos(0)
		if t.Cols == 0 {
			t.Cols = len(fields)
			if names := header(fields); names != nil {
				t.Names = names
				continue
			}
		}
		if len(fields) != t.Cols {
			return nil, fmt.Errorf("%s: line %d has %d fields; want %d, as in the lines before", name, line, len(fields), t.Cols)
		}
		if err := t.add(fields); err != nil {
			return nil, fmt.Errorf("%s: line %d, %w", name, line, err)
		}
	}
	if t.Rows == 0 {
		return nil, fmt.Errorf("%s: there are no numbers in it; want a line for each image, such as 0.5,1,2", name)
	}
	return t, nil
}

// separator is the character that the first line that is not empty has most of. A
// line that is longer than the buffer is judged by its beginning.
func separator(src *bufio.Reader) rune {
	begin, _ := src.Peek(src.Size()) // shorter at the end of the file
	begin = bytes.TrimLeft(begin, "\r\n")
	if end := bytes.IndexAny(begin, "\r\n"); end >= 0 {
		begin = begin[:end]
	}
	best, most := ',', 0
	for _, c := range ",;\t" {
		if n := bytes.Count(begin, []byte(string(c))); n > most {
			best, most = c, n
		}
	}
	return best
}

// header returns the fields as names if none of them is a number; else nil.
func header(fields []string) []string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = strings.TrimSpace(f)
		if _, err := strconv.ParseFloat(names[i], 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return nil
		}
	}
	return names
}

// add appends a line.
func (t *Table) add(fields []string) error {
	for i, f := range fields {
		f = strings.TrimSpace(f)
		v, err := strconv.ParseFloat(f, 64)
		if errors.Is(err, strconv.ErrRange) {
			return fmt.Errorf("field %d: %s is too large a number", i+1, f)
		}
		if err != nil {
			return fmt.Errorf("field %d: %q is not a number", i+1, f)
		}
		if t.Ints != nil {
			if whole, err := strconv.ParseInt(f, 10, 64); err == nil {
				t.Ints = append(t.Ints, whole)
			} else {
				t.Ints = nil
			}
		}
		t.Data = append(t.Data, v)
	}
	t.Rows++
	return nil
}
