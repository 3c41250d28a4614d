package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unravel-ml/unravel/internal/disk"
	"github.com/unravel-ml/unravel/internal/safetensors"
	"github.com/unravel-ml/unravel/internal/tfevents"
)

// Difference is a file of a run that differs from the run's record.
type Difference struct {
	File string `json:"file"`
	What string `json:"what"`
}

// ErrNoHashes is the error of [Check] if the record has no hashes: the run has not ended, or an earlier version wrote
// the record. To record hashes, resume the run to its end.
var ErrNoHashes = errors.New("there is nothing to check against")

// Check compares the files of a run's folder with the hashes in its record.
func Check(dir string) ([]Difference, error) {
	text, err := ReadFile(dir, RecordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w: the run has not ended", dir, ErrNoHashes)
	}
	if err != nil {
		return nil, err
	}
	var r Record
	if err := json.Unmarshal(text, &r); err != nil {
		return []Difference{{RecordFile, fmt.Sprintf("changed: it cannot be read: %v", err)}}, nil
	}
	var list []Difference
	if !r.valid(text) {
		list = append(list, Difference{RecordFile, "changed"})
	}
	config, err := ReadFile(dir, Config)
	if list == nil && err == nil && r.outdated(config) {
		return nil, fmt.Errorf("%s: %w: the run goes on with another config", dir, ErrNoHashes)
	}
	if err != nil || FileHash(config) != r.Config {
		list = append(list, Difference{Config, "changed"})
	}
	if r.Files == nil {
		if list == nil {
			err = fmt.Errorf("%s: %w: the run failed, or an earlier version made it", dir, ErrNoHashes)
		}
		return list, err
	}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		sum, err := hashFile(filepath.Join(dir, filepath.FromSlash(name)))
		before, noted := r.Before[name]
		switch {
		case errors.Is(err, fs.ErrNotExist) && noted && before == "":
		case errors.Is(err, fs.ErrNotExist):
			list = append(list, Difference{name, "missing"})
		case err != nil:
			list = append(list, Difference{name, fmt.Sprintf("changed: it cannot be read: %v", err)})
		case sum != r.Files[name] && sum != before:
			list = append(list, Difference{name, "changed"})
		}
	}
	known, err := hashedFiles(dir)
	for _, name := range known {
		// earlier versions recorded no hashes of drawn files
		if r.Files[name] == "" && r.Before[name] == "" && !drawn(name) {
			list = append(list, Difference{name, "extra: the run did not write it"})
		}
	}
	return list, err
}

// Others lists the files in a run's folder without a hash in the record, such as a user's notes. If the record has no
// hashes, it returns nothing.
func Others(dir string) (list []string, err error) {
	text, err := ReadFile(dir, RecordFile)
	var r Record
	if err != nil || json.Unmarshal(text, &r) != nil || r.Files == nil {
		return nil, nil // see Check
	}
	err = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case strings.HasPrefix(name, lockName) && e.IsDir():
			return fs.SkipDir
		case e.IsDir() || !hashed(name) || strings.HasPrefix(name, lockName) || isTemporary(e):
		case r.Files[name] == "" && r.Before[name] == "":
			list = append(list, name)
		}
		return nil
	})
	return list, err
}

// Wrote reports whether the run wrote this text to a file. It returns true if the record has no hashes.
func (r *Record) Wrote(name string, text []byte) bool {
	sum := hashOf(text)
	return r.Files == nil || r.Files[name] == sum || r.Before[name] == sum
}

// hashed reports whether records have a hash of a file in Files or Before. The config's hash is in another field.
func hashed(name string) bool { return name != Config && name != RecordFile }

// drawn reports whether a file only shows the content of others: the page, figures, TensorBoard's files.
func drawn(name string) bool {
	top, _, _ := strings.Cut(name, "/")
	return name == ReportFile || top == FiguresDir || strings.HasPrefix(name, tfevents.FilePrefix)
}

// Learned reports whether a file belongs to the results of an earlier stage, see [Run.WriteLearned].
func Learned(name string) bool { return strings.Contains(name, "/") && !drawn(name) }

// large reports whether a file is only hashed at the end of a run. Checkpoints contain their own checksums.
func large(name string) bool { return strings.HasPrefix(name, CheckpointFile) || name == BestFile }

// hashedFiles lists the files in a run's folder that are in [Files] and have hashes in records.
func hashedFiles(dir string) (list []string, err error) {
	for _, f := range Files() {
		if !hashed(f.Name) || strings.HasPrefix(f.Name, lockName) {
			continue
		}
		found, err := fs.Glob(os.DirFS(dir), f.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// hashFiles returns the hashes of the files in the folder: of the written text for files of this process.
func (r *Run) hashFiles() (map[string]string, error) {
	names, err := hashedFiles(r.dir)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for _, name := range append(names, slices.Collect(maps.Keys(r.written))...) {
		if sums[name] = r.written[name]; sums[name] != "" {
			continue
		}
		if sums[name], err = hashFile(r.Path(name)); err != nil {
			return nil, err
		}
	}
	return sums, nil
}

// withHash wraps a writing function: the record gets the file's hash before the file gets its final name.
func (r *Run) withHash(name string, write func(io.Writer) error) func(io.Writer) error {
	if name == RecordFile || large(name) || name == LogFile { // a log grows after it is rewound
		return write
	}
	return func(w io.Writer) error {
		sum := sha256.New()
		if err := write(io.MultiWriter(w, sum)); err != nil {
			return err
		}
		return r.recordHash(name, hex.EncodeToString(sum.Sum(nil)))
	}
}

// recordHash adds the hash of a file to the record of a run that has ended. Until [Run.finishReplacement], the record
// also keeps the old hash, because a killed process leaves the old file. An empty hash means that the file does not
// exist.
func (r *Run) recordHash(name, sum string) error {
	if r.written == nil {
		r.written = map[string]string{}
	}
	if delete(r.written, name); sum != "" && hashed(name) {
		r.written[name] = sum
	}
	record, err := r.validRecord()
	if record == nil || record.Files == nil || record.Files[name] == sum {
		return err
	}
	config, err := r.Read(Config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if record.outdated(config) {
		return r.Remove(RecordFile)
	}
	if name == Config { // a new config invalidates the record, which is removed next
		short := sum[:32] // in the format of FileHash
		if short == record.Config {
			return nil
		}
		record.Before = map[string]string{Config: short}
		return record.store(r)
	}
	for other, before := range record.Before { // left by a killed or failed process
		current, err := hashFile(r.Path(other))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if other != Config && current == before {
			record.setFile(other, before)
		}
	}
	record.Before = map[string]string{name: record.Files[name]}
	record.setFile(name, sum)
	r.replacing = true
	return record.store(r)
}

// setFile sets the hash of a file. An empty hash means that the file does not exist.
func (r *Record) setFile(name, sum string) {
	if delete(r.Files, name); sum != "" {
		r.Files[name] = sum
	}
}

// finishReplacement removes the old hash from the record after the file has been replaced or removed.
func (r *Run) finishReplacement() error {
	if !r.replacing {
		return nil
	}
	r.replacing = false
	record, err := r.validRecord()
	if record == nil {
		return err
	}
	record.Before = nil
	return record.store(r)
}

// validRecord returns the record, or nil if it is invalid: rewriting would make it valid.
func (r *Run) validRecord() (*Record, error) {
	text, err := r.Read(RecordFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var record Record
	if err != nil || json.Unmarshal(text, &record) != nil || !record.valid(text) {
		return nil, err
	}
	return &record, nil
}

// store writes the record, including the hash of its own text.
func (r *Record) store(run *Run) error {
	r.Sum = strings.Repeat("0", 2*sha256.Size)
	var text bytes.Buffer
	if err := JSON(r)(&text); err != nil {
		return err
	}
	sum := sumOf(text.Bytes(), r.Sum)
	return run.Write(RecordFile, Bytes(bytes.Replace(text.Bytes(), []byte(r.Sum), []byte(sum), 1)))
}

var errEditedRecord = errors.New("the run did not write it so") // reason for rejecting a readable file

// valid reports whether a record matches the hash of its text. It accepts a record from a version without hashes.
func (r *Record) valid(text []byte) bool {
	if r.Sum == "" {
		return r.Files == nil
	}
	return r.Sum == sumOf(text, r.Sum)
}

// sumOf returns the hash of a record's text, with zeros instead of the hash itself.
func sumOf(text []byte, stored string) string {
	if len(stored) != 2*sha256.Size {
		return ""
	}
	return hashOf(bytes.Replace(text, []byte(stored), bytes.Repeat([]byte{'0'}, len(stored)), 1))
}

func hashFile(name string) (string, error) {
	f, err := disk.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() // only read
	if info, err := f.Stat(); err != nil || info.Size() > maxHashed {
		return "", errors.Join(err, fmt.Errorf("%s has more than %d bytes", path.Base(name), int64(maxHashed)))
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", fmt.Errorf("%s: %w", path.Base(name), err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

const maxHashed = 64 << 30 // maximum size of a hashed file: a sparse file of terabytes would take hours

// Edited returns the names of the result and weight files of a run that differ from the record. It returns "" if none
// differs or the record has no hashes, and an error for a file that cannot be read.
func Edited(dir string) (string, error) {
	list, err := Check(dir)
	if errors.Is(err, ErrNoHashes) {
		return "", nil
	}
	var files []string
	for _, d := range list {
		if drawn(d.File) {
			continue
		}
		if large(d.File) { // readers detect damage by the checksum, and then use the previous checkpoint
			if _, err := safetensors.ReadFile(filepath.Join(dir, d.File)); err != nil {
				continue
			}
		}
		files = append(files, d.File+" ("+d.What+")")
	}
	return strings.Join(files, ", "), err
}
