// Package progress passes a function that shows progress through a context.
package progress

import "context"

// Func receives the name of the work and its progress. total is 0 if unknown.
type Func func(what string, done, total int64)

type key struct{}

// With returns a context that reports the progress of work to f, or to the function of ctx if f is nil.
func With(ctx context.Context, f Func) context.Context {
	if f == nil {
		return ctx
	}
	return context.WithValue(ctx, key{}, f)
}

type sayKey struct{}

// WithSay returns a context that passes remarks, a line each, to say.
func WithSay(ctx context.Context, say func(line string)) context.Context {
	return context.WithValue(ctx, sayKey{}, say)
}

// Say passes a remark to the function of a context, if it has one.
func Say(ctx context.Context, line string) {
	if say, ok := ctx.Value(sayKey{}).(func(string)); ok {
		say(line)
	}
}

// Report passes progress to the function of a context, if it has one.
func Report(ctx context.Context, what string, done, total int64) {
	if f, ok := ctx.Value(key{}).(Func); ok {
		f(what, done, total)
	}
}
