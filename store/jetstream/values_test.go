package jetstream_test

import (
	"context"
	"errors"
	"testing"

	"firn.dev"
)

// TestValues checks that a value is visible to all stores, has one writer at a time, and
// notifies watchers.
func TestValues(t *testing.T) {
	t.Parallel()
	o := options(t)
	one, other := openStore(t, o), openStore(t, o)
	defer other.Close()
	a, err := one.Values(t.Context(), "TEST", "for a test")
	if err != nil {
		t.Fatal(err)
	}
	b, err := other.Values(t.Context(), "TEST", "for a test")
	if err != nil {
		t.Fatal(err)
	}
	if value, revision, err := a.Newer(t.Context(), "x", 0); value != nil || revision != 0 || err != nil {
		t.Errorf("nothing is %q at %d, %v", value, revision, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	messages, done := make(chan struct{}, 100), make(chan struct{})
	go func() {
		defer close(done)
		b.Watch(ctx, "x", func() { messages <- struct{}{} })
	}()
	first, err := a.Put(t.Context(), "x", []byte("one"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if value, revision, err := b.Newer(t.Context(), "x", 0); string(value) != "one" || revision != first || err != nil {
		t.Errorf("it is %q at %d, %v", value, revision, err)
	}
	if value, revision, err := b.Newer(t.Context(), "x", first); value != nil || revision != first || err != nil {
		t.Errorf("a known value is returned as %q at %d, %v", value, revision, err)
	}
	<-messages
	if _, err := b.Put(t.Context(), "x", []byte("late"), 0); !errors.Is(err, firn.ErrConflict) {
		t.Errorf("over another store's value: %v", err)
	}
	if _, err := b.Put(t.Context(), "x", make([]byte, 2<<20), first); !errors.Is(err, firn.ErrTooLarge) {
		t.Errorf("two megabytes: %v", err)
	}
	if _, err := b.Put(t.Context(), "x", []byte("two"), first); err != nil {
		t.Fatal(err)
	}
	<-messages
	cancel()
	<-done
	if _, err := one.Values(t.Context(), "no.name", ""); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a name with a dot: %v", err)
	}
	if err := one.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Newer(t.Context(), "x", 0); !errors.Is(err, firn.ErrClosed) {
		t.Errorf("of a closed store: %v", err)
	}
}
