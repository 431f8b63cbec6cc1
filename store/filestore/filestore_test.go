package filestore

import (
	"testing"

	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/storetest"
)

// opened opens a store in a new home, with part files so small that sessions have several.
func opened(t *testing.T, opts Options) storetest.Opened {
	t.Helper()
	home := t.TempDir()
	if opts.NoCommitLog {
		opts.FS = sealfs.New(vfs.OS{}, home, sealfs.Key{5}, sealfs.Sealed)
	}
	open := func() *Store {
		st, err := Open(home, opts)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		return st
	}
	st := open()
	return storetest.Opened{Store: st, Reopen: func() store.Store {
		if err := st.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		st = open()
		return st
	}}
}

func TestContract(t *testing.T) {
	for name, opts := range map[string]Options{
		"default":    {},
		"smallParts": {PartSize: 2000, Sync: SyncNever},
		"fewFiles":   {OpenFiles: 1, Sync: SyncAlways},
		"encrypted":  {NoCommitLog: true, PartSize: 40_000, Sync: SyncNever},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) storetest.Opened { return opened(t, opts) })
		})
	}
}

func TestRandom(t *testing.T) {
	storetest.RunRandom(t, func(t *testing.T) storetest.Opened {
		return opened(t, Options{PartSize: 3000, Sync: SyncNever})
	})
}
