package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/memstore"
)

func TestAgentOf(t *testing.T) {
	for key, want := range map[string]string{
		"": "main", "k": "main", "agent:ops:dm:1": "ops", "agent:ops:": "ops", "agent:ops": "main", "agent::x": "main", "AGENT:ops:x": "main",
	} {
		if got := store.AgentOf(key); got != want {
			t.Errorf("AgentOf(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestCheckKey(t *testing.T) {
	for _, key := range []string{"k", "agent:main:ü 🦀", strings.Repeat("x", 1024)} {
		if err := store.CheckKey(key); err != nil {
			t.Errorf("CheckKey(%.20q): %v", key, err)
		}
	}
	for _, key := range []string{"", "a\tb", "a\x7f", "\xff", strings.Repeat("x", 1025)} {
		if err := store.CheckKey(key); !errors.Is(err, firn.ErrInvalid) {
			t.Errorf("CheckKey(%.20q): %v", key, err)
		}
	}
}

// wrapper wraps a store without adding capabilities.
type wrapper struct{ store.Store }

func (w wrapper) Unwrap() store.Store { return w.Store }

// plainStore has only the methods of Store.
type plainStore struct{ store.Store }

func TestLoadOrCreateThroughWrapper(t *testing.T) {
	mem := memstore.New(memstore.Options{})
	first, err := store.LoadOrCreate(t.Context(), wrapper{mem}, "k")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := store.LoadOrCreate(t.Context(), mem, "k"); again != first || err != nil {
		t.Errorf("LoadOrCreate = %s, %v; want %s", again, err, first)
	}
}

func TestLoadOrCreateWithoutKeys(t *testing.T) {
	_, err := store.LoadOrCreate(t.Context(), plainStore{memstore.New(memstore.Options{})}, "k")
	if !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("LoadOrCreate: %v", err)
	}
}

// binder is a Keyed store that is not a Claimer. Another caller always binds the key first.
type binder struct {
	store.Store
	keys  map[string]firn.ID
	other firn.ID
}

func (b *binder) Lookup(_ context.Context, key string) (firn.ID, error) {
	if id, ok := b.keys[key]; ok {
		return id, nil
	}
	return "", firn.ErrNotFound
}

func (b *binder) Bind(_ context.Context, key string, id firn.ID) error {
	if b.other != "" {
		b.keys[key] = b.other
		return firn.ErrConflict
	}
	b.keys[key] = id
	return nil
}

func TestLoadOrCreateWithoutClaims(t *testing.T) {
	b := &binder{Store: memstore.New(memstore.Options{}), keys: map[string]firn.ID{}}
	id, err := store.LoadOrCreate(t.Context(), b, "k")
	if err != nil || b.keys["k"] != id {
		t.Errorf("LoadOrCreate = %s, %v; bound is %s", id, err, b.keys["k"])
	}
}

func TestLoadOrCreateConcurrently(t *testing.T) {
	b := &binder{Store: memstore.New(memstore.Options{}), keys: map[string]firn.ID{}, other: "theirs"}
	if id, err := store.LoadOrCreate(t.Context(), b, "k"); id != "theirs" || err != nil {
		t.Errorf("LoadOrCreate = %s, %v", id, err)
	}
	var hidden, shown int
	for _, err := range b.List(t.Context(), store.Query{Hidden: true}) {
		if err != nil {
			t.Fatal(err)
		}
		hidden++
	}
	for range b.List(t.Context(), store.Query{}) {
		shown++
	}
	if hidden != 1 || shown != 0 {
		t.Errorf("the unused session is hidden %d times, shown %d times", hidden, shown)
	}
}

func TestLoadOrCreateFails(t *testing.T) {
	mem := memstore.New(memstore.Options{})
	if err := mem.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.LoadOrCreate(t.Context(), mem, "k"); !errors.Is(err, firn.ErrClosed) {
		t.Errorf("LoadOrCreate on a closed store: %v", err)
	}
	if _, err := store.LoadOrCreate(t.Context(), mem, ""); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("LoadOrCreate without a key: %v", err)
	}
}
