package nn

// Unexported functions for the tests.
var (
	ParseInit    = parseInit
	Uniform      = uniform
	NewSmallConv = newSmallConv
	NewResNet18  = newResNet18
	NewResNetAE  = newResNetAE
	NewBurgess   = newBurgess
)
