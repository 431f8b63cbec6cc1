package card

import (
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/linediff"
	"firn.dev/internal/render/richtext"
	"firn.dev/wire"
)

// toolKinds maps the names of well-known tools, in lower case, to their kinds: those of
// firn, Claude Code, Codex, pi and OpenClaw.
var toolKinds = map[string]string{
	"edit_file": wire.ToolEdit, "edit": wire.ToolEdit, "multiedit": wire.ToolEdit, "apply_patch": wire.ToolEdit, "notebookedit": wire.ToolEdit,
	"str_replace_based_edit_tool": wire.ToolEdit, "str_replace_editor": wire.ToolEdit,
	"write_file": wire.ToolWrite, "write": wire.ToolWrite,
	"read_file": wire.ToolRead, "read": wire.ToolRead, "notebookread": wire.ToolRead, "view": wire.ToolRead, "view_image": wire.ToolRead,
	"shell": wire.ToolShell, "bash": wire.ToolShell, "exec_command": wire.ToolShell, "exec": wire.ToolShell, "local_shell": wire.ToolShell,
	"shell_command": wire.ToolShell, "bashoutput": wire.ToolShell, "shell_output": wire.ToolShell, "write_stdin": wire.ToolShell,
	"grep": wire.ToolSearch, "glob": wire.ToolSearch, "find": wire.ToolSearch, "ls": wire.ToolSearch, "list_dir": wire.ToolSearch,
	"websearch": wire.ToolSearch, "web_search": wire.ToolSearch, "search_sessions": wire.ToolSearch, "recall": wire.ToolSearch, "grep_files": wire.ToolSearch,
	"todowrite": wire.ToolTodo, "update_plan": wire.ToolTodo,
	"task": wire.ToolAgent, "agent": wire.ToolAgent, "sessions_spawn": wire.ToolAgent, "spawn_agent": wire.ToolAgent,
	"webfetch": wire.ToolFetch, "web_fetch": wire.ToolFetch, "fetch": wire.ToolFetch,
}

// toolArguments are the arguments of the well-known tools. Tools that mean the same often
// name it differently.
type toolArguments struct {
	Path        string          `json:"path"`
	FilePath    string          `json:"file_path"`
	Notebook    string          `json:"notebook_path"`
	Content     *string         `json:"content"`
	FileText    *string         `json:"file_text"`
	Source      *string         `json:"new_source"`
	Old         *string         `json:"old_string"`
	New         *string         `json:"new_string"`
	OldText     *string         `json:"oldText"`
	NewText     *string         `json:"newText"`
	OldStr      *string         `json:"old_str"`
	NewStr      *string         `json:"new_str"`
	Edits       []replacement   `json:"edits"`
	Input       string          `json:"input"`
	Patch       string          `json:"patch"`
	Command     json.RawMessage `json:"command"`
	Cmd         json.RawMessage `json:"cmd"`
	Chars       string          `json:"chars"`
	Offset      json.Number     `json:"offset"`
	Limit       json.Number     `json:"limit"`
	Pattern     string          `json:"pattern"`
	Glob        string          `json:"glob"`
	Query       string          `json:"query"`
	URL         string          `json:"url"`
	Prompt      string          `json:"prompt"`
	Task        string          `json:"task"`
	Message     string          `json:"message"`
	Description string          `json:"description"`
	Agent       string          `json:"subagent_type"`
	Todos       []todo          `json:"todos"`
	Plan        []todo          `json:"plan"`
}

// replacement is a text and the one in its place, as firn, Claude Code and pi name them.
type replacement struct {
	Old      *string `json:"old_string"`
	New      *string `json:"new_string"`
	OldText  *string `json:"old_text"`
	NewText  *string `json:"new_text"`
	OldCamel *string `json:"oldText"`
	NewCamel *string `json:"newText"`
}

// todo is an item of a checklist.
type todo struct {
	Content string `json:"content"`
	Step    string `json:"step"`
	Status  string `json:"status"`
}

// display is how a call of a well-known tool is shown: a text, which can be masked and cut,
// and how to render it.
type display struct {
	kind, preview  string
	added, removed int
	text           string
	render         func(string) string
	// used are the arguments that the text shows.
	used []string
}

// maxArguments is the largest size of arguments that are decoded.
const maxArguments = 4 << 20

// displayOf returns how a call is shown, or false if nothing is known about it.
func displayOf(name string, raw json.RawMessage) (display, bool) {
	kind, known := toolKinds[strings.ToLower(name)]
	var a toolArguments
	if !known || len(raw) > maxArguments || nested(raw) || json.Unmarshal(raw, &a) != nil {
		return display{}, false
	}
	file := firstOf(a.FilePath, a.Path, a.Notebook)
	d, ok := a.display(kind, file)
	d.used = a.used(d.kind)
	return d, ok
}

func (a *toolArguments) display(kind, file string) (display, bool) {
	switch kind {
	case wire.ToolEdit:
		return a.edit(file)
	case wire.ToolWrite:
		return writeOf(file, a.Content)
	case wire.ToolRead:
		return a.read(file), file != ""
	case wire.ToolShell:
		return a.shell()
	case wire.ToolSearch:
		d := a.search(file)
		return d, d.preview != ""
	case wire.ToolTodo:
		return todosOf(append(a.Todos, a.Plan...))
	case wire.ToolAgent:
		return a.agent()
	case wire.ToolFetch:
		return display{kind: kind, preview: a.URL, text: a.URL + "\n" + a.Prompt, render: renderFetch}, a.URL != ""
	}
	return display{}, false
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

// edit shows a change of files as a diff.
func (a *toolArguments) edit(file string) (display, bool) {
	if patch := firstOf(a.Input, a.Patch); patch != "" {
		return patchDisplay(patch)
	}
	edits := a.Edits
	for _, pair := range [][2]*string{{a.Old, a.New}, {a.OldText, a.NewText}, {a.OldStr, a.NewStr}} {
		if pair[0] != nil || pair[1] != nil {
			edits = append(edits, replacement{Old: pair[0], New: pair[1]})
		}
	}
	if len(edits) == 0 {
		if content := firstText(a.FileText, a.Source); content != nil {
			return writeOf(file, content)
		}
		return display{}, false
	}
	d := display{kind: wire.ToolEdit, preview: file, render: richtext.Diff}
	var b strings.Builder
	b.WriteString(richtext.DiffFile + Line(file, len(file)) + "\n")
	for i, e := range edits {
		before, after := firstText(e.Old, e.OldText, e.OldCamel), firstText(e.New, e.NewText, e.NewCamel)
		if i > 0 {
			b.WriteString(richtext.DiffSkip + "\n")
		}
		d.compare(&b, before, after)
	}
	d.text = b.String()
	return d, true
}

func firstText(all ...*string) *string {
	for _, s := range all {
		if s != nil {
			return s
		}
	}
	return nil
}

// compare writes the difference of two texts as lines of a diff.
func (d *display) compare(b *strings.Builder, before, after *string) {
	var olds, news []string
	if before != nil {
		olds = linediff.Lines(*before)
	}
	if after != nil {
		news = linediff.Lines(*after)
	}
	i := 0
	for _, h := range linediff.Hunks(olds, news) {
		writeLines(b, richtext.DiffSame, olds[i:h.OldStart])
		writeLines(b, richtext.DiffOld, olds[h.OldStart:h.OldEnd])
		writeLines(b, richtext.DiffNew, news[h.NewStart:h.NewEnd])
		d.removed += h.OldEnd - h.OldStart
		d.added += h.NewEnd - h.NewStart
		i = h.OldEnd
	}
	writeLines(b, richtext.DiffSame, olds[i:])
}

// writeLines writes lines with a mark. Each gets a newline.
func writeLines(b *strings.Builder, mark string, lines []string) {
	for _, line := range lines {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
}

// writeOf shows a file as it is written.
func writeOf(file string, content *string) (display, bool) {
	if content == nil {
		return display{}, false
	}
	return display{kind: wire.ToolWrite, preview: file, added: len(linediff.Lines(*content)), text: Line(file, len(file)) + "\n" + *content, render: renderFile}, true
}

// renderFile renders the name of a file and its content.
func renderFile(text string) string {
	name, content, _ := strings.Cut(text, "\n")
	return richtext.FileName(name) + richtext.File(name, content)
}

func (a *toolArguments) read(file string) display {
	d := display{kind: wire.ToolRead, preview: file, text: Line(file, len(file)), render: richtext.FileName}
	from, _ := a.Offset.Int64()
	switch n, _ := a.Limit.Int64(); {
	case from > 0 && n > 0:
		d.text += fmt.Sprintf(", lines %d to %d", from, from+n-1)
	case from > 0:
		d.text += fmt.Sprintf(", from line %d", from)
	case n > 0:
		d.text += fmt.Sprintf(", %d lines", n)
	}
	return d
}

// shell shows a command. One that applies a patch is shown as an edit.
func (a *toolArguments) shell() (display, bool) {
	command := commandOf(a.Command)
	if command == "" {
		command = commandOf(a.Cmd)
	}
	if command == "" && a.Chars != "" {
		command = a.Chars
	}
	if strings.Contains(command, "apply_patch") {
		if at := strings.Index(command, patchBegin); at >= 0 {
			if d, ok := patchDisplay(command[at:]); ok {
				return d, true
			}
		}
	}
	return display{kind: wire.ToolShell, preview: command, text: command, render: richtext.Command}, command != ""
}

// commandOf returns a command that is a text or a list of words. The words of a shell with
// a command are that command.
func commandOf(raw json.RawMessage) string {
	if text := textOf(raw); text != "" {
		return text
	}
	var words []string
	if json.Unmarshal(raw, &words) != nil {
		return ""
	}
	if len(words) == 3 && (words[1] == "-lc" || words[1] == "-c") {
		return words[2]
	}
	return strings.Join(words, " ")
}

func (a *toolArguments) search(file string) display {
	d := display{kind: wire.ToolSearch, preview: firstOf(a.Pattern, a.Query, file), render: richtext.FileName}
	d.text = Line(d.preview, len(d.preview))
	if file != "" && d.preview != file {
		d.text += " in " + Line(file, len(file))
	}
	if a.Glob != "" {
		d.text += ", files " + Line(a.Glob, len(a.Glob))
	}
	return d
}

func todosOf(all []todo) (display, bool) {
	var b strings.Builder
	done := 0
	for _, t := range all {
		mark := richtext.TodoOpen
		switch t.Status {
		case "completed", "done":
			mark = richtext.TodoDone
			done++
		case "in_progress":
			mark = richtext.TodoNow
		}
		text := firstOf(t.Content, t.Step)
		b.WriteString(mark + Line(text, len(text)) + "\n")
	}
	return display{kind: wire.ToolTodo, preview: fmt.Sprintf("%d of %d done", done, len(all)), text: b.String(), render: richtext.Todos}, len(all) > 0
}

// agent shows the task of a sub-agent.
func (a *toolArguments) agent() (display, bool) {
	task := firstOf(a.Prompt, a.Task, a.Message)
	preview := firstOf(a.Description, task)
	if a.Agent != "" {
		preview = a.Agent + ": " + preview
	}
	return display{kind: wire.ToolAgent, preview: preview, text: task, render: Prose}, task != ""
}

// renderFetch renders the address of a page, and what it is fetched for, on the next lines.
func renderFetch(text string) string {
	address, about, _ := strings.Cut(text, "\n")
	return richtext.WebCard(address, about)
}

func (t *builder) call(p firn.ToolCall) {
	block := wire.Block{Kind: wire.BlockCall, Call: t.plain(p.ID), Name: t.plain(p.Name), Bytes: int64(len(p.Arguments))}
	d, ok := displayOf(p.Name, p.Arguments)
	if ok {
		block.Tool, block.Added, block.Removed, block.Preview = d.kind, d.added, d.removed, t.preview(d.preview)
		if d.kind == wire.ToolAgent {
			d.render = t.prose
		}
		t.fill(&block, d.text, d.render)
		t.otherArguments(&block, p.Arguments, d.used)
	} else {
		block.Preview = t.preview(argument(p.Arguments))
		t.fill(&block, indentJSON(p.Arguments), func(s string) string { return richtext.Code("json", s) })
	}
	t.add(block)
}
