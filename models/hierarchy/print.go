package hierarchy

import (
	"fmt"
	"strings"
)

// Labels holds names and counts for a figure or a printed tree. All may be nil.
type Labels struct {
	Categorical []string // by categorical dimension, in pre-order
	Continuous  []string // by continuous dimension, in pre-order

	// Rows counts points, by categorical dimension and chosen option.
	Rows [][]int
}

// String returns the tree as text, a line for each dimension and each option:
//
//	z0
//	a0
//	├─ 1: nothing more
//	└─ 2
//	   └─ z1
func (h Hierarchy) String() string { return h.Text(Labels{}) }

// Text is [Hierarchy.String] with labels. Dimensions without a label are named a0, a1, ... (categorical) and z0, z1,
// ... (continuous); options count from 1.
func (h Hierarchy) Text(l Labels) string {
	if len(h) == 0 {
		return "no dimensions\n"
	}
	p := &printer{labels: l}
	p.group(h, "", true)
	return p.text.String()
}

type printer struct {
	labels                  Labels
	categorical, continuous int
	text                    strings.Builder
}

// group writes a list of dimensions, with branches except for the outermost list.
func (p *printer) group(h Hierarchy, indent string, outermost bool) {
	for i, n := range h {
		branch, childIndent := branches(i == len(h)-1)
		if outermost {
			branch, childIndent = "", ""
		}
		p.text.WriteString(indent + branch)
		if n.Categorical() {
			p.options(n, indent+childIndent)
			continue
		}
		p.text.WriteString(p.labels.Name(false, p.continuous) + "\n")
		p.continuous++
	}
}

func (p *printer) options(n Node, indent string) {
	dimension := p.categorical
	p.categorical++
	p.text.WriteString(p.labels.Name(true, dimension) + "\n")
	for o, option := range n.Options {
		branch, childIndent := branches(o == len(n.Options)-1)
		p.text.WriteString(indent + branch + p.labels.Option(dimension, o))
		if len(option) == 0 {
			p.text.WriteString(": nothing more")
		}
		p.text.WriteString("\n")
		p.group(option, indent+childIndent, false)
	}
}

// Names returns the names of the columns of the layout for metrics: a0, a1, ... and z0, z1, ...
func (h Hierarchy) Names() []string {
	var names []string
	for c := range h.Dimensions() {
		names = append(names, h.ColumnName(c))
	}
	return names
}

// ColumnName returns the name of a column of the layout: a0, a1, ... for categorical dimensions, and then z0, z1, ...
// Without a hierarchy all columns are continuous.
func (h Hierarchy) ColumnName(c int) string {
	if k := len(h.Categoricals()); c >= k {
		return Labels{}.Name(false, c-k)
	}
	return Labels{}.Name(true, c)
}

func branches(last bool) (branch, childIndent string) {
	if last {
		return "└─ ", "   "
	}
	return "├─ ", "│  "
}

// Option returns the label of an option of a categorical dimension: its number, from 1, and its known count of points.
func (l Labels) Option(categorical, option int) string {
	if categorical < len(l.Rows) && option < len(l.Rows[categorical]) {
		return fmt.Sprintf("%d (%d rows)", option+1, l.Rows[categorical][option])
	}
	return fmt.Sprint(option + 1)
}

// Name returns the label of a categorical or a continuous dimension.
func (l Labels) Name(categorical bool, dimension int) string {
	names, letter := l.Continuous, "z"
	if categorical {
		names, letter = l.Categorical, "a"
	}
	if dimension < len(names) {
		return names[dimension]
	}
	return fmt.Sprint(letter, dimension)
}
