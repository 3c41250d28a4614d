package factor

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/unravel-ml/unravel/internal/bins"
)

// ColumnNotes returns notes on a column that became the levels of a factor. Words, if there are any: their numbers,
// several spellings of one word, and a word that may stand for unknown. Otherwise numbers: one that may stand for
// unknown, numbers that differ by rounding, bins that a few distant numbers make too wide or that divide groups of
// numbers, and numbers of rows. NaN is unknown.
func ColumnNotes(f Factor, numbers []float64, words []string) []string {
	if len(words) > 0 {
		return append([]string{fmt.Sprintf("factor %s: %s", f.Name, listWords(words))}, wordNotes(f.Name, words)...)
	}
	return numberNotes(f, numbers)
}

func wordNotes(name string, words []string) (notes []string) {
	first := map[string]string{}
	for _, w := range words {
		key := spelling(w)
		if other, known := first[key]; known {
			const want = "want one spelling if they are one"
			notes = append(notes, fmt.Sprintf("factor %s has %+q and %+q as two levels; %s", name, other, w, want))
			break
		}
		first[key] = w
	}
	if unit := commonUnit(words); unit != "" && len(words) > 2 {
		const want = "want numbers alone, which have an order"
		notes = append(notes, fmt.Sprintf("factor %s has numbers with the unit %q as words; %s", name, unit, want))
	}
	if len(words) > 2 && !slices.ContainsFunc(words, notSeparated) {
		const note = "factor %s has words such as %s; if they are numbers, want points instead of commas"
		notes = append(notes, fmt.Sprintf(note, name, words[0]))
	}
	for _, w := range words {
		unknown := slices.Contains(unknownWords, strings.ToLower(w)) || w == "None" || w == "NaT" // of Python
		if len(words) > 2 && unknown && !slices.Contains(words, "+") {
			const want = "if it means unknown, want an empty field instead"
			notes = append(notes, fmt.Sprintf("factor %s has the level %q; %s", name, w, want))
		}
	}
	return notes
}

// notSeparated reports whether a word is anything but a number with a decimal comma or with commas between thousands.
func notSeparated(word string) bool {
	_, err := strconv.ParseFloat(strings.ReplaceAll(word, ",", ""), 64)
	return err != nil || !strings.Contains(word, ",")
}

// commonUnit returns the text after the number in each word if it is the same, such as cm, or "".
func commonUnit(words []string) (unit string) {
	for i, w := range words {
		end := len(strings.TrimRightFunc(w, func(r rune) bool { return !unicode.IsDigit(r) }))
		_, err := strconv.ParseFloat(w[:end], 64)
		suffix := strings.TrimSpace(w[end:])
		if err != nil || i > 0 && suffix != unit {
			return ""
		}
		unit = suffix
	}
	return unit
}

// unknownWords are words for an unknown level, in lower case, that tables also use as levels.
var unknownWords = []string{
	"-", "--", ".", "unknown", "missing", "undefined", "n.a.", "nil", "not available", "#value!", "#ref!",
}

// spelling returns a text that spellings of one word share: without case, spaces, quotes and forms of characters.
// Single characters keep their case, as a and A are different letters.
func spelling(word string) string {
	key := strings.Join(strings.Fields(strings.Trim(norm.NFKC.String(word), `'"`)), "")
	if len([]rune(key)) > 1 {
		key = strings.ToLower(key)
	}
	return key
}

func numberNotes(f Factor, numbers []float64) []string {
	sorted := slices.DeleteFunc(slices.Clone(numbers), math.IsNaN)
	slices.Sort(sorted)
	distinct := slices.Compact(slices.Clone(sorted))
	if len(distinct) == 0 {
		return nil
	}
	if note := markerNote(f.Name, sorted, distinct); note != "" {
		return []string{note}
	}
	first, last, turn := distinct[0], distinct[len(distinct)-1], f.turnOfValues()
	radians := math.Abs(turn-2*math.Pi) <= 2*math.Pi*roundedTurn
	switch {
	case radians && max(-first, last) > 7 && allWhole(distinct):
		const want = "if they are degrees, want circular:360"
		return []string{fmt.Sprintf("factor %s has the whole numbers %v to %v as radians; %s", f.Name, first, last, want)}
	case turn > 0 && last-first > 1.5*turn:
		const note = "factor %s goes from %.6g to %.6g, and a full turn is %.6g, so numbers that differ by %.6g are one level"
		return []string{fmt.Sprintf(note, f.Name, first, last, turn, turn)}
	}
	manyValues := len(distinct) > f.Size
	if a, b, n := roundedPairs(distinct); n > 0 && !(manyValues && 4*n < len(distinct)) { // some by chance
		const note = "factor %s has %v and %v as two levels, which differ by rounding alone"
		return []string{fmt.Sprintf(note+"; want one precision, such as np.float32(a)", f.Name, a, b)}
	}
	if manyValues {
		if problem := bins.Distant(sorted); problem != "" {
			return []string{fmt.Sprintf("factor %s %s; its bins of equal width see little of it", f.Name, problem)}
		}
		if n, width := narrowGroups(distinct); n > 0 {
			const want = "want one number for each group, such as rounded ones"
			return []string{fmt.Sprintf("factor %s has %d numbers in %d groups of width %.2g at most, which bins may divide; %s",
				f.Name, len(distinct), n, width, want)}
		}
	}
	if isIdentifier(sorted, distinct) {
		const want = "leave it out if it is an index"
		return []string{fmt.Sprintf("factor %s has another whole number in each row, %.10g to %.10g; %s",
			f.Name, distinct[0], distinct[len(distinct)-1], want)}
	}
	return nil
}

// roundedPairs counts neighbours of which one is the other in float32, or that differ in the last digits of float64. It
// also returns the first pair.
func roundedPairs(sorted []float64) (a, b float64, n int) {
	for i := 1; i < len(sorted); i++ {
		x, y := sorted[i-1], sorted[i]
		if x == math.Trunc(x) && y == math.Trunc(y) || float64(float32(x)) != y && float64(float32(y)) != x &&
			y-x > 1e-15*math.Abs(y) {
			continue
		}
		if n++; n == 1 {
			a, b = x, y
		}
	}
	return a, b, n
}

// turnOfValues returns a full turn in the unit of the values, or 0.
func (f Factor) turnOfValues() float64 {
	if level := slices.IndexFunc(f.Angles, func(a float64) bool { return a > 0 }); level >= 0 {
		return 2 * math.Pi * f.Value(level) / f.Angles[level]
	}
	return f.FullTurn()
}

func allWhole(numbers []float64) bool {
	return !slices.ContainsFunc(numbers, func(v float64) bool { return v != math.Trunc(v) })
}

// narrowGroups returns how many groups sorted numbers form, and the greatest width of a group, if there are at most 20
// groups with three or more numbers on average, and the gaps between groups are 20 times as wide. Otherwise it returns
// 0.
func narrowGroups(sorted []float64) (n int, width float64) {
	const maxGroups, minSize, minRatio = 20, 3, 20
	if len(sorted) < 2 {
		return 0, 0
	}
	gaps := make([]float64, len(sorted)-1)
	for i := range gaps {
		gaps[i] = sorted[i+1] - sorted[i]
	}
	minGap := slices.Max(gaps) / maxGroups // of the gaps between groups
	smallestGap := math.Inf(1)
	for i, start := 0, 0; i <= len(gaps); i++ {
		if i < len(gaps) && gaps[i] < minGap {
			continue
		}
		n++
		width = max(width, sorted[i]-sorted[start])
		if start = i + 1; i < len(gaps) {
			smallestGap = min(smallestGap, gaps[i])
		}
	}
	if n < 2 || n > maxGroups || n*minSize > len(sorted) || width*minRatio > smallestGap {
		return 0, 0
	}
	return n, width
}

// isIdentifier reports whether a column may be an index: at least 100 different whole numbers. It returns false for
// numbers of rows, which tables report, and for a scale with equal steps.
func isIdentifier(sorted, distinct []float64) bool {
	const minRows = 100
	n := len(sorted)
	if n < minRows || len(distinct) < n || !allWhole(distinct) {
		return false
	}
	if step := sorted[1] - sorted[0]; step > 1 && sorted[n-1]-sorted[0] == step*float64(n-1) {
		return false
	}
	return sorted[n-1] > float64(n) || sorted[0] < 0
}

// markerNote returns a note on a number that may stand for unknown, or "". It is the smallest or the largest number, in
// several rows. It is far from the others: by ten times their range, or by half of it for 999 and the like. Or it is
// the only negative number, -1 or one of nines.
func markerNote(name string, sorted, distinct []float64) string {
	n := len(distinct)
	if n < 4 {
		return ""
	}
	for _, c := range []struct{ marker, from, to float64 }{{distinct[0], distinct[1], distinct[n-1]}, {distinct[n-1], distinct[0], distinct[n-2]}} {
		distance := max(c.from-c.marker, c.marker-c.to) / (c.to - c.from)
		nines := strings.Trim(strconv.FormatFloat(math.Abs(c.marker), 'f', -1, 64), "9") == ""
		negative := c.marker < 0 && c.from >= 0 && (nines || c.marker == -1)
		if !(distance > 10 || negative || nines && math.Abs(c.marker) >= 999 && distance > 0.5) {
			continue
		}
		first, _ := slices.BinarySearch(sorted, c.marker)
		end, _ := slices.BinarySearch(sorted, math.Nextafter(c.marker, math.Inf(1)))
		if rows := end - first; rows > 1 {
			return fmt.Sprintf("factor %s is %v in %d rows and %.6g to %.6g in the others; if %v means unknown, want an empty field or NaN instead",
				name, c.marker, rows, c.from, c.to, c.marker)
		}
	}
	return ""
}

// RepeatNotes returns notes on columns that metrics count as several factors although they are one: one-hot columns,
// and factors with the same groups of images, such as numbers beside names. levels has a row for each image. Factors
// with one level, or a level for each image, have no note.
func RepeatNotes[L int | int32](factors []Factor, levels []L) (notes []string) {
	for j := range factors {
		for i := range j {
			if sameGroups(factors, levels, i, j) {
				notes = append(notes, fmt.Sprintf("factors %s and %s divide the images into the same groups, so metrics count them twice",
					factors[i].Name, factors[j].Name))
				break
			}
		}
	}
	for j := 0; j < len(factors); j++ {
		if n := oneHot(factors, levels, j); n > 2 {
			note := fmt.Sprintf("factors %s to %s are the one-hot columns of one factor", factors[j].Name, factors[j+n-1].Name)
			const want = "want one column of its levels, such as np.argmax(a, 1)"
			notes = append(notes, fmt.Sprintf("%s, so metrics count it %d times; %s", note, n, want))
			j += n - 1
		}
	}
	return notes
}

// oneHot returns the number of columns from j on in which each row has the upper of two levels exactly once, or 0.
func oneHot[L int | int32](factors []Factor, levels []L, j int) int {
	rows := len(levels) / max(len(factors), 1)
	marked, count := make([]bool, rows), 0
	for i := j; i < len(factors) && factors[i].Size <= 2; i++ {
		for r := range rows {
			switch l := levels[r*len(factors)+i]; {
			case l == Unknown || l == 1 && marked[r]:
				return 0
			case l == 1:
				marked[r] = true
				count++
			}
		}
		if count == rows && rows > 0 {
			return i - j + 1
		}
	}
	return 0
}

// sameGroups reports whether each known level of factor i occurs with one level of factor j, and the reverse.
func sameGroups[L int | int32](factors []Factor, levels []L, i, j int) bool {
	partner, used := make([]L, factors[i].Size), make([]bool, factors[j].Size) // partner has levels + 1; 0: none yet
	pairs := 0
	for offset := 0; offset < len(levels); offset += len(factors) {
		a, b := levels[offset+i], levels[offset+j]
		switch {
		case a == Unknown && b == Unknown:
		case a == Unknown || b == Unknown:
			return false
		case partner[a] == 0 && !used[b]:
			partner[a], used[b] = b+1, true
			pairs++
		case partner[a] != b+1:
			return false
		}
	}
	return pairs > 1 && pairs < len(levels)/len(factors)
}
