package losses

// Asked returns what losses asked for, nil if they can ask for nothing.
func (in *Input) Asked() *Requests {
	r, _ := in.Trainer.(*Requests)
	return r
}

// ComposeInput is Compose of the parts of an input.
func ComposeInput(in *Input, all []Choice) (*Objective, error) {
	return Compose(&in.Outputs, in.Batch, in.Trainer, all)
}
