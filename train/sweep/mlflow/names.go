package mlflow

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// maxFile bounds the bytes of a name, which is that of a file; MLflow allows 250 characters.
const maxFile = 200

// mapNames maps names to those that MLflow allows for parameters, metrics and tags, no two of them to one: letters, digits, and _, -, .
// and spaces stay. Names that are allowed stay as they are.
func mapNames(list []string) map[string]string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(strings.Compare(fmt.Sprint(allowed(a) != a), fmt.Sprint(allowed(b) != b)), strings.Compare(a, b))
	})
	to, taken := map[string]string{}, map[string]bool{}
	for _, name := range slices.Compact(list) {
		mapped := allowed(name)
		if len(mapped) > maxFile || taken[strings.ToLower(mapped)] { // some file systems have no case
			sum := sha256.Sum256([]byte(name))
			for len(mapped) > maxFile {
				letters := []rune(mapped)
				mapped = string(letters[:len(letters)*maxFile/len(mapped)])
			}
			mapped += "_" + hex.EncodeToString(sum[:4])
		}
		to[name], taken[strings.ToLower(mapped)] = mapped, true
	}
	return to
}

// allowed replaces what MLflow forbids in a name.
func allowed(name string) string {
	mapped := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-. ", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	if strings.HasPrefix(mapped, "..") {
		mapped = "_" + mapped
	}
	if mapped == "" || strings.HasSuffix(mapped, ".") || strings.HasSuffix(mapped, " ") { // no names of files everywhere
		mapped += "_"
	}
	return mapped
}
