package nn

// Names that only the tests need.
var (
	ParseInit    = parseInit
	Uniform      = uniform
	NewSmallConv = newSmallConv
	NewResNet18  = newResNet18
	NewResNetAE  = newResNetAE
	NewBurgess   = newBurgess
)
