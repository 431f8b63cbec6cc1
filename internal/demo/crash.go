package demo

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"firn"
	"firn/internal/vfs"
	"firn/store"
	"firn/store/filestore"
)

// killAfter is how many entries the writer may have acknowledged before it is
// killed. It is in the middle of a turn then, and of the next append.
const killAfter = 101

// kill starts a writer as another process, kills it in the middle of its work,
// and looks for every entry that it said was saved.
func (t *tour) kill() (string, error) {
	id, err := store.LoadOrCreate(t.ctx, t.st, "agent:main:killed")
	if err != nil {
		return "", err
	}
	t.killed = id
	acknowledged, err := t.runAndKill(id)
	if err != nil {
		return "", err
	}
	if err := t.reopen(); err != nil {
		return "", err
	}
	found := make(map[firn.EntryID]bool)
	for rec, err := range t.st.Read(t.ctx, id, store.Start) {
		if err != nil {
			return "", err
		}
		if rec.Gap == nil && rec.Glance.ID != "" {
			found[rec.Glance.ID] = true
		}
	}
	lost := 0
	for _, entry := range acknowledged {
		if !found[entry] {
			lost++
		}
	}
	if lost > 0 {
		return "", fmt.Errorf("%d of %d acknowledged entries are lost", lost, len(acknowledged))
	}
	if err := t.say(id, firn.UserText("Go on.")); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d entries acknowledged, %d found, 0 lost", len(acknowledged), len(found)), nil
}

// runAndKill returns the entries that the writer acknowledged before it died.
func (t *tour) runAndKill(id firn.ID) ([]firn.EntryID, error) {
	cmd, err := t.writer(id)
	if err != nil {
		return nil, err
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the writer: %w", err)
	}
	var acknowledged []firn.EntryID
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadString('\n')
		if err != nil { // what it did not finish saying does not count
			break
		}
		acknowledged = append(acknowledged, firn.EntryID(strings.TrimSpace(line)))
		if len(acknowledged) == killAfter {
			if err := cmd.Process.Kill(); err != nil {
				return nil, fmt.Errorf("kill the writer: %w", err)
			}
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	if len(acknowledged) < killAfter {
		return nil, fmt.Errorf("the writer ended by itself after %d entries: %s", len(acknowledged), complaint.String())
	}
	return acknowledged, nil
}

// writer is the command that is killed: this program, asked to write.
func (t *tour) writer(id firn.ID) (*exec.Cmd, error) {
	program := t.opts.Program
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		program = []string{self}
	}
	args := append(program[1:len(program):len(program)], "demo-writer", "--home", t.home, string(id))
	return exec.CommandContext(t.ctx, program[0], args...), nil
}

// Write appends turns to a session without end, and prints the id of each
// entry once it is acknowledged. It is made to be killed.
func Write(ctx context.Context, out io.Writer, home string, id firn.ID) error {
	st, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		return err
	}
	for n := 1; err == nil; n++ {
		err = writeTurn(ctx, st, out, id, n)
	}
	return errors.Join(err, st.Close())
}

// writeTurn appends one turn, entry by entry, as an agent does.
func writeTurn(ctx context.Context, st *filestore.Store, out io.Writer, id firn.ID, n int) error {
	name := fmt.Sprintf("call_%d", n)
	for _, e := range []firn.Entry{
		firn.UserText(fmt.Sprintf("Question %d: %s", n, strings.Repeat("why? ", 40))),
		call(name, "now", "{}"),
		answer(name, "now", "later"),
		firn.AssistantText("Because."),
	} {
		if _, err := st.Append(ctx, id, store.Any, e); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, e.ID); err != nil {
			return err
		}
	}
	return nil
}

// tear adds the beginning of a line to a transcript, as a crash in the middle
// of a write leaves it, and opens the session anew.
func (t *tour) tear() (string, error) {
	fragment := []byte(`{"type":"message","id":"torn","parentId":"`)
	if err := t.st.Close(); err != nil {
		return "", err
	}
	if err := addBytes(t.transcript(t.talk), fragment); err != nil {
		return "", err
	}
	if err := t.open(); err != nil {
		return "", err
	}
	if err := t.say(t.talk, firn.UserText("Are you still there?"), firn.AssistantText("I am.")); err != nil {
		return "", err
	}
	said := t.reported()
	saved, err := filepath.Glob(t.transcript(t.talk) + ".torn-*")
	if err != nil || len(saved) != 1 || len(said) == 0 {
		return "", fmt.Errorf("the fragment was saved as %q, and it was said: %q: %w", saved, said, err)
	}
	kept, err := readFile(saved[0])
	if err != nil {
		return "", err
	}
	if !bytes.Equal(kept, fragment) {
		return "", fmt.Errorf("of %d torn bytes %d were saved", len(fragment), len(kept))
	}
	name := filepath.Base(saved[0])
	return fmt.Sprintf("%d bytes saved aside as …%s; the next append is whole", len(kept), name[strings.Index(name, ".torn-"):]), nil
}

// addBytes adds bytes to a file behind everybody's back.
func addBytes(path string, data []byte) (err error) {
	file, err := vfs.OS{}.Open(path, vfs.Append)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	_, err = file.Write(data)
	return err
}

func readFile(path string) ([]byte, error) {
	file, err := vfs.OS{}.Open(path, vfs.Read)
	if err != nil {
		return nil, err
	}
	defer file.Close() // only read
	return io.ReadAll(file)
}
