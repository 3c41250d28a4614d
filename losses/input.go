package losses

import (
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/models/hierarchy"
)

// Input holds the inputs of a loss: the model's outputs, the batch's labels, and the trainer, which takes requests.
type Input struct {
	Outputs         // of the model; read-only
	Batch           // of the data; read-only
	Trainer Trainer // nil: every request except a note is an error
	Name    string  // name of the loss among the parts of the objective
}

// posteriorSample returns a reparameterised sample of the Gaussian posteriors, with the noise input of the given name.
func (in *Input) posteriorSample(name string) (*gorgonia.Node, error) {
	noise, err := in.Noise(name, Normal, in.Codes.Shape()...)
	if err != nil {
		return nil, err
	}
	logSigma, err := graph.Scale(0.5, in.LogVariance)
	if err != nil {
		return nil, err
	}
	sigma, err := graph.Exp(logSigma)
	if err != nil {
		return nil, err
	}
	step, err := gorgonia.HadamardProd(sigma, noise)
	if err != nil {
		return nil, err
	}
	return graph.Add(in.Codes, step)
}

// Outputs are a model's nodes for a batch; a node is nil if the model does not have it.
type Outputs struct {
	Rows int // rows of codes: one for each image in the batch, or two with two views

	Images *gorgonia.Node // the batch, [rows, height, width, channels]
	// the reconstruction before its sigmoid, of the same shape; for a Real batch, the reconstruction itself
	Logits *gorgonia.Node

	Codes       *gorgonia.Node // the codes that metrics measure, such as posterior means, [rows, d]
	Sample      *gorgonia.Node // reparameterised samples, which the decoder decodes, [rows, d]
	LogVariance *gorgonia.Node // log variances of Gaussian posteriors, [rows, d]
	Shared      bool           // the rows of a group agree in some columns of codes and log variances
	Active      *gorgonia.Node // 1 where a column of Sample is active, 0 elsewhere, [rows, d]

	// angles of actions that rotate the codes, in radians, [actions, planes]; see RotationWalk
	ActionAngles *gorgonia.Node
	// codes predicted from the previous row by actions; 0 for rows without an action, [rows, d]
	Predicted *gorgonia.Node

	Options   *gorgonia.Node      // weights of the options of a hierarchy's categorical dimensions, [rows, options in all]
	Hierarchy hierarchy.Hierarchy // hierarchy of Options and Sample

	Weights []*gorgonia.Node // the trained layers' weights without biases, in any shapes

	Posteriors []Posterior // one for each latent space
	Transports []Transport // one for each latent space, for batches of labelled groups

	Views *Views // for models of two views

	Energy *Energy // for energy-based models
}

// Posterior is the distribution of the codes of one latent space.
type Posterior interface {
	// KL returns the divergence from the prior: a scalar, the mean over the batch.
	KL() (*gorgonia.Node, error)
}

// Views are a model's outputs for two views of n images; a node is nil if the model does not have it. Arrays of 2n rows
// contain the first views, then the second views.
type Views struct {
	Projections *gorgonia.Node // [2n, d]
	Predictions *gorgonia.Node // [2n, d]
	Targets     *gorgonia.Node // [2n, d]: targets of the other view's predictions; no gradient flows through them

	Queries, Keys *gorgonia.Node // unit vectors [n, d] of the first and the second views
	Negatives     *gorgonia.Node // keys of other images, [d, K]
}

// Transport holds the samples of one latent space in labelled groups, and each group's transformed common points.
type Transport struct {
	Points *gorgonia.Node // the samples z_m, [batch, width]
	Moved  *gorgonia.Node // the group's common point after the row's transformation: g_m . zbar, [batch, width]
	Sphere bool           // the space is a sphere instead of R^n
	// some transformation is not the identity on this space (otherwise Moved is the mean of the group)
	Acts bool
}

// Batch describes the images of a batch: sizes, labels and transformations.
type Batch struct {
	Real       bool // pixels are unbounded instead of in [0, 1]
	Population int  // images that batches are drawn from; 0: unknown
	Group      int  // number of images of a labelled group, which are consecutive rows; 0 or 1: there are no groups

	Labels          *Labels          // known factors; nil: no labels
	Transformations *Transformations // within the labelled groups; nil: no transformations

	// Actions returns [batch, actions], with a 1 for the action that leads from the previous row of a labelled group to
	// this row. The first row of each group is 0. nil: no actions.
	Actions func() (*gorgonia.Node, error)
}

// Labels are label inputs of a batch. They are created when first requested.
type Labels struct {
	Factors []factor.Factor

	// Groups returns [batch, K]: rows with equal non-negative numbers in a column have equal values of that factor; -1
	// means unknown.
	Groups func() (*gorgonia.Node, error)

	// Values returns the factors' values in the given units and their levels, [batch, K] each. An unknown value is 0
	// and its level -1, even if its group is known from a similar pair. If only similarities are known, it returns an
	// error.
	Values func(u Units) (values, known *gorgonia.Node, err error)

	// Different returns [batch, K]: for each factor, a row with a known, different level, or -1. The two rows of a pair
	// contain each other's number. nil: no images are known to differ.
	Different func() (*gorgonia.Node, error)

	// Assigned lists the factors that label the hierarchy's categorical dimensions. nil: the categorical factors.
	Assigned []int

	// Exact returns the values of the continuous dimensions of a hierarchical data set, each divided by the largest
	// absolute value of its dimension, and 1 where the dimension has a label, [batch, n] each. Without a label, both are
	// 0. The value of a dimension that an image lacks is 0. nil: the data set has no hierarchy.
	Exact func() (values, known *gorgonia.Node, err error)
}

// Units names, in a config, the units of the continuous factors of hierarchical data sets. Ordinal levels are always
// mapped to [0, 1], and circular levels to fractions of a turn.
type Units string

// The units.
const (
	UnitsAsGiven Units = "as-given" // exact values unchanged
	UnitsRange   Units = "range"    // exact values mapped to [0, 1] by the range of the dimension
)

func (u *Units) UnmarshalText(text []byte) error {
	return parseName(u, "units", text, UnitsAsGiven, UnitsRange)
}

// Transformations provides the transformations within labelled groups as inputs, created when first requested.
type Transformations struct {
	Factors   []factor.Factor // of the data set
	Rotations int             // number of rotations in space for each group

	// Angles returns [batch, 1]: the angle in radians from the group's first image to each row's image.
	Angles func(factor int) (*gorgonia.Node, error)
	// Rotation returns [batch, 4]: the axis (x, y, z) and the angle in radians of a rotation in space.
	Rotation func(r int) (*gorgonia.Node, error)
}

// On names, in a config, the codes that an objective uses.
type On string

// The codes that an objective can use.
const (
	OnCodes  On = "codes"  // posterior means, which metrics measure
	OnSample On = "sample" // reparameterised samples, which the decoder decodes
)

func (c *On) UnmarshalText(text []byte) error {
	return parseName(c, "codes", text, OnCodes, OnSample)
}

// node returns the selected codes of a model.
func (c On) node(in *Input) (*gorgonia.Node, error) {
	n := in.Codes
	if c == OnSample {
		n = in.Sample
	}
	_, err := columnsOf("codes", n)
	return n, err
}

// subCodes returns the sub-codes of the factors of a batch, in their order. Without sub-codes in the config, each
// factor gets an equal number of columns.
func subCodes(c factor.SubCodes, in *Input) ([]factor.Block, error) {
	if in.Labels == nil {
		return nil, errNoLabels
	}
	width, err := columnsOf("codes", in.Codes)
	if err != nil {
		return nil, err
	}
	if len(c) == 0 {
		for _, f := range in.Labels.Factors {
			if f.Size == 1 {
				in.Note(fmt.Sprintf("the loss %s gives factor %s an equal share of the columns, although it has only one level; "+
					"its key codes chooses the columns of factors", in.Name, f.Name))
			}
		}
		return factor.EvenBlocks(in.Labels.Factors, width)
	}
	return c.Blocks("codes", in.Labels.Factors, width)
}

// blocksOf returns the selected codes of a model, and the sub-codes of the factors.
func blocksOf(in *Input, on On, c factor.SubCodes) (z *gorgonia.Node, blocks []factor.Block, err error) {
	if blocks, err = subCodes(c, in); err == nil {
		z, err = on.node(in)
	}
	return z, blocks, err
}

// valuesOf returns the selected codes of a model, and the values of the factors with their levels.
func valuesOf(in *Input, on On, u Units) (z, y, known *gorgonia.Node, err error) {
	if in.Labels == nil {
		return nil, nil, nil, errNoLabels
	}
	if z, err = on.node(in); err == nil {
		y, known, err = in.Labels.Values(u)
	}
	return z, y, known, err
}

// columnsOf returns the number of columns of a model's matrix.
func columnsOf(name string, n *gorgonia.Node) (int, error) {
	if n == nil {
		return 0, missing(name)
	}
	_, columns, err := graph.Matrix(name, n.Shape())
	return columns, err
}

// selectColumns returns the given columns of codes.
func selectColumns(z *gorgonia.Node, columns []int) (*gorgonia.Node, error) {
	var nodes gorgonia.Nodes
	for _, c := range columns {
		if width := z.Shape()[1]; c >= width {
			return nil, fmt.Errorf("column %d does not exist: the codes have %d columns, 0 to %d", c, width, width-1)
		}
		n, err := graph.SliceColumns(z, c, c+1)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return graph.ConcatColumns(nodes...)
}
