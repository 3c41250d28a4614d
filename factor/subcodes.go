package factor

// Block ties columns of codes to a factor, a column of labels: the sub-code z_i of
// the factor y_i.
type Block struct {
	Factor  int
	Columns []int
}
