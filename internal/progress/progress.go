// Package progress hands a function that shows progress down through a context.
package progress

import "context"

// Func receives what is under way and how far it is. total is 0 if it is not known.
type Func func(what string, done, total int64)

type key struct{}

// With returns a context whose work is reported to a function; nil: to that of ctx.
func With(ctx context.Context, f Func) context.Context {
	if f == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, f)
}

type sayKey struct{}

// WithSay returns a context whose work gives remarks, a line each, to a function.
func WithSay(ctx context.Context, say func(line string)) context.Context {
	return context.WithValue(ctx, sayKey{}, say)
}

// Say gives a remark to the function of a context, if it has one.
func Say(ctx context.Context, line string) {
	if say, ok := ctx.Value(sayKey{}).(func(string)); ok {
		say(line)
	}
}

// Report reports to the function of a context, if it has one.
func Report(ctx context.Context, what string, done, total int64) {
	if f, ok := ctx.Value(key{}).(Func); ok {
		f(what, done, total)
	}
}
