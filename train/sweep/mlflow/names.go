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

// Limits of names in bytes, without a suffix of 9 bytes. MLflow allows 250 characters, and GROUP/NAME for metrics.
const maxName, maxPart = 200, 110

// mapNames maps names to distinct names that MLflow allows. Allowed names of up to maxBytes bytes do not change.
func mapNames(list []string, maxBytes int) map[string]string {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b string) int {
		return cmp.Or(strings.Compare(fmt.Sprint(validName(a) != a), fmt.Sprint(validName(b) != b)), strings.Compare(a, b))
	})
	result, used := map[string]string{}, map[string]bool{}
	for _, name := range slices.Compact(list) {
		mapped := validName(name)
		if len(mapped) > maxBytes || used[strings.ToLower(mapped)] { // some databases ignore case
			sum := sha256.Sum256([]byte(name))
			for len(mapped) > maxBytes {
				letters := []rune(mapped)
				mapped = string(letters[:len(letters)*maxBytes/len(mapped)])
			}
			mapped += "_" + hex.EncodeToString(sum[:4])
		}
		result[name], used[strings.ToLower(mapped)] = mapped, true
	}
	return result
}

// validName replaces the characters that MLflow does not allow in a name.
func validName(name string) string {
	mapped := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_-. ", r) {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(name, "_"))
	if strings.HasPrefix(mapped, "..") {
		mapped = "_" + mapped
	}
	if mapped == "" || strings.HasSuffix(mapped, ".") || strings.HasSuffix(mapped, " ") { // not a valid file name everywhere
		mapped += "_"
	}
	return mapped
}
