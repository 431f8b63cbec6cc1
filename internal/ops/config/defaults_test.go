package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"firn.dev/agent"
	"firn.dev/compact"
	"firn.dev/internal/base/route"
	"firn.dev/provider"
	"firn.dev/tool"
)

// TestDefaults compares every default with a reviewed list.
func TestDefaults(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), FileName), []string{"HOME=/home/u"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var reported strings.Builder
	for _, e := range s.All() {
		fmt.Fprintf(&reported, "%s = %s\n", e.Path, e.Text)
		if e.Origin != (Origin{Layer: FromDefault}) {
			t.Errorf("%s has the source %s", e.Path, e.Origin)
		}
	}
	golden := filepath.Join("testdata", "defaults.txt")
	if update() {
		if err := os.WriteFile(golden, []byte(reported.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), reported.String()); diff != "" {
		t.Errorf("the defaults changed (-want +got)\n%s", diff)
	}
	if changes := Diff(s.Config, Default("/home/u/.firn")); len(changes) > 0 {
		t.Errorf("Default differs from the loaded settings: %v", changes)
	}
}

// The defaults must match those of the packages that use them.

func TestCompactionDefaults(t *testing.T) {
	c := Default("/x").Defaults.Compaction
	floor := c.ReserveFloor
	if floor == 0 {
		floor = -1
	}
	ours := compact.Settings{Mode: compact.Mode(c.Mode), Fraction: c.Fraction, Reserve: c.Reserve, ReserveFloor: floor}
	for _, window := range []int64{0, 4_000, 32_000, 128_000, 200_000, 1_000_000} {
		if got, want := ours.Limit(window), (compact.Settings{}).Limit(window); got != want {
			t.Errorf("a window of %d is full at %d, want %d", window, got, want)
		}
		if ours.Due(window*9/10, window) != (compact.Settings{}).Due(window*9/10, window) {
			t.Errorf("a window of %d is not due when it should be", window)
		}
	}
}

func TestSessionDefaults(t *testing.T) {
	s := Default("/x").Session
	queue := route.Queue{Mode: route.QueueMode(s.Queue.Mode), Debounce: &s.Queue.Debounce, Cap: s.Queue.Cap, Drop: route.DropPolicy(s.Queue.Drop)}
	if got, want := queue.String(), (route.Queue{}).String(); got != want {
		t.Errorf("the queue is %s, want %s", got, want)
	}
	policy := route.Policy{Mode: route.Mode(s.Reset.Mode), AtHour: &s.Reset.AtHour, Idle: s.Reset.Idle, TTL: s.Reset.TTL, Quiet: s.Reset.Quiet}
	if got, want := policy.String(), (route.Policy{}).String(); got != want {
		t.Errorf("sessions end %s, want %s", got, want)
	}
	if _, ok := route.Trigger("/new", route.Triggers{}); !ok || !slices.Equal(s.ResetTriggers, []string{"/new", "/reset"}) {
		t.Errorf("the triggers are %v", s.ResetTriggers)
	}
}

// TestChoices checks that the allowed values match the implementations.
func TestChoices(t *testing.T) {
	var levels []string
	for _, l := range []provider.Thinking{provider.ThinkOff, provider.ThinkMinimal, provider.ThinkLow, provider.ThinkMedium, provider.ThinkHigh, provider.ThinkMax} {
		levels = append(levels, string(l))
	}
	for path, want := range map[string][]string{
		"defaults.thinking":           levels,
		"defaults.compaction.mode":    {string(compact.Auto), string(compact.Suggest), string(compact.Off)},
		"defaults.silence":            {"mark", string(agent.SilentExact), string(agent.SilentNever)},
		"session.queue.mode":          {string(route.QueueSteer), string(route.QueueFollowup), string(route.QueueCollect), string(route.QueueInterrupt)},
		"session.queue.drop":          {string(route.DropOld), string(route.DropNew), string(route.DropSummarize)},
		"session.reset.mode":          {string(route.ModeDaily), string(route.ModeIdle), string(route.ModeBoth), string(route.ModeNone)},
		"session.dm_scope":            {string(route.ScopeMain), string(route.ScopePerPeer), string(route.ScopePerChannelPeer), string(route.ScopePerAccountChannelPeer)},
		"session.send_policy.default": {string(route.Allow), string(route.Deny)},
	} {
		segments, err := splitPath(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema().at(segments)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(s.allow, want) {
			t.Errorf("%s may be %v, want %v", path, s.allow, want)
		}
	}
	a := Default("/x").Defaults
	if a.ResultChars != tool.StandardChars || a.Shell.Timeout != 2*time.Minute {
		t.Errorf("results have %d characters, commands %v", a.ResultChars, a.Shell.Timeout)
	}
}
