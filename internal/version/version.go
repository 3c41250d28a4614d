// Package version identifies the source revision of a program.
package version

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"sync"
)

const modulePath = "github.com/unravel-ml/unravel"

// Code returns the version of this module's code, in a program of this module or in a program that imports it. It is
// the revision, with a + for modified files, or the module's version. If both are unknown, as with go run, it is
// "devel-" and the start of a hash, of the program's build ID if it has one.
func Code() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel" + programHash()
	}
	if v := versionOf(info); v != "" {
		return v
	}
	return "devel" + programHash()
}

// versionOf returns the version of this module in build information, or "" if it is missing.
func versionOf(info *debug.BuildInfo) string {
	module := info.Main
	for _, d := range info.Deps {
		if d.Path == modulePath {
			module = *d
		}
	}
	if module.Path != modulePath {
		return ""
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	if revision != "" && info.Main.Path == modulePath { // otherwise the revision belongs to the importing program
		return revision + changed
	}
	if module.Replace != nil {
		module.Version = module.Replace.Version // empty for a folder
	}
	if module.Version == "(devel)" {
		return ""
	}
	return module.Version
}

// Name returns [Release], or [Code] if the program is not a release.
func Name() string { return cmp.Or(Release(), Code()) }

// Release returns the release of the program, such as v0.1.0, or "" if it is not a release.
func Release() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return releaseOf(info)
}

// releaseName matches versions of releases. Pseudo-versions between two tags and changed copies do not match.
var releaseName = regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)\.\d+)?$`)

// releaseOf returns the release of this module in build information, or "" if the code has no tag.
func releaseOf(info *debug.BuildInfo) string {
	if info.Main.Path != modulePath || !releaseName.MatchString(info.Main.Version) {
		return ""
	}
	return info.Main.Version
}

// programHash returns "-" and twelve digits of the program's hash, or "" if the program cannot be read.
var programHash = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close() // it was only read
	return hashOf(f)
})

// buildID matches Go's build ID, a hash of all that the linker read: in a note of ELF, or before the code.
var buildID = regexp.MustCompile(`Go\x00\x00[\w/-]{40,}|Go build ID: "[\w/-]{40,}"`)

// hashOf returns "-" and twelve digits of the hash of a program's build ID or, without one, of the whole program.
func hashOf(program io.Reader) string {
	const start = 64 << 10 // linkers write the build ID here
	head, err := io.ReadAll(io.LimitReader(program, start))
	if err != nil {
		return ""
	}
	hash := sha256.New()
	if id := buildID.Find(head); id != nil {
		hash.Write(id)
	} else {
		hash.Write(head)
		if _, err := io.Copy(hash, program); err != nil {
			return ""
		}
	}
	return "-" + hex.EncodeToString(hash.Sum(nil)[:6])
}
