// Package learned converts the results of an earlier stage to labels and pictures.
package learned

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/internal/report"
	"github.com/unravel-ml/unravel/metrics"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/rundir"
)

// Draw draws the components that a stage found in codes, next to the images' true dimensions if they are known.
func Draw(name string, d datasets.Dataset, codes matrix.Matrix, l *models.Learned, images []int) ([]byte, error) {
	m := report.Manifolds{Codes: codes, Components: report.NumberedGroups(numeric.Convert[int](l.Components), nil)}
	if l.Parts != nil {
		m.Parts = report.NumberedGroups(report.BySize(numeric.Convert[int](l.Parts), nil))
	}
	if h, ok := d.(datasets.Hierarchical); ok {
		paths, choices := datasets.PathsOf(h, images)
		m.Truth.Labels = paths
		for _, choice := range choices {
			m.Truth.Names = append(m.Truth.Names, datasets.PathName(h, choice))
		}
	}
	var png bytes.Buffer
	title := "Components that " + name + " learns from, along principal axes of the codes"
	if err := report.Components(&png, title, m); err != nil {
		return nil, fmt.Errorf("figure components: %w", err)
	}
	return png.Bytes(), nil
}

// Spread extends rows for some images to all n images; all other images get -1. A nil input stays nil.
func Spread(rows []int32, width int, images []int, n int) []int32 {
	if rows == nil {
		return nil
	}
	all := slices.Repeat([]int32{-1}, n*width)
	for row, i := range images {
		copy(all[i*width:(i+1)*width], rows[row*width:(row+1)*width])
	}
	return all
}

// Explored returns the components of images together with the true ones; nil if components are unknown.
func Explored(l *models.Learned, d datasets.Dataset, images []int) *metrics.Explored {
	if l == nil || l.Components == nil {
		return nil
	}
	x := &metrics.Explored{Components: make([]int, len(images))}
	for row, i := range images {
		x.Components[row] = int(l.Components[i])
	}
	if h, ok := d.(datasets.Hierarchical); ok {
		x.Paths, _ = datasets.PathsOf(h, images)
	}
	return x
}

// Fits returns an error for arrays that do not have a row for each image. l may be nil.
func Fits(l *models.Learned, images int) error {
	if l == nil {
		return nil
	}
	for _, a := range []struct {
		file    string
		of      []int32
		columns int
	}{
		{rundir.AssignmentsFile, l.Labels, len(l.Hierarchy.Categoricals())},
		{rundir.ComponentsFile, l.Components, 1}, {rundir.PartsFile, l.Parts, 1},
	} {
		if a.of != nil && len(a.of) != images*a.columns {
			return fmt.Errorf("%s has %d numbers; want %d x %d, a row for each image", a.file, len(a.of), images, a.columns)
		}
	}
	return nil
}

// assigned returns the assignments in the form of labels; nil without a categorical dimension.
func assigned(l *models.Learned) *supervision.Labels {
	var factors []factor.Factor
	for i, n := range l.Hierarchy.Categoricals() {
		factors = append(factors, factor.Factor{Name: fmt.Sprintf("option%d", i+1), Size: n + 1, Kind: factor.Categorical})
	}
	if factors == nil {
		return nil
	}
	known := supervision.TableLabels(factors, l.Labels)
	known.Assigned = numeric.UpTo(len(factors))
	return known
}

// Join prepends the assignments, as factors, to other known labels. known may be nil.
func Join(l *models.Learned, known *supervision.Labels) (*supervision.Labels, error) {
	labels := assigned(l)
	if labels == nil || known == nil {
		return cmp.Or(labels, known), nil
	}
	return supervision.JoinLabels(labels, known)
}
