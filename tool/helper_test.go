package tool_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/tool"
)

// args are the arguments of a call.
type args map[string]any

// call runs a tool and returns its text. An error fails the test.
func call(t *testing.T, tl tool.Tool, a args) string {
	t.Helper()
	return firn.JoinText(result(t, tl, a).Parts)
}

func result(t *testing.T, tl tool.Tool, a args) tool.Result {
	t.Helper()
	r, err := tl.Run(t.Context(), marshal(t, a))
	if err != nil {
		t.Fatalf("%s with %v: %v", tl.Spec().Name, a, err)
	}
	if len(r.Details) > 0 && !json.Valid(r.Details) {
		t.Errorf("the details are not JSON: %s", r.Details)
	}
	return r
}

// fails runs a tool that must return an error, and returns the error.
func fails(t *testing.T, tl tool.Tool, a args) error {
	t.Helper()
	r, err := tl.Run(t.Context(), marshal(t, a))
	if err == nil {
		t.Fatalf("%s with %v gave %q, want an error", tl.Spec().Name, a, firn.JoinText(r.Parts))
	}
	return err
}

func marshal(t *testing.T, a args) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// details decodes the details of a result.
func details[T any](t *testing.T, r tool.Result) T {
	t.Helper()
	var d T
	if err := json.Unmarshal(r.Details, &d); err != nil {
		t.Fatalf("the details %s: %v", r.Details, err)
	}
	return d
}

// has checks that text contains all pieces.
func has(t *testing.T, text string, pieces ...string) {
	t.Helper()
	for _, piece := range pieces {
		if !strings.Contains(text, piece) {
			t.Errorf("%.500q has no %q in it", text, piece)
		}
	}
}

// lacks checks that text contains none of the pieces.
func lacks(t *testing.T, text string, pieces ...string) {
	t.Helper()
	for _, piece := range pieces {
		if strings.Contains(text, piece) {
			t.Errorf("%.500q has %q in it", text, piece)
		}
	}
}

// workspace opens a directory with the given files. Names that end in a slash are
// directories.
func workspace(t *testing.T, files map[string]string) *tool.Workspace {
	t.Helper()
	return open(t, tree(t, files), tool.WorkspaceOptions{})
}

func open(t *testing.T, dir string, o tool.WorkspaceOptions) *tool.Workspace {
	t.Helper()
	w, err := tool.OpenWorkspace(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		put(t, filepath.Join(dir, name), name, content)
	}
	return dir
}

func put(t *testing.T, path, name, content string) {
	t.Helper()
	parent := filepath.Dir(path)
	if strings.HasSuffix(name, "/") {
		parent = path
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		t.Fatal(err)
	}
	if parent == path {
		return
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// find returns the tool of a workspace that has the given name.
func find(t *testing.T, w *tool.Workspace, name string) tool.Tool {
	t.Helper()
	for _, tl := range w.Tools() {
		if tl.Spec().Name == name {
			return tl
		}
	}
	t.Fatalf("there is no tool %s", name)
	return nil
}

// ended returns a canceled context.
func ended(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
