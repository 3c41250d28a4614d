// Package version says which revision of the code a program was built from.
package version

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"runtime/debug"
	"sync"
)

// modulePath is that of this module.
const modulePath = "github.com/unravel-ml/unravel"

// Code returns the version of this module's code, in its own program or in one that imports it: the revision, with +
// if files were changed, or the module's version. Without either, as under go run, it is "devel-" and the beginning of
// the program's hash.
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

// versionOf is what build information says of this module; empty if nothing.
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
	if revision != "" && info.Main.Path == modulePath { // else it is that of the program around it
		return revision + changed
	}
	if module.Replace != nil {
		module.Version = module.Replace.Version // none if it is a folder
	}
	if module.Version == "(devel)" {
		return ""
	}
	return module.Version
}

// programHash is "-" and twelve digits that tell programs apart; empty where the program cannot be read.
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
	hash := sha256.New()
	if _, err := io.Copy(hash, f); err != nil {
		return ""
	}
	return "-" + hex.EncodeToString(hash.Sum(nil)[:6])
})
