package lock

import (
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

// ErrLost is a holder's error after another process has seen no sign of life and has taken over its claim.
var ErrLost = fmt.Errorf("another process has taken it over, after a time without a sign of life of this one: %w", ErrHeld)

// A claim holds a path on a file system with locks that do not reach other machines. The claim of generation n of the
// path "lock" is the folder "lock.claims/n": making a folder is exclusive on every file system. The newest generation
// counts. Its holder rewrites a counter in the folder, the heartbeat. A process that sees no change for a time, by its
// clock, makes the folder of the next generation, which again only one process can do. Then it removes the older
// folder. Generations never begin again: the newest folder stays when its holder has released it.
//
// A holder puts files in place by renaming them out of a folder in the claim's folder, and takes files away by renaming
// them into this folder. A holder that was stopped and comes back after another process took over its claim can do
// neither: the folder is gone. The folder's name is random. Another process that was stopped, too, may make the folder
// of an old generation again before it sees newer generations.
type claim struct {
	world *world
	path  string // the path of the lock
	dir   string // the folder of the claim
	files string // the folder for files in dir
	me    holder
	over  bool // this process took it over from a holder that had not released it

	mutex sync.Mutex
	beats int
}

// holder describes the process with a claim.
type holder struct {
	Process int     `json:"process"`
	Host    string  `json:"host,omitempty"`
	Boot    string  `json:"boot,omitempty"`   // identifies the running system; empty: unknown
	Device  string  `json:"device,omitempty"` // the file system's number; empty: unknown
	After   float64 `json:"after"`            // seconds without a heartbeat after which it counts as dead
	ID      string  `json:"id"`               // the claim's random identifier
}

// world holds the functions through which claims see the machine. Tests replace them.
type world struct {
	files
	now   func() time.Duration // never goes back, and stands still while the machine sleeps
	after time.Duration        // time without a heartbeat after which a holder counts as dead
	me    func(path string) holder

	lock    func(f *os.File) (bool, error) // takes the system's lock of a file
	mode    string                         // whether claims are used: auto, always, only or never
	network func(dir string) bool          // reports whether several machines may share a folder's file system
}

// files are operations on files; each operation succeeds as a whole or does nothing.
type files interface {
	Mkdir(path string) error           // fails if the path exists
	List(dir string) ([]string, error) // names
	Read(path string) ([]byte, error)
	Create(path string, text []byte) error  // fails if the path exists
	Rewrite(path string, text []byte) error // overwrites the beginning of an existing file
	Rename(from, to string) error
	Remove(path string) error // a file, or an empty folder
}

const (
	holderName = "holder"   // the file in the folder of a claim
	released   = "released" // the text of a released claim, instead of the counter
	beatDigits = 16         // width of the counter
	beatPart   = 12         // heartbeats in the time without one after which a holder counts as dead
	lookPart   = 8          // a look counts for at most 1/lookPart of that time: a stopped waiter has seen nothing
	leastLook  = time.Second
)

// sight is the last observation of a claim.
type sight struct {
	generation int
	text       string // content of the claim's file
	alone      time.Duration
	alive      bool          // the text changed between two looks
	last       time.Duration // time of the last look
}

// Watch remembers the heartbeats of claims, to take over the claims of dead holders.
type Watch struct {
	world *world
	err   error // the settings or the machine's state are invalid
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

// Doubts reports whether a path has a claim and the watch has not yet seen a sign of life of its holder.
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

// generation returns the newest generation of a path's claims, or 0 without claims.
func (w *world) generation(path string) (newest int, err error) {
	all, err := w.generations(path)
	for _, n := range all {
		newest = max(newest, n)
	}
	return newest, err
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

// claim claims a path. It returns a HeldError if the newest claim's holder is not known to be dead. The watch may know
// this. Or this machine's locks work, this process has the lock of the path, and the holder held the path on this
// machine.
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

// begin turns the new folder, which other processes already see, into the claim of this process. It writes the holder
// and removes older generations.
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

// faster reports whether a newer generation exists. It makes a folder first: a process that changes a folder does not
// read an outdated list of it.
func (c *claim) faster(mine int) (bool, error) {
	own := filepath.Join(c.path+claimsSuffix, c.me.ID+goneSuffix) // any process that finds it may remove it
	if err := c.world.Mkdir(own); err != nil {
		return false, err
	}
	newest, err := c.world.generation(c.path)
	return newest > mine, errors.Join(err, unlessGone(c.world.Remove(own)))
}

// fence removes the folders of older generations: their holders can then rename nothing from them. fence first renames
// each folder to a name that is no generation. It also removes renamed folders that a dead process has left.
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
			if strings.HasPrefix(name, ".nfs") { // it is removed but open on this machine; the folder's new name shuts its holder out
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

// The endings of the folder of claims, and of a claim that was taken over, until it is removed.
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

// beat rewrites the counter to show that the holder lives. The error is ErrLost if the claim was taken over; others may
// pass.
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

// remark names the holder of a claim.
func (h holder) remark() string {
	if h.Process == 0 {
		return ""
	}
	if h.Host == "" {
		return fmt.Sprintf(" (process %d)", h.Process)
	}
	return fmt.Sprintf(" (process %d on %s)", h.Process, h.Host)
}
