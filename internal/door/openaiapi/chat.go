package openaiapi

import (
	"net/http"

	"firn.dev/internal/door/conversation"
	"firn.dev/wire"
)

// chat handles a chat completion request.
func (v *exchange) chat() error {
	var q chatRequest
	if err := v.Decode(&q); err != nil {
		return err
	}
	if err := q.check(); err != nil {
		return err
	}
	if err := v.SetDirectory(q.Metadata); err != nil {
		return err
	}
	t, err := q.talk()
	if err != nil {
		return err
	}
	who, err := v.Choose(q.Model)
	if err != nil {
		return err
	}
	terms, err := q.terms(who)
	if err != nil {
		return err
	}
	terms.Instructions = t.Instructions()
	p, err := v.placeChat(&q, who, t, &terms)
	if err != nil {
		return err
	}
	c := &completion{v: v, usage: q.StreamOptions.IncludeUsage, id: "chatcmpl-" + string(p.Question), model: who.DisplayName(), created: v.Now().Unix()}
	v.nameSession(p)
	defer p.Release()
	if q.Stream {
		return formatError(c.stream(p, terms), chatFormatParam, terms)
	}
	done, err := v.Run(p, terms, conversation.Nop{})
	if err != nil {
		return formatError(err, chatFormatParam, terms)
	}
	v.Remember(p, done)
	return v.Reply(http.StatusOK, c.whole(done, p))
}

// usageOf returns the token usage of an answer.
func usageOf(c wire.Counters) chatUsage {
	prompt := c.Input + c.CacheRead + c.CacheWrite
	u := chatUsage{PromptTokens: prompt, CompletionTokens: c.Output, TotalTokens: prompt + c.Output}
	u.PromptDetails.CachedTokens = c.CacheRead
	return u
}
