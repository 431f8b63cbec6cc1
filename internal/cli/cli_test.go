package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"firn"
	"firn/internal/demo"
	"firn/internal/doctor"
	"firn/store"
)

// TestExitCodes holds errors against the codes that are promised for them.
func TestExitCodes(t *testing.T) {
	failed := func(err error) doctor.Failure { return doctor.Failure{Session: "s", Message: err.Error(), Cause: err} }
	locked := fmt.Errorf("append: %w", firn.ErrLocked)
	cases := []struct {
		err  error
		code int
		kind string // empty: nothing is said
	}{
		{nil, 0, ""},
		{errors.New("something else"), 1, "failed"},
		{fmt.Errorf("append: %w: %w", firn.ErrNotSaved, syscall.ENOSPC), 1, "not-saved"},
		{fmt.Errorf("append: %w", firn.ErrTooLarge), 1, "too-large"},
		{fmt.Errorf("append: %w", firn.ErrUnsupported), 1, "unsupported"},
		{&usageError{message: "no such flag"}, 2, "usage"},
		{fmt.Errorf("%w session", firn.ErrInvalid), 2, "usage"},
		{fmt.Errorf("session: %w", firn.ErrNotFound), 3, "not-found"},
		{fmt.Errorf("open: %w", fs.ErrNotExist), 3, "not-found"},
		{&doctor.Ambiguous{Prefix: "abcd", Sessions: []firn.ID{"abcd1", "abcd2", "abcd3", "abcd4"}}, 4, "ambiguous"},
		{&store.Conflict{ID: "s"}, 5, "conflict"},
		{fmt.Errorf("append: %w", firn.ErrReplaced), 5, "conflict"},
		{locked, 5, "conflict"},
		{fmt.Errorf("open: %w", syscall.EACCES), 7, "not-allowed"},
		{fmt.Errorf("read: %w", firn.ErrCorrupt), 8, "integrity"},
		{errIntegrity, 8, ""},
		{errPartial, 9, ""},
		{repaired(&doctor.Plan{}), 0, ""},
		{repaired(&doctor.Plan{Failed: []doctor.Failure{failed(locked)}}), 5, "conflict"},
		{repaired(&doctor.Plan{Steps: make([]doctor.Step, 1), Failed: []doctor.Failure{failed(locked)}}), 9, ""},
		{fmt.Errorf("read: %w", context.Canceled), 130, "interrupted"},
		{fmt.Errorf("write: %w", syscall.EPIPE), 1, ""},
	}
	for _, c := range cases {
		var stderr bytes.Buffer
		p := &program{stderr: &stderr, json: true}
		if code := p.end(c.err); code != c.code {
			t.Errorf("%v ends with %d, want %d", c.err, code, c.code)
		}
		want := `{"error":{"kind":"` + c.kind + `",`
		if said := stderr.String(); c.kind == "" && said != "" || !strings.HasPrefix(said, want) && c.kind != "" {
			t.Errorf("of %v is said %q, want %s", c.err, said, want)
		}
	}
}

// TestInterrupted cancels before anything was done.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var stdout, stderr bytes.Buffer
	home := filepath.Join(t.TempDir(), "agents", "main", "sessions")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"verify"}, {"doctor"}, {"repair"}, {"repair", "--apply"}, {"demo"}} {
		file := filepath.Join(home, "s1.jsonl")
		if err := os.WriteFile(file, []byte(`{"type":`), 0o600); err != nil {
			t.Fatal(err)
		}
		env := func(name string) string {
			return map[string]string{"FIRN_HOME": filepath.Dir(filepath.Dir(filepath.Dir(home)))}[name]
		}
		if code := Main(ctx, args, Process{Stdout: &stdout, Stderr: &stderr, Env: env}); code != 130 {
			t.Errorf("firn %v ends with %d: %s", args, code, stderr.String())
		}
		if b, err := os.ReadFile(file); err != nil || string(b) != `{"type":` {
			t.Errorf("firn %v left %q, %v", args, b, err)
		}
	}
}

func TestHomeDir(t *testing.T) {
	env := map[string]string{"HOME": "/u", "FIRN_HOME": "/f"}
	p := &program{env: func(name string) string { return env[name] }, home: "/h"}
	for _, want := range []string{"/h", "/f", filepath.Join("/u", ".firn")} {
		if got, err := p.homeDir(); got != want || err != nil {
			t.Errorf("the home is %s, %v; want %s", got, err, want)
		}
		if p.home == "" {
			delete(env, "FIRN_HOME")
		}
		p.home = ""
	}
}

func TestBar(t *testing.T) {
	var b bytes.Buffer
	p := &program{stderr: &b}
	bar := p.newBar("reading")
	bar.set(1, 2)
	bar.clear()
	if b.Len() > 0 {
		t.Errorf("what is no terminal was shown %q", b.String())
	}
	p.progress = true
	bar = p.newBar("reading")
	bar.set(5_000_000, 20_000_000)
	bar.set(5_000_001, 20_000_000) // looks the same
	bar.set(0, 0)
	bar.clear()
	const want = "reading ━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  25 % of 20 MB\nreading ━━━━━━━━━━━━━━━━━━━━━━━━ 100 % of 0 B\n"
	if b.String() != want {
		t.Errorf("the bar is\n%s\nwant\n%s", b.String(), want)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("the null device was taken for a terminal")
	}
}

func TestDemoLines(t *testing.T) {
	var b bytes.Buffer
	p := &program{stdout: &b}
	for _, p.json = range []bool{false, true} {
		if err := errors.Join(p.tell(demo.Line{Step: "a thing", OK: true, Result: "done"}), p.tell(demo.Line{Step: "another", Result: "failed"})); err != nil {
			t.Fatal(err)
		}
	}
	const want = `✓ a thing                        done
✗ another                        failed
{"step":"a thing","ok":true,"result":"done"}
{"step":"another","ok":false,"result":"failed"}
`
	if b.String() != want {
		t.Errorf("it says\n%s\nwant\n%s", b.String(), want)
	}
}

func TestVersion(t *testing.T) {
	v := versionOf(&debug.BuildInfo{
		Main:     debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}},
	})
	if text := v.text(); !strings.HasPrefix(text, "firn v1.2.3 (0123456789ab, modified)\n") {
		t.Errorf("the version is %q", text)
	}
	if v := versionOf(nil); v.Version != "devel" {
		t.Errorf("the version is %q", v.Version)
	}
}
