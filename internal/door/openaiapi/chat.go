package openaiapi

import (
	"net/http"
	"time"

	"firn.dev"
	"firn.dev/wire"
)

// chat handles a chat completion request.
func (v *exchange) chat() error {
	var q chatRequest
	if err := v.decode(&q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	if err := v.setDirectory(q.Metadata); err != nil {
		return err
	}
	t, err := q.talk()
	if err != nil {
		return err
	}
	who, err := v.choose(q.Model)
	if err != nil {
		return err
	}
	terms, err := q.terms(who)
	if err != nil {
		return err
	}
	terms.Instructions = t.instructions()
	p, err := v.place(v.sessionName(q.Metadata), q.User, who, t)
	if err != nil {
		return err
	}
	c := &completion{v: v, usage: q.StreamOptions.IncludeUsage, id: "chatcmpl-" + string(p.question), model: who.displayName(), created: v.door.clock().Unix()}
	v.w.Header().Set("X-Firn-Session", string(p.at.session))
	defer p.release()
	if q.Stream {
		return c.stream(p, terms)
	}
	done, err := v.run(p, terms, nopListener{})
	if err != nil {
		return err
	}
	v.remember(p, done)
	return v.reply(http.StatusOK, c.whole(done, p.at.session))
}

// displayName returns the model name reported to the client.
func (c choice) displayName() string {
	if c.name == "" {
		return "firn"
	}
	return c.name
}

// placed is a conversation in its session, with a message to be answered.
type placed struct {
	at       position
	question firn.EntryID
	// opening and whole are the digests under which the conversation is remembered. opening
	// is empty if the client names the session, so that nothing needs to be remembered.
	opening string
	whole   digest
	// release unlocks the session. If shared is true, other clients use the session too,
	// and it stays locked until the answer is complete rather than until the turn has
	// started.
	release func()
	shared  bool
}

// turnStarted unlocks the session once its turn has started, unless it is shared.
func (p *placed) turnStarted() {
	if !p.shared {
		p.release()
	}
}

// place appends the new part of a conversation to its session: the one the client names,
// the one that holds the earlier messages, or a new one.
func (v *exchange) place(session, user string, who choice, t *transcript) (*placed, error) {
	history, fresh := t.split()
	if len(fresh) == 0 {
		return nil, badRequest("messages", "the last message is from the assistant: there is nothing to answer")
	}
	if t.isEmpty() {
		return nil, badRequest("messages", "empty message")
	}
	p := &placed{whole: digest{}.with(t.messages...)}
	var err error
	known := false
	if session != "" {
		var empty bool
		p.at, empty, err = v.resolveSession(session, who)
		known = !empty
	} else {
		p.opening = v.opening(user, who, t)
		if len(history) > 0 {
			p.at, known, err = v.find(p.opening, history)
		}
		if err == nil && !known {
			p.at, err = v.createSession(who, p.opening)
		} else if err == nil {
			err = v.checkModel(&p.at, who)
		}
	}
	if err != nil {
		return nil, err
	}
	if !known {
		fresh = t.messages
	}
	return p, v.appendNew(p, who, t.instructions(), fresh, !known)
}

// appendNew appends the new messages, preceded by the other entries to keep of the request.
func (v *exchange) appendNew(p *placed, who choice, instructions string, fresh []firn.Message, begins bool) error {
	var entries []firn.Entry
	if change, ok := who.change(p.at); ok {
		entries = append(entries, change)
	}
	if note, system := instructed(instructions, p.at.system); system != p.at.system {
		p.at.system = system
		entries = append(entries, note)
	}
	entries = append(entries, entriesOf(fresh, p.whole, v.door.clock().UTC().Truncate(time.Millisecond))...)
	p.question = entries[len(entries)-1].ID
	if title := titleOf(fresh); begins && title != "" {
		entries = append(entries, firn.NewEntry(&firn.Title{Name: title, Source: firn.SourceAuto}))
	}
	var err error
	p.shared = p.at.entry == ""
	if p.release, err = v.door.holds.take(v.r.Context(), p.at.session); err != nil {
		return err
	}
	if p.at.session, err = v.put(p.at, who, entries); err != nil {
		p.release()
	}
	if who.model != "" {
		p.at.model = who.model
	}
	return err
}

// instructedType is the type of an entry that stores a client's system instructions. They
// are sent to the model with the request, not from the log.
const instructedType = "openai.instructions"

// instructed returns the entry that stores instructions, and their digest.
func instructed(text, before string) (firn.Entry, string) {
	if text == "" {
		return firn.Entry{}, before
	}
	sum := digest{}.with(firn.Message{Role: firn.RoleSystem, Parts: textPart(text)}).String()
	data, err := wire.Marshal(map[string]string{"text": text})
	if err != nil { // cannot happen: a string always marshals
		data = nil
	}
	return firn.NewEntry(&firn.Custom{Type: instructedType, Data: data}), sum
}

// remember records where a conversation continues.
func (v *exchange) remember(p *placed, t *turn) {
	at := p.at
	at.entry = t.answer.Entry
	if p.opening != "" && at.entry != "" {
		v.door.memory.put(p.opening+p.whole.with(t.clientMessage()).String(), at)
	}
}

// usageOf returns the token usage of an answer.
func usageOf(c wire.Counters) chatUsage {
	prompt := c.Input + c.CacheRead + c.CacheWrite
	u := chatUsage{PromptTokens: prompt, CompletionTokens: c.Output, TotalTokens: prompt + c.Output}
	u.PromptDetails.CachedTokens = c.CacheRead
	return u
}
