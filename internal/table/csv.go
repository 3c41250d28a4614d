package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

func readCSVFile(path string, gaps bool) (*Table, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readCSV(f, path, gaps)
}

// ReadCSV reads lines of numbers (RFC 4180) separated by commas, semicolons or tabs, whichever the
// first line has most of. The first line names the columns if none of its fields is a number. Empty
// lines, and spaces around numbers, are skipped. Errors start with name, and count lines and fields
// from 1, as editors do.
func ReadCSV(r io.Reader, name string) (*Table, error) { return readCSV(r, name, false) }

// readCSV is ReadCSV; with gaps, empty fields are NaN.
func readCSV(r io.Reader, name string, gaps bool) (*Table, error) {
	src := bufio.NewReaderSize(r, 1<<16)
	if mark, err := src.Peek(3); err == nil && string(mark) == "\ufeff" {
		src.Discard(3) // the bytes just peeked at
	}
	lines := csv.NewReader(src)
	lines.Comma, lines.ReuseRecord, lines.TrimLeadingSpace, lines.FieldsPerRecord = separator(src), true, false, -1
	t := &Table{Ints: []int64{}}
	for {
		fields, err := lines.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, placed(name, err)
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
		if err := t.add(fields, gaps); err != nil {
			return nil, fmt.Errorf("%s: line %d, %w", name, line, err)
		}
		t.Lines = append(t.Lines, line)
	}
	if t.Rows == 0 {
		return nil, fmt.Errorf("%s: there are no numbers in it; want a line for each image, such as 0.5,1,2", name)
	}
	return t, nil
}

// placed names the file and the place of an error of reading lines.
func placed(name string, err error) error {
	var bad *csv.ParseError
	if errors.As(err, &bad) {
		return fmt.Errorf("%s: line %d, column %d: %w", name, bad.Line, bad.Column, bad.Err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// separator returns the most frequent separator of the first line that is not empty; of a line longer
// than the buffer only the beginning counts.
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

// header returns the fields as names if none of them is a number, and not all are empty; else nil.
func header(fields []string) []string {
	if strings.TrimSpace(strings.Join(fields, "")) == "" {
		return nil
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = strings.TrimSpace(f)
		if _, err := strconv.ParseFloat(names[i], 64); err == nil || errors.Is(err, strconv.ErrRange) {
			return nil
		}
	}
	return names
}

// add appends the fields of a line; with gaps, empty ones as NaN, and 0 among the integers.
func (t *Table) add(fields []string, gaps bool) error {
	for i, f := range fields {
		f = strings.TrimSpace(f)
		if gaps && (f == "" || strings.EqualFold(f, "nan")) {
			t.Data = append(t.Data, math.NaN())
			if t.Ints != nil {
				t.Ints = append(t.Ints, 0)
			}
			continue
		}
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
