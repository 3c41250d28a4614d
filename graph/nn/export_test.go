package nn

// Initialisers by name or limit, for the tests.
var (
	ParseInit = parseInit
	Uniform   = uniform
)
