package claudecode

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"firn.dev"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/dialecttest"
)

// corpus returns the transcripts of testdata; large ones are compressed there.
func corpus(t testing.TB) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	root := os.DirFS("testdata/transcripts")
	err := fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		if packed, ok := strings.CutSuffix(name, ".gz"); ok {
			r, err := gzip.NewReader(bytes.NewReader(data))
			if err != nil {
				return err
			}
			if data, err = io.ReadAll(r); err != nil {
				return err
			}
			name = packed
		}
		all[name] = &fstest.MapFile{Data: data}
		return nil
	})
	if err != nil || len(all) < 20 {
		t.Fatalf("reading the corpus: %d files, %v", len(all), err)
	}
	return all
}

// scanAll reads a whole transcript.
func scanAll(t testing.TB, name string, data []byte) []firn.Entry {
	t.Helper()
	s := New().Scanner(dialect.Origin{Transcript: dialect.Transcript{Parts: []string{name}}})
	var entries []firn.Entry
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		found, err := s.Scan(line)
		if err != nil && json.Valid(line) && line[0] == '{' {
			t.Errorf("%s: %v", name, err)
		}
		entries = append(entries, found...)
	}
	return append(entries, s.Finish()...)
}

func TestTool(t *testing.T) {
	dialecttest.RunTool(t, New(), corpus(t))
}

// pathOf returns the path from the root to the last entry.
func pathOf(entries []firn.Entry) []firn.Entry {
	var tree firn.Tree
	var nodes []firn.Entry
	for i, e := range entries {
		if tree.Add(firn.Pos(i), firn.GlanceOf(e)) >= 0 {
			nodes = append(nodes, e)
		}
	}
	var path []firn.Entry
	for _, n := range tree.Path(tree.Head()) {
		path = append(path, nodes[n])
	}
	return path
}

// live returns the entries of a path that are sent to the model, as the SDK lists them: the
// summary of a compaction, the kept messages and later ones, without meta messages.
func live(entries []firn.Entry) (uuids []string) {
	p := pathOf(entries)
	for i := len(p) - 1; i >= 0; i-- {
		c, ok := p[i].Body.(*firn.Compaction)
		if !ok {
			continue
		}
		uuids = append(uuids, string(p[i].ID))
		from := i
		for k := range p[:i] {
			if p[k].ID == c.FirstKept {
				from = k
			}
		}
		p = append(p[from:i:i], p[i+1:]...)
		break
	}
	for _, e := range p {
		if _, ok := e.Body.(*firn.Message); ok && e.Extra.Get("isMeta") == nil && !strings.Contains(string(e.ID), ".") {
			uuids = append(uuids, string(e.ID))
		}
	}
	return uuids
}

// TestOrderOfSDK compares the order of messages with the list of the official SDK 0.3.325
// for the same files.
func TestOrderOfSDK(t *testing.T) {
	files := corpus(t)
	all := goldens(t)
	if len(all) != 5 {
		t.Fatalf("%d goldens", len(all))
	}
	for name := range all {
		t.Run(name, func(t *testing.T) {
			got, want := live(scanAll(t, name, files[name].Data)), golden(t, name)
			if len(got) != len(want) {
				t.Errorf("%d messages, want %d", len(got), len(want))
			}
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("message %d is %s, want %s", i, got[i], want[i])
				}
			}
		})
	}
}

// TestEveryLine checks that each line that is an object has an entry with its uuid or its
// number; a boundary has that of its compaction.
func TestEveryLine(t *testing.T) {
	for name, file := range corpus(t) {
		known := make(map[string]bool)
		for _, e := range scanAll(t, name, file.Data) {
			known[baseUUID(string(e.ID))] = true
		}
		number := 0
		for raw := range bytes.SplitSeq(file.Data, []byte{'\n'}) {
			if len(bytes.TrimSpace(raw)) == 0 {
				continue
			}
			number++
			var l struct{ UUID, Subtype string }
			if err := json.Unmarshal(raw, &l); err != nil {
				continue
			}
			if id := fmt.Sprintf("l%06d", number); !known[id] && !known[l.UUID] && l.Subtype != "compact_boundary" {
				t.Errorf("%s: nothing represents line %d: %.100s", name, number, raw)
			}
		}
	}
}
