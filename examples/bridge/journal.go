package bridge

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Journal keeps the messages whose answers were not sent yet, for networks that do not deliver
// a message again. A message is a file; only one bridge may use a directory.
type Journal struct {
	dir   string
	mu    sync.Mutex
	files map[string]string // by ID
	next  int
}

// record is the content of a file.
type record struct {
	ID    string          `json:"id"`
	Value json.RawMessage `json:"value"`
}

// OpenJournal opens a journal, or creates its directory, and returns the values in it in the
// order in which they were put there.
func OpenJournal(dir string) (*Journal, []json.RawMessage, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, err
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, nil, err
	}
	slices.Sort(names)
	j := &Journal{dir: dir, files: make(map[string]string)}
	var values []json.RawMessage
	for _, name := range names {
		var r record
		data, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(data, &r)
		}
		if err == nil {
			_, err = fmt.Sscanf(strings.TrimLeft(filepath.Base(name), "0"), "%d.json", &j.next)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read %s: %w; move it away to continue without this message", name, err)
		}
		j.files[r.ID], values = name, append(values, r.Value)
	}
	return j, values, nil
}

// Put writes a value to disk. It returns false if the journal already has one with this ID.
func (j *Journal) Put(id string, value any) (bool, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.files[id] != "" {
		return false, nil
	}
	data, err := json.Marshal(value)
	if err == nil {
		data, err = json.Marshal(record{id, data})
	}
	if err != nil {
		return false, err
	}
	name := filepath.Join(j.dir, fmt.Sprintf("%012d.json", j.next+1))
	if err := WriteFile(name, data); err != nil {
		return false, err
	}
	j.next++
	j.files[id] = name
	return true, nil
}

// Remove removes the value with an ID. After a power failure it may be there again.
func (j *Journal) Remove(id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	name := j.files[id]
	if name == "" {
		return nil
	}
	delete(j.files, id)
	return os.Remove(name)
}

// WriteFile replaces a file as a whole. The data is on disk when it returns.
func WriteFile(name string, data []byte) error {
	file, err := os.OpenFile(name+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil || runtime.GOOS == "windows" { // a directory cannot be synced there
		return err
	}
	dir, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}
