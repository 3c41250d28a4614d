package lock

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrLost is the error of a holder whose claim another process has taken over, because it saw no sign of life.
var ErrLost = fmt.Errorf("another process has taken it over, after a time without a sign of life of this one: %w", ErrHeld)

// A claim holds a path on a file system whose locks do not reach other machines. The claim of generation n of the path
// "lock" is the folder "lock.claims/n": making a folder is exclusive on every file system. The newest generation counts. Its holder rewrites a counter in
// it, its heartbeat; who sees no change for a time, by a clock of its own, makes the folder of the next generation, which again only one can, and then
// removes the older one. Generations never begin again: the newest folder stays when its holder has released it.
//
// A holder puts files in place by renaming them from a folder in that of its claim, and takes files away by renaming them into it. So one that was
// stopped and comes back after its claim was taken over can do neither: the folder is gone. Its name is drawn, because somebody who was stopped, too, may
// make the folder of an old generation once more before it sees that there are newer ones.
type claim struct {
	world *world
	path  string // of the lock
	dir   string // the folder of the claim
	files string // the folder in it for files
	me    holder
	over  bool // it was taken over from a holder that had not released it

	mutex sync.Mutex
	beats int
}

// holder says whose claim it is.
type holder struct {
	Process int     `json:"process"`
	Host    string  `json:"host,omitempty"`
	Boot    string  `json:"boot,omitempty"`   // of the running system; empty: not known
	Device  string  `json:"device,omitempty"` // of the file system, as the system numbers it; empty: not known
	After   float64 `json:"after"`            // seconds without a heartbeat after which it counts as dead
	ID      string  `json:"id"`               // of the claim, drawn
}

// world is what claims see of the machine. Tests have others.
type world struct {
	files
	now   func() time.Duration // never goes back, and stands still while the machine sleeps
	after time.Duration        // without a heartbeat, after which a holder counts as dead
	me    func(path string) holder

	lock    func(f *os.File) (bool, error) // takes the system's lock of a file
	mode    string                         // when claims are used
	network func(dir string) bool          // is a folder on a file system that several machines may share?
}

// files are operations on files, each of which is done as a whole or not at all.
type files interface {
	Mkdir(path string) error           // exclusively
	List(dir string) ([]string, error) // names
	Read(path string) ([]byte, error)
	Create(path string, text []byte) error  // exclusively
	Rewrite(path string, text []byte) error // the beginning of a file that exists
	Rename(from, to string) error
	Remove(path string) error // a file, or an empty folder
}

const (
	holderName = "holder"   // the file in the folder of a claim
	released   = "released" // in place of the counter
	beatDigits = 16         // of the counter
	beatPart   = 12         // of the time after which a holder counts as dead, between two heartbeats
	lookPart   = 8          // of it, that a look may count for: a waiter that was stopped has seen nothing
	leastLook  = time.Second
)

// sight is what was seen of a claim.
type sight struct {
	generation int
	text       string // of its file
	alone      time.Duration
	alive      bool          // its text was another one before
	last       time.Duration // when it was looked at
}

// Watch remembers the heartbeats of claims that it has seen, so that those of dead holders can be taken over.
type Watch struct {
	world *world
	err   error // the world cannot be as it is said to be
	mutex sync.Mutex
	seen  map[string]sight // by path of the lock
}

// NewWatch returns a Watch that has seen nothing.
func NewWatch() *Watch {
	w, err := machine()
	return &Watch{world: w, err: err, seen: map[string]sight{}}
}

// look notes the heartbeat of the newest claim of a path, if there is one.
func (w *Watch) look(path string) {
	if newest, err := w.world.generation(path); err == nil && newest > 0 {
		text, h, _ := w.world.state(path, newest)
		w.dead(path, newest, text, w.world.patience(h))
	}
}

// Doubts reports whether a path is held by a claim of which the watch has not seen yet that its holder is alive.
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

// dead looks at the newest claim of a path, and reports whether its holder showed no sign of life for long enough.
func (w *Watch) dead(path string, generation int, text string, after time.Duration) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	now := w.world.now()
	s, ok := w.seen[path]
	if !ok || s.generation != generation || s.text != text {
		s = sight{generation: generation, text: text, last: now, alive: ok}
	}
	s.alone += min(now-s.last, max(after/lookPart, leastLook))
	s.last = now
	w.seen[path] = s
	return s.alone >= after
}

// generation returns the newest generation of a path's claims; 0: there is none.
func (w *world) generation(path string) (newest int, err error) {
	all, err := w.generations(path)
	for _, n := range all {
		newest = max(newest, n)
	}
	return newest, err
}

// generations lists the generations of which there is a folder.
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

// state reads a claim. A holder that cannot be read, as while it is being written, is another one than any that can.
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

// claim claims a path. It returns a HeldError if a claim is there whose holder is not known to be dead: by its watch, or, if this machine's own
// locks work and this process has that of the path, because it held the path on this machine.
func (w *Watch) claim(path string, locked bool) (*claim, error) {
	world := w.world
	newest, err := world.generation(path)
	if err != nil {
		return nil, err
	}
	me := world.me(path)
	me.After = world.after.Seconds()
	over := false
	if newest > 0 {
		text, h, free := world.state(path, newest)
		here := locked && h.Boot != "" && h.Boot == me.Boot && h.Host == me.Host && h.Device == me.Device && h.Device != ""
		if !free && !here && !w.dead(path, newest, text, world.patience(h)) {
			return nil, &HeldError{By: h.remark(), claimed: true}
		}
		over = !free
	}
	c := &claim{world: world, path: path, dir: claimDir(path, newest+1), me: me, over: over}
	c.files = filepath.Join(c.dir, me.ID)
	if newest == 0 {
		if err := world.Mkdir(path + claimsSuffix); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	if err := world.Mkdir(c.dir); err != nil {
		if errors.Is(err, fs.ErrExist) { // another process was faster
			return nil, &HeldError{claimed: true}
		}
		return nil, err
	}
	if err := c.begin(newest + 1); err != nil {
		return nil, err
	}
	return c, nil
}

// begin makes the folder of a claim, of which others see that it is there, the claim of this process: it writes the holder, and removes older
// generations.
func (c *claim) begin(mine int) error {
	faster, err := c.faster(mine) // newest was read long ago
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
		faster, err = c.faster(mine) // the folder was taken over and made again meanwhile
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

// faster reports whether there is a newer generation. It makes a folder first: who changes a folder reads a list of it that is not an old one.
func (c *claim) faster(mine int) (bool, error) {
	own := filepath.Join(c.path+claimsSuffix, c.me.ID+goneSuffix) // who finds it may remove it
	if err := c.world.Mkdir(own); err != nil {
		return false, err
	}
	newest, err := c.world.generation(c.path)
	return newest > mine, errors.Join(err, unlessGone(c.world.Remove(own)))
}

// fence removes the folders of older generations, so that their holders can rename nothing from them any more. Each gets a name first that is no
// generation; those that are left, because who removed them died, go too.
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

// clear removes a folder, into which somebody may still put files.
func (c *claim) clear(dir string) error {
	for {
		names, err := c.world.List(dir)
		if err != nil {
			return unlessGone(err)
		}
		open := 0
		for _, name := range names {
			if strings.HasPrefix(name, ".nfs") { // it is removed, and open on this machine, where the folder's new name shuts its holder out
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

// The names of what holds claims, and of a claim that was taken over, until it is removed.
const (
	claimsSuffix = ".claims"
	goneSuffix   = ".gone"
)

// text is the content of the holder's file: the counter, with a fixed number of letters, and the holder.
func (c *claim) text() []byte {
	h, err := json.Marshal(c.me)
	if err != nil {
		panic(err) // numbers and strings
	}
	return append(c.head(strconv.Itoa(c.beats)), append(h, '\n')...)
}

func (c *claim) head(first string) []byte { return fmt.Appendf(nil, "%-*s\n", beatDigits, first) }

// beat tells others that the holder lives. The error is ErrLost if the claim was taken over; others may pass.
func (c *claim) beat() error {
	newest, err := c.world.generation(c.path)
	if err == nil && claimDir(c.path, newest) != c.dir {
		return ErrLost
	}
	c.mutex.Lock()
	c.beats++
	text := c.head(strconv.Itoa(c.beats))
	c.mutex.Unlock()
	err = c.world.Rewrite(filepath.Join(c.dir, holderName), text) // last: a list of folders may be an old one
	if err != nil && gone(err) {
		return ErrLost
	}
	return err
}

// release lets others claim the path.
func (c *claim) release() error {
	err := c.world.Rewrite(filepath.Join(c.dir, holderName), c.head(released))
	if err != nil && gone(err) {
		return ErrLost
	}
	return err
}

// remark says who holds a claim.
func (h holder) remark() string {
	if h.Process == 0 {
		return ""
	}
	if h.Host == "" {
		return fmt.Sprintf(" (process %d)", h.Process)
	}
	return fmt.Sprintf(" (process %d on %s)", h.Process, h.Host)
}

// newID draws the identifier of a claim.
func newID() string { return rand.Text() }
