package faultfs

import (
	"errors"
	"fmt"
	"syscall"
)

// Kind is a set of kinds of operations.
type Kind uint32

// The kinds of operations. An open that creates the file is Create, any other is Open.
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
	// Changing are the kinds that change the disk.
	Changing = Create | Write | Truncate | Sync | SyncDir | SyncFS | Mkdir | Rename | Remove
	// Locking are the kinds that take and release locks.
	Locking = Lock | Unlock
)

// ErrPowerOff is returned by every operation after PowerOff takes effect.
var ErrPowerOff = errors.New("the power is off")

// Fault describes how an operation fails.
type Fault struct {
	// Of is the set of kinds that are counted and fail; zero means Any.
	Of Kind
	// Err is the error to return; nil means EIO.
	Err error
	// Short is the number of bytes that a write or read transfers before it fails.
	Short int
	// After performs the operation before returning the error, as if only the response was
	// lost.
	After bool
	// Always makes all further operations of these kinds fail too.
	Always bool
	// Evict makes data lost by a failed sync unreadable immediately rather than after a
	// crash, as if the kernel had dropped the page and read the old one back.
	Evict bool
}

// armed is a fault that has not been triggered yet.
type armed struct {
	Fault
	left int
}

// FailNth makes the nth operation from now fail, counting only operations of the fault's
// kinds; 1 is the next one. A failed sync, unless the fault is After, keeps a random part
// of the unsynced bytes and drops the rest, which no later sync writes.
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

// PowerOff allows n-1 more operations of the given kinds. From the nth on, every operation
// of any kind fails with [ErrPowerOff] and has no effect. Use [FS.CrashStates] and
// [FS.CrashRandom] to get the possible contents of the disk.
func (f *FS) PowerOff(n int, of Kind) {
	f.FailNth(n, Fault{Of: of, Err: ErrPowerOff, Always: true})
}

// Waiting returns the number of faults that have not been triggered yet.
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

// Hook sets a function that is called before every operation with its log line, before
// faults are evaluated. The hook may block or use the file system as another process would.
// Its own operations call it again, so it should check its arguments. Nil removes the hook.
func (f *FS) Hook(hook func(kind Kind, line string)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

// Seed seeds the random choices of failed syncs.
func (f *FS) Seed(seed uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rng = seeded(seed)
}

// record is a logged operation.
type record struct {
	kind Kind
	line string
}

// Log returns the operations so far, of the given kinds or all, including failed ones. A
// line has the operation, its path, and for a write the number of bytes and the offset, as
// in "write a/b.jsonl 120@4096".
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

// Count returns the number of operations so far, of the given kinds or all.
func (f *FS) Count(of ...Kind) int { return len(f.Log(of...)) }

// ClearLog clears the log of operations.
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

// line returns a description that does not depend on the state.
func line(kind Kind, text string) func() (Kind, string) {
	return func() (Kind, string) { return kind, text }
}

// startOp starts an operation: it locks f.mu, logs the operation, calls the hook and
// returns the fault that it triggers, if any. The caller unlocks f.mu.
func (f *FS) startOp(describe func() (Kind, string)) *Fault {
	f.mu.Lock()
	kind, text := describe()
	f.log = append(f.log, record{kind, text})
	if hook := f.hook; hook != nil {
		f.mu.Unlock()
		hook(kind, text)
		f.mu.Lock()
	}
	return f.matchFault(kind)
}

// matchFault counts the operation against all faults and returns the one that it triggers.
func (f *FS) matchFault(kind Kind) *Fault {
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

// run performs an operation unless the fault prevents it.
func (fault *Fault) run(act func() error) error {
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

// String returns a short description of the fault for subtest names.
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
