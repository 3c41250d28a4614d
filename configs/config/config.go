// Package config reads settings strictly from YAML and reports the position of every mistake.
//
// A config decodes into plain structs that already hold the defaults:
//
//	root, err := config.Parse("square.yaml", source)
//	err = root.Override("train.epochs=3", "dataset.square.size=32")
//	settings := Defaults()
//	err = root.Decode(&settings)
//
// Decoding converts nothing silently and ignores nothing. An unknown or repeated key, 1.5 for an integer, null for a
// value, or a list of the wrong length is an error. Errors print as
//
//	square.yaml:4:3: train.epochs: want an integer, got 1.5
//
// Decoding reports all mistakes of a file together. Scalars follow the core schema of YAML 1.2: only true and false
// are booleans, and 1e-3 is a number. Anchors, aliases, merge keys, tags and several documents in one file are
// errors.
//
// Struct fields carry the tags
//
//	Epochs int `yaml:"epochs" doc:"passes over the data"`
//
// A field without a yaml tag has its name in lower case as key. `yaml:"-"` hides a field. An embedded struct without
// a tag adds its keys to the outer struct. After decoding a struct, its Validate method, if any, checks it, innermost
// structs first. This includes structs that the file does not mention. Validate names the wrong key with [Invalid].
//
// A type with a special YAML form, such as a list for a mapping, has four methods. DecodeConfig ([Decoder], on the
// pointer) reads the type from a [Node]. EncodeConfig ([Encoder]) writes the form that DecodeConfig reads. ConfigForms
// ([Former]) lists the accepted forms, and ConfigType ([Typer]) names them in a few words. A type that stands for one
// entry of a registry implements the first three with [DecodeChoice], [EncodeChoice] and [ChoicesOf].
//
// A list or mapping in the file replaces the default completely. New list elements, mapping elements and pointers start
// from their SetDefaults method, if they have one.
package config

import (
	"fmt"
	"reflect"
)

// Decoder is implemented (on the pointer) by types that decode themselves. DecodeConfig inspects the node, and decodes
// it or its parts with [Node.Decode] into types without this method. It reports invalid values with [Node.Errorf],
// which adds the position. Before the call, the value holds the defaults. A type that embeds a Decoder inherits the
// method, and therefore decodes like the embedded type.
type Decoder interface {
	DecodeConfig(n *Node) error
}

// Encoder is implemented by types that encode themselves. EncodeConfig returns a value that [Encode] can write, such as
// a yaml.MapSlice, and Encode keeps its order. nil omits the key.
type Encoder interface {
	EncodeConfig() (any, error)
}

// Validator checks settings after decoding.
type Validator interface {
	Validate() error
}

// Defaulter sets the defaults of a value that decoding creates: an element of a list or mapping, or the target of a
// nil pointer.
type Defaulter interface {
	SetDefaults()
}

// Typer is implemented by types that decode themselves. ConfigType names the accepted values, for [Options].
type Typer interface {
	ConfigType() string
}

// Decode fills dst, a pointer to settings with the defaults. It returns an [*Error], or [Errors] for several mistakes.
func (n *Node) Decode(dst any) error {
	v := reflect.ValueOf(dst)
	if v.Kind() != reflect.Pointer || v.IsNil() {
		return n.Errorf("cannot decode into a %T; want a pointer", dst)
	}
	var d decoder
	if n.kind == nullNode && n.root() && isStruct(v.Elem()) {
		n = &Node{kind: mapNode, pos: n.pos} // an empty file: all defaults
	}
	d.value(n, v.Elem())
	if n.root() {
		d.errs.hint(n, v.Elem())
	}
	return d.errs.asError()
}

// Load runs Parse, Override and Decode.
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

// Invalid returns an error about one key of a struct, for Validate methods. The error gets the position of the key in
// the config. The key may be a path ("latent.0.dim").
func Invalid(key, format string, args ...any) error {
	return &invalid{key, fmt.Errorf(format, args...)}
}

type invalid struct {
	key string
	err error
}

func (e *invalid) Error() string { return e.key + ": " + e.err.Error() }
func (e *invalid) Unwrap() error { return e.err }
