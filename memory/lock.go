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

// What tells of dreams, below the folder's memory. The state is spelt as Cersei
// does.
const (
	stateFile     = ".consolidation_state.json"
	dreamLockFile = ".consolidation_lock"
)

// State is when a folder was last tidied up.
type State struct {
	// LastConsolidatedAt is in seconds since 1970, zero if it never was.
	LastConsolidatedAt int64   `json:"last_consolidated_at"`
	LockETag           *string `json:"lock_etag"`
	// Tokens and Cost are what models used for it in all.
	Tokens int64   `json:"tokens,omitempty"`
	Cost   float64 `json:"cost,omitempty"`
}

// State tells when the folder was last tidied up.
func (d *Dir) State() (State, error) {
	var s State
	c, err := d.readState(stateFile)
	if err != nil || !c.there {
		return s, err
	}
	if json.Unmarshal([]byte(c.text), &s) != nil {
		return State{}, nil // it is as if it never was
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

// Claim is who dreams, as the lock says.
type Claim struct {
	Owner string    `json:"owner"`
	Token string    `json:"token"`
	Since time.Time `json:"since"`
}

// readClaim reads who dreams; false if nobody does.
func (d *Dir) readClaim() (Claim, bool, error) {
	var c Claim
	full := d.memoryPath(dreamLockFile)
	data, err := readAll(d.fs, full)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("read who tidies up the notes: %w", err)
	}
	if json.Unmarshal(data, &c) == nil && !c.Since.IsZero() {
		return c, true, nil
	}
	// Somebody else's, or one that is just being written: its file tells since
	// when.
	info, err := d.fs.Stat(full)
	if errors.Is(err, fs.ErrNotExist) {
		return c, false, nil
	}
	if err != nil {
		return c, false, fmt.Errorf("read who tidies up the notes: %w", err)
	}
	return Claim{Owner: "somebody", Since: info.ModTime}, true, nil
}

// claim takes the lock of dreams. If somebody has it, and not for longer than
// stale, the error is [firn.ErrLocked]. The lock is made exclusively, and one
// that is stale is taken away by one process at a time.
func (d *Dir) claim(ctx context.Context, owner string, stale time.Duration) (Claim, error) {
	mine := Claim{Owner: owner, Token: string(firn.NewEntryID()), Since: d.clock().UTC()}
	err := d.locked(ctx, func() error {
		other, taken, err := d.readClaim()
		if err != nil {
			return err
		}
		// One from far in the future was taken by a clock that was wrong.
		if age := d.clock().Sub(other.Since); taken && age < stale && age > -stale {
			return fmt.Errorf("tidy up the notes in %s: %s does it since %s: %w", d.root, other.Owner, other.Since.Format(time.RFC3339), firn.ErrLocked)
		}
		if taken {
			if err := d.fs.Remove(d.memoryPath(dreamLockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("take over the tidying up of the notes: %w", err)
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
	f, err := d.fs.Open(d.memoryPath(dreamLockFile), vfs.Create) // which must not exist
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("tidy up the notes in %s: somebody has just begun: %w", d.root, firn.ErrLocked)
	}
	if err != nil {
		return fmt.Errorf("tidy up the notes: %w", err)
	}
	_, err = f.Write(append(data, '\n'))
	return errors.Join(err, f.Close())
}

// holds says whether a claim still counts: somebody may have taken over from
// one who took too long. The caller has the lock of the folder.
func (d *Dir) holds(c Claim) error {
	now, taken, err := d.readClaim()
	if err != nil {
		return err
	}
	if !taken || now.Token != c.Token {
		return fmt.Errorf("tidy up the notes in %s: somebody else took over: %w", d.root, firn.ErrLocked)
	}
	return nil
}

// release gives the lock back, if it is still ours.
func (d *Dir) release(c Claim) error {
	return d.locked(context.Background(), func() error {
		if d.holds(c) != nil {
			return nil
		}
		if err := d.fs.Remove(d.memoryPath(dreamLockFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("end the tidying up of the notes: %w", err)
		}
		return nil
	})
}
