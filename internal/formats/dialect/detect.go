package dialect

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Detect returns the dialect of a file from its first bytes. A few kilobytes are enough;
// the last line may be truncated. The first readable line that is characteristic of a
// dialect decides. If there is none, the error is ErrUnsupported.
//
// A file in pi's format with firn's mark in its header is native; both dialects read both.
// A file without its header is identified by its lines: bare messages are Cersei's, unless
// one of the lines is written only by CrabTalk. Each file of a folder in which CrabTalk
// stored a session step by step is CrabTalk's.
//
// Files of tools that are read as record transcripts are not transcripts themselves: a
// database, or a log whose lines resemble those of other tools.
func Detect(firstLines []byte) (Name, error) {
	bare := false
	if bytes.HasPrefix(firstLines, []byte("SQLite format 3\x00")) {
		return "", fmt.Errorf("detect the format of a session: %w: it is a database; firn adopt reads the databases of known tools", firn.ErrUnsupported)
	}
	for len(firstLines) > 0 {
		line, rest, whole := bytes.Cut(firstLines, []byte{'\n'})
		firstLines = rest
		for _, piece := range rawjson.Split(line) {
			// A long first line may be truncated.
			cut := piece.Kind == rawjson.Torn && !whole
			if piece.Kind != rawjson.Complete && !cut {
				continue
			}
			t := readTraits(piece.Bytes)
			if tool := t.adoptedTool(); tool != "" {
				return "", fmt.Errorf("detect the format of a session: %w: it is a log of %s, which firn adopt reads", firn.ErrUnsupported, tool)
			}
			if name := t.dialect(); name != "" {
				return name, nil
			}
			bare = bare || t.bare()
		}
	}
	if bare {
		return Cersei, nil
	}
	return "", fmt.Errorf("detect the format of a session: %w: no line has a known kind", firn.ErrUnsupported)
}

// traits are the properties that identify a line.
type traits struct {
	// kind is the member "type", role the member "role", tool the member "tool"; empty if
	// absent.
	kind, role, tool string
	// blocks is set if the member "content" is an array.
	blocks bool
	// has holds the names of the members.
	has map[string]bool
}

// readTraits reads the members of an object, up to the first syntax error.
func readTraits(object []byte) traits {
	t := traits{has: make(map[string]bool)}
	r := rawjson.New(object)
	if !r.Object() {
		return t
	}
	for r.Member() {
		name, ok := r.KeyText(), false
		t.has[name] = true
		switch name {
		case "type":
			t.kind, ok = r.Text()
		case "role":
			t.role, ok = r.Text()
		case "tool":
			t.tool, ok = r.Text()
		case "content":
			t.blocks = r.Kind() == rawjson.Array
		}
		if !ok {
			r.Skip()
		}
	}
	return t
}

// all reports whether the line has all of these members.
func (t traits) all(names ...string) bool {
	for _, name := range names {
		if !t.has[name] {
			return false
		}
	}
	return true
}

// any reports whether the line has one of these members.
func (t traits) any(names ...string) bool {
	for _, name := range names {
		if t.has[name] {
			return true
		}
	}
	return false
}

// dialect returns the dialect of a line with these traits, or "" if unknown.
func (t traits) dialect() Name {
	switch {
	case t.kind == "":
		return t.untyped()
	case t.kind == RecordsType && slices.Contains(recordTools, Name(t.tool)):
		return Name(t.tool)
	case t.kind == "session":
		return t.header()
	case t.all("payload", "timestamp"), t.kind == "session_meta" && t.has["payload"]:
		return Codex
	case t.any("sessionId", "parentUuid", "leafUuid") || claudeOnly(t.kind):
		return ClaudeCode // even if it has Cersei's member names too
	case t.any("session_id", "deleted_uuid", "parent_uuid", "is_sidechain"):
		return Cersei
	case t.has["ts"]:
		return Claw0
	case t.all("id", "parentId", "timestamp"), t.kind == "message" && t.all("timestamp", "message"):
		return Pi
	case t.all("message", "timestamp"): // user and assistant lines without links
		return ClaudeCode
	}
	return ""
}

// adoptedTool returns the name of a tool whose logs are read only in its home: an event of
// GitHub Copilot CLI, such as session.start, or the first line of Hermes Agent.
func (t traits) adoptedTool() string {
	switch {
	case strings.Contains(t.kind, ".") && t.all("data", "id", "timestamp"):
		return "GitHub Copilot CLI"
	case t.role == "session_meta":
		return "Hermes Agent"
	}
	return ""
}

// header returns the dialect of a line of type "session", which three formats begin with.
func (t traits) header() Name {
	switch {
	case t.has["firn"]:
		return Native
	case t.all("key", "created"):
		return Claw0
	case t.has["cwd"], t.all("id", "timestamp"):
		return Pi
	}
	return ""
}

// untyped returns the dialect of a line without a type.
func (t traits) untyped() Name {
	switch {
	case t.all("agent", "created_by", "created_at"), t.has["compact"]:
		return CrabTalk
	case t.all("archive_name", "archived_at"), t.all("event", "ts"), t.role == "" && t.has["message"]:
		return CrabTalk // a step of a session, or an event
	case t.role == "tool", t.role != "" && t.any("tool_calls", "tool_call_id", "reasoning_content"):
		return CrabTalk // the first line is missing
	case t.role != "" && (t.blocks || t.all("content", "metadata")):
		return Cersei
	case t.all("id", "timestamp", "instructions"):
		return Codex // written until summer 2025
	}
	return ""
}

// bare reports whether the line is a message without characteristics of a single tool.
func (t traits) bare() bool { return t.kind == "" && t.role != "" && t.has["content"] }

// claudeOnly reports whether only Claude Code writes lines of this type.
func claudeOnly(kind string) bool {
	switch kind {
	case "file-history-snapshot", "attribution-snapshot", "queue-operation", "progress", "custom-title",
		"ai-title", "last-prompt", "tag", "mode", "agent-name", "agent-color", "agent-setting",
		"worktree-state", "pr-link", "speculation-accept", "content-replacement", "permission-mode", "attachment":
		return true
	}
	return false
}
