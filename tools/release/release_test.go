package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/unravel-ml/unravel/internal/long"
	"github.com/unravel-ml/unravel/internal/must"
	"github.com/unravel-ml/unravel/tools/internal/linked"
)

func TestMain(m *testing.M) { os.Exit(long.Run(m)) }

var someFiles = []file{{"a/unravel", bytes.Repeat([]byte("program "), 5000), true},
	{"a/README.md", []byte("read"), false}, {"a/b/c", nil, false}}

var someDate = time.Date(2026, 12, 1, 13, 14, 15, 16, time.FixedZone("CET", 3600))

// The bytes of archives do not depend on the order of files or the time zone of dates.
func TestArchivesRepeat(t *testing.T) {
	for name, write := range map[string]func(io.Writer, []file, time.Time) error{"tar": writeTar, "zip": writeZip} {
		var one, two bytes.Buffer
		turned := []file{someFiles[2], someFiles[1], someFiles[0]}
		must.OK(t, write(&one, someFiles, someDate))
		must.OK(t, write(&two, turned, someDate.In(time.UTC).Add(500*time.Millisecond)))
		if !bytes.Equal(one.Bytes(), two.Bytes()) {
			t.Errorf("%s: other bytes for the files in another order", name)
		}
	}
}

func TestTar(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, writeTar(&b, someFiles, someDate))
	z := must.Get(gzip.NewReader(&b))(t)
	var got []string
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		must.OK(t, err)
		if h.Uid != 0 || h.Uname != "" || !h.ModTime.Equal(someDate.Truncate(time.Second)) {
			t.Errorf("%s: owner %d %q, date %v", h.Name, h.Uid, h.Uname, h.ModTime)
		}
		got = append(got, h.FileInfo().Mode().String()+" "+h.Name)
	}
	must.Equal(t, strings.Join(got, ", "), "-rw-r--r-- a/README.md, -rw-r--r-- a/b/c, -rwxr-xr-x a/unravel")
}

func TestZip(t *testing.T) {
	var b bytes.Buffer
	must.OK(t, writeZip(&b, someFiles, someDate))
	z := must.Get(zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len())))(t)
	var got []string
	for _, f := range z.File {
		got = append(got, f.Mode().String()+" "+f.Name)
	}
	must.Equal(t, strings.Join(got, ", "), "-rw-r--r-- a/README.md, -rw-r--r-- a/b/c, -rwxr-xr-x a/unravel")
}

func TestNotes(t *testing.T) {
	const log = "# Changelog\n\n## Unreleased\n\n* new\n\n## [0.2.0] - 2027-01-02\n\n### Added\n\n* two\n\n## 0.1.0 - 2026-12-01\n\n* one\n"
	for version, want := range map[string]string{"v0.2.0": "### Added\n\n* two", "v0.1.0": "* one", "v0.3.0": "* new"} {
		got, err := notesOf(log, version)
		if err != nil || got != "# Unravel "+version+"\n\n"+want+"\n" {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if _, err := notesOf("# Changelog\n\n## Unreleased\n\n## 0.1.0\n\n* one\n", "v0.2.0"); err == nil {
		t.Error("no error of a changelog without a section")
	}
}

func TestArguments(t *testing.T) {
	r, err := arguments([]string{"v0.1.0", "--out", "x", "linux/arm64"})
	if err != nil || r.version != "v0.1.0" || r.out != "x" || strings.Join(r.systems, " ") != "linux/arm64" {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = arguments([]string{"-out=y", "v1.2.3-rc.1"})
	if err != nil || r.out != "y" || len(r.systems) != len(linked.Systems) {
		t.Errorf("%+v, %v", r, err)
	}
	for want, args := range map[string][]string{
		`version "0.1.0": want a version such as v0.1.0`: {"0.1.0"},
		`version "": want`:                  nil,
		`system "linux/386" is unknown`:     {"v0.1.0", "linux/386"},
		"flag provided but not defined: -o": {"v0.1.0", "-o", "x"},
	} {
		if _, err := arguments(args); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
	for version, want := range map[string]string{"v0.1.0": "0.1.0", "v1.0.0-rc.2": "1.0.0rc2"} {
		must.Equal(t, pythonVersion(version), want, version)
	}
}

// A changed tree, a tag at another commit and a folder with files are errors. The errors name them.
func TestRefusals(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=A", "-c", "user.email=a@example.com"}, args...)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("commit", "-q", "--allow-empty", "-m", "one")
	git("tag", "v0.1.0")
	git("commit", "-q", "--allow-empty", "-m", "two")
	r := release{version: "v0.2.0", root: dir}
	if err := r.checkTree(t.Context()); err != nil {
		t.Error(err)
	}
	r.version = "v0.1.0"
	must.Error(t, r.checkTree(t.Context()), "the tag v0.1.0 is on")
	must.Write(t, filepath.Join(dir, "left.txt"), "")
	must.Error(t, r.checkTree(t.Context()), "left.txt")
	r.out = dir
	must.Error(t, r.make(t.Context(), io.Discard), "want a new or empty folder")
}

// A release contains the trained models of the repository.
func TestReleasedModels(t *testing.T) {
	r := release{copy: "../..", out: t.TempDir()}
	must.OK(t, r.models())
	content, err := os.ReadFile(filepath.Join(r.out, "vae-sprites.zip"))
	if err != nil || len(content) < 500_000 {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}

// Every linked module has known licences.
func TestMaterials(t *testing.T) {
	long.Only(t)
	r := release{version: "v0.1.0", root: "../..", copy: "../..", date: someDate.UTC()}
	text, err := r.materials(t.Context())
	if err != nil {
		t.Skipf("modules of other systems are not at hand: %v", err)
	}
	var b bill
	must.OK(t, json.Unmarshal(text, &b))
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(b.Serial) {
		t.Errorf("serial %s", b.Serial)
	}
	have := map[string]component{}
	for _, c := range b.Components {
		have[c.Name] = c
		if c.Name != "std" && (len(c.Properties) != 1 || !strings.HasPrefix(c.Properties[0].Value, "h1:")) {
			t.Errorf("%s has no checksum", c.Name)
		}
	}
	for name, want := range map[string]string{
		"std": "BSD-3-Clause", "gorgonia.org/gorgonia": "Apache-2.0", "github.com/alecthomas/kong": "MIT",
		"github.com/golang/freetype": "(FTL OR GPL-2.0-or-later)", "github.com/hashicorp/go-cleanhttp": "MPL-2.0",
		"codeberg.org/go-fonts/liberation": "BSD-3-Clause AND OFL-1.1", "gonum.org/v1/gonum": "BSD-3-Clause",
	} {
		if got := have[name]; len(got.Licenses) != 1 || got.Licenses[0].Expression != want {
			t.Errorf("%s: %+v, want %s", name, got.Licenses, want)
		}
	}
}

func TestLicences(t *testing.T) {
	for text, want := range map[string]string{
		"All rights reserved.": "",
		"Permission is hereby granted, free of\n charge, to any person obtaining a copy of this software":                                      "MIT",
		"Permission is hereby granted, free of charge, to any person obtaining a copy of the Font Software. SIL OPEN FONT LICENSE Version 1.1": "OFL-1.1",
		"Redistribution and use in source and binary forms, with or without":                                                                   "BSD-2-Clause",
		"Redistribution and use in source and binary forms. Neither the name of":                                                               "BSD-3-Clause",
	} {
		must.Equal(t, strings.Join(identify(text), " "), want, text)
	}
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "LICENSE"), "mine alone")
	must.ErrorOf(licenceOf(dir))(t, "the licence in LICENSE is unknown")
}
