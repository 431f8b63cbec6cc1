package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// The files of consolidations in the folder's memory directory. The state is encoded as in
// Cersei.
const (
	stateFile     = ".consolidation_state.json"
	dreamLockFile = ".consolidation_lock"
)

// State is the state of a folder's consolidations.
type State struct {
	// LastConsolidatedAt is in seconds since 1970; zero means never.
	LastConsolidatedAt int64   `json:"last_consolidated_at"`
	LockETag           *string `json:"lock_etag"`
	// Tokens and Cost are the total usage of models.
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
}

// State returns the state of the folder's consolidations.
func (d *Dir) State() (State, error) {
	var s State
	c, err := d.readState(stateFile)
	if err != nil || !c.there {
		return s, err
	}
	if json.Unmarshal([]byte(c.text), &s) != nil {
		return State{}, nil // an unreadable state counts as none
	}
	return s, nil
}

func (s State) last() time.Time {
	if s.LastConsolidatedAt <= 0 {
		return time.Time{}
	}
	return time.Unix(s.LastConsolidatedAt, 0)
}

func (s State) content() content {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return content{}
	}
	return content{string(data) + "\n", true}
}

// Claim is the content of the lock file: the process that consolidates the folder.
type Claim struct {
	Owner string    `json:"owner"`
	Token string    `json:"token"`
	Since time.Time `json:"since"`
}

// readClaim reads the lock file; it returns false if there is none.
func (d *Dir) readClaim() (Claim, bool, error) {
	var c Claim
	full := d.memoryPath(dreamLockFile)
	data, err := readAll(d.fs, full)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("read the lock of the notes: %w", err)
	}
	if json.Unmarshal(data, &c) == nil && !c.Since.IsZero() {
		return c, true, nil
	}
	// A foreign lock, or one that is being written: use the modification time.
	info, err := d.fs.Stat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("read the lock of the notes: %w", err)
	}
	return Claim{Owner: "an unknown process", Since: info.ModTime}, true, nil
}

// claim takes the consolidation lock. It fails with [firn.ErrLocked] if another process has
// held it for less than stale. The lock file is created exclusively, and a stale one is
// removed by one process at a time.
func (d *Dir) claim(ctx context.Context, owner string, stale time.Duration) (Claim, error) {
	mine := Claim{Owner: owner, Token: string(firn.NewEntryID()), Since: d.clock().UTC()}
	err := d.locked(ctx, func() error {
		other, taken, err := d.readClaim()
		if err != nil {
			return err
		}
		// A time far in the future is from a wrong clock.
		if age := d.clock().Sub(other.Since); taken && age < stale && age > -stale {
			return fmt.Errorf("consolidate the notes in %s: %s is already doing it since %s: %w", d.root, other.Owner, other.Since.Format(time.RFC3339), firn.ErrLocked)
		}
		if taken {
			if err := d.fs.Remove(d.memoryPath(dreamLockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("take over the lock of the notes: %w", err)
			}
		}
		return d.writeClaim(mine)
	})
	return mine, err
}

func (d *Dir) writeClaim(c Claim) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	f, err := d.fs.Open(d.memoryPath(dreamLockFile), vfs.Create) // fails if it exists
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("consolidate the notes in %s: another process has just started: %w", d.root, firn.ErrLocked)
	}
	if err != nil {
		return fmt.Errorf("consolidate the notes: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Close())
}

// checkClaim fails if a claim is no longer valid, because another process took over after
// it became stale. The caller holds the lock of the folder.
func (d *Dir) checkClaim(c Claim) error {
	now, taken, err := d.readClaim()
	if err != nil {
		return err
	}
	if !taken || now.Token != c.Token {
		return fmt.Errorf("consolidate the notes in %s: another process took over: %w", d.root, firn.ErrLocked)
	}
	return nil
}

// release releases the lock if it is still ours.
func (d *Dir) release(c Claim) error {
	return d.locked(context.Background(), func() error {
		if d.checkClaim(c) != nil {
			return nil
		}
		if err := d.fs.Remove(d.memoryPath(dreamLockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("release the lock of the notes: %w", err)
		}
		return nil
	})
}
