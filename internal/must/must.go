// Package must has steps of tests, which end a test if they fail, and checks, which continue it.
package must

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/npy"
)

// OK ends a test if there is an error.
func OK(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Get returns a function that returns the value of a call. The function ends the test if the call returned an error:
//
//	run := must.Get(train.Open(dir))(t)
func Get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		OK(t, err)
		return v
	}
}

// Error checks that an error's text contains want. An empty want demands no error. The values of names say which case it
// is. Error continues the test.
func Error(t testing.TB, err error, want string, names ...any) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%serror %v; want %q", name(names), err, want)
	}
}

// ErrorOf returns a function that checks the error of a call with [Error]:
//
//	must.ErrorOf(train.Open(dir))(t, "no such folder")
func ErrorOf[T any](_ T, err error) func(t testing.TB, want string, names ...any) {
	return func(t testing.TB, want string, names ...any) {
		t.Helper()
		Error(t, err, want, names...)
	}
}

// Fails returns a function that checks that a call returned no value, and an error with all texts that a test wants:
//
//	must.Fails(layer.Dense(x, w, b, graph.ReLU))(t, []string{"dense", "(2, 2)"})
func Fails[T comparable](v T, err error) func(t testing.TB, want []string, names ...any) {
	return func(t testing.TB, want []string, names ...any) {
		t.Helper()
		var none T
		Equal(t, v, none, names...)
		for _, w := range want {
			Error(t, err, w, names...)
		}
	}
}

// Equal compares a value with the value that a test wants. The values of names say which one it is. Equal continues the
// test.
func Equal[T comparable](t testing.TB, got, want T, names ...any) {
	t.Helper()
	if got != want {
		t.Errorf("%s%+v; want %+v", name(names), got, want)
	}
}

// EqualSlices is [Equal] for slices. A nil slice equals an empty one.
func EqualSlices[S ~[]T, T comparable](t testing.TB, got, want S, names ...any) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s%+v; want %+v", name(names), got, want)
	}
}

func name(values []any) string {
	if len(values) == 0 {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintln(values...), "\n") + ": "
}

// NoFile returns the system's text for a file that does not exist, such as "no such file or directory".
func NoFile(t testing.TB) string {
	t.Helper()
	_, err := os.ReadFile(filepath.Join(t.TempDir(), "none"))
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err.Error()
	}
	t.Fatal(err)
	return ""
}

// MappedDir returns a temporary folder for files that stay mapped into memory. On Windows such files cannot be removed,
// so the folder may stay.
func MappedDir(t testing.TB) string {
	t.Helper()
	dir := Get(os.MkdirTemp("", "unravel"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Write writes a file, which may replace another one, with the folders above it. It returns the path.
func Write[T string | []byte](t testing.TB, path string, content T) string {
	t.Helper()
	OK(t, os.MkdirAll(filepath.Dir(path), 0o777))
	OK(t, os.WriteFile(path, []byte(content), 0o666))
	return path
}

// WriteAll writes texts into a folder, by the names of their files.
func WriteAll(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		Write(t, filepath.Join(dir, name), text)
	}
}

// WriteNPY writes an array as a .npy file, and returns the path.
func WriteNPY[T npy.Element](t testing.TB, path string, shape []int, data []T) string {
	t.Helper()
	var b bytes.Buffer
	OK(t, npy.Write(&b, shape, data))
	return Write(t, path, b.Bytes())
}

// Read returns the content of a file.
func Read(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	OK(t, err)
	return content
}

// ReadJSON reads a file of JSON, such as values of another implementation.
func ReadJSON(t testing.TB, path string, into any) {
	t.Helper()
	if err := json.Unmarshal(Read(t, path), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}
