package logic

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/factor/rotation"
)

// Turn is a transformation of the data in a sentence: by the angles of a circular factor, or by rotations in space. It
// acts on the columns of the sub-code with its name.
type Turn struct {
	Name  string
	Space bool // rotations in space, of axis and angle in radians (4 columns of moves); otherwise angles in radians (1 column)
}

// Columns returns the number of columns of the turn in [Batch.Moves].
func (t Turn) Columns() int {
	if t.Space {
		return 4
	}
	return 1
}

// width is the number of coordinates on which the turn acts together.
func (t Turn) width() int {
	if t.Space {
		return 3
	}
	return 2
}

// Turns lists the turns of circular factors and of factors with rotations as levels.
func Turns(factors []factor.Factor) []Turn {
	var all []Turn
	for _, f := range factors {
		if f.Turns() {
			all = append(all, Turn{f.Name, f.Rotations != nil})
		}
	}
	return all
}

// MovesOf returns the moves of images with given levels [n, K] of factors, and their groups: images are related by
// turns if all other factors agree. An unknown level is negative. A row with an unknown turn has no known
// transformation; a row with another unknown factor is in no group.
func MovesOf(factors []factor.Factor, levels [][]int) (moves [][]float64, groups []int) {
	moves, groups = make([][]float64, len(levels)), make([]int, len(levels))
	numbers := map[string]int{}
	for i, row := range levels {
		var rest strings.Builder
		unknown := false
		for k, f := range factors {
			if f.Turns() {
				moves[i] = append(moves[i], turnOf(f, row[k])...)
				continue
			}
			unknown = unknown || row[k] < 0
			fmt.Fprintf(&rest, "%d ", row[k])
		}
		if groups[i] = -1; unknown {
			continue
		}
		if _, ok := numbers[rest.String()]; !ok {
			numbers[rest.String()] = len(numbers)
		}
		groups[i] = numbers[rest.String()]
	}
	return moves, groups
}

// turnOf returns the angle of a level, or axis and angle; an unknown level gives NaN.
func turnOf(f factor.Factor, level int) []float64 {
	switch {
	case level < 0 && f.Rotations != nil:
		return slices.Repeat([]float64{math.NaN()}, 4)
	case level < 0:
		return []float64{math.NaN()}
	case f.Rotations == nil:
		return []float64{f.Angle(level)}
	}
	axis, angle := rotation.AxisAngle(&f.Rotations[level])
	return append(axis[:], angle)
}

// moves returns the number of columns of moves.
func (s Schema) moves() (columns int) {
	for _, t := range s.Turns {
		columns += t.Columns()
	}
	return columns
}

// matrix is a turn's matrix as columns of the program, by row: cos and sin of a multiple of the angle, or
// the nine entries of a rotation.
type matrix struct {
	turn  int
	space bool
	by    float64 // the multiple
	from  int     // first column of the turn
	at    int     // first column of the matrix
}

// matrix returns the first column of a turn's matrix.
func (p *program) matrix(s Schema, turn int, by float64) int {
	if i := slices.IndexFunc(p.matrices, func(m matrix) bool { return m.turn == turn && m.by == by }); i >= 0 {
		return p.matrices[i].at
	}
	m := matrix{turn: turn, space: s.Turns[turn].Space, by: by, from: p.turn(s, turn)}
	m.at = p.members + len(p.memberColumns)
	columns := 2
	if m.space {
		columns = 9
	}
	p.matrices = append(p.matrices, m)
	p.memberColumns = append(p.memberColumns, make([][]float64, columns)...)
	return m.at
}

// turn returns the first column of a turn.
func (p *program) turn(s Schema, turn int) int {
	column := p.input(moves, s.moves()) + Schema{Turns: s.Turns[:turn]}.moves()
	if !slices.Contains(p.turns, column) {
		p.turns = append(p.turns, column)
	}
	return column
}

// fill computes a matrix of every row.
func (m *matrix) fill(d *data) {
	if !m.space {
		cos, sin := d.columns[m.at], d.columns[m.at+1]
		for i, angle := range d.columns[m.from] {
			sin[i], cos[i] = math.Sincos(m.by * angle)
		}
		return
	}
	for i := range d.rows {
		var axis [3]float64
		for k := range axis {
			axis[k] = d.columns[m.from+k][i]
		}
		g := rotation.AboutAxis(axis, d.columns[m.from+3][i])
		for k, x := range g {
			d.columns[m.at+k][i] = x
		}
	}
}

// relate numbers the groups of rows that transformations relate, and computes matrices. Groups are the given ones, or a
// fixed number of consecutive rows, or all rows.
func (e *engine) relate() {
	p, d := e.program, &e.data
	if !p.needs(moves) {
		return
	}
	levels := d.levels[p.factors]
	numbers, n := map[int]int32{}, int32(0)
	for i := range levels {
		group := 0
		switch {
		case e.groups != nil:
			group = e.groups[i]
		case e.run > 0:
			group = i / e.run
		}
		if levels[i] = -1; group < 0 || !p.turned(d, i) {
			continue
		}
		if _, ok := numbers[group]; !ok {
			numbers[group] = n
			n++
		}
		levels[i] = numbers[group]
	}
	d.counts[p.factors] = n
	for k := range p.matrices {
		p.matrices[k].fill(d)
	}
}

// turned reports whether the turns of a row that the sentence uses are known.
func (p *program) turned(d *data, row int) bool {
	return !slices.ContainsFunc(p.turns, func(column int) bool { return math.IsNaN(d.columns[column][row]) })
}
