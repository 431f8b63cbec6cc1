package claudecode

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"
	"testing/fstest"

	"firn"
	"firn/dialect"
	"firn/dialect/dialecttest"
)

// corpus is the transcripts of the testdata; large ones are packed there.
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

// scanAll reads a transcript whole.
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

// pathOf is the way from the root to the last entry.
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

// live is what of a path a model is sent, as the SDK lists it: the boundary
// and summary of a compaction, what that keeps, what comes after it.
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
		switch b := e.Body.(type) {
		case *firn.Message:
			if e.Extra.Get("isMeta") == nil && !strings.Contains(string(e.ID), ".") {
				uuids = append(uuids, string(e.ID))
			}
		case *firn.Custom:
			if strings.HasPrefix(b.Type, "claudecode:system.") {
				uuids = append(uuids, string(e.ID))
			}
		}
	}
	return uuids
}

// untrailed leaves out what the system said behind the last message: the SDK
// ends with that.
func untrailed(uuids []string, entries []firn.Entry) []string {
	system := make(map[string]bool)
	for _, e := range entries {
		_, ok := e.Body.(*firn.Custom)
		system[string(e.ID)] = ok
	}
	for len(uuids) > 0 && system[uuids[len(uuids)-1]] {
		uuids = uuids[:len(uuids)-1]
	}
	return uuids
}

// TestOrderOfSDK holds the order of messages against what the official SDK
// 0.3.325 lists for the same files.
func TestOrderOfSDK(t *testing.T) {
	files := corpus(t)
	goldens, err := fs.Glob(os.DirFS("testdata/golden"), "*.messages.json")
	if err != nil || len(goldens) != 5 {
		t.Fatalf("%d goldens, %v", len(goldens), err)
	}
	for _, golden := range goldens {
		name := strings.TrimSuffix(golden, ".messages.json") + ".jsonl"
		t.Run(name, func(t *testing.T) {
			var want struct{ UUIDs [][2]string }
			data, err := os.ReadFile(path.Join("testdata/golden", golden))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			entries := scanAll(t, name, files[name].Data)
			got := untrailed(live(entries), entries)
			var wanted []string
			for i, u := range want.UUIDs {
				if u[0] == "system" && i == 0 {
					continue // the boundary: its summary stands for both
				}
				wanted = append(wanted, u[1])
			}
			if len(got) != len(wanted) {
				t.Errorf("%d messages, want %d", len(got), len(wanted))
			}
			for i := range min(len(got), len(wanted)) {
				if got[i] != wanted[i] {
					t.Fatalf("message %d is %s, want %s", i, got[i], wanted[i])
				}
			}
		})
	}
}
