package card

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"firn.dev/internal/render/richtext"
	"firn.dev/wire"
)

// used returns the names of the arguments that the display of a kind of tool shows. Of
// several arguments with the same meaning only the first is shown.
func (a *toolArguments) used(kind string) []string {
	file := firstNamed("file_path", a.FilePath, "path", a.Path, "notebook_path", a.Notebook)
	switch kind {
	case wire.ToolEdit, wire.ToolWrite:
		if patch := firstNamed("input", a.Input, "patch", a.Patch); patch != "" && kind == wire.ToolEdit {
			return []string{patch}
		}
		return []string{file, "content", "file_text", "new_source", "old_string", "new_string", "oldText", "newText", "old_str", "new_str", "edits", firstNamed("command", commandOf(a.Command), "cmd", commandOf(a.Cmd))}
	case wire.ToolRead:
		used := []string{file}
		if n, err := a.Offset.Int64(); err == nil && n >= 0 {
			used = append(used, "offset")
		}
		if n, err := a.Limit.Int64(); err == nil && n > 0 {
			used = append(used, "limit")
		}
		return used
	case wire.ToolShell:
		return []string{firstNamed("command", commandOf(a.Command), "cmd", commandOf(a.Cmd), "chars", a.Chars)}
	case wire.ToolSearch:
		return []string{firstNamed("pattern", a.Pattern, "query", a.Query), file, "glob"}
	case wire.ToolTodo:
		return []string{"todos", "plan"}
	case wire.ToolAgent:
		return []string{firstNamed("prompt", a.Prompt, "task", a.Task, "message", a.Message), "description", "subagent_type"}
	case wire.ToolFetch:
		return []string{"url", "prompt"}
	}
	return nil
}

// firstNamed returns the first name whose value is not empty, of pairs of names and values.
func firstNamed(pairs ...string) string {
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			return pairs[i]
		}
	}
	return ""
}

// partsUsed are the members of the items of lists that are shown. The active form of a todo
// repeats its text and is left out.
var partsUsed = map[string][]string{
	"edits": {"old_string", "new_string", "old_text", "new_text", "oldText", "newText"},
	"todos": {"content", "step", "status", "activeForm"},
	"plan":  {"content", "step", "status"},
}

// otherArguments adds the arguments of a call that its display does not show.
func (t *builder) otherArguments(block *wire.Block, raw json.RawMessage, used []string) {
	text := argumentLines(raw, used)
	if text == "" {
		return
	}
	var more wire.Block
	t.fill(&more, text, richtext.Arguments)
	block.HTML += more.HTML
	block.Cut = block.Cut || more.Cut
}

// argumentLines returns the members of an object, except some, as lines with a name and a
// value. Further lines of a value are indented.
func argumentLines(raw json.RawMessage, except []string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return ""
	}
	var b strings.Builder
	add := func(name string, value json.RawMessage) {
		if text := valueText(value); text != "" {
			b.WriteString(Line(name, noteRunes) + ": " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(except, name) {
			add(name, members[name])
			continue
		}
		var items []map[string]json.RawMessage
		if partsUsed[name] == nil || json.Unmarshal(members[name], &items) != nil {
			continue
		}
		for i, item := range items {
			for _, part := range slices.Sorted(maps.Keys(item)) {
				if !slices.Contains(partsUsed[name], part) {
					add(name+" "+strconv.Itoa(i+1)+" "+part, item[part])
				}
			}
		}
	}
	return b.String()
}

// valueText returns a JSON value as text, or an empty string for null and empty values.
func valueText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	switch string(raw) {
	case "null", `""`, "[]", "{}":
		return ""
	}
	if text := textOf(raw); text != "" {
		return text
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}
