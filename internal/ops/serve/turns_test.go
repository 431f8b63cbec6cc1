package serve

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
)

// TestTurnsOfOthers checks that concurrent turns of one session run one at a time, that
// waiting ones are notified, and that no files remain.
func TestTurnsOfOthers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "turns")
	var inside, ran atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			others := &turns{fs: vfs.OS{}, dir: dir} // as in another process
			for range 50 {
				leave, err := others.enter(t.Context(), "s", func() {})
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d run concurrently", n)
				}
				ran.Add(1)
				inside.Add(-1)
				leave()
			}
		})
	}
	all.Wait()
	if n := ran.Load(); n != 8*50 {
		t.Errorf("%d turns ran", n)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// TestWaitingForATurn checks that a waiting turn is notified once, can be canceled, does
// not wait for other sessions, and proceeds when the other process ends.
func TestWaitingForATurn(t *testing.T) {
	ours := &turns{fs: vfs.OS{}, dir: t.TempDir()}
	enter := func(ctx context.Context, id firn.ID) (reported int, leave func(), err error) {
		leave, err = ours.enter(ctx, id, func() { reported++ })
		return reported, leave, err
	}
	_, first, err := enter(t.Context(), "s")
	if err != nil {
		t.Fatal(err)
	}
	called := errors.New("called off")
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := ours.enter(ctx, "s", func() { cancel(called) }); !errors.Is(err, called) {
		t.Errorf("it ended with %v", err)
	}
	seen, other, err := enter(t.Context(), "another")
	if seen > 0 || err != nil {
		t.Errorf("it waited %d times for another session, %v", seen, err)
	}
	other()
	seen = 0
	second, err := ours.enter(t.Context(), "s", func() { seen++; first() })
	if seen != 1 || err != nil {
		t.Fatalf("it was reported %d times, %v", seen, err)
	}
	second()
	if _, _, err := enter(t.Context(), "../s"); !errors.Is(err, firn.ErrInvalid) {
		t.Errorf("a session of that name: %v", err)
	}
}
