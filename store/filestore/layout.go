package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"firn.dev"
	"firn.dev/internal/disk/journal"
)

// What is where in a home; the comment of the package shows it.
const transcriptExt = ".jsonl"

func (st *Store) agentsDir() string { return filepath.Join(st.home, "agents") }

func (st *Store) sessionsDir(agent string) string {
	return filepath.Join(st.agentsDir(), agent, "sessions")
}

func (st *Store) transcriptPath(agent string, id firn.ID) string {
	return filepath.Join(st.sessionsDir(agent), string(id)+transcriptExt)
}

func (st *Store) archiveMark(id firn.ID) string {
	return filepath.Join(st.home, "archive", string(id))
}

func (st *Store) binDir(id firn.ID) string { return filepath.Join(st.home, "bin", string(id)) }

func (st *Store) receiptsDir() string { return filepath.Join(st.home, "receipts") }

// receiptPath is where the receipt of a purged session is. Its being there
// says that the id is taken for ever.
func (st *Store) receiptPath(id firn.ID) string {
	return filepath.Join(st.receiptsDir(), string(id)+".json")
}

// checkAgent refuses agents that cannot be a directory's name.
func checkAgent(agent string) error {
	if err := firn.ID(agent).Check(); err != nil {
		return fmt.Errorf("%w agent %q: want letters, digits, dashes, underscores and dots", firn.ErrInvalid, agent)
	}
	return nil
}

// exists reports whether there is a file at path.
func (st *Store) exists(path string) (bool, error) {
	_, err := st.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// agents names the agents that have a directory.
func (st *Store) agents() ([]string, error) {
	entries, err := st.fs.ReadDir(st.agentsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for agents: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// locate finds a session's transcript, or ErrNotFound.
func (st *Store) locate(id firn.ID) (agent, path string, err error) {
	st.mu.Lock()
	open := st.sessions[id]
	link, dangling := st.dangling[id]
	st.mu.Unlock()
	if open != nil && open.begun.Load() {
		return open.agent, open.path, nil
	}
	if err := id.Check(); err != nil {
		return "", "", err
	}
	agents, err := st.agents()
	if err != nil {
		return "", "", err
	}
	for _, agent := range agents {
		path := st.transcriptPath(agent, id)
		info, err := st.fs.Stat(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", "", fmt.Errorf("look for session %s: %w", id, err)
		}
		if err == nil && (info.Size > 0 || !info.Mode.IsRegular()) { // an empty file is one whose first append failed
			return agent, path, nil
		}
	}
	if dangling {
		return "", "", fmt.Errorf("session %s: %w", id, &noTarget{link})
	}
	return "", "", fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
}

// putAway refuses ids whose session was removed or purged.
func (st *Store) putAway(id firn.ID) error {
	for what, path := range map[string]string{"removed": st.binDir(id), "purged": st.receiptPath(id)} {
		ok, err := st.exists(path)
		if err != nil {
			return fmt.Errorf("look for session %s: %w", id, err)
		}
		if ok {
			return fmt.Errorf("session %s: it was %s: %w", id, what, firn.ErrNotFound)
		}
	}
	return nil
}

// transcripts names the transcripts of an agent, with the number of the last
// part of each.
func (st *Store) transcripts(agent string) ([]transcript, error) {
	dir := st.sessionsDir(agent)
	entries, err := st.fs.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions of agent %s: %w", agent, err)
	}
	parts := make(map[string]int)
	var found []transcript
	for _, e := range entries {
		stem, ok := strings.CutSuffix(e.Name(), transcriptExt)
		if !ok {
			continue
		}
		if base, ok := strings.CutSuffix(journal.BasePath(e.Name()), transcriptExt); base != stem && ok {
			parts[base]++
			continue
		}
		if id := firn.ID(stem); id.Check() == nil {
			t := transcript{id: id, agent: agent, path: filepath.Join(dir, e.Name()), odd: !e.Type().IsRegular()}
			if t.odd {
				st.noteLink(&t)
			}
			found = append(found, t)
		}
	}
	for i := range found {
		found[i].further = parts[string(found[i].id)]
	}
	return found, nil
}

// noteLink remembers whether a transcript is a link to a file that is not there, so that
// looking for the session tells that, and not that there is no such session.
func (st *Store) noteLink(t *transcript) {
	_, err := st.fs.Stat(t.path)
	st.mu.Lock()
	defer st.mu.Unlock()
	if !errors.Is(err, fs.ErrNotExist) {
		delete(st.dangling, t.id)
		return
	}
	if st.dangling == nil {
		st.dangling = make(map[firn.ID]transcript)
	}
	st.dangling[t.id] = *t
}

// transcript is a session as its directory tells of it.
type transcript struct {
	id      firn.ID
	agent   string
	path    string
	further int // how many parts there are after the first
	// odd says that it is no regular file: a link or a directory.
	odd bool
}

// noTarget says that a transcript is a link to a file that is not there.
type noTarget struct{ transcript }

func (n *noTarget) Error() string {
	return fmt.Sprintf("%s is a link to a file that is not there", n.path)
}

// Unwrap makes it an ErrCorrupt.
func (n *noTarget) Unwrap() error { return firn.ErrCorrupt }
