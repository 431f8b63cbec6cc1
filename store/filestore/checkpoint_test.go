package filestore_test

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// meter counts the bytes read.
type meter struct {
	vfs.FS
	read atomic.Int64
}

func (m *meter) Open(path string, mode vfs.Mode) (vfs.File, error) {
	f, err := m.FS.Open(path, mode)
	if err != nil {
		return nil, err
	}
	return metered{f, m}, nil
}

type metered struct {
	vfs.File
	m *meter
}

func (f metered) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	f.m.read.Add(int64(n))
	return n, err
}

// TestListReadsBackToTheCheckpoint checks that lists of long sessions, in one or several
// files, read only the entries after the latest checkpoint.
func TestListReadsBackToTheCheckpoint(t *testing.T) {
	title := firn.Entry{Body: &firn.Title{Name: "mine", Source: firn.SourceUser}}
	auto := firn.Entry{Body: &firn.Title{Name: "made up", Source: firn.SourceAuto}}
	tags, err := store.NewTags([]string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	hide := firn.Entry{ID: "00000000hides", Body: &firn.Tombstone{Target: "one"}}
	talk := func(n int) []firn.Entry {
		var all []firn.Entry
		for i := range n {
			all = append(all, firn.UserText(fmt.Sprint("talk ", i, strings.Repeat(" more", 200))))
		}
		return all
	}
	all := append(append(append([]firn.Entry{title, tags, hide}, talk(400)...), auto), talk(400)...)
	for _, c := range []struct {
		name       string
		parts      int64
		checkpoint bool
		most       int64
	}{
		{"without a checkpoint", 0, false, 4 << 20},
		{"with a checkpoint", 0, true, 64 << 10},
		{"in several files without a checkpoint", 300_000, false, 4 << 20},
		{"in several files", 300_000, true, 400_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := &meter{FS: vfs.OS{}}
			s, err := filestore.Open(t.TempDir(), filestore.Options{FS: m, Sync: filestore.SyncNever, PartSize: c.parts})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			ctx := t.Context()
			// The first message of the user is far from the beginning.
			long := firn.Entry{Body: &firn.Message{Role: firn.RoleAssistant, Parts: []firn.Part{firn.Text{Text: strings.Repeat("long ", 2000)}}}}
			for batch := range slices.Chunk(append([]firn.Entry{{Body: &firn.Header{Session: "one", CWD: "/here", Key: "k"}}, long}, all...), 50) {
				if _, err := s.Append(ctx, "one", store.Any, batch...); err != nil {
					t.Fatal(err)
				}
			}
			want := info(t, s)
			if several := want.Parts > 1; several != (c.parts > 0) {
				t.Fatalf("there are %d files", want.Parts)
			}
			if want.Title != "mine" || want.Tags != "a" || !want.Hidden || !strings.HasPrefix(want.Prompt, "talk 0") || want.CWD != "/here" {
				t.Fatalf("a full read gives %+v", want)
			}
			if c.checkpoint {
				data := `{"turns":3,"names":{"title":"mine","titleSource":"user","tags":["a"],"prompted":true,` +
					fmt.Sprintf(`"hiding":[{"id":%q,"target":"one"}],"keys":[{"key":"k","at":%d}],"complete":true}}`, hide.ID, want.Created.UnixMilli())
				if _, err := s.Append(ctx, "one", store.Any, firn.Entry{Body: &firn.Custom{Type: firn.CountersType, Data: []byte(data)}}, firn.UserText("end")); err != nil {
					t.Fatal(err)
				}
			}
			before := m.read.Load()
			got := info(t, s)
			read := m.read.Load() - before
			if got.Title != want.Title || got.Tags != want.Tags || got.Prompt != want.Prompt || got.Hidden != want.Hidden || got.BoundKeys != want.BoundKeys {
				t.Errorf("got %+v, want %+v", got, want)
			}
			if read > c.most {
				t.Errorf("%d bytes were read of %d, at most %d are wanted", read, got.Bytes, c.most)
			}
			t.Logf("%d bytes were read of %d", read, got.Bytes)
		})
	}
}

// info returns the info of the only session, which is hidden.
func info(t *testing.T, s *filestore.Store) store.Info {
	t.Helper()
	for info, err := range s.List(t.Context(), store.Query{Hidden: true}) {
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	t.Fatal("nothing is listed")
	return store.Info{}
}
