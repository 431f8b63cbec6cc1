package offline

import (
	"fmt"
	"strings"
)

// The limits for quoting a result.
const (
	headLines = 20
	headChars = 1500
)

// report composes an answer from the tool results. Failed calls are not repeated.
func (c *conversation) report() reply {
	var texts []string
	for _, o := range c.outcomes {
		texts = append(texts, o.describe(c.toolRequest()))
	}
	return reply{thought: "The tools have answered.", text: strings.Join(texts, "\n\n")}
}

// toolRequest returns the user's message that the tools were called for.
func (c *conversation) toolRequest() string {
	if len(c.userMessages) == 0 {
		return ""
	}
	return c.userMessages[len(c.userMessages)-1]
}

// describe returns the result of a call as an answer to a request.
func (o outcome) describe(request string) string {
	text := strings.TrimSpace(o.text)
	if o.failed {
		if text == "" {
			text = "it did not say why"
		}
		return fmt.Sprintf("%s failed: %s\nI did not try again.", o.call.Name, head(text))
	}
	if text == "" {
		return o.call.Name + " returned no text."
	}
	switch o.call.Name {
	case "now":
		if at, ok := nowIn(text); ok && len(request) <= maxSentence {
			if answer := dateAnswer(request, at); answer != "" {
				return answer
			}
		}
		return "It is " + text + "."
	case "calc":
		return argument(o.call, "expression") + " = " + text
	case "read_file":
		if len(request) <= maxSentence && summarizeWords().MatchString(request) {
			return summarizeFile(argument(o.call, "path"), text)
		}
		return argument(o.call, "path") + " begins with:\n\n" + fenced(head(text))
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

// head returns the beginning of a text, with a note about the omitted rest.
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

// fenced puts a text into a code block whose fence does not occur in the text.
func fenced(text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + "\n" + text + "\n" + fence
}
