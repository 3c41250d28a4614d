package tfevents

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/unravel-ml/unravel/internal/disk"
)

// Writer appends events to a file. It is not safe for concurrent use.
type Writer struct {
	path string
	file *os.File
	buf  *bufio.Writer
	now  func() time.Time
	last time.Time // time of the last event written
	err  error     // the first error; the file does not change afterwards
}

// Create creates a file, or truncates an existing one. TensorBoard finds files with "tfevents" in their names. now
// returns the time of an event.
func Create(path string, now func() time.Time) (*Writer, error) {
	f, err := disk.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	w := newWriter(path, f, now)
	if err := errors.Join(w.begin(), w.Flush()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// Resume continues a file after the given step. It removes later events, which a run wrote after its checkpoint, and an
// incomplete record. It also removes events for which drop returns true. drop, if not nil, gets the events in order,
// possibly twice. A missing file is created.
func Resume(path string, step int64, now func() time.Time, drop func(*Event) bool) (*Writer, error) {
	if err := disk.Own(path); err != nil {
		return nil, err
	}
	kept, err := rewind(path, step, drop)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f, err := disk.OpenFile(path, os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return nil, err
	}
	w := newWriter(path, f, now)
	_, err = f.Seek(0, io.SeekEnd)
	if err == nil && kept == 0 {
		err = errors.Join(w.begin(), w.Flush())
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

func newWriter(path string, f *os.File, now func() time.Time) *Writer {
	return &Writer{path: path, file: f, buf: bufio.NewWriter(f), now: now}
}

// begin writes the first record, with the version of the format.
func (w *Writer) begin() error { return w.write(Event{FileVersion: fileVersion}) }

// Last returns the time of the last event, or of the first record for a new file.
func (w *Writer) Last() time.Time { return w.last }

func (w *Writer) Scalar(tag string, step int64, x float32) error {
	return w.Write(step, Value{Tag: tag, Scalar: x})
}

// Write writes the values of one step as one event of at most 64 MiB. After a file error, it writes nothing more, and
// every call returns this error.
func (w *Writer) Write(step int64, values ...Value) error {
	return w.write(Event{Step: step, Values: values})
}

func (w *Writer) write(e Event) error {
	w.last = w.now()
	e.WallTime = unixSeconds(w.last)
	data := e.marshal()
	if len(data) > maxRecord {
		return fmt.Errorf("writing %s: an event of %d bytes; at most %d are read again", w.path, len(data), maxRecord)
	}
	if w.err == nil {
		_, err := w.buf.Write(appendRecord(nil, data))
		w.fail(err)
	}
	return w.err
}

// Flush writes buffered events to the operating system, so TensorBoard sees them.
func (w *Writer) Flush() error {
	if w.err == nil {
		w.fail(w.buf.Flush())
	}
	return w.err
}

func (w *Writer) fail(err error) {
	if err != nil {
		w.err = fmt.Errorf("writing %s: %w", w.path, err)
	}
}

// Close flushes and closes the file.
func (w *Writer) Close() error {
	err := w.Flush()
	if err2 := w.file.Close(); err == nil && err2 != nil {
		err = fmt.Errorf("writing %s: %w", w.path, err2)
	}
	return err
}
