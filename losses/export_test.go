package losses

// For tests of operations that have no node function.
type (
	Activity = activity
	Action   = action
)

const (
	Identity, Circle, AxisAngle = identity, circle, axisAngle
	Plane, Space                = plane, space
)

var (
	MaskOf             = maskOf
	TransportBy        = transportBy
	MinibatchTC        = minibatchTC
	CovariancePenalty  = covariancePenalty
	CorrelationPenalty = correlationPenalty
)

// Asked returns what losses asked for, nil if they can ask for nothing.
func (in *Input) Asked() *Requests {
	r, _ := in.Trainer.(*Requests)
	return r
}

// ComposeInput is Compose of the parts of an input.
func ComposeInput(in *Input, all []Choice) (*Objective, error) {
	return Compose(&in.Outputs, in.Batch, in.Trainer, all)
}
