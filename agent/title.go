package agent

import (
	"context"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/provider"
	"firn.dev/store"
	"firn.dev/window"
)

const (
	titleSystem = "You name conversations."
	titlePrompt = "Name the conversation that begins as below, in 3 to 6 words, in its own language. Answer with the name only: no quotes, no full stop.\n\n"
	// titleChars is the number of characters of each message sent to the model.
	titleChars = 200
	// titleTime is the time limit for naming.
	titleTime = time.Minute
)

// startNaming generates a title in the background after the first exchange with text. A
// title set by the user always takes precedence.
func (t *turn) startNaming() {
	if t.a.NoTitles || t.out.Err != nil || t.out.Silent || t.out.Text == "" || t.prompt == "" || !unnamed(t.path) {
		return
	}
	a, id, model, auth := t.a, t.log.id, t.model, t.path.Chosen.Auth
	question, answer := firstExchange(t.path)
	if question == "" || answer == "" {
		question, answer = t.prompt, t.out.Text
	}
	if _, named := a.naming.LoadOrStore(id, true); named {
		return // the naming after the previous exchange is still running
	}
	a.background.start(func(ctx context.Context) {
		defer a.naming.Delete(id)
		ctx, cancel := context.WithTimeout(provider.WithProfile(ctx, auth), titleTime)
		defer cancel()
		// The naming after the previous exchange may have ended during this one.
		if path, err := window.Collect(a.Store.ReadBack(ctx, id, store.End)); err == nil && unnamed(path) && !userTitled(ctx, a.Store, id) {
			a.nameSession(ctx, id, model, question, answer)
		}
	})
}

// firstExchange returns the first user message of a session and the first answer to it, which
// may be of another tool that the session was continued from. They are empty if there are none.
func firstExchange(p window.Path) (question, answer string) {
	for _, e := range p.Entries {
		m, ok := e.Body.(*firn.Message)
		if !ok {
			continue
		}
		switch {
		case m.Role == firn.RoleUser && question == "":
			question = strings.TrimSpace(m.Text())
		case m.Role == firn.RoleAssistant && question != "":
			if answer = strings.TrimSpace(m.Text()); answer != "" {
				return question, answer
			}
		}
	}
	return question, answer
}

// userTitled reports whether the user has named a session, on any branch.
func userTitled(ctx context.Context, st store.Store, id firn.ID) bool {
	t, ok, err := countBack(ctx, st, id, store.End, quickCount)
	return err == nil && ok && t.Names.Title != "" && t.Names.TitleSource != firn.SourceAuto
}

// unnamed reports whether a session has no title except the one made from its first
// message. If the same title occurs again after an answer, the model chose it and is not
// asked again.
func unnamed(p window.Path) bool {
	if p.Compaction != nil {
		return false
	}
	first, name, answered, named := "", "", false, false
	for _, e := range p.Entries {
		switch b := e.Body.(type) {
		case *firn.Message:
			answered = answered || b.Role == firn.RoleAssistant
			if b.Role == firn.RoleUser && first == "" {
				first = promptTitle(b.Text())
			}
		case *firn.Title:
			name, named = b.Name, answered
		}
	}
	return name == "" || name == first && !named
}

// nameSession asks the model for a title and stores it. On failure the session keeps its
// current title.
func (a *Agent) nameSession(ctx context.Context, id firn.ID, model provider.Model, question, answer string) {
	info := model.Info()
	prompt := titlePrompt + "<user>\n" + firn.CutText(question, titleChars) + "\n</user>\n<assistant>\n" + firn.CutText(answer, titleChars) + "\n</assistant>"
	path := window.PathOf([]firn.Message{{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: prompt}}}})
	message, err := provider.Ask(ctx, guardedModel{model}, provider.Request{
		Window:  window.Build(path, window.Options{System: titleSystem, Profile: info.Profile, Ask: info.Ask()}),
		Purpose: provider.ForTitle, Session: id, MaxTokens: 64,
	}, a.Backoff, nil)
	if err != nil {
		return
	}
	var entries []firn.Entry
	if message.Usage != nil {
		entries = append(entries, usageEntry(provider.ForTitle, info, *message.Usage))
	}
	if name := modelTitle(message.Text()); name != "" {
		entries = append(entries, firn.Entry{Body: &firn.Title{Name: name, Source: firn.SourceAuto}})
	}
	if len(entries) > 0 {
		// Errors are ignored: the title made from the prompt remains.
		_, _ = a.Store.Append(ctx, id, store.Any, entries...)
	}
}

// modelTitle returns the title in a model's answer. It returns an empty string unless the
// answer is a few words on one line.
func modelTitle(text string) string {
	name := strings.Join(strings.Fields(firstLine(text)), " ")
	name = strings.Trim(name, "\"'`*#.“”«» ")
	words := len(strings.Fields(name))
	if words == 0 || words > 10 || len([]rune(name)) > titleLen || strings.HasPrefix(name, NoReply) {
		return ""
	}
	return name
}
