package factor

import "fmt"

// RepeatNotes returns a note on each factor with the same groups of images as an earlier factor, such as numbers beside
// names. levels has a row for each image. Factors with one level, or a level for each image, have no note.
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
	return notes
}

// sameGroups reports whether each known level of factor i occurs with one level of factor j, and the reverse.
func sameGroups[L int | int32](factors []Factor, levels []L, i, j int) bool {
	partner, taken := make([]L, factors[i].Size), make([]bool, factors[j].Size) // partner has levels + 1; 0: none yet
	pairs := 0
	for at := 0; at < len(levels); at += len(factors) {
		a, b := levels[at+i], levels[at+j]
		switch {
		case a == Unknown && b == Unknown:
		case a == Unknown || b == Unknown:
			return false
		case partner[a] == 0 && !taken[b]:
			partner[a], taken[b] = b+1, true
			pairs++
		case partner[a] != b+1:
			return false
		}
	}
	return pairs > 1 && pairs < len(levels)/len(factors)
}
