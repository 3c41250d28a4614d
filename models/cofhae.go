package models

import (
	"context"
	"fmt"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/graph/nn"
	"github.com/unravel-ml/unravel/internal/numeric"
	"github.com/unravel-ml/unravel/losses"
	"github.com/unravel-ml/unravel/models/hierarchy"
	"github.com/unravel-ml/unravel/models/hierarchy/mimosa"
)

// COFHAE is the hierarchical autoencoder of Ross and Doshi-Velez 2021, section 5.2 and algorithms 2 and 8. With the
// losses reconstruction, assignment (weight lambda_1) and conditional-tc (weight lambda_2) it minimises algorithm 2,
// line 11:
//
//	L_x(x', x) + lambda_1 L_a(a', a) - lambda_2 log D(z)/(1 - D(z))
//
// x' are reconstructions, a' option weights, a assigned options (by MIMOSA or the truth), and z masked values. The
// discriminator D distinguishes z from values that are permuted over the images that use them.
//
// Linear heads on the features compute the values of the continuous dimensions, and the logits for the options of each
// categorical dimension. Option weights are softmax(logits/Tau), times the weight of the enclosing option. Each value
// is multiplied by the weight of its option, the soft mask. The decoder gets weights and masked values.
//
// The code for metrics has one column for each dimension, categorical ones first. A categorical column contains 1 + the
// option with the largest weight, a continuous column the value, and an inactive dimension 0. The code uses temperature
// 1e-10, not Tau.
type COFHAE struct {
	Networks
	Hierarchy string  `yaml:"hierarchy" doc:"hierarchy of the code: truth (the data set's hierarchy), mimosa (learned first), or a .json file"`
	Tau       float64 `yaml:"tau" doc:"softmax temperature of the options in training"`
	Mimosa    Mimosa  `yaml:"mimosa" doc:"settings of mimosa, which learns the hierarchy from codes of an autoencoder with the same networks and training"`
}

// Mimosa holds the settings for learning the hierarchy in a first stage.
type Mimosa struct {
	InitialDim     int `yaml:"initial_dim" doc:"dimensions of the codes for MIMOSA; choose one more than any image's true dimension"`
	mimosa.Options `yaml:",inline"`
}

func (m *Mimosa) Validate() error {
	if m.InitialDim < 1 || m.InitialDim >= m.Neighbors {
		return config.Invalid("initial_dim", "%d is out of range; want 1 or more, and less than the neighbors, %d",
			m.InitialDim, m.Neighbors)
	}
	return m.Options.Validate()
}

// Sources of a hierarchy other than a file.
const (
	trueHierarchy    = "truth"
	learnedHierarchy = "mimosa"
)

// hardTau is a temperature that makes the softmax one-hot.
const hardTau = 1e-10

// NewCOFHAE returns the default settings.
func NewCOFHAE() *COFHAE {
	return &COFHAE{Networks: newNetworks(), Hierarchy: trueHierarchy, Tau: 1,
		Mimosa: Mimosa{InitialDim: 4, Options: mimosa.Defaults()}}
}

func (s *COFHAE) Validate() error {
	if s.Hierarchy == "" {
		return config.Invalid("hierarchy", "want %s, %s or a .json file", trueHierarchy, learnedHierarchy)
	}
	if !(s.Tau > 0 && s.Tau <= 1e6) {
		return config.Invalid("tau", "%v is out of range; want more than 0", s.Tau)
	}
	return nil
}

func (s *COFHAE) New(data Data, seed uint64) (Model, error) {
	h, err := s.hierarchy(data)
	if err != nil {
		return nil, err
	}
	m := &cofhae{autoencoder: newAutoencoder(s.Networks, data, seed, 0), tree: h, tau: s.Tau}
	m.options.Sizes = h.Categoricals()
	m.options.Parents, m.places = h.Places()
	return m, Materialise(m, data)
}

func (s *COFHAE) Reads() []datasets.Read {
	if s.Hierarchy == trueHierarchy || s.Hierarchy == learnedHierarchy {
		return nil
	}
	return []datasets.Read{{Key: "hierarchy", Path: s.Hierarchy}}
}

func (s *COFHAE) hierarchy(data Data) (h hierarchy.Hierarchy, err error) {
	switch s.Hierarchy {
	case trueHierarchy:
		if data.Hierarchy == nil {
			return nil, fmt.Errorf("hierarchy: the data set has none; want a file, %s, or a data set such as chopsticks",
				learnedHierarchy)
		}
		h = data.Hierarchy
	case learnedHierarchy:
		if data.Learned == nil {
			return nil, fmt.Errorf("hierarchy: it is not learned yet; want a run that learns it")
		}
		h = data.Learned.Hierarchy
	default:
		if h, err = hierarchy.Read(s.Hierarchy); err != nil {
			return nil, fmt.Errorf("hierarchy: %w", err)
		}
	}
	if h.Continuous() == 0 {
		return nil, fmt.Errorf("hierarchy: it has no continuous dimension; want at least one")
	}
	return h, nil
}

// Stage implements [Staged]. If the hierarchy must be learned, an autoencoder with the same networks is trained
// first, and MIMOSA explores its codes.
func (s *COFHAE) Stage() *Stage {
	if s.Hierarchy != learnedHierarchy {
		return nil
	}
	return &Stage{
		Name: learnedHierarchy, Key: "hierarchy", Losses: []string{"reconstruction"},
		Model: Choice{Name: "ae", Value: &AE{Networks: s.Networks, Latent: s.Mimosa.InitialDim}},
		Learn: s.explore,
	}
}

// Known implements [Staged]. It returns the same model with the data set's hierarchy.
func (s *COFHAE) Known() Settings {
	known := *s
	known.Hierarchy = trueHierarchy
	return &known
}

// Effective implements [Effective]: MIMOSA has no effect where the hierarchy is known.
func (s *COFHAE) Effective() Settings {
	if s.Hierarchy == learnedHierarchy {
		return s
	}
	effective := *s
	effective.Mimosa = NewCOFHAE().Mimosa
	return &effective
}

func (s *COFHAE) explore(ctx context.Context, codes []float32, width int, say func(line string)) (*Learned, error) {
	wide := numeric.Convert[float64](codes)
	last := ""
	progress, timings := mimosa.Timed(func(stage string, _, _ int) {
		if stage != last {
			last = stage
			say(stage)
		}
	})
	r, err := mimosa.Run(ctx, wide, width, s.Mimosa.Options, progress)
	if err != nil {
		return nil, fmt.Errorf("mimosa: %w", err)
	}
	say(fmt.Sprintf("%d components hold %.1f %% of the codes\n%s", len(r.Components), 100*r.Coverage, r.Hierarchy))
	if r.Hierarchy.Continuous() == 0 {
		return nil, fmt.Errorf("mimosa found no component of at least %d codes; want a smaller model.cofhae.mimosa.min_merged, or other codes", s.Mimosa.LeastMerged(len(codes)/width))
	}
	k := len(r.Hierarchy.Categoricals())
	l := &Learned{Hierarchy: r.Hierarchy, Labels: make([]int32, len(r.Labels)*k), Components: make([]int32, len(r.Labels)),
		Parts: make([]int32, len(r.Labels))}
	parts := r.PartOf()
	for row, component := range r.Labels {
		r.Labelled(row, l.Labels[row*k:(row+1)*k])
		l.Components[row], l.Parts[row] = int32(component), int32(parts[row])
	}
	for _, t := range timings() {
		l.Timings = append(l.Timings, Timing{t.Stage, t.Seconds})
	}
	return l, nil
}

type cofhae struct {
	autoencoder
	tree    hierarchy.Hierarchy
	options optionBlocks
	places  []int // the option column of each continuous dimension
	tau     float64
}

func (m *cofhae) Spaces() []Space { return []Space{{Name: "hierarchy", Width: m.tree.Dimensions()}} }

func (m *cofhae) Hierarchy() hierarchy.Hierarchy { return m.tree }

// heads adds the values, and the logits of options if the hierarchy has a categorical dimension.
func (m *cofhae) heads(g *nn.Graph, images *gorgonia.Node) (values, logits *gorgonia.Node, err error) {
	h, err := m.features(g, images)
	if err != nil {
		return nil, nil, err
	}
	if values, err = nn.Dense(g, h, "latent/value", len(m.places), graph.Linear); err != nil {
		return nil, nil, err
	}
	var blocks []*gorgonia.Node
	for i, n := range m.options.Sizes {
		block, err := nn.Dense(g, h, fmt.Sprintf("latent/option%d", i+1), n, graph.Linear)
		if err != nil {
			return nil, nil, err
		}
		blocks = append(blocks, block)
	}
	if blocks == nil {
		return values, nil, nil
	}
	logits, err = graph.ConcatColumns(blocks...)
	return values, logits, err
}

// masked adds the weights of options at a temperature (nil without categorical dimensions), and the masked values.
func (m *cofhae) masked(values, logits *gorgonia.Node, tau float64) (weights, masked *gorgonia.Node, err error) {
	if logits == nil {
		return nil, values, nil
	}
	if weights, err = weighOptions(logits, m.options, tau); err != nil {
		return nil, nil, err
	}
	masked, err = gateValues(values, weights, m.places)
	return weights, masked, err
}

func (m *cofhae) Build(g *nn.Graph, _ Objective, n, _ int) (*Program, error) {
	images, err := m.images(g, n)
	if err != nil {
		return nil, err
	}
	values, logits, err := m.heads(g, images)
	if err != nil {
		return nil, err
	}
	weights, masked, err := m.masked(values, logits, m.tau)
	if err != nil {
		return nil, err
	}
	out := &losses.Outputs{Images: images, Codes: masked, Sample: masked, Options: weights, Hierarchy: m.tree, Rows: n}
	flat := masked
	if weights != nil {
		if flat, err = graph.ConcatColumns(weights, masked); err != nil {
			return nil, err
		}
	}
	if out.Active, err = m.active(g, logits, n); err != nil {
		return nil, err
	}
	out.Logits, err = m.autoencoder.Decode(g, flat)
	return &Program{Outputs: out}, err
}

// active adds the mask of values by one-hot options. Nothing uses its gradient.
func (m *cofhae) active(g *nn.Graph, logits *gorgonia.Node, n int) (*gorgonia.Node, error) {
	ones, err := g.Input("ones", n, len(m.places))
	if err != nil {
		return nil, err
	}
	for data, i := nn.Data(ones), 0; i < len(data); i++ {
		data[i] = 1
	}
	if logits == nil {
		return ones, nil
	}
	hard, err := weighOptions(logits, m.options, hardTau)
	if err != nil {
		return nil, err
	}
	return gateValues(ones, hard, m.places)
}

func (m *cofhae) Encode(g *nn.Graph, images *gorgonia.Node) (*gorgonia.Node, error) {
	values, logits, err := m.heads(g, images)
	if err != nil {
		return nil, err
	}
	weights, masked, err := m.masked(values, logits, hardTau)
	if err != nil || weights == nil {
		return masked, err
	}
	return numberOptions(weights, masked, m.options.Sizes)
}

func (m *cofhae) Decode(g *nn.Graph, codes *gorgonia.Node) (*gorgonia.Node, error) {
	if len(m.options.Sizes) > 0 {
		var err error
		if codes, err = readOptions(codes, m.options, m.places); err != nil {
			return nil, err
		}
	}
	return m.autoencoder.Decode(g, codes)
}
