package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"firn.dev"
	"firn.dev/client"
	"firn.dev/internal/ops/doctor"
	"firn.dev/internal/term/chat"
	"firn.dev/internal/term/demo"
	"firn.dev/store"
	"firn.dev/wire"
)

// TestExitCodes checks the exit codes of errors.
func TestExitCodes(t *testing.T) {
	failed := func(err error) doctor.Failure { return doctor.Failure{Session: "s", Message: err.Error(), Cause: err} }
	locked := fmt.Errorf("append: %w", firn.ErrLocked)
	cases := []struct {
		err  error
		code int
		kind string // empty: nothing is printed
	}{
		{nil, 0, ""},
		{errors.New("something else"), 1, "failed"},
		{fmt.Errorf("append: %w: %w", firn.ErrNotSaved, syscall.ENOSPC), 1, "not-saved"},
		{fmt.Errorf("append: %w: %w", firn.ErrNotSaved, firn.ErrUnavailable), 6, "unavailable"},
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
		{errWrong, 2, ""},
		{&wire.Problem{Kind: wire.Invalid}, 2, "invalid"},
		{fmt.Errorf("show: %w", &wire.Problem{Kind: wire.NotFound}), 3, "not-found"},
		{&wire.Problem{Kind: wire.Ambiguous}, 4, "ambiguous"},
		{&wire.Problem{Kind: wire.Conflict}, 5, "conflict"},
		{&wire.Problem{Kind: wire.Locked}, 5, "locked"},
		{&wire.Problem{Kind: wire.Busy}, 5, "busy"},
		{&client.Unreachable{Err: errors.New("nobody")}, 6, "unreachable"},
		{&wire.Problem{Kind: wire.Closing}, 6, "closing"},
		{&wire.Problem{Kind: wire.NoToken}, 7, "no-token"},
		{&wire.Problem{Kind: wire.NotAllowed}, 7, "not-allowed"},
		{&wire.Problem{Kind: wire.Corrupt}, 8, "corrupt"},
		{&wire.Problem{Kind: wire.Upstream}, 1, "upstream"},
		{&chat.Problem{Err: &wire.Problem{Kind: wire.Upstream}, Kind: chat.ErrKeyRejected}, 7, "not-allowed"},
		{&wire.Problem{Kind: "something new"}, 1, "something new"},
	}
	for _, c := range cases {
		var stderr bytes.Buffer
		p := &program{stderr: &stderr, json: true}
		if code := p.end(c.err); code != c.code {
			t.Errorf("%v ends with %d, want %d", c.err, code, c.code)
		}
		want := `{"error":{"kind":"` + c.kind + `",`
		if text := stderr.String(); c.kind == "" && text != "" || !strings.HasPrefix(text, want) && c.kind != "" {
			t.Errorf("the description of %v is %q, want %s", c.err, text, want)
		}
	}
}

// TestInterrupted cancels before any work was done.
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
	p := &program{env: func(name string) string { return env[name] }, location: location{home: "/h"}}
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
	bar.Set(1, 2)
	bar.Clear()
	if b.Len() > 0 {
		t.Errorf("output that is not a terminal received %q", b.String())
	}
	p.progress = true
	bar = p.newBar("reading")
	bar.Set(5_000_000, 20_000_000)
	bar.Set(5_000_001, 20_000_000) // same display
	bar.Set(0, 0)
	bar.Clear()
	const want = "reading ━━━━━━╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌  25 % of 20 MB\nreading …\n"
	if b.String() != want {
		t.Errorf("the bar is\n%s\nwant\n%s", b.String(), want)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) {
		t.Error("the null device was treated as a terminal")
	}
}

func TestDemoLines(t *testing.T) {
	var b bytes.Buffer
	p := &program{stdout: &b}
	for _, p.json = range []bool{false, true} {
		if err := errors.Join(demoCommands{p}.printDemoLine(demo.Line{Step: "a thing", OK: true, Result: "done", Ms: 12.5}), demoCommands{p}.printDemoLine(demo.Line{Step: "another", Result: "failed", Ms: 1234})); err != nil {
			t.Fatal(err)
		}
	}
	const want = `✓ a thing                          12 ms  done
✗ another                          1.2 s  failed
{"step":"a thing","ok":true,"result":"done","ms":12.5}
{"step":"another","ok":false,"result":"failed","ms":1234}
`
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", b.String(), want)
	}
}

// TestJoinResume checks that --resume and a following session are joined.
func TestJoinResume(t *testing.T) {
	for in, want := range map[string]string{
		"chat -r abcd hello":    "chat --resume=abcd hello",
		"chat --resume abcd":    "chat --resume=abcd",
		"chat -r":               "chat -r",
		"chat -r -p hello":      "chat -r -p hello",
		"chat -r - hello":       "chat --resume=- hello",
		"chat -p -- -r abcd":    "chat -p -- -r abcd",
		"repair abcd":           "repair abcd",
		"chat --resume=abcd -p": "chat --resume=abcd -p",
	} {
		if got := strings.Join(joinResume(strings.Fields(in)), " "); got != want {
			t.Errorf("%s is %s, want %s", in, got, want)
		}
	}
}

func TestSince(t *testing.T) {
	now := time.Date(2026, 11, 15, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"": {}, "7d": now.AddDate(0, 0, -7), "12h": now.Add(-12 * time.Hour), "2026-11-01": time.Date(2026, 11, 1, 0, 0, 0, 0, time.Local),
		"2026-11-01 08:30": time.Date(2026, 11, 1, 8, 30, 0, 0, time.Local), "2026-11-01T08:30:00Z": time.Date(2026, 11, 1, 8, 30, 0, 0, time.UTC),
	} {
		if got, err := parseTime("--since", text, now); err != nil || !got.Equal(want) {
			t.Errorf("since %s is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-3h", "-1d", "d", "2026"} {
		if got, err := parseTime("--since", text, now); err == nil {
			t.Errorf("since %s is %s", text, got)
		}
		if got, err := parseExpiry(text, now); err == nil {
			t.Errorf("until %s is %s", text, got)
		}
	}
	if got, err := parseExpiry("2d", now); err != nil || !got.Equal(now.AddDate(0, 0, 2)) {
		t.Errorf("until 2d is %s, %v", got, err)
	}
}

// TestWindowRuns checks the text of runs in and out of a window, and the undo commands.
func TestWindowRuns(t *testing.T) {
	w := wire.Window{
		Session: "0198c5a2-5f6e-7abc", Usage: wire.Usage{Tokens: 176_000, Window: 200_000}, Compactions: 3,
		Totals: wire.WindowTotals{System: 2100, Notes: 900, Summary: 1200, Kept: 19_800, Tools: 151_000},
		In:     []wire.Run{{From: 188, To: 412, Count: 225}},
		Out: []wire.Run{
			{From: 1, To: 187, Count: 187, Why: "compacted"}, {From: 203, To: 203, Count: 1, Why: "pruned"}, {First: "abc", Last: "abc", Count: 1, Why: "tombstoned"},
			{First: "x", Last: "y", Count: -1, Why: "other-branch"}, {Count: -1, Why: "hidden"},
		},
	}
	const want = ` 88% of 200,000     system ~2.1k · notes ~900 · summary ~1.2k · kept ~19.8k · tools ~151k
 in   #188–#412                 225 entries
 out  #1–#187     compacted ×3  firn uncompact 0198c5a2-5f6e
      #203        pruned        firn cat 0198c5a2-5f6e --view disk --from '#203'
      abc         tombstoned    firn restore 0198c5a2-5f6e abc
      x–y         other-branch  firn tree 0198c5a2-5f6e
      all before  hidden
`
	if got := windowDiff(w); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
