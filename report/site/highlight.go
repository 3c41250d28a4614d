package site

import (
	"go/scanner"
	"go/token"
	"html/template"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	yaml "github.com/goccy/go-yaml/token"
)

// The classes of highlighted code.
const (
	keyClass     = "key"
	textClass    = "text"
	numberClass  = "number"
	commentClass = "comment"
)

// piece is code with the class that it is shown in, perhaps none.
type piece struct{ code, class string }

// highlight returns code as HTML, with comments, texts, numbers and keys of known languages in classes.
func highlight(language, code string) template.HTML {
	var pieces []piece
	switch language {
	case "go":
		pieces = goPieces(code)
	case "yaml":
		pieces = yamlPieces(code)
	case "sh", "python", "toml":
		pieces = hashPieces(code)
	}
	var all strings.Builder
	for _, p := range pieces {
		all.WriteString(p.code)
	}
	if all.String() != code { // of code that is not whole
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

// goPieces takes Go apart, also fragments.
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
			continue // operators, and semicolons that are not written
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

// yamlPieces takes YAML apart.
func yamlPieces(code string) (pieces []piece) {
	for _, t := range lexer.Tokenize(code) {
		class := ""
		switch {
		case t.Type == yaml.CommentType:
			class = commentClass
		case t.Next != nil && t.Next.Type == yaml.MappingValueType:
			class = keyClass
		case t.Type == yaml.SingleQuoteType, t.Type == yaml.DoubleQuoteType:
			class = textClass
		case t.Type == yaml.IntegerType, t.Type == yaml.FloatType, t.Type == yaml.BoolType, t.Type == yaml.NullType:
			class = numberClass
		}
		before := t.Origin[:len(t.Origin)-len(strings.TrimLeft(t.Origin, " \n"))]
		rest := t.Origin[len(before):]
		pieces = append(pieces, piece{code: before}, piece{rest, class})
	}
	return pieces
}

// hashToken finds texts, which may hold a #, and comments.
var hashToken = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|(?:^|\s)#.*`)

// hashPieces takes code apart whose comments begin with #.
func hashPieces(code string) (pieces []piece) {
	end := 0
	for _, m := range hashToken.FindAllStringIndex(code, -1) {
		class, start := textClass, m[0]
		if c := code[m[0]]; c != '"' && c != '\'' {
			class = commentClass
			start += strings.IndexByte(code[m[0]:m[1]], '#')
		}
		pieces = append(pieces, piece{code: code[end:start]}, piece{code[start:m[1]], class})
		end = m[1]
	}
	return append(pieces, piece{code: code[end:]})
}
