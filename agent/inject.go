package agent

import (
	"strings"
	"time"

	"firn.dev"
	"firn.dev/window"
)

// The functions of this file build the usual injections. They label and fence the text so
// that a model can distinguish it from user messages.

// Environment returns an injection with the working directory and the date. The time of day
// is left out because it would change the window with every turn; there is a tool for it.
func Environment(dir string, now time.Time) window.Injection {
	text := "date: " + now.Format("Monday, 2 January 2006")
	if dir != "" {
		text = "working_directory: " + oneLine(dir) + "\n" + text
	}
	return injection("environment", text)
}

// Peer is another agent that can receive tasks.
type Peer struct{ Name, Description string }

// Peers returns an injection with the agents that the model can delegate to. It returns nil
// if there are none.
func Peers(peers []Peer) []window.Injection {
	if len(peers) == 0 {
		return nil
	}
	var b strings.Builder
	b.WriteString("Agents that sessions_spawn can give a task to:\n")
	for _, p := range peers {
		b.WriteString("- " + oneLine(p.Name) + ": " + oneLine(p.Description) + "\n")
	}
	return []window.Injection{injection("agents", strings.TrimSuffix(b.String(), "\n"))}
}

// nameInjection returns an injection with the agent's own name, for conversations with several
// agents.
func nameInjection(name string) window.Injection {
	return injection("speakers", "Several agents answer in this conversation; you are "+oneLine(name)+
		". A line [from NAME] before an answer names the agent that gave it. Do not write such a line yourself.")
}

// Instructions returns injections with the contents of instruction files, most general
// first. Empty ones are left out.
func Instructions(files []string) []window.Injection {
	var texts []string
	for _, f := range files {
		if f = strings.TrimSpace(f); f != "" {
			texts = append(texts, f)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	return []window.Injection{injection("instructions", strings.Join(texts, "\n\n"))}
}

// Recalled returns an injection with the notes recalled for this turn.
func Recalled(text string) []window.Injection {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []window.Injection{injection("recall", text)}
}

// Remembered returns an injection with the list of existing notes.
func Remembered(index string) []window.Injection {
	if strings.TrimSpace(index) == "" {
		return nil
	}
	return []window.Injection{injection("memory", strings.TrimSpace(index))}
}

// injection fences a text and escapes the end of the fence within it.
func injection(name, text string) window.Injection {
	text = strings.ReplaceAll(text, "</"+name+">", "<\\/"+name+">")
	return window.Injection{Name: name, Parts: []firn.Part{firn.Text{Text: "<" + name + ">\n" + text + "\n</" + name + ">"}}}
}

// oneLine replaces line breaks with spaces.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }
