package jetstream_test

import (
	"bytes"
	"strings"
	"testing"

	"firn.dev/store/jetstream"

	"github.com/klauspost/compress/zstd"
	js "github.com/nats-io/nats.go/jetstream"
)

// connect connects to the server of a store.
func connect(t testing.TB, o jetstream.Options) js.JetStream {
	t.Helper()
	nc, err := o.Server.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	api, err := js.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// loseIndex deletes the bucket that holds the index.
func loseIndex(t testing.TB, o jetstream.Options) {
	t.Helper()
	if err := connect(t, o).DeleteKeyValue(t.Context(), o.Space+"_IDX"); err != nil {
		t.Fatal(err)
	}
}

// occurrences counts the messages of a store that contain the text, compressed or not.
func occurrences(t testing.TB, o jetstream.Options, text string) int {
	t.Helper()
	expand, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer expand.Close()
	api, n := connect(t, o), 0
	names := api.StreamNames(t.Context())
	for name := range names.Name() {
		if !strings.Contains(name, o.Space+"_") {
			continue
		}
		stream, err := api.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		state := stream.CachedInfo().State
		for seq := state.FirstSeq; seq <= state.LastSeq; seq++ {
			m, err := stream.GetMsg(t.Context(), seq)
			if err != nil {
				continue
			}
			_, zipped, _ := bytes.Cut(m.Data, []byte{'\n'})
			plain, _ := expand.DecodeAll(zipped, nil)
			if bytes.Contains(m.Data, []byte(text)) || bytes.Contains(plain, []byte(text)) {
				n++
			}
		}
	}
	if names.Err() != nil {
		t.Fatal(names.Err())
	}
	return n
}
