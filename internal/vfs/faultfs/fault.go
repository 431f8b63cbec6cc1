package faultfs

import (
	"errors"
	"fmt"
	"syscall"
)

// Kind is a set of kinds of operations.
type Kind uint32

// The kinds of operations. An open that makes the file is Create, any other is
// Open.
const (
	Open Kind = 1 << iota
	Create
	Close
	Stat
	Read
	ReadDir
	Write
	Truncate
	Sync
	SyncDir
	SyncFS
	Mkdir
	Rename
	Remove
	Lock
	Unlock

	// Any is every kind.
	Any = 1<<iota - 1
	// Changing are the kinds that change what is on the disk.
	Changing = Create | Write | Truncate | Sync | SyncDir | SyncFS | Mkdir | Rename | Remove
	// Locking are the kinds that take and free locks.
	Locking = Lock | Unlock
)

// ErrPowerOff is the error of every operation after the power went off.
var ErrPowerOff = errors.New("the power is off")

// Fault says how an operation fails.
type Fault struct {
	// Of is the kinds of operations that are counted and fail; zero is Any.
	Of Kind
	// Err is the error; nil is EIO.
	Err error
	// Short lets a write write, or a read read, so many bytes before it fails.
	Short int
	// After lets the operation be done before the error is returned, as if
	// only the answer was lost.
	After bool
	// Always makes all further operations of these kinds fail too.
	Always bool
	// Evict makes what a failed sync lost unreadable at once, not only after a
	// crash: the kernel threw the page out and read the old one back.
	Evict bool
}

// armed is a fault that waits for its time.
type armed struct {
	Fault
	left int
}

// FailNth makes the nth operation from now fail, counting those of the kinds
// of the fault; 1 is the next one. A sync that fails, unless it fails After,
// keeps a random part of the unsynced bytes and forgets about the rest: no
// later sync writes them.
func (f *FS) FailNth(n int, fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if fault.Of == 0 {
		fault.Of = Any
	}
	if fault.Err == nil {
		fault.Err = syscall.EIO
	}
	f.faults = append(f.faults, &armed{Fault: fault, left: n})
}

// PowerOff lets n-1 more operations of the given kinds happen; from the nth on,
// every operation of any kind fails with [ErrPowerOff] and does nothing. What
// is then on the disk, [FS.CrashStates] and [FS.CrashRandom] tell.
func (f *FS) PowerOff(n int, of Kind) {
	f.FailNth(n, Fault{Of: of, Err: ErrPowerOff, Always: true})
}

// Waiting returns the number of faults that no operation has met yet.
func (f *FS) Waiting() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, a := range f.faults {
		if a.left > 0 {
			n++
		}
	}
	return n
}

// Hook sets a function that is called before every operation, with the line
// that the log has for it, before it is decided whether the operation fails. It
// may wait, or use the file system in the name of somebody else; that calls it
// again, so it should mind what it is called for. Nil takes it away.
func (f *FS) Hook(hook func(kind Kind, line string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Seed sets what chance does when a sync fails.
func (f *FS) Seed(seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rng = seeded(seed)
}

// record is an operation as the log has it.
type record struct {
	kind Kind
	line string
}

// Log returns the operations so far, of the given kinds or all: what was done,
// to what, and for a write how many bytes where, as in "write a/b.jsonl
// 120@4096". Also those that failed are in it.
func (f *FS) Log(of ...Kind) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var lines []string
	for _, r := range f.log {
		if r.kind&union(of) != 0 {
			lines = append(lines, r.line)
		}
	}
	return lines
}

// Count returns how many operations there were, of the given kinds or all.
func (f *FS) Count(of ...Kind) int { return len(f.Log(of...)) }

// ClearLog forgets the operations so far.
func (f *FS) ClearLog() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log = nil
}

func union(of []Kind) Kind {
	if len(of) == 0 {
		return Any
	}
	var all Kind
	for _, k := range of {
		all |= k
	}
	return all
}

// line is a description that does not depend on the state.
func line(kind Kind, text string) func() (Kind, string) {
	return func() (Kind, string) { return kind, text }
}

// begin starts an operation: it takes f.mu, writes the operation down, calls
// the hook and finds out whether the operation is to fail. The caller frees f.mu.
func (f *FS) begin(describe func() (Kind, string)) *Fault {
	f.mu.Lock()
	kind, text := describe()
	f.log = append(f.log, record{kind, text})
	if hook := f.hook; hook != nil {
		f.mu.Unlock()
		hook(kind, text)
		f.mu.Lock()
	}
	return f.meet(kind)
}

// meet counts the operation against all faults and returns the one it meets.
func (f *FS) meet(kind Kind) *Fault {
	var met *Fault
	for _, a := range f.faults {
		off := a.Always && a.left <= 0 && a.Err == ErrPowerOff
		if a.Of&kind == 0 && !off {
			continue
		}
		a.left--
		if a.left == 0 || a.Always && a.left < 0 {
			met = &a.Fault
		}
	}
	return met
}

// around does an operation unless it is to fail.
func (fault *Fault) around(act func() error) error {
	if fault == nil {
		return act()
	}
	if fault.After {
		if err := act(); err != nil {
			return err
		}
	}
	return fault.Err
}

// String tells the fault in few words, for the name of a subtest.
func (fault Fault) String() string {
	text := "fail"
	if fault.Err != nil {
		text = fault.Err.Error()
	}
	if fault.Short > 0 {
		text += fmt.Sprintf(" after %d bytes", fault.Short)
	}
	if fault.After {
		text += ", but done"
	}
	return text
}
