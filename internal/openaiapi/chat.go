package openaiapi

import (
	"net/http"
	"time"

	"firn"
	"firn/wire"
)

// chat answers a request for a chat completion.
func (v *visit) chat() error {
	var q chatRequest
	if err := v.decode(&q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
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
	c := &completion{v: v, usage: q.StreamOptions.IncludeUsage, id: "chatcmpl-" + string(p.question), model: who.told(), created: v.door.clock().Unix()}
	v.w.Header().Set("X-Firn-Session", string(p.at.session))
	defer p.release()
	if q.Stream {
		return c.stream(p, terms)
	}
	done, err := v.run(p, terms, plain{})
	if err != nil {
		return err
	}
	v.remember(p, done)
	return v.reply(http.StatusOK, c.whole(done, p.at.session))
}

// told is what the client is told who answers.
func (c choice) told() string {
	if c.name == "" {
		return "firn"
	}
	return c.name
}

// placed is a conversation in its session, with a question to be answered.
type placed struct {
	at       spot
	question firn.EntryID
	// opening and whole are what the conversation is remembered by; opening is
	// empty if it is not to be, since the client names the session.
	opening string
	whole   digest
	// release lets go of the session; shared says that others talk in it too, so
	// that it is held until the answer is there, and not only until its turn
	// has begun.
	release func()
	shared  bool
}

// begun lets others at the session, once its turn has begun.
func (p *placed) begun() {
	if !p.shared {
		p.release()
	}
}

// place puts what is new of a conversation into the session where it goes on:
// the one that the client names, the one that holds what was said before, or a
// new one.
func (v *visit) place(session, user string, who choice, t *talk) (*placed, error) {
	history, fresh := t.split()
	if len(fresh) == 0 {
		return nil, bad("messages", "the last message is the assistant's: there is nothing to answer")
	}
	if t.silent() {
		return nil, bad("messages", "nothing is said")
	}
	p := &placed{whole: digest{}.with(t.messages...)}
	var err error
	known := false
	if session != "" {
		var empty bool
		p.at, empty, err = v.named(session, who)
		known = !empty
	} else {
		p.opening = v.opening(user, who, t)
		if len(history) > 0 {
			p.at, known, err = v.find(p.opening, history)
		}
		if err == nil && !known {
			p.at, err = v.begin(who, p.opening)
		} else if err == nil {
			err = v.assure(&p.at, who)
		}
	}
	if err != nil {
		return nil, err
	}
	if !known {
		fresh = t.messages
	}
	return p, v.say(p, who, t.instructions(), fresh, !known)
}

// say appends what is new, behind what else is to be kept of the request.
func (v *visit) say(p *placed, who choice, instructions string, fresh []firn.Message, begins bool) error {
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

// instructedType is the type of an entry that keeps what the system was made to
// say by a client. A model is sent it with the request, not from the log.
const instructedType = "openai.instructions"

// instructed is the entry that keeps instructions, and the digest they are
// known by.
func instructed(text, before string) (firn.Entry, string) {
	if text == "" {
		return firn.Entry{}, before
	}
	sum := digest{}.with(firn.Message{Role: firn.RoleSystem, Parts: textPart(text)}).String()
	data, err := wire.Spell(map[string]string{"text": text})
	if err != nil { // a text always can be spelt
		data = nil
	}
	return firn.NewEntry(&firn.Custom{Type: instructedType, Data: data}), sum
}

// remember notes where a conversation goes on.
func (v *visit) remember(p *placed, t *turn) {
	at := p.at
	at.entry = t.answer.Entry
	if p.opening != "" && at.entry != "" {
		v.door.memory.put(p.opening+p.whole.with(t.told()).String(), at)
	}
}

// usageOf tells what an answer used.
func usageOf(c wire.Counters) chatUsage {
	prompt := c.Input + c.CacheRead + c.CacheWrite
	u := chatUsage{PromptTokens: prompt, CompletionTokens: c.Output, TotalTokens: prompt + c.Output}
	u.PromptDetails.CachedTokens = c.CacheRead
	return u
}
