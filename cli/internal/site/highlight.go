package site

import (
	"go/scanner"
	"go/token"
	"html/template"
	"regexp"
	"strings"
)

// The classes of highlighted code.
const (
	keyClass     = "key"
	textClass    = "text"
	numberClass  = "number"
	commentClass = "comment"
)

// piece is code with a class, which may be empty.
type piece struct{ code, class string }

// highlight returns code as HTML, with classes for comments, texts, numbers and keys of known languages.
func highlight(language, code string) template.HTML {
	var pieces []piece
	switch language {
	case "go":
		pieces = goPieces(code)
	case "yaml":
		pieces = hashPieces(code, true)
	case "sh", "python":
		pieces = hashPieces(code, false)
	default:
		pieces = []piece{{code: code}}
	}
	var b strings.Builder
	for _, p := range pieces {
		text := template.HTMLEscapeString(p.code)
		if p.class != "" {
			text = `<span class="` + p.class + `">` + text + `</span>`
		}
		b.WriteString(text)
	}
	return template.HTML(b.String())
}

// goPieces splits Go code, complete or not, into pieces.
func goPieces(code string) (pieces []piece) {
	files := token.NewFileSet()
	file := files.AddFile("", files.Base(), len(code))
	var s scanner.Scanner
	s.Init(file, []byte(code), nil, scanner.ScanComments)
	end := 0
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			break
		}
		if literal == "" || literal == "\n" && tok == token.SEMICOLON {
			continue // operators, and inserted semicolons
		}
		start := file.Offset(pos)
		class := ""
		switch {
		case tok == token.COMMENT:
			class = commentClass
		case tok == token.STRING, tok == token.CHAR:
			class = textClass
		case tok == token.INT, tok == token.FLOAT, tok == token.IMAG:
			class = numberClass
		case tok.IsKeyword():
			class = keyClass
		}
		if start < end || start+len(literal) > len(code) || class == "" {
			continue
		}
		pieces = append(pieces, piece{code: code[end:start]}, piece{code[start : start+len(literal)], class})
		end = start + len(literal)
	}
	return append(pieces, piece{code: code[end:]})
}

// hashTokens find texts, which may hold a #, comments and, in YAML, keys, in groups 1 to 3.
var hashTokens = map[bool]*regexp.Regexp{
	false: regexp.MustCompile(`(?m)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|(?:^|\s)(#.*)`),
	true:  regexp.MustCompile(`(?m)("(?:[^"\\\n]|\\.)*"|'[^'\n]*')|(?:^|\s)(#.*)|([\w./$*-]+):(?:\s|$)`),
}

// hashPieces splits code with # comments into pieces.
func hashPieces(code string, keys bool) (pieces []piece) {
	end := 0
	for _, m := range hashTokens[keys].FindAllStringSubmatchIndex(code, -1) {
		for group, class := range []string{textClass, commentClass, keyClass}[:len(m)/2-1] {
			start, stop := m[2*group+2], m[2*group+3]
			if start < 0 {
				continue
			}
			pieces = append(pieces, piece{code: code[end:start]}, piece{code[start:stop], class})
			end = stop
		}
	}
	return append(pieces, piece{code: code[end:]})
}
