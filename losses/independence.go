package losses

import (
	"errors"
	"fmt"
	"slices"

	"gorgonia.org/gorgonia"

	"github.com/unravel-ml/unravel/graph"
	"github.com/unravel-ml/unravel/losses/logic"
)

// plainIndependence returns the dependence in a sentence without a trainer: [HSIC] or the total correlation of
// posteriors.
func plainIndependence(by logic.Dependence, blocks [][]int, z *gorgonia.Node, batch logic.Inputs) (*gorgonia.Node, error) {
	switch by {
	case logic.HSIC:
		return blocksHSIC(z, blocks)
	case logic.TotalCorrelation:
		return BlockCorrelation(batch.Samples, batch.Codes, batch.LogVariances, blocks, TCMinibatch, 0)
	}
	return nil, errors.New("independent[discriminator] is trained along; want the loss logic of a config")
}

// blocksHSIC is the sum, over all blocks except the last, of [HSIC] of the block and all later blocks together.
func blocksHSIC(z *gorgonia.Node, blocks [][]int) (*gorgonia.Node, error) {
	var all []*gorgonia.Node
	var ones []float64
	for k := range blocks[1:] {
		n, err := HSIC(z, z, nil, Kernel{Columns: blocks[k]}, Kernel{Columns: slices.Concat(blocks[k+1:]...)})
		if err != nil {
			return nil, err
		}
		all, ones = append(all, n), append(ones, 1)
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return graph.WeightedSum(ones, all...)
}

// parts are the operations of the sentence's parts in a program that trains.
func (l *LogicLoss) parts(in *Input) logic.Named {
	named, count := sentenceParts(), 0
	named.Independence = func(by logic.Dependence, blocks [][]int, z *gorgonia.Node, batch logic.Inputs) (*gorgonia.Node, error) {
		switch {
		case by == logic.TotalCorrelation && in.Population > 0:
			return BlockCorrelation(batch.Samples, batch.Codes, batch.LogVariances, blocks, TCWeighted, in.Population)
		case by != logic.ByDiscriminator:
			return plainIndependence(by, blocks, z, batch)
		}
		name := in.Name
		if count++; count > 1 {
			name = fmt.Sprintf("%s-%d", in.Name, count)
		}
		return l.discriminated(in, name, blocks, z)
	}
	named.Network = func(f logic.Network, x *gorgonia.Node) (*gorgonia.Node, error) {
		switch {
		case in.Trainer == nil:
			return nil, missing("a place for a network")
		case l.Samples > 1:
			return nil, errors.New("a function in mlp is trained on one sample; want samples: 1")
		}
		return in.Trainer.Network(TrainedNetwork{Name: in.Name + "/" + f.Name, Input: x, Layers: f.Layers, Out: f.Out, Training: l.Network})
	}
	return named
}

// discriminated is the density ratio of the blocks of z by a discriminator of their columns.
func (l *LogicLoss) discriminated(in *Input, name string, blocks [][]int, z *gorgonia.Node) (*gorgonia.Node, error) {
	switch {
	case in.Trainer == nil:
		return nil, missing("a place for a discriminator")
	case l.Samples > 1:
		return nil, errors.New("a discriminator judges one sample; want samples: 1 with independent[discriminator]")
	}
	var columns gorgonia.Nodes
	a := Adversary{Name: name, Discriminator: l.Discriminator}
	for _, b := range blocks {
		for _, c := range b {
			n, err := graph.SliceColumns(z, c, c+1)
			if err != nil {
				return nil, err
			}
			columns = append(columns, n)
		}
		a.Blocks = append(a.Blocks, len(b))
	}
	var err error
	if a.Codes, err = graph.ConcatColumns(columns...); err != nil {
		return nil, err
	}
	logits, err := in.Trainer.Discriminator(a)
	if err != nil {
		return nil, err
	}
	return DensityRatio(logits)
}
