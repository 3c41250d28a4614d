package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/tools/internal/linked"
)

// A wheel has its system's tag, an executable program, the licence, and hashes of all files.
func TestWheel(t *testing.T) {
	for _, system := range linked.Systems {
		name, content, err := wheel("../..", system, "", []byte("a program"))
		must.OK(t, err)
		if _, again, _ := wheel("../..", system, "", []byte("a program")); !bytes.Equal(content, again) {
			t.Errorf("%s: other bytes the second time", system)
		}
		if !strings.HasPrefix(name, "unravel-0.") || !strings.HasSuffix(name, "-py3-none-"+tags[system]+".whl") {
			t.Errorf("%s: %s", system, name)
		}
		if name, _, err := wheel("../..", system, "7.8rc9", nil); err != nil || !strings.HasPrefix(name, "unravel-7.8rc9-py3-") {
			t.Errorf("another version: %s, %v", name, err)
		}
		checkWheel(t, content, map[bool]string{true: "unravel/bin/unravel.exe",
			false: "unravel/bin/unravel"}[strings.HasPrefix(system, "windows/")])
	}
}

func checkWheel(t *testing.T, content []byte, program string) {
	t.Helper()
	z := must.Get(zip.NewReader(bytes.NewReader(content), int64(len(content))))(t)
	lines, record, have := map[string]bool{}, "", map[string]bool{}
	for _, f := range z.File {
		r := must.Get(f.Open())(t)
		text := must.Get(io.ReadAll(r))(t)
		_, base, _ := strings.Cut(f.Name, ".dist-info/")
		have[base], have[f.Name] = true, true
		if (f.Mode()&0o111 != 0) != (f.Name == program) {
			t.Errorf("%s has mode %v", f.Name, f.Mode())
		}
		if base == "RECORD" {
			record = string(text)
			lines[f.Name+",,"] = true
			continue
		}
		sum := sha256.Sum256(text)
		lines[fmt.Sprintf("%s,sha256=%s,%d", f.Name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))] = true
	}
	for _, want := range []string{program, "unravel/__init__.py", "unravel/py.typed", "LICENSE", "NOTICE", "METADATA", "WHEEL", "RECORD"} {
		if !have[want] {
			t.Errorf("%s is missing", want)
		}
	}
	for l := range strings.Lines(record) {
		if l = strings.TrimSuffix(l, "\n"); !lines[l] {
			t.Errorf("RECORD: %s", l)
		}
		delete(lines, l)
	}
	for l := range lines {
		t.Errorf("RECORD lacks %s", l)
	}
}
