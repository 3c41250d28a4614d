package lock

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrLost is the error of a holder after another process has seen no heartbeat for a time and has taken over the claim.
var ErrLost = fmt.Errorf("another process has taken it over, after a time without a sign of life of this one: %w",
	ErrHeld)

// A claim holds a path on a file system whose locks do not reach other machines. The claim with generation n of the
// path "lock" is the folder "lock.claims/n": creating a folder is exclusive on every file system. Only the newest
// generation is valid. Its holder rewrites a counter in the folder, the heartbeat. If a process sees no change for a
// time, by its own clock, it creates the folder of the next generation. Only one process can do so. Then it removes the
// older folder. Generation numbers are never reused: the newest folder stays after its holder has released it.
//
// A holder creates files by renaming them from a folder inside the claim's folder, and deletes files by renaming them
// into this folder. A suspended holder can do neither after another process has taken over its claim, because the
// folder no longer exists. The name of the folder is random, because another process that was suspended may also create
// the folder of an old generation again before it sees newer generations.
type claim struct {
	world     *world
	path      string // the path of the lock
	dir       string // the folder of the claim
	files     string // the folder for files, inside dir
	me        holder
	takenOver bool // the claim was taken over from a holder that had not released it

	mutex sync.Mutex
	beats int
}

// holder describes the process that holds a claim.
type holder struct {
	Process int     `json:"process"`
	Host    string  `json:"host,omitempty"`
	Boot    string  `json:"boot,omitempty"`   // identifies the current boot of the system; empty: unknown
	Device  string  `json:"device,omitempty"` // device number of the file system; empty: unknown
	After   float64 `json:"after"`            // seconds without a heartbeat after which the holder counts as dead
	ID      string  `json:"id"`               // random identifier of the claim
}

// world contains the functions that claims use to access the machine. Tests replace them.
type world struct {
	files
	now   func() time.Duration // monotonic; stands still while the machine sleeps
	after time.Duration        // time without a heartbeat after which a holder counts as dead
	me    func(path string) holder

	lock    func(f *os.File) (bool, error) // takes the system's lock on a file
	mode    string                         // when to use claims: auto, always, only or never
	network func(dir string) bool          // reports whether several machines may share the file system of a folder
}

// files are atomic file operations: each one succeeds completely or does nothing.
type files interface {
	Mkdir(path string) error           // fails if the path exists
	List(dir string) ([]string, error) // names
	Read(path string) ([]byte, error)
	Create(path string, text []byte) error  // fails if the path exists
	Rewrite(path string, text []byte) error // overwrites the start of an existing file
	Rename(from, to string) error
	Remove(path string) error // a file, or an empty folder
}

const (
	holderName = "holder"   // name of the file in the folder of a claim
	released   = "released" // text of a released claim, in place of the counter
	beatDigits = 16         // number of digits of the counter
	beatPart   = 12         // number of heartbeats within the time without one after which a holder counts as dead
	lookPart   = 8          // a check counts for at most 1/lookPart of that time: a suspended waiter saw nothing
	minLook    = time.Second
)

// observation is the last observation of a claim.
type observation struct {
	generation int
	text       string // content of the claim's file
	silent     time.Duration
	alive      bool          // the text changed between two checks
	last       time.Duration // time of the last check
}

// Watch records the heartbeats of claims, in order to take over the claims of dead holders.
type Watch struct {
	world *world
	err   error // invalid settings or machine state
	mutex sync.Mutex
	seen  map[string]observation // by path
}

// NewWatch returns a Watch without observations.
func NewWatch() *Watch {
	w, err := machine()
	return &Watch{world: w, err: err, seen: map[string]observation{}}
}

// look records the heartbeat of the newest claim on a path, if there is one.
func (w *Watch) look(path string) {
	if newest, err := w.world.generation(path); err == nil && newest > 0 {
		text, h, _ := w.world.state(path, newest)
		w.dead(path, newest, text, w.world.patience(h))
	}
}

// Doubts reports whether a path has a claim whose holder has not yet shown a heartbeat to the watch.
func (w *Watch) Doubts(path string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	s, ok := w.seen[path]
	return ok && !s.alive
}

// patience returns the time without a heartbeat after which a holder counts as dead.
func (w *world) patience(h holder) time.Duration {
	return max(w.after, time.Duration(h.After*float64(time.Second)))
}

// dead checks the newest claim of a path, and reports whether its holder has shown no heartbeat for long enough.
func (w *Watch) dead(path string, generation int, text string, after time.Duration) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	now := w.world.now()
	s, ok := w.seen[path]
	if !ok || s.generation != generation || s.text != text {
		s = observation{generation: generation, text: text, last: now, alive: ok}
	}
	s.silent += min(now-s.last, max(after/lookPart, minLook))
	s.last = now
	w.seen[path] = s
	return s.silent >= after
}

// generation returns the newest generation of the claims on a path, or 0 without claims.
func (w *world) generation(path string) (newest int, err error) {
	all, err := w.generations(path)
	return slices.Max(append(all, 0)), err
}

// generations lists the generations that have a folder.
func (w *world) generations(path string) (all []int, err error) {
	names, err := w.List(path + claimsSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, name := range names {
		if n, err := strconv.Atoi(name); err == nil && n > 0 && name == strconv.Itoa(n) {
			all = append(all, n)
		}
	}
	return all, err
}

func claimDir(path string, generation int) string {
	return filepath.Join(path+claimsSuffix, strconv.Itoa(generation))
}

// state reads a claim. An unreadable holder, for example during writing, differs from any readable holder.
func (w *world) state(path string, generation int) (text string, h holder, free bool) {
	read, err := w.Read(filepath.Join(claimDir(path, generation), holderName))
	if err != nil {
		return "", holder{}, false
	}
	text = string(read)
	first, rest, _ := strings.Cut(text, "\n")
	if json.Unmarshal([]byte(rest), &h) != nil {
		h = holder{}
	}
	return text, h, strings.TrimSpace(first) == released
}

// claim claims a path. It returns a HeldError unless the holder of the newest claim is dead. There are two ways to know
// this. The watch has seen no heartbeat for long enough. Or the locks of this machine work, this process has the lock
// on the path, and the holder was a process of this machine.
func (w *Watch) claim(path string, locked bool) (*claim, error) {
	world := w.world
	newest, err := world.generation(path)
	if err != nil {
		return nil, err
	}
	me := world.me(path)
	me.After = world.after.Seconds()
	takenOver := false
	if newest > 0 {
		text, h, free := world.state(path, newest)
		here := locked && h.Boot != "" && h.Boot == me.Boot && h.Host == me.Host && h.Device == me.Device && h.Device != ""
		if !free && !here && !w.dead(path, newest, text, world.patience(h)) {
			return nil, &HeldError{By: h.remark(), claimed: true}
		}
		takenOver = !free
	}
	c := &claim{world: world, path: path, dir: claimDir(path, newest+1), me: me, takenOver: takenOver}
	c.files = filepath.Join(c.dir, me.ID)
	if newest == 0 {
		if err := world.Mkdir(path + claimsSuffix); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if err = world.Mkdir(c.dir); errors.Is(err, fs.ErrExist) { // another process was faster
		err = &HeldError{claimed: true}
	} else if err == nil {
		err = c.establish(newest + 1)
	}
	return c, err
}

// establish makes the new folder, which other processes already see, the claim of this process. It writes the holder
// and removes older generations.
func (c *claim) establish(mine int) error {
	faster, err := c.faster(mine) // the value of newest may be outdated
	if err != nil {
		return err
	}
	if faster {
		if err := c.world.Remove(c.dir); err != nil && !gone(err) && !notEmpty(err) {
			return err
		}
		return &HeldError{claimed: true}
	}
	err = c.world.Create(filepath.Join(c.dir, holderName), c.text())
	if err == nil {
		err = c.world.Mkdir(c.files)
	}
	if err == nil {
		faster, err = c.faster(mine) // the folder was taken over and created again in the meantime
	}
	if err == nil && !faster {
		if err = c.fence(mine); err == nil {
			err = c.beat()
		}
	}
	if faster || err != nil && (gone(err) || errors.Is(err, fs.ErrExist) || errors.Is(err, ErrLost)) {
		return &HeldError{claimed: true}
	}
	return err
}

// faster reports whether a newer generation exists. It first creates a folder: a process that changes a folder does not
// see an outdated list of the folder.
func (c *claim) faster(mine int) (bool, error) {
	probe := filepath.Join(c.path+claimsSuffix, c.me.ID+goneSuffix) // any process may remove it
	if err := c.world.Mkdir(probe); err != nil {
		return false, err
	}
	newest, err := c.world.generation(c.path)
	return newest > mine, errors.Join(err, unlessGone(c.world.Remove(probe)))
}

// fence removes the folders of older generations, so that their holders cannot rename files from them. It first renames
// each folder to a name that is not a generation. It also removes renamed folders that a dead process has left.
func (c *claim) fence(mine int) error {
	all, err := c.world.generations(c.path)
	if err != nil {
		return err
	}
	for _, n := range all {
		if n < mine {
			dir := claimDir(c.path, n)
			if err := c.world.Rename(dir, fmt.Sprintf("%s-%d%s", dir, mine, goneSuffix)); err != nil && !gone(err) {
				return err
			}
		}
	}
	names, err := c.world.List(c.path + claimsSuffix)
	for _, name := range names {
		if strings.HasSuffix(name, goneSuffix) {
			err = errors.Join(err, c.clear(filepath.Join(c.path+claimsSuffix, name)))
		}
	}
	return err
}

// clear removes a folder into which other processes may still put files.
func (c *claim) clear(dir string) error {
	for {
		names, err := c.world.List(dir)
		if err != nil {
			return unlessGone(err)
		}
		open := 0
		for _, name := range names {
			if strings.HasPrefix(name, ".nfs") { // deleted but open; the new folder name excludes its holder
				open++
				continue
			}
			err := c.world.Remove(filepath.Join(dir, name))
			if notEmpty(err) {
				err = c.clear(filepath.Join(dir, name))
			}
			if err != nil && !gone(err) {
				return err
			}
		}
		if open > 0 && open == len(names) {
			return nil
		}
		if err := c.world.Remove(dir); err == nil || !notEmpty(err) {
			return unlessGone(err)
		}
	}
}

func unlessGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// The suffix of the folder of claims, and the suffix of a claim that was taken over and will be removed.
const (
	claimsSuffix = ".claims"
	goneSuffix   = ".gone"
)

// text is the content of the holder's file: the counter, with a fixed number of digits, and the holder.
func (c *claim) text() []byte {
	h, err := json.Marshal(c.me)
	if err != nil {
		panic(err) // numbers and strings
	}
	return append(c.head(strconv.Itoa(c.beats)), append(h, '\n')...)
}

func (c *claim) head(first string) []byte { return fmt.Appendf(nil, "%-*s\n", beatDigits, first) }

// beat rewrites the counter to show that the holder is alive. It returns ErrLost if the claim was taken over. Other
// errors may be temporary.
func (c *claim) beat() error {
	newest, err := c.world.generation(c.path)
	if err == nil && claimDir(c.path, newest) != c.dir {
		return ErrLost
	}
	c.mutex.Lock()
	c.beats++
	first := strconv.Itoa(c.beats)
	c.mutex.Unlock()
	return c.rewrite(first) // last, because a list of a folder may be outdated
}

// release lets other processes claim the path.
func (c *claim) release() error { return c.rewrite(released) }

// rewrite rewrites the first line of the holder's file.
func (c *claim) rewrite(first string) error {
	err := c.world.Rewrite(filepath.Join(c.dir, holderName), c.head(first))
	if gone(err) {
		return ErrLost
	}
	return err
}

func (h holder) remark() string {
	if h.Process == 0 {
		return ""
	}
	if h.Host == "" {
		return fmt.Sprintf(" (process %d)", h.Process)
	}
	return fmt.Sprintf(" (process %d on %s)", h.Process, h.Host)
}
