// Package config reads settings from YAML strictly and says where a mistake is.
//
// A config is decoded into plain structs that already hold the defaults:
//
//	root, err := config.Parse("square.yaml", source)
//	err = root.Override("train.epochs=3", "dataset.square.size=32")
//	settings := Defaults()
//	err = root.Decode(&settings)
//
// Nothing is converted silently and nothing is ignored: an unknown or repeated
// key, 1.5 for an integer, null where a value is needed, a list of the wrong
// length are errors that print as
//
//	square.yaml:4:3: train.epochs: want an integer, got 1.5
//
// All mistakes of a file are reported together. Scalars follow the core schema
// of YAML 1.2: only true and false are booleans, and 1e-3 is a number. Anchors,
// aliases, merge keys, tags and several documents in one file are refused.
//
// Struct fields carry the tags
//
//	Epochs int `yaml:"epochs" doc:"passes over the data"`
//
// A field without a yaml tag has its name in lower case as key; `yaml:"-"` hides
// it; an embedded struct without a tag lends its keys to the outer one. After a
// struct is decoded its Validate method, if any, checks it: innermost structs
// first, those that the file does not mention too. It says which key is wrong
// with [Invalid].
//
// A type with a YAML form of its own, such as a list in place of a mapping, has three methods:
// DecodeConfig ([Decoder], on the pointer) reads it from a [Node], EncodeConfig ([Encoder]) writes the form that
// DecodeConfig reads, and ConfigType ([Typer]) says in a few words what it takes. A type that stands for one entry of a
// registry implements them with [DecodeChoice], [EncodeChoice] and [ChoiceType].
//
// A list or mapping in the file replaces the default one as a whole. A new list
// element, mapping element or pointer starts from its SetDefaults method, if any.
package config

import (
	"fmt"
	"reflect"
)

// Decoder is implemented (on the pointer) by types that decode themselves. DecodeConfig looks at the node,
// decodes it or its parts with [Node.Decode] into types without this method, and reports what
// it cannot take with [Node.Errorf], which has the place. Defaults stand in the value before the call. A type
// that embeds a Decoder inherits the method, and so decodes as the embedded type does.
type Decoder interface {
	DecodeConfig(n *Node) error
}

// Encoder is implemented by types that encode themselves: EncodeConfig returns
// something that [Encode] understands, such as a yaml.MapSlice, whose order is
// kept. nil leaves the key out.
type Encoder interface {
	EncodeConfig() (any, error)
}

// Validator checks settings after they are decoded.
type Validator interface {
	Validate() error
}

// Defaulter fills in the defaults of a value that decoding creates: an element of
// a list or of a mapping, or what a nil pointer is to point to.
type Defaulter interface {
	SetDefaults()
}

// Typer is implemented by types that decode themselves to say in [Options] what
// they take, in a few words.
type Typer interface {
	ConfigType() string
}

// Decode fills dst, a pointer to settings that hold the defaults, from the node.
// It returns an [*Error], or [Errors] if there are several.
func (n *Node) Decode(dst any) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return n.Errorf("cannot decode into a %T; want a pointer", dst)
	}
	var d decoder
	if n.kind == nullNode && n.root() && isStruct(v.Elem()) {
		n = &Node{kind: mapNode, at: n.at} // an empty file: all defaults
	}
	d.value(n, v.Elem())
	if n.root() {
		d.errs.hint(n, v.Elem())
	}
	return d.errs.err()
}

// Load is Parse, Override and Decode in one.
func Load(file string, src []byte, dst any, assignments ...string) error {
	n, err := Parse(file, src)
	if err != nil {
		return err
	}
	if err := n.Override(assignments...); err != nil {
		return err
	}
	return n.Decode(dst)
}

// Invalid is for Validate methods: an error about one key of the struct, located
// where the config gives that key. The key may be a path ("latent.0.dim").
func Invalid(key, format string, args ...any) error {
	return &invalid{key, fmt.Errorf(format, args...)}
}

type invalid struct {
	key string
	err error
}

func (e *invalid) Error() string { return e.key + ": " + e.err.Error() }
func (e *invalid) Unwrap() error { return e.err }
