package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/tools/internal/linked"
)

// The types below are the part of CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/) that the bill of materials uses.
type (
	bill struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Serial     string      `json:"serialNumber"`
		Version    int         `json:"version"`
		Metadata   metadata    `json:"metadata"`
		Components []component `json:"components"`
	}
	metadata struct {
		Time      string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string       `json:"type"`
		Ref        string       `json:"bom-ref"`
		Name       string       `json:"name"`
		Version    string       `json:"version"`
		Licenses   []expression `json:"licenses"`
		Purl       string       `json:"purl"`
		Properties []property   `json:"properties,omitempty"`
	}
	expression struct {
		Expression string `json:"expression"` // SPDX expression
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

// materials returns the bill of materials: Go's standard library and the modules that are linked on any system, with
// versions, checksums and licences.
func (r *release) materials(ctx context.Context) ([]byte, error) {
	revision, err := command(ctx, r.copy, nil, "git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	modules, err := linked.Modules(r.copy)
	if err != nil {
		return nil, err
	}
	sums, err := os.ReadFile(filepath.Join(r.copy, "go.sum"))
	if err != nil {
		return nil, err
	}
	list := []component{module("std", runtime.Version(), "BSD-3-Clause", "")}
	for _, m := range modules {
		licence, err := licenceOf(m.Dir)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", m.Path, m.Version, err)
		}
		list = append(list, module(m.Path, m.Version, licence, sumOf(string(sums), m)))
	}
	own := module("github.com/unravel-ml/unravel", r.version, "MIT", "")
	own.Type, own.Properties = "application", []property{{"vcs:revision", revision}}
	b := bill{"CycloneDX", "1.6", serial(r.version + revision), 1,
		metadata{r.date.Format("2006-01-02T15:04:05Z"), own}, list}
	text, err := json.MarshalIndent(b, "", "  ")
	return append(text, '\n'), err
}

func module(path, version, licence, sum string) component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", path, strings.ReplaceAll(version, "+", "%2B"))
	c := component{Type: "library", Ref: purl, Name: path, Version: version, Licenses: []expression{{licence}}, Purl: purl}
	if sum != "" {
		c.Properties = []property{{"go:sum", sum}}
	}
	return c
}

// sumOf returns the checksum of a module in go.sum.
func sumOf(sums string, m linked.Module) string {
	for line := range strings.Lines(sums) {
		if sum, ok := strings.CutPrefix(line, m.Path+" "+m.Version+" "); ok {
			return strings.TrimSpace(sum)
		}
	}
	return ""
}

// serial returns a UUID (RFC 9562, version 8) that is derived from a text.
func serial(text string) string {
	sum := sha256.Sum256([]byte(text))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	h := hex.EncodeToString(sum[:16])
	return fmt.Sprintf("urn:uuid:%s-%s-%s-%s-%s", h[:8], h[8:12], h[12:16], h[16:20], h[20:])
}

// phrases identify licences. Each text of a licence contains one of its phrases, in lower case with single spaces.
var phrases = []struct{ id, phrase string }{
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
	{"Apache-2.0", "apache license version 2.0, january 2004"},
	{"MPL-2.0", "mozilla public license, version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"OFL-1.1", "sil open font license version 1.1"},
	{"CC-BY-4.0", "creative commons attribution 4.0 international"},
}

// identify returns the SPDX identifiers of the licences in a text.
func identify(text string) (ids []string) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	if strings.Contains(text, "your choice of exactly one of the following two licenses: * the freetype license") {
		return []string{"(FTL OR GPL-2.0-or-later)"}
	}
	for _, p := range phrases {
		if strings.Contains(text, p.phrase) {
			ids = append(ids, p.id)
		}
	}
	switch {
	case !strings.Contains(text, "redistribution and use in source and binary forms"):
	case strings.Contains(text, "neither the name"), strings.Contains(text, "may not be used to endorse"),
		strings.Contains(text, "names of its contributors"):
		ids = append(ids, "BSD-3-Clause")
	default:
		ids = append(ids, "BSD-2-Clause")
	}
	return ids
}

// licenceOf returns the licences in a module's folder as an SPDX expression.
func licenceOf(dir string) (string, error) {
	names, err := linked.Licences(dir)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, name := range names {
		if filepath.Dir(name) != "." { // a file in the top folder explains the choice
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		ids = append(ids, identify(string(text))...)
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) == 0 {
		return "", fmt.Errorf("the licence in %s is unknown; add a phrase of it to tools/release/materials.go",
			strings.Join(names, ", "))
	}
	return strings.Join(ids, " AND "), nil
}
