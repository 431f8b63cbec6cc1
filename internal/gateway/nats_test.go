package gateway

import (
	"path/filepath"
	"testing"

	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/index"
	"firn.dev/store/jetstream"
)

// natsRoom returns a room with an in-process NATS server and a catalog in files.
func natsRoom(t testing.TB) *room {
	t.Helper()
	server, err := jetstream.NewServer(filepath.Join(t.TempDir(), "nats"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	st, err := jetstream.Open(t.Context(), jetstream.Options{Server: server, Shards: 1})
	if err != nil {
		t.Fatal(err)
	}
	catalog, err := index.Open(vfs.OS{}, t.TempDir(), st, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return newRoom(t, index.Wrap(st, catalog), "")
}
