package plain

import (
	"fmt"
	"strings"
)

// Some lists the first few of the texts, and counts the others.
func Some(list []string, few int) string {
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(list[:few], ", "), len(list)-few)
}
