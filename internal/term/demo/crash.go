package demo

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// writerLine is a line that the writer prints: an entry that is on disk, or a part of the
// answer.
type writerLine struct {
	Entry firn.EntryID `json:"entry,omitempty"`
	Piece string       `json:"piece,omitempty"`
}

// killAfter is the number of parts of an answer after which the writer is killed, in the
// middle of a turn.
const killAfter = 3

// Write runs a turn in a session and starts another, and prints the events as JSON Lines.
// It is meant to be killed during the second turn.
func Write(ctx context.Context, c *client.Client, out io.Writer, id firn.ID, text string) error {
	report := json.NewEncoder(out)
	first, err := c.Turn(ctx, id, wire.Turn{Text: "What is 3*3?"})
	if err != nil {
		return err
	}
	if err := errors.Join(report.Encode(writerLine{Entry: first.Message}), report.Encode(writerLine{Entry: first.Entry})); err != nil {
		return err
	}
	for e, err := range c.StreamTurn(ctx, id, wire.Turn{Text: text}) {
		if err != nil {
			return err
		}
		if line := lineOf(e); line != (writerLine{}) {
			if err := report.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// lineOf returns the line that the writer prints for an event. It is empty for most.
func lineOf(e wire.Event) (line writerLine) {
	switch e.Name {
	case wire.TurnStarted: // the question is on disk
		var a wire.Answer
		if json.Unmarshal(e.Data, &a) == nil {
			line.Entry = a.Message
		}
	case wire.DeltaText:
		var d wire.Delta
		if json.Unmarshal(e.Data, &d) == nil {
			line.Piece = d.Text
		}
	}
	return line
}

// kill lets another process send a message in the session, and kills it in the middle of
// the answer.
func (t *tour) kill() (string, error) {
	if err := t.closeGateway(); err != nil {
		return "", err
	}
	t.asked = "What is my first question, and what is my name? Tell me all you know."
	pieces, err := t.runAndKill()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("after %s and %d pieces of an answer", prose.Count(len(t.acknowledged), "acknowledged entry", "acknowledged entries"), pieces), nil
}

// runAndKill runs the writer until it has started to answer. It records the entries that
// the writer acknowledged before it was killed.
func (t *tour) runAndKill() (pieces int, err error) {
	cmd, err := t.writer()
	if err != nil {
		return 0, err
	}
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start the writer: %w", err)
	}
	lines := bufio.NewReader(pipe)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil { // an incomplete line does not count
			break
		}
		var now writerLine
		if json.Unmarshal(line, &now) != nil {
			continue
		}
		if now.Entry != "" {
			t.acknowledged = append(t.acknowledged, now.Entry)
		}
		if now.Piece == "" {
			continue
		}
		if pieces++; pieces == killAfter {
			if err := cmd.Process.Kill(); err != nil {
				return pieces, fmt.Errorf("kill the writer: %w", err)
			}
		}
	}
	var exit *exec.ExitError
	err = cmd.Wait()
	if err != nil && !errors.As(err, &exit) {
		return pieces, err
	}
	if pieces < killAfter || err == nil {
		return pieces, fmt.Errorf("the writer exited after %d pieces: %s", pieces, strings.TrimSpace(complaint.String()))
	}
	return pieces, nil
}

// writer returns the command to kill: this program as a writer.
func (t *tour) writer() (*exec.Cmd, error) {
	program := t.opts.Program
	if len(program) == 0 {
		self, err := os.Executable()
		if err != nil {
			return nil, err
		}
		program = []string{self}
	}
	args := append(program[1:len(program):len(program)], "demo-writer", "--home", t.home, string(t.talk), t.asked)
	return exec.CommandContext(t.ctx, program[0], args...), nil
}

// recover appends a partial line, as a power failure would leave it, reopens the home,
// checks all acknowledged entries, and has the question answered.
func (t *tour) recover() (string, error) {
	fragment := []byte(`{"type":"message","id":"torn","parentId":"`)
	if err := addBytes(t.transcript(t.talk), fragment); err != nil {
		return "", err
	}
	if err := t.open(); err != nil {
		return "", err
	}
	s, err := t.getSession(t.talk)
	if err != nil {
		return "", err
	}
	if !s.State.Interrupted {
		return "", errors.New("the interrupted turn was not detected")
	}
	answer, err := t.client.Turn(t.ctx, t.talk, wire.Turn{})
	if err != nil {
		return "", err
	}
	if err := t.checkAcknowledged(); err != nil {
		return "", err
	}
	torn, err := t.checkFragment(fragment)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d of %d acknowledged entries kept, %d torn bytes set aside, the question answered (“%s”)",
		len(t.acknowledged), len(t.acknowledged), torn, prose.OneLine(answer.Text, 30)), nil
}

// checkAcknowledged fails if an acknowledged entry is missing, or if the question is not
// there exactly once.
func (t *tour) checkAcknowledged() error {
	missing, questions := slices.Clone(t.acknowledged), 0
	for e, err := range t.client.Entries(t.ctx, t.talk, client.EntryQuery{View: wire.ViewDisk}) {
		if err != nil {
			return err
		}
		l, _ := prose.ReadLine(e.Line)
		missing = slices.DeleteFunc(missing, func(id firn.EntryID) bool { return id == l.ID })
		if l.Message != nil && l.Message.Role == string(firn.RoleUser) && l.Message.Text() == t.asked {
			questions++
		}
	}
	if len(missing) > 0 || len(t.acknowledged) == 0 || questions != 1 {
		return fmt.Errorf("%d of %d acknowledged entries are lost, and the question exists %d times", len(missing), len(t.acknowledged), questions)
	}
	return nil
}

// checkFragment checks that the fragment was saved next to the transcript and reported.
func (t *tour) checkFragment(fragment []byte) (int, error) {
	reports := t.reported()
	saved, err := filepath.Glob(t.transcript(t.talk) + ".torn-*")
	if err != nil || len(saved) != 1 || len(reports) == 0 {
		return 0, errors.Join(err, fmt.Errorf("the fragment was saved as %q, with the message %q", saved, reports))
	}
	kept, err := readFile(saved[0])
	if err != nil {
		return 0, err
	}
	if !bytes.Equal(kept, fragment) {
		return 0, fmt.Errorf("%d torn bytes, but %d were saved", len(fragment), len(kept))
	}
	return len(kept), nil
}

// addBytes appends bytes to a file directly.
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
	defer file.Close() // read-only
	return io.ReadAll(file)
}
