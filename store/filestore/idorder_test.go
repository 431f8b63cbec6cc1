package filestore_test

import (
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// TestIDsAreMadeInOrder lets several stores append to one session concurrently and checks
// that IDs and times are in file order.
func TestIDsAreMadeInOrder(t *testing.T) {
	home := t.TempDir()
	ctx := t.Context()
	open := func() *filestore.Store {
		s, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := open()
	defer first.Close()
	if _, err := first.Append(ctx, "one", store.Any, firn.UserText("hello")); err != nil {
		t.Fatal(err)
	}
	makers := []func() (firn.Entry, error){
		func() (firn.Entry, error) { return firn.UserText("said"), nil },
		func() (firn.Entry, error) { return firn.UserText("said too"), nil },
		func() (firn.Entry, error) { return store.NewTags([]string{"a"}) },
		func() (firn.Entry, error) { return store.KeyEntry("k", "") },
	}
	const each = 60
	// All entries are created before the first is appended, as on a busy machine.
	var writers sync.WaitGroup
	for _, make := range makers {
		var entries []firn.Entry
		for range each {
			e, err := make()
			if err != nil {
				t.Fatal(err)
			}
			entries = append(entries, e)
		}
		s := open()
		defer s.Close()
		writers.Go(func() {
			for _, e := range entries {
				if _, err := s.Append(ctx, "one", store.Any, e); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	var last firn.Entry
	n := 0
	for rec, err := range first.Read(ctx, "one", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		e, err := rec.Entry()
		if err != nil {
			t.Fatal(err)
		}
		if n++; e.ID != "" && (e.ID <= last.ID || e.Time.Before(last.Time)) {
			t.Fatalf("entry %d is %s of %s, after %s of %s", n, e.ID, e.Time, last.ID, last.Time)
		}
		last = e
	}
	if want := 2 + each*len(makers); n != want {
		t.Errorf("%d entries, want %d", n, want)
	}
}
