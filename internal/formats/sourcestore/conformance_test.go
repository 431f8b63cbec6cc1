package sourcestore_test

import (
	"testing"

	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/sourcestore"
	"firn.dev/store"
	"firn.dev/store/storetest"
)

// TestConformance checks that a store in place fulfills the store contract. It uses the
// native dialect, which can represent every entry.
func TestConformance(t *testing.T) {
	storetest.Run(t, opened)
}

func TestRandom(t *testing.T) {
	storetest.RunRandom(t, opened)
}

func opened(t *testing.T) storetest.Opened {
	t.Helper()
	home := t.TempDir()
	open := func() store.Store {
		st, err := sourcestore.Open(home, native.NewTool(), sourcestore.Options{InPlace: true})
		if err != nil {
			t.Fatal(err)
		}
		return st
	}
	return storetest.Opened{Store: open(), Reopen: open}
}
