package engine

import (
	"fmt"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/graph/rng"
	"github.com/unravel-ml/unravel/models"
	"github.com/unravel-ml/unravel/train/engine/internal/labels"
)

// inputs are a program's inputs for a batch.
type inputs struct {
	images          []float32
	views           [][]float32
	noise           [][]float32
	transformations []transformationInput
	actions         *actionInput
	labels          *labels.Inputs
	masks           []*nn.Mask
	dropout         *rng.Stream // stream for the masks
}

type transformationInput struct {
	dst     []float32
	columns []int // columns of a batch's moves
}

// bind adds the inputs of a model.
func (in *inputs) bind(built *models.Program) {
	if built.Outputs.Images != nil {
		in.images = nn.Data(built.Outputs.Images)
	}
	for _, n := range built.Views {
		in.views = append(in.views, nn.Data(n))
	}
	for _, n := range built.Noise {
		in.noise = append(in.noise, nn.Data(n))
	}
	for _, n := range built.Transformations {
		in.transformations = append(in.transformations, transformationInput{nn.Data(n.Node), n.Columns})
	}
}

// check returns an error for inputs that do not fit the number of images, such as a model for other data.
func (in *inputs) check(d datasets.Dataset, images int) error {
	if d == nil { // a program without a loop, as in benchmarks
		return nil
	}
	h, w, c := d.ImageShape()
	for _, x := range append(in.views[:len(in.views):len(in.views)], in.images) {
		if x != nil && len(x) != images*h*w*c {
			return fmt.Errorf("the model takes %d numbers for %d images, and the dataset %s has images of %d x %d x %d; want a model made for them (models.DataOf)",
				len(x), images, d.Name(), h, w, c)
		}
	}
	return nil
}

// fill writes a batch with its views, new noise and dropout masks. k is the width of moves.
func (in *inputs) fill(images []float32, views [][]float32, b supervision.Batch, k int, noise *rng.Stream) {
	if in.views == nil && len(views) > 0 {
		images = views[0]
	}
	copy(in.images, images)
	for i, v := range in.views {
		copy(v, views[i])
	}
	for _, n := range in.noise {
		noise.Normals(n)
	}
	for _, m := range in.masks {
		m.Fill(in.dropout)
	}
	for _, m := range in.transformations {
		width := len(m.columns)
		for row := range len(m.dst) / width { // both views of an image have the same transformation
			for c, column := range m.columns {
				m.dst[row*width+c] = b.Transformations[row%len(b.Indices)*k+column]
			}
		}
	}
	if in.actions != nil {
		in.actions.fill(b)
	}
	if in.labels != nil {
		in.labels.Fill(b)
	}
}
