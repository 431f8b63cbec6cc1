package agent

import (
	"strings"
	"time"

	"firn.dev"
	"firn.dev/window"
)

// The functions of this file make what is injected into most windows. They
// name and fence it, so that a model can tell it from what the user says.

// Environment tells the model where it works and what day it is. The time of
// day is left out: it would change the window with every turn. There is a tool
// for it.
func Environment(dir string, now time.Time) window.Injection {
	text := "date: " + now.Format("Monday, 2 January 2006")
	if dir != "" {
		text = "working_directory: " + oneLine(dir) + "\n" + text
	}
	return injection("environment", text)
}

// Peer is another agent that work can be given to.
type Peer struct{ Name, Description string }

// Peers tells the model which agents it can delegate to. Without any there is
// nothing to inject.
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

// Speakers tells the model its own name, in a conversation in which other agents answer
// too.
func Speakers(name string) window.Injection {
	return injection("speakers", "Several agents answer in this conversation; you are "+oneLine(name)+
		". A line [from NAME] before an answer names the agent that gave it. Do not write such a line yourself.")
}

// Instructions gives the model what instruction files say, the most general
// first. Those that are empty are left out.
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

// Recalled gives the model what memory has to say about this turn.
func Recalled(text string) []window.Injection {
	if strings.TrimSpace(text) == "" {
		return nil
	}
	return []window.Injection{injection("recall", text)}
}

// Remembered gives the model the list of notes that there are.
func Remembered(index string) []window.Injection {
	if strings.TrimSpace(index) == "" {
		return nil
	}
	return []window.Injection{injection("memory", strings.TrimSpace(index))}
}

// injection fences a text, and keeps it from ending its own fence.
func injection(name, text string) window.Injection {
	text = strings.ReplaceAll(text, "</"+name+">", "<\\/"+name+">")
	return window.Injection{Name: name, Parts: []firn.Part{firn.Text{Text: "<" + name + ">\n" + text + "\n</" + name + ">"}}}
}

// oneLine keeps a text from looking like more than one line.
func oneLine(s string) string { return strings.NewReplacer("\n", " ", "\r", " ").Replace(s) }
