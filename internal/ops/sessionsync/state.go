package sessionsync

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
)

// state records what this home has read from and published to a target. It can be lost: the
// next sync reads the whole target and publishes what is missing there. Only then is a target
// that was rolled back not noticed.
type state struct {
	// Counter is the number of this machine's latest manifest, Latest its name.
	Counter int    `json:"counter"`
	Latest  string `json:"latest,omitempty"`
	// ReadAgain is set until the whole target was read again, because entries were skipped or a
	// session was replaced. Nothing is imported twice.
	ReadAgain bool `json:"read_again,omitempty"`
	// Pieces are the names of the pieces that this machine published since the latest base.
	Pieces []string `json:"pieces,omitempty"`
	// Republish is set until everything was published again, because the target lost data.
	Republish bool `json:"republish,omitempty"`
	// Machines are the machines seen on the target, by ID.
	Machines map[string]*seenMachine `json:"machines"`
	// Sessions are the sessions of this home as they were when they were published.
	Sessions map[firn.ID]published `json:"sessions"`
	// Marks are the hashes of the marks that are on the target.
	Marks map[firn.ID]string `json:"marks,omitempty"`
	// Notes are the hashes of the versions of notes that are on the target.
	Notes map[noteID]string `json:"notes,omitempty"`
	// WithNotes is set if the notes of all manifests that were read were imported. It is not if
	// they were excluded or an earlier version did not know them.
	WithNotes bool `json:"with_notes,omitempty"`
	// Importing holds the head of a session while entries are added to it.
	Importing map[firn.ID]firn.EntryID `json:"importing,omitempty"`
	// Heads are the heads of sessions that grew on other machines, by session and machine.
	Heads map[firn.ID]map[string]firn.EntryID `json:"heads,omitempty"`
	// Last is the time of the last complete sync.
	Last time.Time `json:"last,omitzero"`
}

// seenMachine is what was read of a machine's manifests.
type seenMachine struct {
	Name string `json:"name"`
	// Highest is the number of the latest manifest that could be opened, Hash its name.
	Highest int    `json:"highest"`
	Hash    string `json:"hash,omitempty"`
	// Base is the number from which on the manifests contain everything, so that earlier ones
	// may be missing.
	Base int `json:"base,omitempty"`
	// Open are the manifests up to Highest that could not be imported completely.
	Open []int     `json:"open,omitempty"`
	Time time.Time `json:"time,omitzero"`
}

// published is the state of a session when it was published.
type published struct {
	// Entries is the number of readable entries, in file order. Sum is the hash of their IDs:
	// if the session does not begin with them anymore, it was replaced by another copy.
	Entries  int       `json:"entries"`
	Sum      string    `json:"sum,omitempty"`
	Bytes    int64     `json:"bytes"`
	Modified time.Time `json:"modified"`
	// Names are the keys and directories that exclusions match; nil if the session was not read.
	Names *names `json:"names,omitempty"`
	// Removed is set if the session was in the trash bin, and so not read and not imported to.
	Removed bool `json:"removed,omitempty"`
	// Excluded is set if the session was kept on this machine.
	Excluded bool `json:"excluded,omitempty"`
	// Erased is the number of purged entries.
	Erased int `json:"erased,omitempty"`
}

func newState() *state {
	return &state{Machines: make(map[string]*seenMachine), Sessions: make(map[firn.ID]published), Marks: make(map[firn.ID]string), Notes: make(map[noteID]string),
		Importing: make(map[firn.ID]firn.EntryID), Heads: make(map[firn.ID]map[string]firn.EntryID)}
}

// readJSON reads a file of the home into v. It reports whether the file exists.
func readJSON(fsys vfs.FS, name string, v any) (bool, error) {
	file, err := fsys.Open(name, vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return false, fmt.Errorf("read %s: %w", name, err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return true, failure.Of(firn.ErrCorrupt, "read %s: %v", name, err)
	}
	return true, nil
}

// writeJSON replaces a file of the home.
func writeJSON(fsys vfs.FS, name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := fsys.MkdirAll(filepath.Dir(name)); err != nil {
		return err
	}
	return vfs.WriteFile(fsys, name, append(data, '\n'))
}

// readState reads the state of a target. A damaged one counts as lost.
func readState(fsys vfs.FS, name string) (*state, error) {
	s := newState()
	_, err := readJSON(fsys, name, s)
	if errors.Is(err, firn.ErrCorrupt) {
		return newState(), nil
	}
	if err != nil {
		return nil, err
	}
	fresh := newState() // members that the file lacks
	if s.Machines == nil {
		s.Machines = fresh.Machines
	}
	if s.Sessions == nil {
		s.Sessions = fresh.Sessions
	}
	if s.Marks == nil {
		s.Marks = fresh.Marks
	}
	if s.Notes == nil {
		s.Notes = fresh.Notes
	}
	if s.Importing == nil {
		s.Importing = fresh.Importing
	}
	if s.Heads == nil {
		s.Heads = fresh.Heads
	}
	return s, nil
}

// label returns the name of a machine. If another machine has the same name, a part of the ID
// follows it.
func (s *state) label(machine string, own *Config) string {
	name := s.nameOf(machine, own)
	if machine != own.Machine && name == own.Name {
		return name + "-" + machine[:min(idPart, len(machine))]
	}
	for other := range s.Machines {
		if other != machine && s.nameOf(other, own) == name {
			return name + "-" + machine[:min(idPart, len(machine))]
		}
	}
	return name
}

// idPart is the number of characters of a machine's ID that distinguish machines of one name.
const idPart = 6

func (s *state) nameOf(machine string, own *Config) string {
	if machine == own.Machine {
		return own.Name
	}
	if seen := s.Machines[machine]; seen != nil {
		return cmp.Or(seen.Name, machine)
	}
	return machine
}
