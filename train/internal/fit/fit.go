// Package fit measures how well decoded codes reconstruct their images.
package fit

import (
	"context"
	"math"
	"slices"

	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/datasets/supervision"
	"github.com/unravel-ml/unravel/metrics/matrix"
	"github.com/unravel-ml/unravel/train/engine"
	"github.com/unravel-ml/unravel/train/internal/program"
)

// Decoded holds images, their codes and a decoder.
type Decoded struct {
	Data   datasets.Dataset
	Codes  matrix.Matrix // a row for each image
	Decode func(codes []float32) ([]float32, error)
	Watch  func(done int) // called with the number of decoded images
}

// Pixels holds means over the pixels of images and of their reconstructions.
type Pixels struct {
	Error    float64 // squared error
	Variance float64 // the squared error of the mean image
	Square   float64 // mean square of the images' pixels
	Decoded  float64 // mean square of the reconstructed pixels
}

// Pixels compares the decoded codes with the pixels of images. If the context ends, it returns engine.ErrStopped.
func (d *Decoded) Pixels(ctx context.Context, images []int) (p Pixels, err error) {
	h, w, c := d.Data.ImageShape()
	size := h * w * c
	sum, square := make([]float64, size), make([]float64, size)
	batch := make([]float32, program.Batch*size)
	for from := 0; from < len(images); from += program.Batch {
		if from > 0 && from%(8*program.Batch) == 0 && ctx.Err() != nil {
			return p, engine.ErrStopped
		}
		d.Watch(from)
		part := images[from:min(from+program.Batch, len(images))]
		datasets.Fill(d.Data, part, batch)
		var rows []float32
		for _, i := range part {
			for _, v := range d.Codes.Row(i) {
				rows = append(rows, float32(v))
			}
		}
		decoded, err := d.Decode(rows)
		if err != nil {
			return p, err
		}
		for at := 0; at < len(decoded); at += size {
			for i, v := range decoded[at : at+size] {
				x, y := float64(batch[at+i]), float64(v)
				sum[i] += x
				square[i] += x * x
				p.Error += (x - y) * (x - y)
				p.Decoded += y * y
			}
		}
	}
	n := float64(len(images))
	for i, s := range sum {
		p.Variance += square[i] - s*s/n
		p.Square += square[i]
	}
	mean := func(sum float64) float64 { return sum / n / float64(size) }
	return Pixels{mean(p.Error), mean(math.Max(p.Variance, 0)), mean(p.Square), mean(p.Decoded)}, nil
}

// Misassigned returns the mean assignment loss of the options in the first columns of codes, against the labels of the
// categorical or assigned factors. It returns nil if the number of these factors differs from options. An option where
// the label has none costs 1, and a wrong option 2.
func Misassigned(known *supervision.Labels, options int, codes matrix.Matrix, images []int) *float64 {
	var columns []int
	for k, f := range known.Factors {
		if known.Assigned == nil && f.Kind == factor.Categorical || slices.Contains(known.Assigned, k) {
			columns = append(columns, k)
		}
	}
	if len(columns) != options {
		return nil
	}
	var sum float64
	levels := make([]int32, len(known.Factors))
	for _, i := range images {
		known.At(i, levels)
		for c, k := range columns {
			switch label, chosen := levels[k], int32(codes.Row(i)[c]); {
			case label < 0 || label == chosen:
			case label == 0 || chosen == 0:
				sum++
			default:
				sum += 2
			}
		}
	}
	sum /= float64(len(images))
	return &sum
}
