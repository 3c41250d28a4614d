package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/factor"
	"github.com/unravel-ml/unravel/hierarchy"
)

// Input is what a loss is given, in three parts with an owner each: what the model made
// of a batch, what is known of the batch, and whom the loss can ask for more.
type Input struct {
	Outputs         // the model's; only read
	Batch           // the data's; only read
	Trainer Trainer // nil: nothing can be asked for
	Name    string  // of the loss among the parts of the objective
}

// Outputs are the nodes that a model makes of a batch. What it does not have is nil.
type Outputs struct {
	Rows int // rows of codes: the images in the batch, or twice as many for two views of each

	Images *gorgonia.Node // the batch, [rows, height, width, channels]
	Logits *gorgonia.Node // the reconstruction before its sigmoid, of the same shape; the reconstruction itself of a Real batch

	Codes       *gorgonia.Node // posterior means, or what else the codes are that metrics measure, [rows, d]
	Sample      *gorgonia.Node // reparameterised samples that are decoded, [rows, d]
	LogVariance *gorgonia.Node // of Gaussian posteriors, [rows, d]
	Active      *gorgonia.Node // 1 where a column of Sample is active, 0 elsewhere, [rows, d]

	Options   *gorgonia.Node      // weights of the options of a hierarchy's categorical dimensions, [rows, options in all]
	Hierarchy hierarchy.Hierarchy // of Options and Sample

	Posteriors []Posterior // one for each latent space
	Transports []Transport // one for each latent space, for batches of labelled groups

	Views *Views // of models of two views
}

// Posterior is the distribution of the codes of one latent space.
type Posterior interface {
	// KL returns the divergence from the prior: a scalar, the mean over the batch.
	KL() (*gorgonia.Node, error)
}

// Views are a model's outputs for two views of n images; nil where it has none. Arrays of 2n
// rows hold the first views' rows, then the second views'.
type Views struct {
	Projections *gorgonia.Node // [2n, d]
	Predictions *gorgonia.Node // [2n, d]
	Targets     *gorgonia.Node // [2n, d]: targets of the other view's predictions; no gradient flows through them

	Queries, Keys *gorgonia.Node // unit vectors [n, d] of the first and the second views
	Negatives     *gorgonia.Node // keys of other images, [d, K]
}

// Transport is what a model did with the codes of one latent space in a batch of
// labelled groups.
type Transport struct {
	Points *gorgonia.Node // the samples z_m, [batch, width]
	Moved  *gorgonia.Node // where the group's common point goes, g_m . zbar, [batch, width]
	Sphere bool           // the space is a sphere, not R^n
	Acts   bool           // the transformations act on the space: it is not left to the identity
}

// Batch is what is known of the images of a batch.
type Batch struct {
	Real       bool // pixels are any real numbers, not in [0, 1]
	Population int  // images in the data set; 0: unknown
	Group      int  // images of a labelled group, which are Group rows in sequence; 0 or 1: there are no groups

	Labels          *Labels          // known factors; nil: none
	Transformations *Transformations // within the labelled groups; nil: none
}

// Labels are label inputs of a batch. Inputs are created on first request.
type Labels struct {
	Factors []factor.Factor

	// Groups is [batch, K]: rows with equal numbers from 0 on in a column agree in
	// that factor; -1 says that nothing is known.
	Groups func() (*gorgonia.Node, error)

	// Values are the factors' values in some units and their levels, [batch, K] each. Where a value
	// is not known, it is 0 and its level -1, also where a similar pair makes its group known. It
	// is an error if only similarities are known.
	Values func(u Units) (values, known *gorgonia.Node, err error)

	// Assigned lists the factors that label the categorical dimensions of the model's hierarchy;
	// nil: the categorical ones.
	Assigned []int

	// Exact is [batch, n]: the values of the continuous dimensions of a hierarchical data set,
	// each divided by its largest size, and 0 where an image lacks the dimension. nil: the data
	// set has no hierarchy.
	Exact func() (*gorgonia.Node, error)
}

// Units names, in a config, the units of continuous factors, those of hierarchical data sets.
// Levels are always mapped: of ordinal factors to [0, 1], of circular ones to fractions of a turn.
type Units string

// The units.
const (
	UnitsAsGiven Units = "as-given" // exact values unchanged
	UnitsRange   Units = "range"    // exact values mapped to [0, 1] by the range of the dimension
)

// UnmarshalText accepts a known name.
func (u *Units) UnmarshalText(text []byte) error {
	if *u = Units(text); *u != UnitsAsGiven && *u != UnitsRange {
		return fmt.Errorf("unknown units %q; known: as-given, range", text)
	}
	return nil
}

// Transformations offer the transformations within the labelled groups of a batch as inputs of the graph.
type Transformations struct {
	Factors   []factor.Factor // of the data set
	Rotations int             // rotations in space that groups come with

	// Angles is [batch, 1]: by how many radians a factor has turned from a group's first image to a row's.
	Angles func(factor int) (*gorgonia.Node, error)
	// Rotation is [batch, 4]: the axis (x, y, z) and the angle in radians of a rotation in space.
	Rotation func(r int) (*gorgonia.Node, error)
}
