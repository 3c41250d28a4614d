package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// describe writes the bill of materials, the notes and the Dockerfile.
func (r *release) describe(ctx context.Context) error {
	bill, err := r.materials(ctx)
	if err != nil {
		return err
	}
	changes, err := os.ReadFile(filepath.Join(r.copy, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := notesOf(string(changes), r.version)
	if err != nil {
		return err
	}
	docker, err := os.ReadFile(filepath.Join(r.copy, "Dockerfile"))
	if err != nil {
		return err
	}
	for name, text := range map[string][]byte{"unravel-" +
		r.version + ".cdx.json": bill, "NOTES.md": []byte(notes), "Dockerfile": docker} {
		if err := os.WriteFile(filepath.Join(r.out, name), text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// models copies the model archives that `unravel pull` fetches from a release.
func (r *release) models() error {
	archives, err := filepath.Glob(filepath.Join(r.copy, "results", "models", "*.zip"))
	if err != nil {
		return err
	}
	for _, from := range archives {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(r.out, filepath.Base(from)), content, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unreleased is the changelog section for the next release.
const unreleased = "Unreleased"

// notesOf returns the section of a version in a changelog. If it does not exist, as in a rehearsal, notesOf returns the
// section for the next release.
func notesOf(changelog, version string) (string, error) {
	for _, want := range []string{strings.TrimPrefix(version, "v"), unreleased} {
		var b strings.Builder
		inside := false
		for line := range strings.Lines(changelog) {
			if title, ok := strings.CutPrefix(line, "## "); ok {
				name, _, _ := strings.Cut(strings.TrimSpace(title), " ")
				inside = strings.Trim(name, "[]") == want
				continue
			}
			if inside {
				b.WriteString(line)
			}
		}
		if text := strings.TrimSpace(b.String()); text != "" {
			return fmt.Sprintf("# Unravel %s\n\n%s\n", version, text), nil
		}
	}
	return "", fmt.Errorf("CHANGELOG.md has no section %q and no section %q with text",
		strings.TrimPrefix(version, "v"), unreleased)
}

// sums writes the SHA-256 sums of all files in the format of `sha256sum -c`, and prints the sizes.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(content), e.Name())
		fmt.Fprintf(r.log, "%8.1f MB  %s\n", float64(len(content))/1e6, e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), b.Bytes(), 0o666)
}
