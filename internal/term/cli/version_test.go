package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestBuildOf checks that the linker's stamp takes precedence over the build info.
func TestBuildOf(t *testing.T) {
	info := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"}, Deps: make([]*debug.Module, 7),
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	stamp := Stamp{Version: "v2.0.0", Commit: "fedcba", Time: "2026-02-03T04:05:06Z", Dirty: "false"}
	for _, c := range []struct {
		name  string
		stamp Stamp
		info  *debug.BuildInfo
		want  string // part of the text
	}{
		{"nothing", Stamp{}, nil, "firn devel\nbuilt with"},
		{"the Go command", Stamp{}, info, "firn v1.2.3\ncommit 0123456789abcdef of 2026-01-02T03:04:05Z, modified\nbuilt with"},
		{"the linker", stamp, info, "firn v2.0.0\ncommit fedcba of 2026-02-03T04:05:06Z\nbuilt with"},
		{"the linker alone", stamp, nil, "firn v2.0.0\ncommit fedcba of 2026-02-03T04:05:06Z\nbuilt with"},
		{"no version", Stamp{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, "firn devel\nbuilt with"},
	} {
		b := BuildOf(c.stamp, c.info)
		if text := b.text(); !strings.HasPrefix(text, c.want) {
			t.Errorf("%s: the version is\n%s\nwant\n%s", c.name, text, c.want)
		}
		if c.info == info && b.Modules != 7 {
			t.Errorf("%s: it has %d modules", c.name, b.Modules)
		}
	}
}

// TestVersionJSON checks the JSON form.
func TestVersionJSON(t *testing.T) {
	var stdout, stderr bytes.Buffer
	proc := Process{Stdout: &stdout, Stderr: &stderr, Env: func(string) string { return "" }, Build: BuildOf(Stamp{Version: "v2.0.0", Commit: "fedcba", Dirty: "true"}, nil)}
	if code := Main(context.Background(), []string{"version", "--json"}, proc); code != 0 {
		t.Fatalf("it ends with %d: %s", code, stderr.String())
	}
	var got map[string]any
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"version": "v2.0.0", "commit": "fedcba", "dirty": true, "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
		"modules": 0.0, "format": 3.0, "firn": 1.0,
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("it prints %v", got)
	}
}
