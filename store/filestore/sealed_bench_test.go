package filestore_test

import (
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/sealfs"
	"firn.dev/internal/disk/vfs"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// sealedOptions returns the options of a plain and of an encrypted home.
func sealedOptions(home string, sealed bool) filestore.Options {
	if !sealed {
		return filestore.Options{}
	}
	return filestore.Options{FS: sealfs.New(vfs.OS{}, home, sealfs.Key{3}, sealfs.Sealed), NoCommitLog: true}
}

func benchBoth(b *testing.B, run func(b *testing.B, home string, o func() filestore.Options)) {
	for name, sealed := range map[string]bool{"plain": false, "encrypted": true} {
		b.Run(name, func(b *testing.B) {
			home := b.TempDir()
			run(b, home, func() filestore.Options { return sealedOptions(home, sealed) })
		})
	}
}

// BenchmarkEncryptedAppend compares durable appends of a message.
func BenchmarkEncryptedAppend(b *testing.B) {
	benchBoth(b, func(b *testing.B, home string, o func() filestore.Options) {
		st, err := filestore.Open(home, o())
		if err != nil {
			b.Fatal(err)
		}
		defer st.Close()
		id, text := firn.NewID(), strings.Repeat("x", 600)
		for b.Loop() {
			if _, err := st.Append(b.Context(), id, store.Any, firn.UserText(text)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkEncryptedResume compares opening a home and reading the end of a long session, by
// a new process each time.
func BenchmarkEncryptedResume(b *testing.B) {
	benchBoth(b, func(b *testing.B, home string, o func() filestore.Options) {
		opts := o()
		opts.Sync = filestore.SyncNever
		st, err := filestore.Open(home, opts)
		if err != nil {
			b.Fatal(err)
		}
		id, text := firn.NewID(), strings.Repeat("some words of a message ", 30)
		for range 400 {
			batch := make([]firn.Entry, 50)
			for i := range batch {
				batch[i] = firn.UserText(text)
			}
			if _, err := st.Append(b.Context(), id, store.Any, batch...); err != nil {
				b.Fatal(err)
			}
		}
		if err := st.Close(); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			opts := o()
			opts.ReadOnly = true
			st, err := filestore.Open(home, opts)
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for r, err := range st.ReadBack(b.Context(), id, store.End) {
				if err != nil {
					b.Fatal(err)
				}
				if _, err := r.Entry(); err != nil {
					b.Fatal(err)
				}
				if n++; n == 1000 {
					break
				}
			}
			if err := st.Close(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
