package dialect

import (
	"bytes"
	"fmt"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
)

// Detect tells which dialect a file is in, from the bytes it begins with. A few
// kilobytes are enough; the last line may be cut off. It goes by the first line
// that can be read and tells; if none does, the error is an ErrUnsupported.
//
// A file of pi's format with our mark in its header is native; both dialects
// read both. A file that has lost its header is taken for what its lines are:
// bare messages are Cersei's, unless a line among them is one that only
// CrabTalk writes. The files of a folder in which CrabTalk kept a session step
// by step are told as CrabTalk's, each by itself.
func Detect(firstLines []byte) (Name, error) {
	bare := false
	for len(firstLines) > 0 {
		line, rest, whole := bytes.Cut(firstLines, []byte{'\n'})
		firstLines = rest
		for _, piece := range rawjson.Split(line) {
			// Of a long first line only the beginning may have been given.
			cut := piece.Kind == rawjson.Torn && !whole
			if piece.Kind != rawjson.Whole && !cut {
				continue
			}
			t := readTraits(piece.Bytes)
			if name := t.dialect(); name != "" {
				return name, nil
			}
			bare = bare || t.bare()
		}
	}
	if bare {
		return Cersei, nil
	}
	return "", fmt.Errorf("telling the format of a session: %w: no line is of a kind that is known", firn.ErrUnsupported)
}

// traits is what there is to know a line by.
type traits struct {
	// kind is the member "type" or else "", role the member "role".
	kind, role string
	// blocks is set if the member "content" is an array.
	blocks bool
	// has holds the names of the members.
	has map[string]bool
}

// readTraits reads the members of an object as far as it can be read.
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

// dialect tells which dialect a line with these traits is in, "" if none.
func (t traits) dialect() Name {
	switch {
	case t.kind == "":
		return t.untyped()
	case t.kind == "session":
		return t.header()
	case t.all("payload", "timestamp"), t.kind == "session_meta" && t.has["payload"]:
		return Codex
	case t.any("sessionId", "parentUuid", "leafUuid") || claudeOnly(t.kind):
		return ClaudeCode // also if it has Cersei's spelling besides
	case t.any("session_id", "deleted_uuid", "parent_uuid", "is_sidechain"):
		return Cersei
	case t.has["ts"]:
		return Claw0
	case t.all("id", "parentId", "timestamp"), t.kind == "message" && t.all("timestamp", "message"):
		return Pi
	case t.all("message", "timestamp"): // user and assistant, with no links
		return ClaudeCode
	}
	return ""
}

// header tells by a line of the type session, which three formats begin with.
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

// untyped tells by a line that has no type.
func (t traits) untyped() Name {
	switch {
	case t.all("agent", "created_by", "created_at"), t.has["compact"]:
		return CrabTalk
	case t.all("archive_name", "archived_at"), t.all("event", "ts"), t.role == "" && t.has["message"]:
		return CrabTalk // a step of a session, or an event
	case t.role == "tool", t.role != "" && t.any("tool_calls", "tool_call_id", "reasoning_content"):
		return CrabTalk // a file that lost its first line
	case t.role != "" && (t.blocks || t.all("content", "metadata")):
		return Cersei
	case t.all("id", "timestamp", "instructions"):
		return Codex // as it wrote until summer 2025
	}
	return ""
}

// bare reports whether the line is a message of which nothing tells whose it is.
func (t traits) bare() bool { return t.kind == "" && t.role != "" && t.has["content"] }

// claudeOnly reports whether only Claude Code writes lines of that type.
func claudeOnly(kind string) bool {
	switch kind {
	case "file-history-snapshot", "attribution-snapshot", "queue-operation", "progress", "custom-title",
		"ai-title", "last-prompt", "tag", "mode", "agent-name", "agent-color", "agent-setting",
		"worktree-state", "pr-link", "speculation-accept", "content-replacement", "permission-mode", "attachment":
		return true
	}
	return false
}
