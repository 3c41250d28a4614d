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

// Report reports to the function of a context, if it has one.
func Report(ctx context.Context, what string, done, total int64) {
	if f, ok := ctx.Value(key{}).(Func); ok {
		f(what, done, total)
	}
}
