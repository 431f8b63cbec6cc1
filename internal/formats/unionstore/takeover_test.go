package unionstore_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/unionstore"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// long writes a session of n messages to a source and returns their texts.
func long(t *testing.T, source string, n int) []string {
	t.Helper()
	b := fmt.Appendln(nil, `{"type":"session","version":3,"id":"old","timestamp":"2026-01-02T03:04:05.000Z","cwd":"/x"}`)
	parent := "null"
	var texts []string
	for i := range n {
		texts = append(texts, fmt.Sprint("word ", i))
		b = fmt.Appendf(b, `{"type":"message","id":"e%d","parentId":%s,"timestamp":"2026-01-02T03:04:05.000Z","message":{"role":"user","content":"word %d","timestamp":1}}`+"\n", i, parent, i)
		parent = fmt.Sprintf(`"e%d"`, i)
	}
	dir := filepath.Join(source, "agents", "main", "sessions")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "old.jsonl"), b, 0o600); err != nil {
		t.Fatal(err)
	}
	return texts
}

// TestManyAppend checks that concurrent appends to a source's session are all stored, once,
// after its messages.
func TestManyAppend(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	want := long(t, source, 20)
	// Two unions are like two processes: they share only files.
	unions := []*unionstore.Store{union(t, home, source), union(t, home, source)}
	var wg sync.WaitGroup
	for i := range 24 {
		wg.Go(func() {
			if _, err := unions[i%2].Append(t.Context(), "old", store.Any, firn.UserText(fmt.Sprint("new ", i))); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, u := range unions {
		got := texts(t, u, "old")
		if len(got) != 44 || !slices.Equal(got[:20], want) {
			t.Fatalf("got %q", got)
		}
		slices.Sort(got)
		if n := len(slices.Compact(got)); n != 44 {
			t.Errorf("duplicate entries: %d of 44", n)
		}
		if err := u.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestOneOfMany checks that only one of many callers that expect the same end in the source
// succeeds.
func TestOneOfMany(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	long(t, source, 5)
	u := union(t, home, source)
	defer u.Close()
	info, err := u.Inspect(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 16)
	for i := range errs {
		wg.Go(func() { _, errs[i] = u.Append(t.Context(), "old", info.End, firn.UserText("mine")) })
	}
	wg.Wait()
	right := 0
	for _, err := range errs {
		var conflict *store.Conflict
		if err == nil {
			right++
		} else if !errors.As(err, &conflict) {
			t.Error(err)
		}
	}
	if got := texts(t, u, "old"); right != 1 || len(got) != 6 {
		t.Errorf("%d were correct, got %q", right, got)
	}
}

// TestEndOfSourceIsEndOfCopy checks that a caller that expects the end of the source may
// append while our copy ends there.
func TestEndOfSourceIsEndOfCopy(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	long(t, source, 5)
	u := union(t, home, source)
	defer u.Close()
	info, err := u.Inspect(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	// The session is taken over, and then the store rejects the entry.
	if _, err := u.Append(t.Context(), "old", info.End, firn.Entry{Parent: "nowhere", Body: &firn.Title{Name: "x"}}); !errors.Is(err, firn.ErrNotFound) {
		t.Fatal(err)
	}
	if _, foreign := u.SourceOf(t.Context(), "old"); foreign {
		t.Fatal("it was not taken over")
	}
	for i, want := range []error{nil, firn.ErrConflict} {
		if _, err := u.Append(t.Context(), "old", info.End, firn.UserText("mine")); !errors.Is(err, want) {
			t.Errorf("time %d: %v", i, err)
		}
	}
}

// TestTakeFailsMidway checks that a failed takeover leaves the session unchanged, and that
// the next one completes it.
func TestTakeFailsMidway(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	want := long(t, source, 30)
	own, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		t.Fatal(err)
	}
	steps, broken := 0, errors.New("the disk is on fire")
	u := over(t, own, home, source, func() error {
		if steps++; steps%12 == 0 {
			return broken
		}
		return nil
	})
	defer u.Close()
	for range 2 {
		if _, err := u.Append(t.Context(), "old", store.Any, firn.UserText("mine")); !errors.Is(err, broken) {
			t.Fatalf("the take did not fail: %v", err)
		}
		whole(t, u, want)
	}
	if _, err := u.Append(t.Context(), "old", store.Any, firn.UserText("mine")); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, u, "old"); !slices.Equal(got, append(want, "mine")) {
		t.Errorf("got %q", got)
	}
}

// whole checks that a partially copied session is shown completely and once.
func whole(t *testing.T, u *unionstore.Store, want []string) {
	t.Helper()
	if got := texts(t, u, "old"); !slices.Equal(got, want) {
		t.Errorf("half taken over: %q", got)
	}
	if got := ids(t, u); !slices.Equal(got, []firn.ID{"old"}) {
		t.Errorf("half taken over, it is listed as %v", got)
	}
	census, err := u.Census(t.Context())
	if err != nil || len(census) != 1 {
		t.Fatalf("half taken over, it is counted as %v, %v", census, err)
	}
	if standing, err := u.Status(t.Context(), "old"); err != nil || standing != census[0] {
		t.Errorf("half taken over, its stamp is %v, %v; counted as %v", standing, err, census[0])
	}
}

// The environment variables that turn the test binary into the process to be killed.
const (
	victimHome   = "FIRN_TEST_VICTIM_HOME"
	victimSource = "FIRN_TEST_VICTIM_SOURCE"
)

// TestTakeOverChild takes a session over and stops in the middle, to be killed there. It does
// nothing if it is run as a normal test.
func TestTakeOverChild(t *testing.T) {
	home, source := os.Getenv(victimHome), os.Getenv(victimSource)
	if home == "" {
		return
	}
	own, err := filestore.Open(home, filestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	u := over(t, own, home, source, func() error {
		if steps++; steps == 15 {
			fmt.Println("midway")
			select {} // until it is killed
		}
		return nil
	})
	_, err = u.Append(t.Context(), "old", store.Any, firn.UserText("mine"))
	t.Fatalf("it was not killed: %v", err)
}

// TestKilledMidway checks that a process killed during a takeover loses nothing.
func TestKilledMidway(t *testing.T) {
	home, source := t.TempDir(), t.TempDir()
	want := long(t, source, 40)
	cmd := exec.Command(os.Args[0], "-test.run=^TestTakeOverChild$")
	cmd.Env = append(os.Environ(), victimHome+"="+home, victimSource+"="+source)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "midway\n" {
		t.Errorf("it printed %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("it was not killed")
	}
	u := union(t, home, source)
	defer u.Close()
	whole(t, u, want)
	if _, err := u.Append(t.Context(), "old", store.Any, firn.UserText("mine")); err != nil {
		t.Fatal(err)
	}
	if got := texts(t, u, "old"); !slices.Equal(got, append(want, "mine")) {
		t.Errorf("got %q", got)
	}
	if left, err := filepath.Glob(filepath.Join(home, "taking", "*")); err != nil || len(left) > 0 && !slices.Equal(left, []string{filepath.Join(home, "taking", ".lock")}) {
		t.Errorf("marks are left: %v, %v", left, err)
	}
}
