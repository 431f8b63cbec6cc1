package card

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/pattern"
	"firn.dev/internal/render/richtext"
	"firn.dev/wire"
)

func (t *builder) toolResult(p firn.ToolResult) {
	block := wire.Block{Kind: wire.BlockResult, Call: t.plain(p.CallID), Name: t.plain(p.Name), Failed: p.IsError}
	call, known := t.o.Calls[block.Call]
	if block.Name == "" && known {
		block.Name = call.Name
	}
	block.Tool = toolKinds[strings.ToLower(block.Name)]
	if known && call.Tool != "" {
		block.Tool = call.Tool // a command may be an edit
	}
	text := firn.JoinText(p.Content)
	render := t.renderer(block.Tool, call.Preview)
	if block.Tool == wire.ToolShell || block.Tool == wire.ToolEdit {
		text = readOutcome(&block, text)
	}
	readDetails(&block, p.Details)
	t.result(block, text, render)
	for _, part := range p.Content {
		if _, isText := part.(firn.Text); !isText {
			t.part(part, firn.RoleToolResult)
		}
	}
}

// renderer returns how the result of a kind of tool is rendered.
func (t *builder) renderer(kind, about string) func(string) string {
	switch kind {
	case wire.ToolRead:
		return func(s string) string { return richtext.File(about, s) }
	case wire.ToolSearch:
		return richtext.Hits
	case wire.ToolAgent, wire.ToolFetch:
		return t.prose
	}
	return richtext.Terminal
}

// readDetails takes the time and the exit code from the details of a result. Other tools
// use the fields for other values.
func readDetails(block *wire.Block, details json.RawMessage) {
	var d struct {
		Ms       int64 `json:"ms"`
		Millis   int64 `json:"millis"`
		ExitCode *int  `json:"exitCode"`
	}
	if len(details) == 0 || json.Unmarshal(details, &d) != nil {
		return
	}
	if ms := max(d.Ms, d.Millis); ms > 0 {
		block.Ms = ms
	}
	if d.ExitCode != nil && block.Tool == wire.ToolShell {
		block.Exit = d.ExitCode
	}
}

// Patterns of the results of commands. Codex prints a header, Claude Code begins with the
// exit code, and pi and firn end with it.
var (
	codexHead = pattern.New(`^(?:(?:Chunk ID|Wall time|Exit code|Process exited with code|Process running with session ID|Original token count|Total output lines)\b[^\n]*\n){1,8}Output:\n`)
	exitLine  = pattern.New(`(?:Exit code:?|exited with code|exit code) (-?[0-9]{1,6})\b`)
	wallTime  = pattern.New(`Wall time: ([0-9]{1,9}(?:\.[0-9]{1,9})?) sec`)
)

// readOutcome takes the exit code and the time of a command from its result, and returns
// the output.
func readOutcome(block *wire.Block, text string) string {
	if strings.HasPrefix(text, `{"output":`) {
		var old struct {
			Output   string `json:"output"`
			Metadata struct {
				Exit    *int    `json:"exit_code"`
				Seconds float64 `json:"duration_seconds"`
			} `json:"metadata"`
		}
		if json.Unmarshal([]byte(text), &old) == nil && old.Metadata.Exit != nil {
			block.Exit, block.Ms = old.Metadata.Exit, millis(old.Metadata.Seconds)
			return old.Output
		}
	}
	if head := codexHead().FindString(text); head != "" {
		if m := wallTime().FindStringSubmatch(head); m != nil {
			seconds, _ := strconv.ParseFloat(m[1], 64) // it matched
			block.Ms = millis(seconds)
		}
		block.Exit = exitCode(head)
		return text[len(head):]
	}
	first, _, _ := strings.Cut(text, "\n")
	last := text[strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n')+1:]
	switch {
	case strings.HasPrefix(first, "Exit code ") && exitCode(first) != nil:
		block.Exit = exitCode(first)
		_, text, _ = strings.Cut(text, "\n")
	case strings.HasPrefix(last, "[exit code ") || strings.HasPrefix(last, "Command exited with code "):
		block.Exit = exitCode(last)
	}
	return text
}

// millis converts a duration. It is zero if it is out of range.
func millis(seconds float64) int64 {
	if ms := seconds * 1000; ms > 0 && ms < math.MaxInt32 {
		return int64(ms)
	}
	return 0
}

func exitCode(line string) *int {
	m := exitLine().FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	code, err := strconv.Atoi(m[1])
	if err != nil {
		return nil
	}
	return &code
}

// result adds the output of a tool.
func (t *builder) result(block wire.Block, text string, render func(string) string) {
	block.Bytes = int64(len(text))
	if t.o.Mask != nil {
		text = richtext.Printed(text)
		block.Preview = t.preview(text)
	} else {
		block.Preview = t.preview(richtext.Printed(firn.CutText(text, 16*previewRunes)))
	}
	if text != "" {
		t.fill(&block, text, render)
	}
	t.add(block)
}

func (t *builder) shell(p firn.Shell) {
	call := wire.Block{Kind: wire.BlockCall, Name: "shell", Tool: wire.ToolShell, Preview: t.preview(p.Command), Bytes: int64(len(p.Command))}
	t.fill(&call, p.Command, richtext.Command)
	t.add(call)
	failed := p.Cancelled || p.ExitCode != nil && *p.ExitCode != 0
	t.result(wire.Block{Kind: wire.BlockResult, Name: "shell", Tool: wire.ToolShell, Failed: failed, Exit: p.ExitCode}, p.Output, richtext.Terminal)
}
