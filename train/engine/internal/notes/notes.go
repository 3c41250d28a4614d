// Package notes collects the sentences that a run of training prints.
package notes

import (
	"slices"

	"github.com/unravel-ml/unravel/datasets/supervision"
)

// List returns the sentences of several functions.
func List(functions []func() []string) (sentences []string) {
	for _, list := range functions {
		sentences = append(sentences, list()...)
	}
	return sentences
}

// Common returns the sentences that all lists have.
func Common(lists [][]string) (sentences []string) {
	if len(lists) == 0 {
		return nil
	}
	for _, s := range lists[0] {
		if !slices.ContainsFunc(lists[1:], func(list []string) bool { return !slices.Contains(list, s) }) {
			sentences = append(sentences, s)
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
