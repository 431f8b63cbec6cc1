package demo

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// largeSize is the size of the large session, in bytes.
const largeSize = 20_000_000

// resumeLarge creates a large session with a compaction near its end, reopens the home, and
// resumes the session. Its size must not matter.
func (t *tour) resumeLarge() (string, error) {
	s, err := t.client.NewSession(t.ctx, wire.NewSession{Title: "a large one"})
	if err != nil {
		return "", err
	}
	total, err := t.fill(s.ID)
	if err != nil {
		return "", err
	}
	if err := t.closeGateway(); err != nil {
		return "", err
	}
	if err := t.open(); err != nil {
		return "", err
	}
	begun := time.Now()
	w, err := t.client.Window(t.ctx, s.ID, "")
	took := time.Since(begun)
	if err != nil {
		return "", err
	}
	if w.Count == 0 || w.Count > 10 || total < largeSize {
		return "", fmt.Errorf("of %d bytes, %d messages are sent to the model", total, w.Count)
	}
	return fmt.Sprintf("%s; window of %s in %.1f ms", prose.Size(total), prose.Plural(w.Count, "message"), float64(took.Microseconds())/1000), nil
}

// fill appends a long conversation to a session, and a summary of most of it.
func (t *tour) fill(id firn.ID) (total int64, err error) {
	text := strings.Repeat("Firn is last years' snow: pressed flat under the new, still there, in order. ", 100)
	const batch = 128
	for total < largeSize {
		lines := make([]json.RawMessage, batch)
		for i := range lines {
			role := "user"
			if i%2 == 1 {
				role = "assistant"
			}
			if lines[i], err = messageLine(firn.NewEntryID(), role, text); err != nil {
				return total, err
			}
			total += int64(len(lines[i]))
		}
		if _, err := t.client.Append(t.ctx, id, client.Any, wire.NewEntries{Entries: lines}); err != nil {
			return total, err
		}
	}
	return total, t.sumUp(id)
}

// sumUp appends a compaction that keeps one message.
func (t *tour) sumUp(id firn.ID) error {
	kept := firn.NewEntryID()
	last, err := messageLine(kept, "user", "Where were we?")
	if err != nil {
		return err
	}
	summary, err := json.Marshal(map[string]any{
		"type": firn.KindCompaction, "id": firn.NewEntryID(), "timestamp": time.Now().UTC(), "summary": "Much was said about snow.",
		"firstKeptEntryId": kept, "tokensBefore": largeSize / 4,
	})
	if err != nil {
		return err
	}
	_, err = t.client.Append(t.ctx, id, client.Any, wire.NewEntries{Entries: []json.RawMessage{last, summary}})
	return err
}

// messageLine encodes a message as a log line.
func messageLine(id firn.EntryID, role, text string) (json.RawMessage, error) {
	return json.Marshal(map[string]any{
		"type": firn.KindMessage, "id": id, "timestamp": time.Now().UTC(),
		"message": map[string]any{"role": role, "content": []map[string]string{{"type": "text", "text": text}}},
	})
}
