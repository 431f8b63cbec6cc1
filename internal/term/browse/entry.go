package browse

import (
	"encoding/json"
	"fmt"
	"strings"

	"firn.dev"
	"firn.dev/internal/render/markdown"
	"firn.dev/internal/render/prose"
	"firn.dev/wire"
)

// foldedLines is the number of lines shown of a long text that is not expanded.
const foldedLines = 12

// resultLines is the number of lines shown of a tool result that is not expanded.
const resultLines = 3

// entryID returns the ID of an entry, or an empty one if it cannot be read.
func entryID(e wire.Entry) firn.EntryID {
	var l struct {
		ID firn.EntryID `json:"id"`
	}
	_ = json.Unmarshal(e.Line, &l) // a line that cannot be read has no ID
	return l.ID
}

// entryRows formats an entry for a width. Rows may have styles; none is wider.
func entryRows(e wire.Entry, full bool, width int, styles bool) []string {
	if e.Gap != "" {
		text := "⚠ " + prose.OneLine(e.Gap, 300)
		if e.Damage != nil {
			text = prose.Damage(*e.Damage)
		}
		return append(fitRows(prose.Wrap(red(text, styles), width), width), "")
	}
	l, ok := prose.ReadLine(e.Line)
	if !ok {
		return []string{prose.CutWidth(fmt.Sprintf("⚠ #%d: an entry without a type, %s", e.N, prose.Size(int64(len(e.Line)))), width), ""}
	}
	var rows []string
	if e.Damage != nil {
		rows = prose.Wrap(red(prose.Damage(*e.Damage), styles), width)
	}
	rows = append(rows, bold(prose.CutWidth(entryHead(e, l), width), styles))
	body := bodyRows(e, l, full, width, styles)
	most := foldedLines
	if l.Message != nil && l.Message.Role == "toolResult" {
		most = resultLines
	}
	if !full && len(body) > most+1 {
		body = append(body[:most:most], dim(fmt.Sprintf("… %s (Enter)", prose.Count(len(body)-most, "more line", "more lines")), styles))
	}
	return append(fitRows(append(rows, body...), width), "")
}

// entryHead formats the first row of an entry.
func entryHead(e wire.Entry, l prose.Line) string {
	parts := []string{l.Author()}
	if e.N > 0 {
		parts[0] = fmt.Sprintf("#%d %s", e.N, l.Author())
	}
	if !l.Timestamp.IsZero() {
		parts = append(parts, l.Timestamp.Local().Format("2006-01-02 15:04"))
	}
	if e.Out != "" {
		parts = append(parts, "("+prose.OneLine(e.Out, 30)+")")
	}
	return strings.Join(parts, "  ")
}

// entryText returns the text of an entry as it was written: that of a message, or else of
// what is shown.
func entryText(e wire.Entry) string {
	if l, ok := prose.ReadLine(e.Line); ok && e.Gap == "" && l.Message != nil {
		if text := strings.TrimSpace(l.Message.Text()); text != "" {
			return text
		}
	}
	return strings.TrimSpace(prose.Entry(e, true))
}

// bodyRows formats the content of an entry.
func bodyRows(e wire.Entry, l prose.Line, full bool, width int, styles bool) []string {
	if l.Message == nil || l.Message.Role != "assistant" && l.Message.Role != "user" {
		return plainRows(e, width)
	}
	var rows []string
	for _, p := range l.Message.Pieces() {
		switch p.Type {
		case "text":
			rows = append(rows, markdownRows(p.Text, width, styles)...)
		case "thinking":
			text := "(thinks: " + prose.OneLine(p.Thinking, 60) + ")"
			if full {
				text = "(thinks: " + prose.CleanLines(p.Thinking) + ")"
			}
			for _, t := range strings.Split(text, "\n") {
				rows = append(rows, prose.Wrap(dim(t, styles), width)...)
			}
		case "toolCall":
			limit := 160
			if full {
				limit = 100_000
			}
			rows = append(rows, prose.Wrap(dim("· "+prose.OneLine(p.Name+" "+string(p.Arguments), limit), styles), width)...)
		case "image":
			rows = append(rows, "["+prose.OneLine(p.MimeType, 40)+"]")
		}
	}
	if l.Message.Error != "" {
		rows = append(rows, prose.Wrap(red("("+prose.OneLine(l.Message.Stop+": "+l.Message.Error, 300)+")", styles), width)...)
	}
	return rows
}

// markdownRows renders Markdown.
func markdownRows(text string, width int, styles bool) []string {
	w := markdown.New(width)
	rows := append(w.Write(prose.CleanLines(text)), w.End()...)
	if !styles {
		for i, r := range rows {
			rows[i] = prose.WithoutStyles(r)
		}
	}
	return rows
}

// plainRows formats an entry that is not Markdown, without its head.
func plainRows(e wire.Entry, width int) []string {
	e.Damage, e.Out = nil, ""
	lines := strings.Split(strings.TrimRight(prose.Entry(e, true), "\n"), "\n")
	var rows []string
	for _, l := range lines[1:] {
		l = strings.ReplaceAll(strings.TrimPrefix(l, "  "), "\t", "    ")
		rows = append(rows, prose.Wrap(l, width)...)
	}
	return rows
}

// fitRows cuts rows that are too wide, such as code, into several.
func fitRows(rows []string, width int) []string {
	var fitted []string
	for _, r := range rows {
		fitted = append(fitted, prose.SplitRow(strings.ReplaceAll(r, "\t", "    "), width)...)
	}
	return fitted
}
