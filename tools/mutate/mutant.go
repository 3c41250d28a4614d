package main

import (
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
)

// mutant is a change of one token.
type mutant struct {
	pkg      string // import path
	file     string
	line     int
	column   int
	offset   int // byte offset of the token
	old, new string
}

// String describes the change, for example losses/kl.go:7:12: + -> -.
func (m mutant) String() string {
	return fmt.Sprintf("%s:%d:%d: %s -> %s", relative(m.file), m.line, m.column, m.old, m.new)
}

// apply returns the text of the file with the change.
func (m mutant) apply(text []byte) []byte {
	return append(append(append([]byte{}, text[:m.offset]...), m.new...), text[m.offset+len(m.old):]...)
}

// swaps maps tokens to their replacements. For literals, see replacement.
var swaps = map[string]string{
	"==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "&&": "||", "||": "&&",
	"+": "-", "-": "+", "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*=", "++": "--", "--": "++", "<<": ">>", ">>": "<<",
	"break": "continue", "continue": "break", "true": "false", "false": "true", "min": "max", "max": "min",
}

var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// mutants lists the changes of a package's files.
func mutants(p *goPackage) (list []mutant, err error) {
	for _, name := range p.GoFiles {
		file := filepath.Join(p.Dir, name)
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if generated.Match(text) {
			continue
		}
		found, err := mutantsOf(file, text)
		if err != nil {
			return nil, err
		}
		for i := range found {
			found[i].pkg = p.ImportPath
		}
		list = append(list, found...)
	}
	return list, nil
}

// mutantsOf lists the changes of a file, without its imports.
func mutantsOf(file string, text []byte) (list []mutant, err error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	begin := set.Position(parsed.Name.End()).Offset
	for _, i := range parsed.Imports {
		begin = set.Position(i.End()).Offset
	}
	f := set.AddFile(file, -1, len(text))
	var s scanner.Scanner
	s.Init(f, text, nil, 0)
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return list, nil
		}
		at := f.Position(pos)
		old := literal
		if old == "" || tok.IsOperator() {
			old = tok.String()
		}
		changed, ok := replacement(tok, old)
		if ok && at.Offset > begin {
			list = append(list, mutant{file: file, line: at.Line, column: at.Column, offset: at.Offset, old: old, new: changed})
		}
	}
}

// replacement returns the replacement of a token, or false if there is none.
func replacement(tok token.Token, old string) (string, bool) {
	if tok == token.INT {
		n, err := strconv.ParseInt(old, 10, 64)
		return strconv.FormatInt(n+1, 10), err == nil
	}
	if tok == token.FLOAT {
		v, err := strconv.ParseFloat(old, 64)
		return strconv.FormatFloat(2*v+1, 'g', -1, 64), err == nil
	}
	changed, ok := swaps[old]
	return changed, ok && tok != token.STRING && tok != token.CHAR
}
