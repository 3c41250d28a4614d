package cli

import "github.com/alecthomas/kong"

// NewParser returns a parser of command lines.
func NewParser(options ...kong.Option) (*kong.Kong, error) {
	return newParser(&commands{}, options...)
}

// Arranged returns a command line as Run gives it to the parser.
func Arranged(p *kong.Kong, args []string) []string { return flagsLast(p.Model, asCommand(args)) }
