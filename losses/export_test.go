package losses

// For tests of operations without a node function of their own.
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
