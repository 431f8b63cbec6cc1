package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/base/basetest"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/gateway"
	"firn.dev/internal/ops/config"
	"firn.dev/internal/ops/jetstreamtest"
	"firn.dev/internal/ops/migrate"
	"firn.dev/store"
	"firn.dev/wire"
)

// alone starts a standalone server and returns the settings for it.
func alone(t *testing.T) string {
	t.Helper()
	ports := basetest.FreePorts(t, 2)
	n := &jetstreamtest.Node{Name: "one", Dir: t.TempDir(), Client: ports[0], Monitor: ports[1]}
	n.Start(t)
	t.Cleanup(n.Stop)
	return fmt.Sprintf("[store]\nurl = \"nats://127.0.0.1:%d\"\nshards = 2\nreplicas = 1\nallow_unsafe = true\n", ports[0])
}

func titles(t *testing.T, c *client.Client) string {
	t.Helper()
	var all []string
	for s, err := range c.Sessions(t.Context(), client.Query{}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s.Title)
	}
	return strings.Join(all, ", ")
}

func hits(t *testing.T, c *client.Client, words string) int {
	t.Helper()
	found, err := c.Search(t.Context(), wire.SearchQuery{Query: words})
	if err != nil {
		t.Fatal(err)
	}
	return len(found.Items)
}

// TestTwoGateways checks that two gateways with separate homes and one store immediately
// list and find each other's messages, and that neither finds purged ones.
func TestTwoGateways(t *testing.T) {
	settings := alone(t)
	_, a := openInstance(t, Options{Settings: load(t, settings)})
	h, b := openInstance(t, Options{Settings: load(t, settings)})
	if n := hits(t, b, "walrus"); n != 0 {
		t.Fatalf("an empty store has %d hits", n)
	}
	s := newSessionWith(t, a, wire.NewSession{Key: "agent:main:main", Title: "Beasts"}, "The walrus is large.")
	if got := titles(t, b); got != "Beasts" {
		t.Errorf("the other lists %q", got)
	}
	if n := hits(t, b, "walrus"); n == 0 {
		t.Error("the other does not find it")
	}
	same, err := b.Session(t.Context(), "@agent:main:main")
	if err != nil || same.ID != s.ID {
		t.Errorf("the key points at %q there, %v", same.ID, err)
	}
	if _, err := b.Turn(t.Context(), s.ID, wire.Turn{Text: "And the narwhal has a horn."}); err != nil {
		t.Fatal(err)
	}
	if hits(t, a, "narwhal") == 0 {
		t.Error("the first does not find the message of the other")
	}
	titles(t, b) // records the changes
	report, err := b.Index.Check(t.Context())
	if err != nil || !report.OK {
		t.Errorf("the indexes of the other differ: %+v, %v", report, err)
	}
	var faults []wire.VerifyFault
	checked := 0
	if err := h.verify(t.Context(), func(step gateway.VerifyStep) { checked, faults = step.Done, append(faults, step.Faults...) }); err != nil || checked != 1 || len(faults) > 0 {
		t.Errorf("the check examined %d sessions and found %+v, %v", checked, faults, err)
	}
	if _, err := a.Purge(t.Context(), s.ID, wire.Erase{Reason: "a test", Sure: s.ID}); err != nil {
		t.Fatal(err)
	}
	if got, n := titles(t, b), hits(t, b, "walrus"); got != "" || n != 0 {
		t.Errorf("the other lists %q and finds %d purged entries", got, n)
	}
}

// TestEmbeddedServerIsExclusive checks that only one process at a time can use the directory
// of an embedded server.
func TestEmbeddedServerIsExclusive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "nats")
	s := config.Default(t.TempDir()).Store
	s.URL = "nats-embedded:" + dir
	opening := StoreOptions{FS: vfs.OS{}}
	first, err := OpenStore(s, "", opening)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := first.Append(t.Context(), "s1", store.Start, firn.UserText("one")); err != nil {
		t.Fatal(err)
	}
	_, err = OpenStore(s, "", opening)
	var p *wire.Problem
	if !errors.Is(err, firn.ErrLocked) || !errors.As(err, &p) || p.Hint == "" {
		t.Errorf("the second one gets %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := OpenStore(s, "", opening)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	n := 0
	for _, err := range again.Read(t.Context(), "s1", store.Start) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("there are %d records after it was opened again", n)
	}
}

// TestNoCluster checks the hints for servers that are unreachable or may lose acknowledged
// data.
func TestNoCluster(t *testing.T) {
	port := basetest.FreePorts(t, 1)[0]
	_, err := Open(Options{Settings: load(t, fmt.Sprintf("[store]\nurl = \"nats://127.0.0.1:%d\"\nallow_unsafe = true", port)), Env: env()})
	var p *wire.Problem
	if !errors.As(err, &p) || p.Kind != wire.Unavailable || !strings.Contains(p.Hint, "store.url") {
		t.Errorf("missing servers give %v", err)
	}
	unsafe := strings.Split(alone(t), "replicas")[0]
	if _, err := Open(Options{Settings: load(t, unsafe), Env: env()}); !errors.Is(err, firn.ErrUnsupported) {
		t.Errorf("a server whose sync setting is unknown gives %v", err)
	}
}

// TestMirrorOfGateway checks that only new data is copied to files, and never into a
// directory with other contents.
func TestMirrorOfGateway(t *testing.T) {
	root := t.TempDir()
	settings := load(t, "[store]\nurl = \"nats-embedded:"+filepath.ToSlash(filepath.Join(root, "nats"))+"\"\nmirror = \""+filepath.ToSlash(filepath.Join(root, "copy"))+"\"\n")
	h, c := openInstance(t, Options{Settings: settings})
	s := newSessionWith(t, c, wire.NewSession{Key: "agent:main:main", Title: "Kept"}, "Keep this.")
	newSessionWith(t, c, wire.NewSession{Title: "Other"}, "And this.")
	m := &mirrorer{fs: h.fs, settings: settings, dir: settings.Store.Mirror, report: func(string) {}, clock: time.Now}
	from := h.own.(migrate.Side)
	r, err := m.run(t.Context(), from)
	if err != nil || r.New != 2 || r.Keys != 1 {
		t.Fatalf("the first time copies %+v, %v", r, err)
	}
	if _, err := c.Turn(t.Context(), s.ID, wire.Turn{Text: "One more thing."}); err != nil {
		t.Fatal(err)
	}
	r, err = m.run(t.Context(), from)
	if err != nil || r.New != 0 || r.Longer != 1 || r.Before != 1 {
		t.Errorf("the second time copies %+v, %v", r, err)
	}
	home := config.Default(settings.Store.Mirror)
	plain, err := OpenStore(home.Store, settings.Store.Mirror, StoreOptions{FS: h.fs, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	n := 0
	for info, err := range plain.List(t.Context(), store.Query{}) {
		if err != nil || info.Fault != "" {
			t.Errorf("the copy of %s: %s, %v", info.ID, info.Fault, err)
		}
		n++
	}
	if n != 2 {
		t.Errorf("the copy has %d sessions", n)
	}
	if err := os.Remove(filepath.Join(settings.Store.Mirror, copyManifest)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.run(t.Context(), from); !errors.Is(err, firn.ErrConflict) {
		t.Errorf("a directory that is not a backup is accepted: %v", err)
	}
}

// TestDaemonMirrors checks that a gateway with a configured mirror directory makes the
// first copy.
func TestDaemonMirrors(t *testing.T) {
	root := t.TempDir()
	settings := load(t, "[store]\nurl = \"nats-embedded:"+filepath.ToSlash(filepath.Join(root, "nats"))+"\"\nmirror = \""+filepath.ToSlash(filepath.Join(root, "copy"))+"\"\n")
	ctx, cancel := context.WithTimeout(t.Context(), basetest.Limit)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, Daemon{Options: Options{Settings: settings, Env: env()}}) }()
	made := filepath.Join(settings.Store.Mirror, copyManifest)
	for {
		if _, err := os.Stat(made); err == nil {
			break
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended without a copy: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
