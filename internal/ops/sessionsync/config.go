package sessionsync

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/base/failure"
	"firn.dev/internal/disk/vfs"
)

// Dir returns the directory of sync in a home.
func Dir(home string) string { return filepath.Join(home, "sync") }

// Config lists the targets of a home and what stays on this machine.
type Config struct {
	// Machine is a random ID of this home, Name the name that other machines show.
	Machine string            `json:"machine"`
	Name    string            `json:"name"`
	Targets map[string]string `json:"targets"`
	Exclude Exclude           `json:"exclude,omitzero"`
}

// Exclude lists what never leaves this machine: sessions, the sessions of keys, the sessions
// of projects, by their directories, and notes.
type Exclude struct {
	Sessions []firn.ID `json:"sessions,omitempty"`
	Keys     []string  `json:"keys,omitempty"`
	Projects []string  `json:"projects,omitempty"`
	// Notes keeps all notes on this machine, and takes none from others.
	Notes bool `json:"notes,omitempty"`
}

// ReadConfig reads the configuration of a home. Without a file it returns an empty one with a
// new machine ID and the given name.
func ReadConfig(fsys vfs.FS, dir, name string) (*Config, error) {
	c := &Config{}
	if _, err := readJSON(fsys, configPath(dir), c); err != nil {
		return nil, err
	}
	if c.Machine == "" {
		c.Machine = strings.ToLower(rand.Text()[:16])
	}
	c.Name = cmp.Or(c.Name, name, c.Machine)
	if c.Targets == nil {
		c.Targets = make(map[string]string)
	}
	return c, nil
}

func configPath(dir string) string { return filepath.Join(dir, "config.json") }

// Change changes the configuration of a home; change reports whether it did. Other processes
// wait, so no change is lost.
func Change(fsys vfs.FS, dir, name string, change func(c *Config) (bool, error)) (err error) {
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	lock, err := fsys.Open(configPath(dir)+".lock", vfs.Update)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := lock.Lock(); err != nil {
		return err
	}
	c, err := ReadConfig(fsys, dir, name)
	if err != nil {
		return err
	}
	changed, err := change(c)
	if err != nil || !changed {
		return err
	}
	return writeJSON(fsys, configPath(dir), c)
}

// CheckName rejects a name of a target that is not a simple file name.
func CheckName(name string) error {
	if name == "" || len(name) > 40 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
		return failure.WithHint(failure.Of(firn.ErrInvalid, "invalid name of a target %.60q", name), "use up to 40 lower-case letters, digits, - and _")
	}
	if slices.Contains(reservedNames, name) {
		return failure.WithHint(failure.Of(firn.ErrInvalid, "the name %q is a command", name), "choose another name")
	}
	return nil
}

// reservedNames are the names of commands below firn sync.
var reservedNames = []string{"add", "rm", "status", "log", "identity", "exclude", "include", "target", "help", "lock"}

// RemoveTarget removes a target from the configuration and deletes its record. Entries kept
// aside because of conflicts stay. It fails while a sync runs.
func RemoveTarget(fsys vfs.FS, dir, name string) error {
	release, err := lockDir(fsys, dir)
	if err != nil {
		return err
	}
	err = Change(fsys, dir, "", func(c *Config) (bool, error) {
		delete(c.Targets, name)
		return true, nil
	})
	if err == nil {
		if err = fsys.Remove(filepath.Join(dir, name, "state.json")); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	return errors.Join(err, release())
}

// names holds the keys and directories of a session, which exclusions match.
type names struct {
	Keys        []string `json:"keys,omitempty"`
	Directories []string `json:"directories,omitempty"`
}

// excludable returns the keys and directories that exclusions match.
func (c *copyOf) excludable() *names {
	n := &names{}
	elected := c.names.Checkpoint()
	for _, claim := range elected.Keys {
		n.Keys = append(n.Keys, claim.Key)
	}
	n.Directories = slices.Clone(elected.Directories)
	if c.head != nil && c.head.Key != "" {
		n.Keys = append(n.Keys, c.head.Key)
	}
	if c.head != nil && c.head.CWD != "" {
		n.Directories = append(n.Directories, c.head.CWD)
	}
	slices.Sort(n.Keys)
	slices.Sort(n.Directories)
	n.Keys, n.Directories = slices.Compact(n.Keys), slices.Compact(n.Directories)
	return n
}

// excludes reports whether a session stays on this machine. A session that was never read, as
// one in the trash bin, may be one of an excluded key or project.
func (c *Config) excludes(id firn.ID, n *names) bool {
	x := &c.Exclude
	switch {
	case slices.Contains(x.Sessions, id):
		return true
	case len(x.Keys)+len(x.Projects) == 0:
		return false
	case n == nil:
		return true
	}
	return slices.ContainsFunc(n.Keys, func(key string) bool { return slices.Contains(x.Keys, key) }) ||
		slices.ContainsFunc(n.Directories, x.HasProject)
}

// HasProject reports whether the sessions of a directory stay on this machine.
func (x *Exclude) HasProject(dir string) bool {
	return slices.ContainsFunc(x.Projects, func(root string) bool { return isUnder(dir, root) })
}

// isUnder reports whether a directory is another one or below it.
func isUnder(dir, root string) bool {
	rest, ok := strings.CutPrefix(dir, strings.TrimRight(root, `/\`))
	return ok && dir != "" && (rest == "" || rest[0] == '/' || rest[0] == '\\')
}

// ReadIdentity reads the sync identity of a home; nil if it has none.
func ReadIdentity(fsys vfs.FS, dir string) (*Identity, error) {
	file, err := fsys.Open(identityPath(dir), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, 64<<10))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	return ParseIdentity(string(data))
}

func identityPath(dir string) string { return filepath.Join(dir, "identity") }

// Write saves the identity, readable by the owner of the home only.
func (i *Identity) Write(fsys vfs.FS, dir string) error {
	if err := fsys.MkdirAll(dir); err != nil {
		return err
	}
	return vfs.WriteFile(fsys, identityPath(dir), []byte(i.Text()))
}

// Status is the state of a target in this home.
type Status struct {
	Name   string `json:"name"`
	Target string `json:"target"`
	// Last is the time of the last complete sync.
	Last      time.Time   `json:"last,omitzero"`
	Machines  []Machine   `json:"machines,omitempty"`
	Sessions  int         `json:"sessions"`
	Heads     []OtherHead `json:"heads,omitempty"`
	Conflicts int         `json:"conflicts,omitempty"`
}

// SessionReceipt is a receipt and its session.
type SessionReceipt struct {
	Session firn.ID `json:"session"`
	Receipt
}

// Machine is a machine that publishes on a target.
type Machine struct {
	ID string `json:"id"`
	// Name ends with a part of the ID if another machine has the same name.
	Name string    `json:"name"`
	Last time.Time `json:"last,omitzero"`
	// Own is set for this machine.
	Own bool `json:"own,omitempty"`
	// Waiting is the number of manifests that could not be imported completely.
	Waiting int `json:"waiting,omitempty"`
}

// ReadStatus returns the state of a target. It reads nothing but files of the home.
func ReadStatus(fsys vfs.FS, dir, name string, c *Config) (Status, error) {
	s := Status{Name: name, Target: c.Targets[name]}
	st, err := readState(fsys, filepath.Join(dir, name, "state.json"))
	if err != nil {
		return s, err
	}
	marks, err := readMarks(fsys, dir)
	if err != nil {
		return s, err
	}
	r := &run{Options: Options{Config: c}, st: st}
	s.Last, s.Heads = st.Last, r.heads()
	for id, p := range st.Sessions {
		if !p.Excluded && !marks.Applied[id].Purged {
			s.Sessions++
		}
	}
	for id, m := range st.Machines {
		s.Machines = append(s.Machines, Machine{ID: id, Name: st.label(id, c), Last: m.Time, Own: id == c.Machine, Waiting: len(m.Open)})
	}
	slices.SortFunc(s.Machines, func(a, b Machine) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	s.Conflicts = countConflicts(fsys, filepath.Join(dir, name, conflictDir))
	return s, nil
}

// ReadReceipts returns the receipts of purges of this machine and others, by time. The name of a
// machine ends with a part of its ID if another machine has the same name.
func ReadReceipts(fsys vfs.FS, dir string, c *Config) ([]SessionReceipt, error) {
	marks, err := readMarks(fsys, dir)
	if err != nil {
		return nil, err
	}
	var all []SessionReceipt
	machines := newState()
	for id, m := range marks.Applied {
		for _, receipt := range m.Receipts {
			all = append(all, SessionReceipt{id, receipt})
			machines.Machines[receipt.Machine] = &seenMachine{Name: receipt.Name}
		}
	}
	for target := range c.Targets {
		st, err := readState(fsys, filepath.Join(dir, target, "state.json"))
		if err != nil {
			return nil, err
		}
		maps.Copy(machines.Machines, st.Machines)
	}
	for i := range all {
		all[i].Name = machines.label(all[i].Machine, c)
	}
	slices.SortFunc(all, func(a, b SessionReceipt) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Session, b.Session), cmp.Compare(a.Machine, b.Machine))
	})
	return all, nil
}

// countConflicts counts the entries that were kept aside.
func countConflicts(fsys vfs.FS, dir string) int {
	n := 0
	sessions, err := fsys.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, s := range sessions {
		files, err := fsys.ReadDir(filepath.Join(dir, s.Name()))
		if err == nil {
			n += len(files)
		}
	}
	return n
}

// appendLog adds a report to the log of syncs.
func appendLog(fsys vfs.FS, dir string, r *Report) error {
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	file, err := fsys.Open(filepath.Join(dir, "log.jsonl"), vfs.Append)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	return errors.Join(err, file.Close())
}

// ReadLog returns the latest reports, oldest first. Lines that a crash cut are skipped.
func ReadLog(fsys vfs.FS, dir string, limit int) ([]Report, error) {
	file, err := fsys.Open(filepath.Join(dir, "log.jsonl"), vfs.Read)
	if errors.Is(err, fs.ErrNotExist) {
		return []Report{}, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	all := []Report{}
	for line := range bytes.Lines(data) {
		var r Report
		if json.Unmarshal(line, &r) == nil && r.Target != "" {
			all = append(all, r)
		}
	}
	return all[max(0, len(all)-limit):], nil
}

func trimLine(line []byte) []byte { return bytes.TrimRight(line, "\r\n") }

// emptyReader is a body without lines.
type emptyReader struct{}

// Read implements io.Reader.
func (emptyReader) Read([]byte) (int, error) { return 0, io.EOF }
