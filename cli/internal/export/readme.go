package export

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// readme writes the description for people.
func (s *Set) readme(w io.Writer) error {
	var b strings.Builder
	channels := fmt.Sprint(s.Shape[3], " channels")
	if s.Shape[3] == 1 {
		channels = "1 channel"
	}
	fmt.Fprintf(&b, "# %s\n\n", strings.Join(append([]string{s.Dataset}, s.Options...), " "))
	fmt.Fprintf(&b, "%d images of %d x %d pixels and %s, exported by `unravel data export` (seed %d).\n\n",
		s.Shape[0], s.Shape[1], s.Shape[2], channels, s.Seed)
	pixels := "pixels from 0 to 1"
	if s.Type == "uint8" {
		pixels = "pixels from 0 to 255"
	} else if s.Real {
		pixels = "real numbers"
	}
	fmt.Fprintf(&b, "| file | shape | content |\n|---|---|---|\n")
	fmt.Fprintf(&b, "| %s | N x H x W x C | %s, %s |\n", strings.Join(s.Images, ", "), s.Type, pixels)
	fmt.Fprintf(&b, "| factors.npy | N x K | values of the factors; NaN is unknown |\n")
	fmt.Fprintf(&b, "| levels.npy | N x K | levels of the factors, counted from 0; -1 is unknown |\n")
	fmt.Fprintf(&b, "| sizes.npy | K | numbers of levels |\n| set.json | | names and kinds of the factors |\n\n")
	fmt.Fprintf(&b, "| column | factor | kind | levels |\n|---:|---|---|---:|\n")
	for i, f := range s.Factors {
		fmt.Fprintf(&b, "| %d | %s | %v | %d |\n", i, f.Name, f.Kind, f.Size)
	}
	b.WriteString("\n```python\nimport numpy as np\n\n")
	if len(s.Images) == 1 {
		b.WriteString("images = np.load(\"images.npy\", mmap_mode=\"r\")\n")
	} else {
		fmt.Fprintf(&b, "images = [np.load(f\"images-{i:03d}.npy\", mmap_mode=\"r\") for i in range(%d)]\n", len(s.Images))
	}
	b.WriteString("factors = np.load(\"factors.npy\")\n```\n\n")
	fmt.Fprintf(&b, "A config of Unravel reads the folder with\n\n```yaml\ndataset: %s\n```\n", s.Config("FOLDER"))
	for _, l := range s.Lost {
		fmt.Fprintf(&b, "\nNote: %s.\n", l)
	}
	for _, line := range []struct{ name, text string }{
		{"Licence", s.Licence}, {"Terms", s.Terms}, {"Please cite", s.Citation},
	} {
		if line.text != "" {
			fmt.Fprintf(&b, "\n%s: %s\n", line.name, line.text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Config returns the value of the key dataset with which a config reads the files in a folder.
func (s *Set) Config(folder string) string {
	names, kinds := make([]string, len(s.Factors)), make([]string, len(s.Factors))
	for i, f := range s.Factors {
		names[i], kinds[i] = strconv.Quote(f.Name), strconv.Quote(f.Column)
	}
	options := []string{"path: " + strconv.Quote(folder), "channels: last", "rows: first",
		"names: [" + strings.Join(names, ", ") + "]", "kinds: [" + strings.Join(kinds, ", ") + "]"}
	if s.Real {
		options = append(options, "real: true")
	}
	return "{grid: {" + strings.Join(options, ", ") + "}}"
}
