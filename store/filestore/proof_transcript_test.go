package filestore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs/faultfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"
	"firn.dev/window/windowtest"
)

// Location of the damaged transcript on a disk in memory.
const (
	hurtHome    = "/home"
	hurtSession = firn.ID("hurt")
	hurtPath    = hurtHome + "/agents/main/sessions/hurt.jsonl"
)

// transcript is the lines of a session without newlines, as written by the store.
type transcript struct {
	lines [][]byte
}

// writeTranscript writes a session of so many lines, with entries of all kinds, and reads
// the file.
func writeTranscript(t testing.TB, lines int) transcript {
	t.Helper()
	disk := faultfs.New()
	st := openHome(t, hurtHome, filestore.Options{FS: disk, Sync: filestore.SyncNever, Now: sampleTime})
	entries := sampleEntries(lines - 1)
	_, err := st.Append(context.Background(), hurtSession, store.Start, entries...)
	must(t, err)
	_, err = st.Purge(context.Background(), hurtSession, "for a gap", "e6")
	must(t, err)
	data, err := disk.Get(hurtPath)
	must(t, err)
	tr := transcript{bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))}
	if len(tr.lines) != lines {
		t.Fatalf("the transcript has %d lines, want %d", len(tr.lines), lines)
	}
	return tr
}

// bytes returns the content of the file.
func (tr transcript) bytes() []byte {
	return append(bytes.Join(tr.lines, []byte("\n")), '\n')
}

func sampleTime() time.Time { return time.Date(2026, 3, 15, 10, 0, 0, 0, time.UTC) }

// sampleEntries returns n entries in one chain: those of hurtBodies, then messages.
func sampleEntries(n int) []firn.Entry {
	bodies := sampleBodies()
	entries := []firn.Entry{{Body: &firn.Header{CWD: "/work", Key: "agent:main:main"}}}
	for i := range n {
		e := firn.Entry{ID: firn.EntryID(fmt.Sprintf("e%d", i)), Time: sampleTime().Add(time.Duration(i) * time.Second)}
		switch {
		case i < len(bodies):
			e.Body = bodies[i]
		case i%7 == 0: // the next entry answers the calls
			e.Body = &firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopToolUse, Parts: []firn.Part{
				firn.ToolCall{ID: fmt.Sprintf("c%d", i), Name: "ls", Arguments: json.RawMessage(`{"path":"/"}`)}}}
		case i%7 == 1:
			e.Body = &firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
				firn.ToolResult{CallID: fmt.Sprintf("c%d", i-1), Name: "ls", Content: []firn.Part{firn.Text{Text: "a b"}}}}}
		case i == 150:
			e.Body = &firn.Compaction{Summary: "in short", FirstKept: "e120", TokensBefore: 99}
		case i%3 == 0:
			e.Body = &firn.Label{Target: "e3", Name: "é"}
		case i%3 == 1:
			e.Body = &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: "{\"a\":1}\n"}}}
		default:
			e.Body = &firn.Custom{Type: "n"}
		}
		entries = append(entries, e)
	}
	return entries
}

// sampleBodies returns bodies of every kind, with every kind of part.
func sampleBodies() []firn.Body {
	code := 1
	odd := firn.Fields{{Name: "x", Value: json.RawMessage(`{"type":"message","id":"x","parentId":null}`)}, {Name: "n", Value: json.RawMessage(`1e400`)}}
	user := func(parts ...firn.Part) firn.Body { return &firn.Message{Role: firn.RoleUser, Parts: parts} }
	return []firn.Body{
		&firn.ModelChange{Provider: "p", Model: "m"},
		&firn.ThinkingChange{Level: "high"},
		user(firn.Text{Text: "line\u2028break \u2029 and \\u0000 \"quoted\" {\"type\":\"message\",\"id\":\"no\"}"}),
		user(firn.Text{Text: "see"}, firn.Image{MimeType: "image/png", Data: "aGk="}),
		&firn.Message{Role: firn.RoleAssistant, API: "a", Provider: "p", Model: "m", StopReason: firn.StopToolUse,
			Usage: &firn.Usage{Input: 1, Output: 2, Total: 3, Cost: firn.Cost{Total: .5}}, Extra: odd,
			Parts: []firn.Part{firn.Thinking{Text: "hm", Signature: "s"}, firn.Thinking{Signature: "r", Redacted: true}, firn.Text{Text: "so", Signature: "t"},
				firn.ToolCall{ID: "c1", Name: "ls", Arguments: json.RawMessage(`{"a":[{"b":{}}],"c":"{"}`), Signature: "g", Extra: odd},
				firn.OpaquePart{Type: "hologram", Raw: json.RawMessage(`{"type":"hologram","x":[1]}`)}}},
		&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{firn.ToolResult{CallID: "c1", Name: "ls", IsError: true,
			Content: []firn.Part{firn.Text{Text: "no"}, firn.Image{MimeType: "image/gif", Data: "R0k="}}, Details: json.RawMessage(`{"code":2}`)}}},
		user(firn.Text{Text: "this will be erased"}),
		&firn.Message{Role: firn.RoleShell, Parts: []firn.Part{firn.Shell{Command: "make", Output: "no\n", ExitCode: &code, Truncated: true, FullOutput: "/o"}}},
		&firn.Message{Role: firn.RoleSystem, Parts: []firn.Part{firn.Text{Text: "be kind"}}},
		&firn.Message{Role: firn.RoleAssistant, StopReason: firn.StopError, Error: "overloaded"},
		&firn.Compaction{Summary: "so far", FirstKept: "e3", TokensBefore: 12, Details: json.RawMessage(`{"state":{"modelId":"m"}}`), FromHook: true},
		&firn.Tombstone{Target: "e10", Reason: "undo it"},
		&firn.BranchSummary{From: "e2", Summary: "was tried", Details: json.RawMessage(`[{},{}]`)},
		&firn.Label{Target: "e3", Name: "here"},
		&firn.Label{Target: "e3"},
		&firn.Title{Name: "a title", Source: firn.SourceUser},
		&firn.Custom{Type: "counter", Data: json.RawMessage(`{"n":{"type":"message"}}`)},
		&firn.Custom{Type: "none"},
		&firn.CustomMessage{Type: "note", Parts: []firn.Part{firn.Text{Text: "a"}}, Display: true, Details: json.RawMessage(`{}`)},
		&firn.Tombstone{Target: "e18"},
		&firn.Tombstone{Target: "e19", Reason: "restored"},
		&firn.Head{Reason: "go on here"},
		&firn.Opaque{Type: "future", Raw: json.RawMessage(`{"type":"future","deep":{"a":[1.50,{"id":"q"}]},"n":1e400}`)},
		user(firn.Text{Text: "again", Extra: odd}),
	}
}

// damagedStore is a store in memory whose only transcript is damaged.
type damagedStore struct {
	disk    *faultfs.FS
	reports []string
}

// openDamaged creates the files of parts; "" is the transcript's first part.
func openDamaged(t testing.TB, parts map[string][]byte) *damagedStore {
	h := &damagedStore{disk: faultfs.New()}
	for name, data := range parts {
		must(t, h.disk.Put(strings.TrimSuffix(hurtPath, ".jsonl")+name+".jsonl", data))
	}
	return h
}

func (h *damagedStore) open(readOnly bool) (*filestore.Store, error) {
	return filestore.Open(hurtHome, filestore.Options{
		FS: h.disk, ReadOnly: readOnly, Sync: filestore.SyncNever, Now: sampleTime,
		Report: func(message string) { h.reports = append(h.reports, message) },
	})
}

// files returns the content of the transcript's files.
func (h *damagedStore) files(t testing.TB) map[string]string {
	all := make(map[string]string)
	for _, name := range h.disk.Files() {
		data, err := h.disk.Get(name)
		must(t, err)
		all[name] = string(data)
	}
	return all
}

// seen is the part of a session after the expected lines.
type seen struct {
	extra [][]byte
	gaps  []firn.Gap
}

// readExpected reads a session from a position on: exactly the wanted lines first, then
// possibly more. It decodes only the last few, unless all is set.
func readExpected(st *filestore.Store, after store.Pos, want [][]byte, all bool) (s seen, err error) {
	n := 0
	for rec, err := range st.Read(context.Background(), hurtSession, after) {
		if err != nil {
			return s, err
		}
		if rec.Gap != nil {
			s.gaps = append(s.gaps, *rec.Gap)
			continue
		}
		line := bytes.TrimSpace(rec.Line())
		switch {
		case n >= len(want):
			s.extra = append(s.extra, bytes.Clone(line))
		case !bytes.Equal(line, bytes.TrimSpace(want[n])):
			return s, fmt.Errorf("instead of line %d of %d, %.100s, there is %.100s", n+1, len(want), want[n], line)
		}
		if n++; all || n+3 > len(want) {
			if _, err := rec.Entry(); err != nil {
				return s, fmt.Errorf("a record that is no entry: %w", err)
			}
		}
	}
	if n < len(want) {
		return s, fmt.Errorf("line %d of %d is missing: %.100s", n+1, len(want), want[n])
	}
	return s, nil
}

// lookBack reads a session newest first: exactly the wanted lines, the last few of them or
// all. An undecodable line is a gap.
func lookBack(st *filestore.Store, want [][]byte, all bool) error {
	n := len(want)
	for rec, err := range st.ReadBack(context.Background(), hurtSession, store.End) {
		if err != nil {
			return err
		}
		if _, err := rec.Entry(); err != nil {
			continue
		}
		if n--; n < 0 {
			return fmt.Errorf("backwards, there is a line too many: %.100s", rec.Line())
		}
		if line := bytes.TrimSpace(rec.Line()); !bytes.Equal(line, bytes.TrimSpace(want[n])) {
			return fmt.Errorf("backwards, instead of line %d, %.100s, there is %.100s", n+1, want[n], line)
		}
		if !all && n+4 < len(want) {
			return nil
		}
	}
	if n > 0 {
		return fmt.Errorf("backwards, line %d of %d is missing", n, len(want))
	}
	return nil
}

// checkWindows resumes the session and checks that every provider would accept the
// resulting request.
func checkWindows(st *filestore.Store) error {
	path, err := collect(st, hurtSession)
	if err != nil {
		return err
	}
	for _, profile := range window.Profiles() {
		if err := windowtest.Check(profile, window.Build(path, window.Options{Profile: profile})); err != nil {
			return err
		}
	}
	return nil
}
