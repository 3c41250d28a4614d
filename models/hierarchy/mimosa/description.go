package mimosa

import "github.com/unravel-ml/unravel/models/hierarchy"

// Describe returns the length, in bits, of the description of the codes by the found hierarchy. Each code has the
// given number of columns. Codes without a component have no place in the hierarchy.
func (r *Result) Describe(columns int) hierarchy.Description {
	k := len(r.Hierarchy.Categoricals())
	return r.Hierarchy.Describe(len(r.Labels), columns, hierarchy.FloatBits, func(code int, choice []int) bool {
		copy(choice, r.Choices[code*k:(code+1)*k])
		return r.Labels[code] >= 0
	})
}
