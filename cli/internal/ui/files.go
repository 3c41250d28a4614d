package ui

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/unravel-ml/unravel/internal/disk"
)

// WriteFile writes a file named by the user, whole or not at all. It does not replace devices and pipes.
func WriteFile(path string, write func(io.Writer) error) error {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		if err := checkParent(path); err != nil {
			return err
		}
		return disk.WriteFile(path, write, false)
	case info.IsDir():
		return fmt.Errorf("writing %s: it is a folder; want a file", path)
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(f)
	if err = write(b); err == nil {
		err = b.Flush()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

func checkParent(path string) error {
	dir := filepath.Dir(path)
	err := disk.CheckDir(dir)
	if _, missing := os.Stat(dir); err == nil && errors.Is(missing, fs.ErrNotExist) {
		err = fmt.Errorf("there is no folder %s; want an existing folder", dir)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// writesFolder is the value of the tag `writes` for flags with a folder. Other values are endings of file names.
const writesFolder = "folder"

// fileEndings are the endings of files that commands write. A folder with such an ending is a mistake.
var fileEndings = strings.Fields(".csv .gif .h5 .hdf5 .html .json .jpeg .jpg .mat .md .npy .npz .onnx .pdf .png .safetensors .svg .tex .tsv .txt .yaml .yml")

// CheckWritten checks the names of files to write, by flags with the tag `writes`. It returns an error for a name with
// the ending of another format. It accepts names without an ending, and existing paths that are not files, such as
// pipes.
func CheckWritten(flags []*kong.Flag) error {
	for _, f := range flags {
		tag, name := f.Tag.Get("writes"), f.Target.String()
		if tag == "" || name == "" {
			continue
		}
		if info, err := os.Stat(name); err == nil && (tag == writesFolder || !info.Mode().IsRegular()) { // the command reports the error
			continue
		}
		ending := strings.ToLower(filepath.Ext(name))
		switch want := strings.Split(tag, ","); {
		case tag == writesFolder && slices.Contains(fileEndings, ending):
			return Usagef("--%s %s: the command writes a folder of files; want the name of a folder, without %s",
				f.Name, name, ending)
		case tag != writesFolder && ending != "" && !slices.Contains(want, ending):
			return Usagef("--%s %s: %s is no format that the command writes; want a name that ends in %s",
				f.Name, name, ending, strings.Join(want, " or "))
		}
	}
	return nil
}

func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
