package mimosa

import "github.com/unravel-ml/unravel/models/hierarchy"

// Describe returns the length of the description of the codes, of so many columns, by the hierarchy that was found, in bits. Codes
// without a component have no place in it.
func (r *Result) Describe(columns int) hierarchy.Description {
	k := len(r.Hierarchy.Categoricals())
	return r.Hierarchy.Describe(len(r.Labels), columns, hierarchy.FloatBits, func(code int, choice []int) bool {
		copy(choice, r.Choices[code*k:(code+1)*k])
		return r.Labels[code] >= 0
	})
}
