package levels

// Renumber numbers distinct ids from 0, in the order of their first occurrence.
func Renumber[T comparable](ids []T) (numbers []int, count int) {
	known := make(map[T]int)
	numbers = make([]int, len(ids))
	for i, id := range ids {
		number, ok := known[id]
		if !ok {
			number = len(known)
			known[id] = number
		}
		numbers[i] = number
	}
	return numbers, len(known)
}

// Paths numbers the combinations of values of some columns of n numbers, from 0, in the order of their first occurrence.
func Paths(n int, columns [][]float64) (ids []int, count int) {
	type step struct {
		before int
		value  float64
	}
	ids, count = make([]int, n), 1
	for _, column := range columns {
		steps := make([]step, n)
		for i, v := range column {
			steps[i] = step{ids[i], v}
		}
		ids, count = Renumber(steps)
	}
	return ids, count
}
