package losses

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/configs/config"
	"github.com/unravel-ml/unravel/datasets/factor"
	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/internal/check"
	"github.com/unravel-ml/unravel/losses/internal/total"
	"github.com/unravel-ml/unravel/losses/logic"
)

// Logic returns the quantity of a sentence as a node, [logic.Quantity.Node]. Parts of the sentence that are losses
// under another name (variance, diameter, mpd, radius, mad, contraction) use the operations of these losses.
//
// Source: Zhang and Sugiyama 2024, section 2 and appendix B.
func Logic(q *logic.Quantity, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	return q.NodeOf(sentenceParts(), logic.Inputs{Codes: z, Values: y, Labels: groups})
}

// LogicLoss is the quantity of a sentence of first-order logic about a model's
// codes and the known factors of the images; see package logic.
//
// z are the codes. z.name are the columns that Codes assigns to the name of a factor, or to any other name. Without
// Codes, the columns are divided equally among the factors, if the number of factors divides the number of columns.
// Transformations act within labelled groups. They act on the columns with the name of a circular factor or of a factor
// of rotations in space, or on the columns that the sentence names. y.name are values of factors, scaled to [0, 1];
// circular factors are in turns.
type LogicLoss struct {
	Weight   Weight          `yaml:"weight" doc:"factor in the total"`
	Sentence *logic.Sentence `yaml:"sentence" doc:"sentence to make true, such as: forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)"`
	Codes    factor.SubCodes `yaml:"codes" doc:"names of code columns for the sentence, such as {shape: [0, 1], x: [2]}; none: equal shares for the factors"`
	On       On              `yaml:"on" doc:"codes (posterior mean mu) or sample (reparameterised z, as decoded); a sentence can also choose sample by the prefix: with z ~ q"`
	Samples  int             `yaml:"samples" doc:"samples of each posterior, for on: sample and with z ~ q: the loss is the mean over them; more than 1 need Gaussian posteriors"`

	Discriminator *Discriminator   `yaml:"discriminator" doc:"discriminator for independent[discriminator]; no other sentence uses it"`
	Network       *NetworkTraining `yaml:"network" doc:"training of functions in mlp (exists h: z -> y in mlp: ...); no other sentence uses it"`
}

// NewLogic returns the default settings, without a sentence.
func NewLogic() *LogicLoss {
	return &LogicLoss{Weight: Constant(1), On: OnCodes, Samples: 1,
		Discriminator: &Discriminator{Hidden: []int{256, 256}, Logits: 1, LR: 1e-3, Beta1: 0.9, Beta2: 0.999},
		Network:       NewNetworkTraining()}
}

// DecodeConfig reads the sentence alone, or all keys.
func (l *LogicLoss) DecodeConfig(n *config.Node) error {
	if n.IsScalar() {
		n.Wrap("sentence")
	}
	return n.Decode((*plainLogicLoss)(l))
}

func (l LogicLoss) EncodeConfig() (any, error) { return plainLogicLoss(l), nil }

func (l LogicLoss) ConfigForms() []any { return []any{plainLogicLoss(l), config.Short("sentence")} }

func (LogicLoss) ConfigType() string { return "a sentence, or a mapping" }

func (l *LogicLoss) Validate() error {
	if l.Sentence == nil {
		return config.Invalid("sentence",
			"want a sentence, such as: forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)")
	}
	switch {
	case l.Samples < 1:
		return config.Invalid("samples", "want a number of at least 1, got %d", l.Samples)
	case l.Samples > 1 && !l.sentence().Sampled():
		return config.Invalid("samples",
			"%d samples of a sentence about the codes; want on: sample, or a sentence that begins: with z ~ q", l.Samples)
	}
	return nil
}

// sentence returns the sentence, changed to use samples if the settings say so.
func (l *LogicLoss) sentence() logic.Sentence {
	if l.On == OnSample {
		return l.Sentence.OfSamples()
	}
	return *l.Sentence
}

func (l *LogicLoss) Weighting() Weight { return l.Weight }

// NeedsGroups implements [Grouped]: transformations between rows need groups with known transformations.
func (l *LogicLoss) NeedsGroups() bool { return l.Sentence != nil && l.Sentence.Moves() }

// Explain implements [Explained]: it returns the formula, the quantity, and the meaning of zero.
func (l *LogicLoss) Explain() string {
	s := l.sentence()
	return s.Formula() + "; " + s.Truth().String()
}

// Variants implements [Varied]; the defaults have no sentence.
func (*LogicLoss) Variants() []Loss {
	var variants []Loss
	for _, text := range []string{
		"forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[squared] z.shape(j)",
		"forall[mean] v in y.size: 0.5 * (forall[mean] i, j: y.size(i) = v and y.size(j) = v -> z.size(i) =[euclidean] z.size(j))",
		"(forall[mean] i, j: z(i) =[euclidean] z(j) -> y(i) =[euclidean] y(j)) and forall[mean] i: exists c in {0, 1}: z.angle(i) =[absolute] c",
		"exists h: z -> y in affine: forall[mean] i: h(z(i)) =[squared] y(i)",
		"exists m.size: y.size -> z.size: forall[mean] i: z.size(i) =[squared] m.size(y.size(i))",
		"exists h: z -> y in affine by least squares: forall i: h(z(i)) =[euclidean] y(i)",
		"independent(z.shape, z.size)",
		"forall[mean] i: exists[harmonic] c in {0, 1}: z.angle(i) =[absolute] c",
		"forall[mean] i, j: y.shape(i) = y.shape(j) -> z.shape(i) =[cosine] z.shape(j)",
	} {
		l := NewLogic()
		sentence, err := logic.Parse(text)
		if err != nil {
			continue // tested by TestVariants
		}
		l.Sentence = &sentence
		variants = append(variants, l)
	}
	return variants
}

func (l *LogicLoss) Add(in *Input) (*gorgonia.Node, error) {
	on := l.On
	if l.Sentence != nil && l.Sentence.Sampled() {
		on = OnSample
		if in.Sample == nil || in.Sample == in.Codes { // equal in a deterministic model
			return nil, missing("samples of posteriors for z ~ q")
		}
	}
	z, err := on.node(in)
	if err != nil {
		return nil, err
	}
	if l.Sentence == nil {
		return nil, l.Validate()
	}
	if l.NeedsGroups() && in.Transformations == nil {
		return nil, errNoMoves
	}
	factors, subCodes := l.sentence().Mentions()
	if factors && in.Labels == nil {
		return nil, errNoLabels
	}
	schema := l.schema(in, z.Shape()[1])
	q, err := logic.Compile(l.sentence(), schema)
	switch {
	case err == nil:
	case subCodes && len(schema.SubCodes) == 0 && in.Labels != nil:
		return nil, fmt.Errorf("%w, as %d code columns cannot be divided evenly among %d factors; want the columns in codes",
			err, schema.Codes, len(schema.Factors))
	case subCodes && len(schema.SubCodes) == 0:
		return nil, fmt.Errorf("%w; want codes with the columns of each name, or a supervision with labels", err)
	default:
		return nil, err
	}
	if !q.Differentiable() {
		return nil, errors.New("the sentence has no gradient with respect to the codes; want a differentiable premetric of codes, such as =[euclidean]")
	}
	batch, err := sentenceInputs(q, in)
	if err != nil {
		return nil, err
	}
	if !noteUnmatched(q, in) { // else it is the reason
		noteEmpty(q, in)
	}
	if l.Samples > 1 {
		return l.meanOverSamples(in, q, batch)
	}
	return q.NodeOf(l.parts(in), batch)
}

// meanOverSamples returns the mean quantity over several samples of the model.
func (l *LogicLoss) meanOverSamples(in *Input, q *logic.Quantity, batch logic.Inputs) (*gorgonia.Node, error) {
	if in.Codes == nil || in.LogVariance == nil || !in.Codes.Shape().Eq(in.LogVariance.Shape()) {
		return nil, missing("Gaussian posteriors of all columns for more than 1 sample")
	}
	var nodes []*gorgonia.Node
	var weights []float64
	for k := range l.Samples {
		if k > 0 {
			var err error
			if batch.Samples, err = in.posteriorSample(fmt.Sprintf("sample %d", k+1)); err != nil {
				return nil, err
			}
		}
		n, err := q.NodeOf(l.parts(in), batch)
		if err != nil {
			return nil, err
		}
		nodes, weights = append(nodes, n), append(weights, 1/float64(l.Samples))
	}
	return graph.WeightedSum(weights, nodes...)
}

// schema returns the names that the sentence may use.
func (l *LogicLoss) schema(in *Input, width int) logic.Schema {
	s := logic.Schema{Codes: width, SubCodes: l.Codes}
	var names []string
	if in.Transformations != nil {
		for _, t := range in.Transformations.inputs() {
			s.Turns = append(s.Turns, t.Turn)
		}
		names = factor.Names(in.Transformations.Factors)
	}
	if in.Labels != nil {
		s.Factors, s.Levels = factor.Names(in.Labels.Factors), logic.LevelNames(in.Labels.Factors)
		names = s.Factors
	}
	if k := len(names); k > 0 && len(l.Codes) == 0 && width%k == 0 {
		s.SubCodes = map[string][]int{}
		for i, b := range check.Shares(width, k) {
			s.SubCodes[names[i]] = b.Columns
		}
	}
	return s
}

// parts returns the operations for the parts of the sentence, for a program that trains.
func (l *LogicLoss) parts(in *Input) logic.Named {
	named, count := sentenceParts(), 0
	named.Independence = func(
		estimator string, blocks [][]int, z *gorgonia.Node, batch logic.Inputs,
	) (*gorgonia.Node, error) {
		switch {
		case estimator == "tc" && in.Population > 0:
			return BlockCorrelation(batch.Samples, batch.Codes, batch.LogVariances, blocks, TCWeighted, in.Population)
		case estimator != "discriminator":
			return plainIndependence(estimator, blocks, z, batch)
		}
		name := in.Name
		if count++; count > 1 {
			name = fmt.Sprintf("%s-%d", in.Name, count)
		}
		return l.adversarialRatio(in, name, blocks, z)
	}
	named.Network = func(f logic.Network, x *gorgonia.Node) (*gorgonia.Node, error) {
		switch {
		case in.Trainer == nil:
			return nil, needsTrainer("a network")
		case l.Samples > 1:
			return nil, errors.New("a function in mlp is trained on one sample; want samples: 1")
		}
		return in.Trainer.Network(TrainedNetwork{Name: in.Name + "/" + f.Name, Input: x, Layers: f.Layers, Out: f.Out,
			Training: l.Network})
	}
	return named
}

// adversarialRatio returns the density ratio of the blocks of z, estimated by a discriminator of their columns.
func (l *LogicLoss) adversarialRatio(in *Input, name string, blocks [][]int, z *gorgonia.Node) (*gorgonia.Node, error) {
	switch {
	case in.Trainer == nil:
		return nil, needsTrainer("a discriminator")
	case l.Samples > 1:
		return nil, errors.New("a discriminator judges one sample; want samples: 1 with independent[discriminator]")
	}
	codes, err := selectColumns(z, slices.Concat(blocks...))
	if err != nil {
		return nil, err
	}
	a := Adversary{Name: name, Codes: codes, Discriminator: l.Discriminator}
	for _, b := range blocks {
		a.Blocks = append(a.Blocks, len(b))
	}
	logits, err := in.Trainer.Discriminator(a)
	if err != nil {
		return nil, err
	}
	return DensityRatio(logits)
}

// plainLogicLoss is LogicLoss without its short form.
type plainLogicLoss LogicLoss

func (l *plainLogicLoss) Validate() error { return (*LogicLoss)(l).Validate() }

// sentenceParts returns the operations for parts of sentences that are losses under another name.
func sentenceParts() logic.Named {
	plain := func(d factor.Deviation, a factor.Aggregate, b factor.Block, z, groups *gorgonia.Node) (*gorgonia.Node, error) {
		return Modularity(d, a, Plain, z, groups, b)
	}
	return logic.Named{Modularity: plain, Contraction: sentenceContraction, Independence: plainIndependence}
}

func sentenceContraction(c logic.Contraction, z, y, groups *gorgonia.Node) (*gorgonia.Node, error) {
	kinds := map[string]DistanceKind{"discrete": DiscreteDistance, "circular": CircularDistance}
	s := ContractionSettings{Aggregate: c.Aggregate, Columns: c.Columns, Add: c.Premetric != "euclidean"}
	for _, k := range c.Factors {
		// absolute for other kinds
		s.Factors = append(s.Factors, FactorDistance{Factor: k, Kind: kinds[c.Premetric], Period: c.Period})
	}
	return Contraction(s, z, y, groups)
}

func sentenceInputs(q *logic.Quantity, in *Input) (batch logic.Inputs, err error) {
	batch.Codes = in.Codes
	if (q.NeedsLabels() || q.NeedsValues()) && in.Labels == nil {
		return batch, errNoLabels
	}
	switch {
	case q.NeedsValues(): // rows with unknown values are outside the domain of the quantifiers
		batch.Values, batch.Labels, err = in.Labels.Values(UnitsRange)
	case q.NeedsLabels():
		batch.Labels, err = in.Labels.Groups()
	}
	if err != nil {
		return batch, err
	}
	if batch.LogVariances = in.LogVariance; batch.LogVariances == nil && q.NeedsLogVariances() {
		return batch, missing("Gaussian posteriors for =[kl] and =[wasserstein]")
	}
	batch.Samples = in.Sample
	if q.NeedsMoves() {
		batch.Group = in.Group
		batch.Moves, err = in.Transformations.moves()
	}
	return batch, err
}

// noteUnmatched notes comparisons of a factor with a constant that is the value of no level.
func noteUnmatched(q *logic.Quantity, in *Input) (found bool) {
	if in.Labels == nil || in.Labels.Exact != nil { // exact values lie between the values of levels
		return false
	}
	levels := 0
	for _, f := range in.Labels.Factors {
		levels = max(levels, f.Size)
	}
	b := logic.Batch{Values: make([][]float64, levels), Labels: make([][]float64, levels)}
	for i := range levels {
		for _, f := range in.Labels.Factors {
			level := min(i, f.Size-1)
			b.Values[i] = append(b.Values[i], f.Scaled(level))
			b.Labels[i] = append(b.Labels[i], float64(level))
		}
	}
	for _, text := range q.Unmatched(b) {
		in.Note(fmt.Sprintf("the loss %s compares a factor with the value of no level: %s", in.Name, text))
		found = true
	}
	return found
}

// noteEmpty notes the parts of a sentence with conditions that no batch fulfils. It knows them after training.
func noteEmpty(q *logic.Quantity, in *Input) {
	if in.Trainer == nil {
		return
	}
	in.Trainer.Note(func() (notes []string) {
		for _, text := range q.Empty() {
			const note = "the loss %s: no batch fulfils the condition, so this is 0 for any codes: %s"
			notes = append(notes, fmt.Sprintf(note, in.Name, text))
		}
		return notes
	})
}

// turnInput is a transformation of groups with its input.
type turnInput struct {
	logic.Turn
	node func() (*gorgonia.Node, error)
}

// inputs lists the transformations of groups under the names that sentences use: circular factors, factors of
// rotations, and rotations without a factor (rotation0 and so on).
func (m *Transformations) inputs() []turnInput {
	var list []turnInput
	r := 0
	space := func(name string) {
		index := r
		node := func() (*gorgonia.Node, error) { return m.Rotation(index) }
		list = append(list, turnInput{logic.Turn{Name: name, Space: true}, node})
		r++
	}
	for k, f := range m.Factors {
		switch {
		case f.Rotations != nil && r < m.Rotations:
			space(f.Name)
		case f.Kind == factor.Circular:
			list = append(list, turnInput{logic.Turn{Name: f.Name}, func() (*gorgonia.Node, error) { return m.Angles(k) }})
		}
	}
	for r < m.Rotations {
		space(fmt.Sprintf("rotation%d", r))
	}
	return list
}

// moves returns the transformations from a group's first row to each row, in the order of inputs.
func (m *Transformations) moves() (*gorgonia.Node, error) {
	var nodes gorgonia.Nodes
	for _, t := range m.inputs() {
		n, err := t.node()
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, n)
	}
	return graph.ConcatColumns(nodes...)
}

// plainIndependence returns a sentence's dependence without a trainer: [HSIC] or the total correlation of posteriors.
func plainIndependence(estimator string, blocks [][]int, z *gorgonia.Node, batch logic.Inputs) (*gorgonia.Node, error) {
	switch estimator {
	case "hsic":
		return blocksHSIC(z, blocks)
	case "tc":
		return BlockCorrelation(batch.Samples, batch.Codes, batch.LogVariances, blocks, TCMinibatch, 0)
	}
	return nil, errors.New("the discriminator of independent[discriminator] trains with the model; want the loss logic in a config")
}

// blocksHSIC is the sum, over all blocks except the last, of [HSIC] of the block and all later blocks together.
func blocksHSIC(z *gorgonia.Node, blocks [][]int) (*gorgonia.Node, error) {
	var terms gorgonia.Nodes
	for k := range blocks[1:] {
		n, err := HSIC(z, z, nil, Kernel{Columns: blocks[k]}, Kernel{Columns: slices.Concat(blocks[k+1:]...)})
		if err != nil {
			return nil, err
		}
		terms = append(terms, n)
	}
	return total.Sum(terms...)
}
