package interop

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
	"firn.dev/window"

	"github.com/google/go-cmp/cmp"
)

// TestPiCommand runs pi itself on firn's sessions, as a user would:
//
//	pi --session FILE -p "…"
//
// The provider receives firn's history and then the question, and firn reads the entries
// that pi adds to the file.
func TestPiCommand(t *testing.T) {
	for name, version := range piCommands {
		for shape, api := range map[string]string{
			"one line of every kind": "anthropic-messages",
			"compacted twice":        "anthropic-messages",
			"branched":               "openai-completions",
		} {
			t.Run(version+"/"+shape, func(t *testing.T) {
				t.Parallel()
				requireInstalled(t, name)
				s := newSession(t, filestore.Options{})
				shapes[shape].build(t, s)
				runPi(t, name, s, api)
			})
		}
	}
}

// TestPiCommandOnAPlainSession does the same with a session as in the README's example:
// created for a key, without a working directory and a model.
func TestPiCommandOnAPlainSession(t *testing.T) {
	for name, version := range piCommands {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			requireInstalled(t, name)
			s := openHome(t, t.TempDir(), filestore.Options{})
			var err error
			if s.id, err = store.LoadOrCreate(t.Context(), s.st, "agent:main:main"); err != nil {
				t.Fatal(err)
			}
			s.append(t, firn.UserText("hello"))
			s.append(t, firn.AssistantText("Hello."))
			runPi(t, name, s, "anthropic-messages")
		})
	}
}

// runPi asks one question in the session and checks the results.
func runPi(t *testing.T, name string, s *session, api string) {
	t.Helper()
	before, entries := readFile(t, s.file()), s.entries(t)
	var want []string
	for _, line := range append(flatWindow(t, s.path(t)), "user: what was it?") {
		want = append(want, strings.Split(piWords(name).Replace(line), newLine)...)
	}
	provider := newProvider(t, "It was snow.")
	text := provider.askPi(t, name, api, s, "what was it?")
	if !strings.Contains(text, "It was snow.") {
		t.Errorf("pi printed %q", text)
	}
	if diff := cmp.Diff(want, provider.flat(t)); diff != "" {
		t.Errorf("pi sends something else (-firn's window +pi):\n%s", diff)
	}
	if after := readFile(t, s.file()); string(after[:len(before)]) != string(before) {
		t.Error("pi changed bytes that were written")
	}
	if got := s.entries(t); len(got) < len(entries)+2 {
		t.Errorf("pi added %d entries, want the question and the answer", len(got)-len(entries))
	}
	if got := flatWindow(t, s.path(t)); !strings.HasSuffix(strings.Join(got, "\n"), "user: what was it?\nassistant: It was snow.") {
		t.Errorf("firn's window ends with %q", got[len(got)-2:])
	}
	s.mustBeWhole(t)
}

// askPi asks pi a question in a session and returns its output.
func (f *provider) askPi(t *testing.T, name, api string, s *session, question string) string {
	t.Helper()
	out, err := f.command(t, name, api, s, "-p", question).CombinedOutput()
	if err != nil {
		t.Fatalf("pi: %v\n%s", err, out)
	}
	return string(out)
}

// command returns pi on a session, in a new home with the provider as the only one.
func (f *provider) command(t *testing.T, name, api string, s *session, args ...string) *exec.Cmd {
	t.Helper()
	return f.piCommand(t, name, api, t.TempDir(), s.home, append([]string{"--session", s.file()}, args...)...)
}

// piCommand returns pi in a user's home and a working directory.
func (f *provider) piCommand(t *testing.T, name, api, home, cwd string, args ...string) *exec.Cmd {
	t.Helper()
	dir := filepath.Join(home, ".pi", "agent")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writeJSON(t, filepath.Join(dir, "models.json"), map[string]any{"providers": map[string]any{"fake": map[string]any{
		"baseUrl": f.url(api), "api": api, "apiKey": "none",
		"models": []any{map[string]any{"id": "fake-1", "reasoning": true, "input": []string{"text", "image"}}},
	}}})
	writeJSON(t, filepath.Join(dir, "settings.json"), map[string]any{"compaction": map[string]any{"keepRecentTokens": 10}})
	cmd := exec.CommandContext(t.Context(), node(t), append([]string{piBinary(t, name), "--model", "fake/fake-1"}, args...)...)
	cmd.Dir, cmd.Env = cwd, piEnv(home)
	return cmd
}

func writeJSON(t *testing.T, file string, value any) {
	t.Helper()
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// piBinary returns the script that the package installs as the command pi.
func piBinary(t *testing.T, name string) string {
	t.Helper()
	var manifest struct{ Bin struct{ Pi string } }
	dir, err := filepath.Abs(filepath.Join("node_modules", name))
	if err == nil {
		err = json.Unmarshal(readFile(t, filepath.Join(dir, "package.json")), &manifest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, filepath.FromSlash(manifest.Bin.Pi))
}

// flatWindow formats a window without a profile, one line per part.
func flatWindow(t *testing.T, path window.Path) []string {
	t.Helper()
	var flat []string
	for _, item := range window.Build(path, window.Options{}).Items {
		for _, p := range item.Message.Parts {
			flat = append(flat, flatPart(item.Message.Role, p))
		}
	}
	return flat
}

// flatPart formats a part in one line.
func flatPart(role firn.Role, part firn.Part) string {
	switch p := part.(type) {
	case firn.Text:
		return fmt.Sprintf("%s: %s", role, p.Text)
	case firn.Image:
		return fmt.Sprintf("%s: [%s]", role, p.MimeType)
	case firn.Thinking:
		return flatThinking(p.Text, p.Signature)
	case firn.ToolCall:
		return flatCall(p.ID, p.Name, p.Arguments)
	case firn.ToolResult:
		var content []string
		for _, c := range p.Content {
			content = append(content, strings.TrimPrefix(flatPart("", c), ": "))
		}
		return flatResult(p.CallID, strings.Join(content, "+"))
	}
	return fmt.Sprintf("%s: a %T", role, part)
}

func flatThinking(text, signature string) string {
	return fmt.Sprintf("thinking %s: %s", signature, text)
}

func flatCall(id, name string, arguments json.RawMessage) string {
	var value any
	if err := json.Unmarshal(arguments, &value); err != nil {
		return fmt.Sprintf("call %s %s with arguments that are no JSON: %s", id, name, arguments)
	}
	return fmt.Sprintf("call %s %s %v", id, name, value)
}

func flatResult(id, content string) string { return fmt.Sprintf("result %s: %s", id, content) }
