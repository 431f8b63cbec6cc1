package mcpclient_test

import (
	"slices"
	"strings"
	"testing"

	"firn.dev/internal/ops/mcpclient"
)

func project() mcpclient.Project {
	return mcpclient.Project{Dir: "/p", Base: []string{"PATH=/bin"}, Env: func(name string) string {
		return map[string]string{"TOKEN": "t0", "HOST": "example.org"}[name]
	}}
}

func TestProjectFile(t *testing.T) {
	servers, err := project().Parse([]byte(`{"mcpServers": {
		"fs": {"command": "npx", "args": ["-y", "${PKG:-server}"], "env": {"T": "${TOKEN}"}, "unknown": 1},
		"web": {"type": "http", "url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
		"sse": {"type": "sse", "url": "https://x"}, "none": {}, "both": {"command": "a", "url": "http://b"},
		"unset": {"command": "a", "args": ["${NOT_SET}"]}, "odd": 7}}`))
	if err != nil {
		t.Fatal(err)
	}
	problems := make(map[string]string)
	for _, s := range servers {
		problems[s.Name] = s.Problem
		switch s.Name {
		case "fs":
			if s.Command != "npx" || !slices.Equal(s.Args, []string{"-y", "server"}) || !slices.Equal(s.Env, []string{"PATH=/bin", "T=t0"}) || s.Dir != "/p" {
				t.Errorf("fs is %+v", s)
			}
		case "web":
			if s.URL != "https://example.org/mcp" || s.Header.Get("Authorization") != "Bearer t0" {
				t.Errorf("web is %+v", s)
			}
		}
	}
	for name, want := range map[string]string{
		"fs": "", "web": "", "sse": "is not supported", "none": "neither a command nor a url", "both": "both a command and a url",
		"unset": "the variable NOT_SET is not set", "odd": "not valid",
	} {
		if got := problems[name]; !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("the problem of %s is %q", name, got)
		}
	}
	for _, bad := range []string{"", "[]", "{", `{"mcpServers": []}`} {
		if _, err := project().Parse([]byte(bad)); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

// FuzzProjectFile checks that arbitrary files are read without a panic, and that each server
// has a transport or a problem.
func FuzzProjectFile(f *testing.F) {
	f.Add([]byte(`{"mcpServers": {"fs": {"command": "npx", "args": ["${A:-b}"]}}}`))
	f.Add([]byte(`{"mcpServers": {"web": {"url": "http://x", "headers": {"a": "${B}"}}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		servers, err := project().Parse(data)
		if err != nil {
			return
		}
		for _, s := range servers {
			if s.Problem == "" && (s.Command == "") == (s.URL == "") {
				t.Fatalf("%+v has no transport and no problem", s)
			}
		}
	})
}
