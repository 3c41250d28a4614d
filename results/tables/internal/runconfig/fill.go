package runconfig

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/configs/registry"
	"github.com/unravel-ml/unravel/train/sweep"
)

// placeholders match $name and, in lists, $name... with the comma behind it.
var placeholders = regexp.MustCompile(`\$([A-Za-z_][A-Za-z0-9_]*)(\.\.\.(, *)?)?`)

// Fill replaces $name by its value, and $name... by the elements of its value. Errors name the data set.
func Fill(text string, values sweep.Settings, dataset string) (filled string, err error) {
	filled = placeholders.ReplaceAllStringFunc(text, func(found string) string {
		parts := placeholders.FindStringSubmatch(found)
		name, spread, comma := parts[1], parts[2] != "", parts[3]
		var known []string
		for _, v := range values {
			known = append(known, "$"+v.Key)
			switch inner, list := elements(v.Value); {
			case v.Key != name:
			case !spread:
				return v.Value
			case !list:
				err = fmt.Errorf("%s: $%s of the data set %q is %s; want a list where $%s... stands for its elements", text, name, dataset, v.Value, name)
			case inner == "":
				return ""
			default:
				return inner + comma
			}
		}
		if !slices.Contains(known, "$"+name) {
			err = fmt.Errorf("%s: the data set %q has no value of that name%s", text, dataset, registry.Suggest("$"+name, known))
		}
		return found
	})
	return filled, err
}

// elements returns the text between the brackets of a list.
func elements(text string) (inner string, list bool) {
	inner, open := strings.CutPrefix(strings.TrimSpace(text), "[")
	inner, closed := strings.CutSuffix(inner, "]")
	return strings.TrimSpace(inner), open && closed
}
