package engine

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models"
)

// Both views of a batch reach the inputs of a model.
func TestViewsArrive(t *testing.T) {
	task, settings := taskOf(t, viewed)
	task.Model = twins{task.Model, task.Model.(models.Decoder)}
	loop := must.Get(New(task, settings))(t)
	defer loop.Close()
	must.OK(t, loop.feed.loader.StartEpoch())
	for range 4 {
		b, images, ok := loop.feed.loader.Next()
		if !ok {
			break
		}
		must.OK(t, loop.trainStep(t.Context(), b, images, 4))
		p := loop.programs[batchShape{b.Labelled, len(b.Indices), b.Group}]
		for i, v := range loop.feed.loader.Views() {
			if !slices.Equal(p.views[i], v) || slices.Equal(v, images) {
				t.Fatalf("view %d is not the input", i)
			}
		}
	}
	for want, views := range map[string]string{
		"the model takes 2 views of every image, and there are 3; want views: {pipeline: negative-free, count: 2}": "views.count=3",
		"the model takes 2 views of every image, and there are 0":                                                  "views=null",
	} {
		other, _ := taskOf(t, viewed, views)
		task.Views = other.Views
		must.ErrorOf(New(task, settings))(t, want)
	}
}

// After a step, its keys replace the oldest keys of the queue.
func TestQueue(t *testing.T) {
	loop := loopOf(t, queued)
	p := loop.Model().Params()
	queue, next := p.Get("queue/keys").Float32s(), p.Get("queue/next").Float32s()
	for c := range 250 {
		square := 0.0
		for i := range 8 {
			square += float64(queue[i*250+c]) * float64(queue[i*250+c])
		}
		if !(math.Abs(square-1) <= 1e-5) {
			t.Fatalf("column %d of the first queue has the square norm %v", c, square)
		}
	}
	before, at := slices.Clone(queue), 0
	loop.AddHook(Hook{Name: "look", OnStep: func(_ context.Context, _ *Loop, r *StepReport) error {
		program := loop.programs[batchShape{false, r.Images, 1}]
		built := program.valueOf(program.built.Queue.Keys)
		fresh := map[int]bool{}
		for row := range r.Images {
			column := (at + row) % 250
			fresh[column] = true
			for i := range 8 {
				if queue[i*250+column] != built[row*8+i] {
					t.Fatalf("step %d: key %d is not in column %d", r.Step, row, column)
				}
			}
		}
		at = (at + r.Images) % 250
		must.Equal(t, int(next[0]), at, "step", r.Step, "the next column", next[0])
		for c := range 250 {
			for i := range 8 {
				if !fresh[c] && queue[i*250+c] != before[i*250+c] {
					t.Fatalf("step %d: column %d changed", r.Step, c)
				}
			}
		}
		copy(before, queue)
		return nil
	}})
	must.OK(t, loop.Run(context.Background()))
}

// twins has two views of an image as inputs, and decodes the first from the codes of the second.
type twins struct {
	models.Model
	models.Decoder
}

func (m twins) Build(g *nn.Graph, _ models.Objective, n, _ int) (*models.Program, error) {
	var views, codes []*gorgonia.Node
	for i := range 2 {
		view, err := g.Input(fmt.Sprint("view", i), n, 16, 16, 1)
		if err != nil {
			return nil, err
		}
		z, err := m.Encode(g, view)
		if err != nil {
			return nil, err
		}
		views, codes = append(views, view), append(codes, z)
	}
	logits, err := m.Decode(g, codes[1])
	return &models.Program{Views: views, Outputs: &losses.Outputs{Images: views[0], Logits: logits, Codes: codes[0], Rows: n}}, err
}
