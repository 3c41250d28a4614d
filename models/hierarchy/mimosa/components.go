package mimosa

import "slices"

// grow divides all codes into components (algorithm 5). It visits the codes in the order of the rows. The first code
// without a component starts one, together with its similar neighbours. A code joins once it is a similar neighbour
// of Contagion codes in the component.
func (r *run) grow() [][]int32 {
	k := r.o.Neighbors
	taken := make([]bool, r.n)
	visits := make([]int32, r.n) // by code outside the component: number of codes inside with this similar neighbour
	var parts [][]int32
	var stack, visited []int32
	for i := range r.n {
		if taken[i] {
			continue
		}
		part := r.seed(i, taken)
		stack = append(stack[:0], part...)
		visited = visited[:0]
		for len(stack) > 0 {
			p := int(stack[len(stack)-1])
			stack = stack[:len(stack)-1]
			for at := p * k; at < (p+1)*k; at++ {
				j := r.neighbors[at]
				if taken[j] || !r.similar[at] {
					continue
				}
				if visits[j]++; visits[j] == 1 {
					visited = append(visited, j)
				}
				if int(visits[j]) >= r.o.Contagion {
					taken[j] = true
					part = append(part, j)
					stack = append(stack, j)
				}
			}
		}
		for _, j := range visited {
			visits[j] = 0
		}
		slices.Sort(part)
		parts = append(parts, part)
	}
	return parts
}

// seed takes a code and its similar neighbours that no component has.
func (r *run) seed(i int, taken []bool) []int32 {
	k := r.o.Neighbors
	part := []int32{int32(i)}
	taken[i] = true
	for at := i * k; at < (i+1)*k; at++ {
		if j := r.neighbors[at]; r.similar[at] && !taken[j] {
			taken[j] = true
			part = append(part, j)
		}
	}
	return part
}
