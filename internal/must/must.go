// Package must has steps of tests, which end a test if they fail.
package must

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
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
