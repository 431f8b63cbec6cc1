package cli

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"firn.dev/internal/base/pattern"
	"firn.dev/wire"
)

// recallQuery is what firn recall is asked about: a prompt or a file.
type recallQuery struct {
	prompt, file string
	// event is the name of the hook if a tool asks; the answer is then JSON.
	event string
	// session is the tool's id of the asking session, cwd its working directory.
	session, cwd string
}

// hookInput is the input of a hook of Claude Code or Codex. Both have these fields. firn's
// extension for pi writes the same.
type hookInput struct {
	Event   string          `json:"hook_event_name"`
	Session string          `json:"session_id"`
	CWD     string          `json:"cwd"`
	Prompt  string          `json:"prompt"`
	Tool    json.RawMessage `json:"tool_input"`
}

// readRecallQuery reads stdin: the JSON of a hook, or else a prompt or the name of a file.
func readRecallQuery(data []byte, prompt bool) recallQuery {
	var in hookInput
	err := json.Unmarshal(data, &in)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) && in.Event != "" {
		err = nil // a field of another type is not needed
	}
	if err != nil || in.Event == "" {
		text := strings.TrimSpace(string(data))
		if strings.HasPrefix(text, "{") {
			return recallQuery{} // a hook's input that is cut off or of another kind
		}
		if prompt {
			return recallQuery{prompt: text}
		}
		return recallQuery{file: text}
	}
	q := recallQuery{event: in.Event, session: in.Session, cwd: in.CWD}
	switch in.Event {
	case "UserPromptSubmit":
		q.prompt = strings.TrimSpace(in.Prompt)
	case "PreToolUse":
		if q.file = toolFile(in.Tool); q.file != "" && !filepath.IsAbs(q.file) && filepath.IsAbs(q.cwd) {
			q.file = filepath.Join(q.cwd, q.file)
		}
	}
	return q
}

// patchedFile matches the first file of a patch of Codex.
var patchedFile = pattern.New(`(?m)^\*\*\* (?:Update|Add|Delete) File: (.+)$`)

// toolFile returns the file that a tool call is about, or "".
func toolFile(input json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) != nil {
		return ""
	}
	for _, name := range []string{"file_path", "notebook_path", "path"} {
		if file, ok := fields[name].(string); ok && file != "" {
			return file
		}
	}
	for _, name := range []string{"input", "patch", "command"} {
		if text, ok := fields[name].(string); ok {
			if m := patchedFile().FindStringSubmatch(text); m != nil {
				return strings.TrimSpace(m[1])
			}
		}
	}
	return ""
}

// isAbout reports whether a hit is about the file: its session worked in a directory above the
// file, or the message has the file's name with its directory. Hidden entries and tool output
// are not.
func (q recallQuery) isAbout(h wire.Hit) bool {
	if slices.Contains(h.Marks, "hidden") || h.Role == "tool" || h.Role == "title" {
		return false
	}
	base, dir := filepath.Base(q.file), filepath.Base(filepath.Dir(q.file))
	if !strings.Contains(h.Snippet, base) {
		return false
	}
	if h.CWD != "" && filepath.IsAbs(q.file) {
		if rel, err := filepath.Rel(h.CWD, q.file); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return strings.Contains(h.Snippet, dir+"/"+base) || !filepath.IsAbs(q.file) && dir == "."
}
