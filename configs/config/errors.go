package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Error is one mistake in a config. It prints as
//
//	square.yaml:4:3: train.epochs: want an integer, got 1.5
//
// Programs find it with errors.As, also inside [Errors] and in wrapped errors. File, Line and Column give the position
// of the mistake, and the message suggests a correct value.
type Error struct {
	File   string // name of the file, or `argument "key=value"` for an override
	Line   int    // line in the file, from 1; 0 in overrides
	Column int    // column in the line, from 1, in characters; 0 in overrides
	Key    string // path of the key, such as losses.2.lsbd.weight; empty at the top
	Err    error  // message without the position: the mistake, and a correct value
}

// Error returns the position, the key and the message.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.where())
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + ": ")
	}
	b.WriteString(e.Err.Error())
	return b.String()
}

// Unwrap returns the message without the position.
func (e *Error) Unwrap() error { return e.Err }

func (e *Error) where() string { return position{e.File, e.Line, e.Column}.String() }

// Errors holds two or more mistakes in one config, in the order of the file. Mistakes in overrides come last. [Load]
// returns them. Loop over the elements to show each mistake at its position.
type Errors []*Error

const (
	maxShown = 10   // printed mistakes
	maxKept  = 1000 // collected mistakes
)

// Error returns the first mistakes, one per line, and the number of further mistakes.
func (e Errors) Error() string {
	var lines []string
	for _, one := range e[:min(len(e), maxShown)] {
		lines = append(lines, one.Error())
	}
	if n := len(e) - maxShown; n > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the mistakes.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

func (e Errors) asError() error {
	switch len(e) {
	case 0:
		return nil
	case 1:
		return e[0]
	}
	slices.SortStableFunc(e, func(a, b *Error) int {
		if a.Line > 0 && b.Line > 0 && a.File != b.File {
			return cmp.Compare(a.File, b.File)
		}
		return cmp.Or(cmp.Compare(btoi(a.Line == 0), btoi(b.Line == 0)), // arguments last
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return e
}

// add splits an error about n into its mistakes. Mistakes without a position get the position of n.
func (e *Errors) add(n *Node, err error) {
	var one *invalid
	switch x := err.(type) {
	case nil:
	case *Error:
		e.append(x)
	case Errors:
		for _, one := range x {
			e.append(one)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range x.Unwrap() {
			e.add(n, inner)
		}
	case *invalid:
		e.append(n.invalid(x.key, x.err))
	default:
		if errors.As(err, &one) {
			e.append(n.invalid(one.key, err))
			return
		}
		e.append(n.fail(err))
	}
}

// append skips a mistake that is in the list: Validate of an embedded struct runs twice.
func (e *Errors) append(one *Error) {
	if len(*e) == maxKept {
		return
	}
	for _, old := range *e {
		if old.Line == one.Line && old.Column == one.Column && old.File == one.File &&
			old.Key == one.Key && old.Err.Error() == one.Err.Error() {
			return
		}
	}
	*e = append(*e, one)
}

// AsError returns errors of [Invalid] or of a Validate method as an *Error, or as Errors for several mistakes, with
// keys but without positions. It returns an error unchanged if the error is or wraps one of these types.
func AsError(err error) error {
	var one *Error
	var several Errors
	if err == nil || errors.As(err, &one) || errors.As(err, &several) {
		return err
	}
	several.add(&Node{kind: absentNode}, err)
	return several.asError()
}
