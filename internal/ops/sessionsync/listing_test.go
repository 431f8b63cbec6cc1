package sessionsync

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"firn.dev"
)

// inMemory is a Remote in memory that counts its listings.
type inMemory struct {
	files    map[string]string
	listings int
}

func (r *inMemory) All(context.Context) ([]string, error) {
	r.listings++
	var all []string
	for name := range r.files {
		all = append(all, name)
	}
	return all, nil
}

func (r *inMemory) Get(_ context.Context, name string) ([]byte, error) {
	return []byte(r.files[name]), nil
}

func (r *inMemory) Put(_ context.Context, name string, data []byte) error {
	r.files[name] = string(data)
	return nil
}

// TestListing lists directories of one listing, and files that were put since.
func TestListing(t *testing.T) {
	from := &inMemory{files: map[string]string{"a/b/one": "", "a/c": "", "a/.tmp-1": "", "/x": "", "y//z": "", "../w": "", "file": ""}}
	l := &Listing{Remote: from}
	ctx := context.Background()
	check(t, l.Put(ctx, "a/b/two", nil))
	names := func(dir string) []string {
		t.Helper()
		all, err := l.List(ctx, dir)
		check(t, err)
		return all
	}
	if got := names("a"); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("a has %q", got)
	}
	check(t, l.Put(ctx, "a/b/three", nil))
	if got := names("a/b"); !slices.Equal(got, []string{"one", "three", "two"}) {
		t.Errorf("a/b has %q", got)
	}
	if got := names("none"); len(got) > 0 {
		t.Errorf("none has %q", got)
	}
	if _, err := l.List(ctx, "file"); !errors.Is(err, firn.ErrCorrupt) {
		t.Errorf("the names in a file: %v", err)
	}
	if from.listings != 1 {
		t.Errorf("%d listings", from.listings)
	}
}

// TestRate limits a folder to a bandwidth, without waiting for real.
func TestRate(t *testing.T) {
	var clock time.Duration
	rate := NewRate(1000)
	rate.now = func() time.Time { return start.Add(clock) }
	rate.sleep = func(ctx context.Context, d time.Duration) error { clock += d; return ctx.Err() }
	d := newDuo(t)
	d.target.Rate = rate
	ctx, cancel := context.WithCancel(context.Background())
	check(t, d.target.Put(ctx, "x", make([]byte, 5000)))
	if _, err := d.target.Get(ctx, "x"); err != nil || clock != 10*time.Second {
		t.Errorf("10,000 bytes took %v, %v", clock, err)
	}
	check(t, rate.Wait(ctx, 0))
	cancel()
	if err := d.target.Put(ctx, "y", make([]byte, 5000)); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled upload: %v", err)
	}
	if files := d.onTarget("."); len(files) != 1 {
		t.Errorf("on the target: %v", files)
	}
	if err := sleep(ctx, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled pause: %v", err)
	}
}
