// Package wording formats counts and texts for people, and commands for shells.
package wording

import (
	"fmt"
	"regexp"
	"strings"
)

// Count writes a number with its noun: 1 run, 2 runs.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Shorten returns a text of at most most characters; a longer text ends in "...".
func Shorten(text string, most int) string {
	if r := []rune(text); len(r) > most {
		return string(r[:most-3]) + "..."
	}
	return text
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:=,@%+-]+$`)

// Shell joins the words of a command for a POSIX shell, with quotes where words need them.
func Shell(words ...string) string {
	list := make([]string, len(words))
	for i, word := range words {
		if list[i] = word; !plainWord.MatchString(word) {
			list[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(list, " ")
}
