package jetstream_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"firn.dev/internal/ops/jetstreamtest"
	"firn.dev/store"
	"firn.dev/store/jetstream"
	"firn.dev/store/storetest"
)

// shared is the server that tests share; each uses a separate space on it.
var shared *jetstream.Server

// spaces counts the spaces used by tests.
var spaces atomic.Int64

func TestMain(m *testing.M) {
	if config := os.Getenv(jetstreamtest.Env); config != "" {
		if err := jetstreamtest.Serve(config, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// The tests wait for disks and elections more than they compute.
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	dir, err := os.MkdirTemp("", "firn-jetstream")
	if err == nil {
		shared, err = jetstream.NewServer(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = shared.Close()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// options returns the options of an empty store in which nothing is sealed in the background.
func options(t testing.TB) jetstream.Options {
	return jetstream.Options{Server: shared, Space: fmt.Sprint("t", spaces.Add(1)), Shards: 2, SealAfter: -1, Report: func(m string) { t.Log(m) }}
}

func openStore(t testing.TB, o jetstream.Options) *jetstream.Store {
	t.Helper()
	st, err := jetstream.Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// open opens an empty store.
func open(t *testing.T) storetest.Opened {
	o := options(t)
	st := openStore(t, o)
	return storetest.Opened{Store: st, Reopen: func() store.Store {
		if err := st.Close(); err != nil {
			t.Error(err)
		}
		st = openStore(t, o)
		return st
	}}
}

// TestContract does not run in parallel with other tests, because it counts what this process
// has open. The same is true of similar tests.
func TestContract(t *testing.T) { storetest.Run(t, open) }

func TestRandom(t *testing.T) {
	t.Parallel()
	storetest.RunRandom(t, open)
}
