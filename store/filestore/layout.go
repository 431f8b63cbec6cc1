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

// The package comment describes the layout of a home.
const transcriptExt = ".jsonl"

func (st *homeDir) agentsDir() string { return filepath.Join(st.home, "agents") }

func (st *homeDir) sessionsDir(agent string) string {
	return filepath.Join(st.agentsDir(), agent, "sessions")
}

func (st *homeDir) transcriptPath(agent string, id firn.ID) string {
	return filepath.Join(st.sessionsDir(agent), string(id)+transcriptExt)
}

func (st *homeDir) archiveMark(id firn.ID) string {
	return filepath.Join(st.home, "archive", string(id))
}

func (st *homeDir) binDir(id firn.ID) string { return filepath.Join(st.home, "bin", string(id)) }

func (st *homeDir) receiptsDir() string { return filepath.Join(st.home, "receipts") }

// receiptPath returns the path of the receipt of a purged session. While the file exists,
// the ID is reserved.
func (st *homeDir) receiptPath(id firn.ID) string {
	return filepath.Join(st.receiptsDir(), string(id)+".json")
}

// checkAgent rejects agents that are not valid directory names.
func checkAgent(agent string) error {
	if err := firn.ID(agent).Check(); err != nil {
		return fmt.Errorf("%w agent %q: expected letters, digits, dashes, underscores and dots", firn.ErrInvalid, agent)
	}
	return nil
}

// exists reports whether there is a file at path.
func (st *homeDir) exists(path string) (bool, error) {
	_, err := st.fs.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// agents returns the agents that have a directory.
func (st *homeDir) agents() ([]string, error) {
	entries, err := st.fs.ReadDir(st.agentsDir())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// locate returns the transcript of a session, or ErrNotFound.
func (st *homeDir) locate(id firn.ID) (agent, path string, err error) {
	st.mu.Lock()
	open := st.sessions[id]
	link, dangling := st.dangling[id]
	st.mu.Unlock()
	if open != nil && open.hasHeader.Load() {
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
			return "", "", fmt.Errorf("find session %s: %w", id, err)
		}
		if err == nil && (info.Size > 0 || !info.Mode.IsRegular()) { // an empty file is left by a failed first append
			return agent, path, nil
		}
	}
	if dangling {
		return "", "", fmt.Errorf("session %s: %w", id, &danglingLink{link})
	}
	return "", "", fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
}

// checkRemoved returns ErrNotFound if a session was removed or purged.
func (st *homeDir) checkRemoved(id firn.ID) error {
	for what, path := range map[string]string{"removed": st.binDir(id), "purged": st.receiptPath(id)} {
		ok, err := st.exists(path)
		if err != nil {
			return fmt.Errorf("find session %s: %w", id, err)
		}
		if ok {
			return fmt.Errorf("session %s: it was %s: %w", id, what, firn.ErrNotFound)
		}
	}
	return nil
}

// transcripts returns the transcripts of an agent, with the number of further parts of
// each.
func (st *homeDir) transcripts(agent string) ([]transcript, error) {
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
			t := transcript{id: id, agent: agent, path: filepath.Join(dir, e.Name()), irregular: !e.Type().IsRegular()}
			if t.irregular {
				st.recordLink(&t)
			}
			found = append(found, t)
		}
	}
	for i := range found {
		found[i].extraParts = parts[string(found[i].id)]
	}
	return found, nil
}

// recordLink records whether a transcript is a link to a missing file, so that locating the
// session returns that error instead of ErrNotFound.
func (st *homeDir) recordLink(t *transcript) {
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

// transcript is a session found in a directory.
type transcript struct {
	id         firn.ID
	agent      string
	path       string
	extraParts int // number of parts after the first
	// irregular is set if it is not a regular file but a link or a directory.
	irregular bool
}

// danglingLink is the error for a transcript that is a link to a missing file.
type danglingLink struct{ transcript }

func (n *danglingLink) Error() string {
	return fmt.Sprintf("%s is a link to a file that does not exist", n.path)
}

// Unwrap returns firn.ErrCorrupt.
func (n *danglingLink) Unwrap() error { return firn.ErrCorrupt }
