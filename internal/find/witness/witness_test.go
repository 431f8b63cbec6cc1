package witness_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/find/witness"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// recorder records notifications.
type recorder struct {
	seen          []string
	before, after error
}

func (c *recorder) Before(id firn.ID, purge bool) error {
	c.seen = append(c.seen, fmt.Sprint("before ", id, purge))
	return c.before
}

func (c *recorder) After(_ context.Context, id firn.ID, purge bool) error {
	c.seen = append(c.seen, fmt.Sprint("after ", id, purge))
	return c.after
}

func (c *recorder) took() string {
	all := strings.Join(c.seen, ", ")
	c.seen = nil
	return all
}

// TestWitness checks that every change is reported, successful or not, and can be
// prevented.
func TestWitness(t *testing.T) {
	files, err := filestore.Open(t.TempDir(), filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	c := &recorder{}
	s := witness.Wrap(files, c)
	t.Cleanup(func() { s.Close() })
	ctx := t.Context()
	deferred, _ := store.As[store.Deferred](s)
	remover, _ := store.As[store.Remover](s)
	say := func() error { _, err := s.Append(ctx, "one", store.Any, firn.UserText("hello")); return err }
	for name, change := range map[string]func() error{
		"append": say,
		"deferred": func() error {
			_, err := deferred.AppendDeferred(ctx, "one", store.Any, firn.UserText("more"))
			return err
		},
		"archive":   func() error { return remover.Archive(ctx, "one") },
		"unarchive": func() error { return remover.Unarchive(ctx, "one") },
	} {
		if err := errors.Join(say(), remover.Archive(ctx, "one")); err != nil {
			t.Fatal(err)
		}
		c.took()
		err := change()
		if got := c.took(); got != "before onefalse, after onefalse" {
			t.Errorf("%s, which returned %v, was seen as %q", name, err, got)
		}
	}
	if _, err := remover.Purge(ctx, "one", "test"); err != nil || c.took() != "before onetrue, after onetrue" {
		t.Errorf("a purge: %v", err)
	}
	c.before = errors.New("not now")
	if err := say(); !errors.Is(err, c.before) || c.took() != "before onefalse" {
		t.Errorf("a change that was refused: %v", err)
	}
	for _, err := range files.Read(ctx, "one", store.Start) {
		if !errors.Is(err, firn.ErrNotFound) {
			t.Errorf("a rejected operation was performed: %v", err)
		}
	}
	c.before, c.after = nil, errors.New("did not see")
	if err := say(); !errors.Is(err, c.after) {
		t.Errorf("a witness that failed: %v", err)
	}
}
