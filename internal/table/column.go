package table

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Column is a column of numbers, or of words as level numbers.
type Column struct {
	Values []float64 // NaN: missing
	Ints   []int64   // exact values if all numbers are integers, 0 for missing ones; nil otherwise
	Words  []string  // words of levels 0, 1, ..., in byte order; nil: the column has numbers
}

// missing are the fields for a missing value, in lower case.
var missing = []string{"", "na", "n/a", "#n/a", "<na>", "nan", "null", "?"}

// Missing reports whether a field means a missing value: empty, NA, N/A, #N/A, <NA>, NaN, null or ?.
func Missing(field string) bool { return slices.Contains(missing, strings.ToLower(field)) }

func (t *Text) missing(field string) bool { return field == "" || !t.Exact && Missing(field) }

// wordLimit is the number of different words that every column may have as levels.
const wordLimit = 50

func (t *Text) number(field string) (float64, error) {
	if t.Comma && strings.Count(field, ",") == 1 && !strings.Contains(field, ".") {
		field = strings.Replace(field, ",", ".", 1)
	}
	return parse(field)
}

// parse reads a decimal number. 1_10 and 0x1p4 are words, and the typographic minus is a sign.
func parse(field string) (float64, error) {
	if strings.ContainsAny(field, "_xX") {
		return 0, strconv.ErrSyntax
	}
	if digits, hasMinus := strings.CutPrefix(field, "\u2212"); hasMinus {
		field = "-" + digits
	}
	return strconv.ParseFloat(field, 64)
}

// Numbers reads a column of finite numbers. With gaps, missing values are allowed.
func (t *Text) Numbers(column int, gaps bool) (*Column, error) {
	c := &Column{Values: make([]float64, len(t.Rows)), Ints: make([]int64, len(t.Rows))}
	point, comma := -1, -1 // a row with a decimal point, a row with a decimal comma
	for r, row := range t.Rows {
		field := row[column]
		if gaps && t.missing(field) {
			c.Values[r] = math.NaN()
			continue
		}
		v, err := t.number(field)
		if err == nil && v-v != 0 {
			err = fmt.Errorf("%s is not finite; want a finite number", field)
		} else if err != nil {
			err = notNumber(field, err)
		}
		if err != nil {
			return nil, t.errorf(r, column, "%w", err)
		}
		c.Values[r] = v
		if c.Ints != nil {
			if c.Ints[r], err = strconv.ParseInt(field, 10, 64); err != nil {
				c.Ints = nil
			}
		}
		switch {
		case strings.Contains(field, ","):
			comma = r
		case strings.Contains(field, "."):
			point = r
		}
		if point >= 0 && comma >= 0 {
			return nil, t.errorf(r, column,
				"%s beside %s in line %d; want decimal points or decimal commas, not both, and no marks of thousands",
				field, t.Rows[min(point, comma)][column], t.Lines[min(point, comma)])
		}
	}
	return c, t.noThousands(column)
}

// noThousands returns an error for a column of numbers such as 999 and 1,234: with that many commas before three digits
// in all cases, and with whole numbers, the commas hardly are decimal commas.
func (t *Text) noThousands(column int) error {
	const many = 10
	whole, thousand, grouped, commas := -1, -1, 0, 0
	for r, row := range t.Rows {
		left, right, comma := strings.Cut(strings.TrimLeft(row[column], "+-"), ",")
		switch {
		case comma && len(right) == 3 && left != "" && len(left) <= 3 && left[0] != '0':
			thousand, grouped, commas = r, grouped+1, commas+1
		case comma:
			commas++
		case left != "" && strings.Trim(left, "0123456789") == "":
			whole = r
		}
	}
	if whole < 0 || grouped < many || grouped < commas {
		return nil
	}
	return t.errorf(thousand, column, "%s beside %s in line %d; want decimals in all lines, or no marks of thousands",
		t.Rows[thousand][column], t.Rows[whole][column], t.Lines[whole])
}

func (t *Text) errorf(row, column int, format string, args ...any) error {
	err := fmt.Errorf("%s: %s: %w", t.file, t.place(row, column), fmt.Errorf(format, args...))
	if t.Names != nil && t.first != nil {
		err = fmt.Errorf("%w (column %s)", err, t.Names[column])
	}
	return err
}

// Errorf returns an error about a column.
func (t *Text) Errorf(column int, format string, args ...any) error {
	return fmt.Errorf("%s: column %q %w", t.file, t.Names[column], fmt.Errorf(format, args...))
}

func notNumber(field string, err error) error {
	switch {
	case errors.Is(err, strconv.ErrRange):
		return fmt.Errorf("%s is too large a number", field)
	case isDate(field):
		return fmt.Errorf("%q is not a number and looks like a date; want numbers, such as days", field)
	case isRow(field):
		return fmt.Errorf("%q is several numbers; want commas, semicolons or tabs between them", field)
	}
	return fmt.Errorf("%q is not a number; want numbers alone", field)
}

// isRow reports whether a field has several numbers separated by spaces or by |.
func isRow(field string) bool {
	parts := strings.Fields(strings.ReplaceAll(field, "|", " "))
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool {
		_, err := parse(part)
		return err != nil
	})
}

func isDate(field string) bool {
	day, _, _ := strings.Cut(strings.Replace(field, "T", " ", 1), " ")
	return slices.ContainsFunc([]string{"2006-1-2", "2006/1/2", "2/1/2006", "1/2/2006", "2.1.2006", "2.1.06", "2/1/06", "1/2/06"}, func(layout string) bool {
		_, err := time.Parse(layout, day)
		return err == nil
	})
}

// Factor reads a column of numbers or words with missing values. Without mixed, a column with both words and numbers is
// an error. Without many, dates, several numbers in a field, words that rarely repeat, and different whole numbers that
// round to one number are errors.
func (t *Text) Factor(column int, mixed, many bool) (*Column, error) {
	words, first, number := 0, -1, -1 // how many, and rows
	for r, row := range t.Rows {
		switch _, err := t.number(row[column]); {
		case t.missing(row[column]):
		case err == nil || errors.Is(err, strconv.ErrRange):
			if number < 0 {
				number = r
			}
		case isDate(row[column]) && !many:
			return nil, t.errorf(r, column, "%q looks like a date; want numbers, such as days, or kind categorical", row[column])
		case isRow(row[column]) && !many:
			return nil, t.errorf(r, column,
				"%q is several numbers; want commas, semicolons or tabs between them, or kind categorical", row[column])
		default:
			words++
			if first < 0 {
				first = r
			}
		}
	}
	switch {
	case words == 0:
		c, err := t.Numbers(column, true)
		if err != nil {
			return nil, err
		}
		if row, other := t.roundedRows(column, c); row >= 0 && !many {
			return nil, t.errorf(row, column,
				"%s rounds to the same number as %s in line %d; want fewer digits, or kind categorical",
				t.Rows[row][column], t.Rows[other][column], t.Lines[other])
		} else if row >= 0 {
			return t.Levels(column), nil
		}
		return c, nil
	case number >= 0 && !mixed:
		return nil, t.errorf(first, column,
			"%q is a word, and %s in line %d a number; want numbers (empty where one is not known) or words in all lines, or kind categorical",
			t.Rows[first][column], t.Rows[number][column], t.Lines[number])
	}
	c := t.Levels(column)
	if n := len(c.Words); !many && n > wordLimit && 2*n > words {
		return nil, t.errorf(first, column,
			"the column has %d different words in %d rows, which are no levels; want columns of factors alone", n, words)
	}
	return c, nil
}

// roundedRows returns two rows with different whole numbers of more than 15 digits that have one value in the column;
// -1: none.
func (t *Text) roundedRows(column int, c *Column) (row, other int) {
	if c.Ints != nil { // exact
		return -1, -1
	}
	const exact = 1 << 53
	first := map[float64]int{}
	for r, v := range c.Values {
		digits := strings.TrimLeft(t.Rows[r][column], "+-0")
		if !(math.Abs(v) >= exact) || strings.Trim(digits, "0123456789") != "" {
			continue
		}
		if previous, ok := first[v]; !ok {
			first[v] = r
		} else if strings.TrimLeft(t.Rows[previous][column], "+-0") != digits {
			return r, previous
		}
	}
	return -1, -1
}

// Levels assigns numbers to the different fields of a column, words or numbers, in byte order.
func (t *Text) Levels(column int) *Column {
	c := &Column{Values: make([]float64, len(t.Rows)), Ints: make([]int64, len(t.Rows))}
	for _, row := range t.Rows {
		if !t.missing(row[column]) {
			c.Words = append(c.Words, row[column])
		}
	}
	slices.Sort(c.Words)
	c.Words = slices.Compact(c.Words)
	for r, row := range t.Rows {
		c.Values[r] = math.NaN()
		if !t.missing(row[column]) {
			level, _ := slices.BinarySearch(c.Words, row[column])
			c.Values[r], c.Ints[r] = float64(level), int64(level)
		}
	}
	return c
}
