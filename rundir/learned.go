package rundir

import (
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"

	"github.com/unravel-ml/unravel/hierarchy"
	"github.com/unravel-ml/unravel/internal/npy"
	"github.com/unravel-ml/unravel/models"
)

// Files of what a run learned in an earlier stage, in the folder of the stage's name.
const (
	HierarchyFile   = "hierarchy.json"
	AssignmentsFile = "assignments.npy"
	ComponentsFile  = "components.npy"
)

// WriteLearned stores what an earlier stage of training learned, in a folder of the stage's name.
func (r *Run) WriteLearned(stage string, l *models.Learned) error {
	if err := r.Write(path.Join(stage, HierarchyFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(l.Hierarchy) }); err != nil {
		return err
	}
	if l.Components != nil {
		if err := r.Write(path.Join(stage, ComponentsFile), func(w io.Writer) error { return npy.Write(w, []int{len(l.Components)}, l.Components) }); err != nil {
			return err
		}
	}
	k := len(l.Hierarchy.Categoricals())
	if k == 0 {
		return nil
	}
	return r.Write(path.Join(stage, AssignmentsFile), func(w io.Writer) error { return npy.Write(w, []int{len(l.Labels) / k, k}, l.Labels) })
}

// ReadLearned reads what an earlier stage of training learned from a run's folder; nil if there is no run, or nothing.
func ReadLearned(dir, stage string) (*models.Learned, error) {
	run, err := View(dir)
	if err != nil {
		return nil, nil // there is no run yet
	}
	if !run.Has(path.Join(stage, HierarchyFile)) {
		return nil, nil
	}
	l := &models.Learned{}
	if l.Hierarchy, err = hierarchy.Read(filepath.Join(dir, stage, HierarchyFile)); err != nil {
		return nil, err
	}
	if run.Has(path.Join(stage, ComponentsFile)) {
		if l.Components, err = readLabels(filepath.Join(dir, stage, ComponentsFile), 1); err != nil {
			return nil, err
		}
	}
	if k := len(l.Hierarchy.Categoricals()); k > 0 {
		l.Labels, err = readLabels(filepath.Join(dir, stage, AssignmentsFile), k)
	}
	return l, err
}

// readLabels reads a file of whole numbers, a row of the given length for each image.
func readLabels(path string, columns int) ([]int32, error) {
	r, err := npy.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.RowLen() != columns {
		return nil, fmt.Errorf("%s has shape %v; want %d numbers for each image", path, r.Shape, columns)
	}
	labels := make([]int32, r.Rows()*columns)
	return labels, npy.Read(r, labels)
}
