package demo

import (
	"bytes"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// formats exports the session in the formats of other tools and imports it again. The
// messages stay the same, and sessions imported from a tool are exported byte for byte.
func (t *tour) formats() (string, error) {
	var texts []string
	for _, format := range []string{"claudecode", "codex", "pi"} {
		id := firn.ID("through-" + format)
		size, err := t.roundTrip(format, id)
		if err != nil {
			return "", fmt.Errorf("through %s: %w", format, err)
		}
		texts = append(texts, fmt.Sprintf("%s %d kB", format, size/1000))
	}
	return strings.Join(texts, ", ") + ": same messages, and back byte for byte", nil
}

// roundTrip exports a session to a format and imports the result.
func (t *tour) roundTrip(format string, id firn.ID) (int, error) {
	var out, again bytes.Buffer
	if err := t.client.Transfer.Export(t.ctx, t.talk, format, &out); err != nil {
		return 0, err
	}
	if _, err := t.client.Transfer.Import(t.ctx, wire.Import{From: format, ID: id}, bytes.NewReader(out.Bytes())); err != nil {
		return 0, err
	}
	if err := t.client.Transfer.Export(t.ctx, id, format, &again); err != nil {
		return 0, err
	}
	if !bytes.Equal(out.Bytes(), again.Bytes()) {
		return 0, fmt.Errorf("the result differs from the original")
	}
	before, err := t.words(t.talk)
	if err != nil {
		return 0, err
	}
	after, err := t.words(id)
	if err != nil {
		return 0, err
	}
	if before != after {
		return 0, fmt.Errorf("%d user messages before and %d after", len(before), len(after))
	}
	return out.Len(), nil
}

// words returns the user's messages on the branch.
func (t *tour) words(id firn.ID) (string, error) {
	var b strings.Builder
	for e, err := range t.client.Entries(t.ctx, id, client.EntryQuery{View: wire.ViewBranch}) {
		if err != nil {
			return "", err
		}
		if l, ok := prose.ReadLine(e.Line); ok && l.Message != nil && l.Message.Role == string(firn.RoleUser) {
			b.WriteString(l.Message.Text() + "\n")
		}
	}
	return b.String(), nil
}
