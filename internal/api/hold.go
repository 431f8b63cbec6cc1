package api

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"firn/internal/vfs"
	"firn/wire"
)

// Hold is the hold of one process on a home: while it has it, no other gateway
// serves that home. The kernel lets go of it when the process dies.
type Hold struct{ file vfs.File }

// holder is what the lock file says of who has it.
type holder struct {
	PID   int       `json:"pid"`
	What  string    `json:"what"`
	Since time.Time `json:"since"`
}

const lockName = "lock"

// TakeHold takes hold of a home, for what is named. If another process has it,
// the error is ErrLocked and says which.
func TakeHold(fsys vfs.FS, home, what string) (*Hold, error) {
	dir := filepath.Join(home, gatewayDir)
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, fmt.Errorf("take hold of the home %s: %w", home, err)
	}
	path := filepath.Join(dir, lockName)
	f, err := fsys.Open(path, vfs.Update)
	if err != nil {
		return nil, fmt.Errorf("take hold of the home %s: %w", home, err)
	}
	taken, err := f.TryLock()
	if err == nil && !taken {
		err = heldBy(f, home)
	}
	if err != nil {
		f.Close()
		if !taken {
			return nil, err
		}
		return nil, fmt.Errorf("take hold of the home %s: %w", home, err)
	}
	// To say who has it is a courtesy. A disk that has no room for that still has sessions to
	// be read.
	_ = sign(f, holder{PID: os.Getpid(), What: what, Since: time.Now().UTC().Truncate(time.Second)})
	return &Hold{file: f}, nil
}

// Release lets go.
func (h *Hold) Release() error {
	if err := h.file.Truncate(0); err != nil {
		h.file.Close()
		return fmt.Errorf("let go of the home: %w", err)
	}
	return h.file.Close() // which frees the lock
}

// sign writes down who has the lock.
func sign(f vfs.File, h holder) error {
	data, err := json.Marshal(h)
	if err != nil {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(append(data, '\n'), 0)
	return err
}

// heldBy says who has the lock.
func heldBy(f vfs.File, home string) error {
	who := "another process"
	var b [512]byte
	n, _ := f.ReadAt(b[:], 0) // it may just have been taken, and say nothing yet
	var h holder
	if json.Unmarshal(b[:n], &h) == nil && h.PID > 0 {
		who = fmt.Sprintf("a %s with the process id %d, since %s,", h.What, h.PID, h.Since.Local().Format("2 January 15:04:05"))
	}
	return &wire.Problem{
		Kind: wire.Locked, Message: fmt.Sprintf("the home %s is taken: %s has it", home, who),
		Hint: "talk to that one, or stop it first: firn stop",
	}
}
