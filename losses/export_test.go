package losses

// Asked returns the requests of losses, or nil if the trainer takes none.
func (in *Input) Asked() *Requests {
	r, _ := in.Trainer.(*Requests)
	return r
}

// ComposeInput calls Compose with the parts of an input.
func ComposeInput(in *Input, all []Choice) (*Objective, error) {
	return Compose(&in.Outputs, in.Batch, in.Trainer, all)
}

// Noted returns the sentences that losses print so far.
func (in *Input) Noted() (sentences []string) {
	for _, list := range in.Asked().Notes {
		sentences = append(sentences, list()...)
	}
	return sentences
}
