package offline

import (
	"fmt"
	"strings"
)

// How much of a result is told.
const (
	headLines = 20
	headChars = 1500
)

// report makes an answer of what tools answered. A tool that failed is not
// called again.
func (c *conversation) report() reply {
	var told []string
	for _, o := range c.outcomes {
		told = append(told, o.tell())
	}
	return reply{thought: "The tools have answered.", text: strings.Join(told, "\n\n")}
}

// tell says what came of a call.
func (o outcome) tell() string {
	text := strings.TrimSpace(o.text)
	if o.failed {
		if text == "" {
			text = "it did not say why"
		}
		return fmt.Sprintf("%s failed: %s\nI did not try again.", o.call.Name, head(text))
	}
	if text == "" {
		return o.call.Name + " answered with nothing that I can read."
	}
	switch o.call.Name {
	case "now":
		return "It is " + text + "."
	case "calc":
		return argument(o.call, "expression") + " = " + text
	case "read_file":
		return argument(o.call, "path") + " begins:\n\n" + fenced(head(text))
	case "list_dir":
		return "In " + argument(o.call, "path") + ":\n\n" + fenced(head(text))
	case "grep":
		return "Lines with " + quote(argument(o.call, "pattern")) + ":\n\n" + fenced(head(text))
	case "write_file":
		return fmt.Sprintf("Done: %s. I wrote %s.", text, quote(excerpt(argument(o.call, "content"), 100)))
	case "remember":
		return "Noted: " + quote(argument(o.call, "text"))
	case "recall":
		return "This is what a search for " + quote(argument(o.call, "query")) + " found:\n\n" + fenced(head(text))
	}
	return o.call.Name + " answered:\n\n" + fenced(head(text))
}

// head is the beginning of a text, and a word on what is missing.
func head(text string) string {
	all := strings.Split(text, "\n")
	short := all[:min(headLines, len(all))]
	cut := []rune(strings.Join(short, "\n"))
	switch {
	case len(cut) > headChars:
		return string(cut[:headChars]) + "\n… (there is more)"
	case len(short) < len(all):
		return string(cut) + fmt.Sprintf("\n… (%d more lines)", len(all)-len(short))
	}
	return string(cut)
}

// fenced puts a text into a code block that it cannot end.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
