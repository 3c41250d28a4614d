// Package notes collects the sentences that a run of training prints.
package notes

import (
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/datasets/supervision"
)

// List returns the sentences of several functions.
func List(functions []func() []string) (sentences []string) {
	for _, list := range functions {
		sentences = append(sentences, list()...)
	}
	return sentences
}

// Program has the names of a program's losses, and the sentences that its batches show.
type Program struct{ Losses, Sentences []string }

// Common returns the sentences that no program contradicts: one with the loss that the sentence names, but without the
// sentence.
func Common(programs []Program) (sentences []string) {
	for _, p := range programs {
		for _, s := range p.Sentences {
			contradicts := func(other Program) bool {
				names := func(loss string) bool { return strings.HasPrefix(s, "the loss "+loss+":") }
				return slices.ContainsFunc(other.Losses, names) && !slices.Contains(other.Sentences, s)
			}
			if !slices.ContainsFunc(programs, contradicts) {
				sentences = append(sentences, s)
			}
		}
	}
	return sentences
}

// Unreached counts the images of an epoch in the passes that begin after its last step; 0 steps stand for all.
func Unreached(split *supervision.Split, batch, epochSteps int) (images int) {
	if epochSteps == 0 {
		return 0
	}
	steps := 0
	for _, k := range split.Kinds() {
		if steps >= epochSteps {
			images += k.Count * k.M
		}
		groups := min(max(1, batch/k.M), k.Count)
		steps += (k.Count + groups - 1) / groups
	}
	if steps >= epochSteps {
		images += len(split.Unlabelled)
	}
	return images
}
