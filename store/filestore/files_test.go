package filestore_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

func TestFilesNamesAllParts(t *testing.T) {
	st, err := filestore.Open(t.TempDir(), filestore.Options{Sync: filestore.SyncNever, PartSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	for range 5 {
		if _, err := st.Append(t.Context(), "s", store.Any, firn.UserText(strings.Repeat("x", 600))); err != nil {
			t.Fatal(err)
		}
	}
	info, err := st.Inspect(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	files, err := st.Files(t.Context(), "s")
	if err != nil || len(files) != info.Parts || len(files) < 2 {
		t.Fatalf("there are %d parts, and the files %v (%v)", info.Parts, files, err)
	}
	total := int64(0)
	for _, name := range files {
		f, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		total += f.Size()
	}
	if total != info.Bytes || !strings.HasSuffix(files[1], "s_part2.jsonl") {
		t.Errorf("%v have %d bytes, reported are %d", files, total, info.Bytes)
	}
	for _, no := range []firn.ID{"nobody", "../s"} {
		if _, err := st.Files(t.Context(), no); !errors.Is(err, firn.ErrNotFound) && !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("session %s: %v", no, err)
		}
	}
}
