package compact

import (
	"context"
	"errors"
	"fmt"
	"time"

	"firn.dev"
	"firn.dev/internal/find/digest"
	"firn.dev/provider"
	"firn.dev/window"
)

const (
	// maxChunks is the maximum number of pieces that a model summarizes. Older pieces are
	// summarized without a model.
	maxChunks = 32
	// maxCalls is the maximum number of model calls in one run, not counting connection
	// retries.
	maxCalls = 64
	// maxTriesOfChunk is the maximum number of model calls for one piece.
	maxTriesOfChunk = 2
	// maxBad is the number of consecutive pieces without a usable answer after which the
	// model is no longer called.
	maxBad = 2
	// maxSqueeze is how often the pieces are halved because one was too long.
	maxSqueeze = 3
)

// summarizer makes summaries, with a model as long as that works and without one otherwise.
type summarizer struct {
	model    provider.Model // nil: works without a model
	info     provider.Info
	counter  window.TokenCounter
	backoff  provider.Backoff
	timeout  time.Duration
	deadline time.Time
	session  firn.ID
	identity string
	hint     string
	observe  func(Progress)

	squeeze, bad int
	// asked and extracted record how the summary was made.
	asked, extracted bool
	chunks, calls    int
	usage            firn.Usage
	// failure is the reason why the model is no longer called, or nil.
	failure error
}

// newSummarizer returns a summarizer and starts its time limit.
func newSummarizer(m provider.Model, s Settings, counter window.TokenCounter) *summarizer {
	sum := &summarizer{model: m, counter: counter, backoff: s.Backoff, timeout: s.timeout()}
	sum.deadline = time.Now().Add(timeoutFactor * sum.timeout)
	if m != nil {
		sum.info = m.Info()
	}
	return sum
}

// strategy returns how the summary was made.
func (s *summarizer) strategy() Strategy {
	switch {
	case s.asked && s.extracted:
		return Mixed
	case s.asked:
		return ByModel
	}
	return Extractive
}

// modelName returns the name of the model as recorded in the details, or an empty string if
// it was not used.
func (s *summarizer) modelName() string {
	if !s.asked {
		return ""
	}
	return s.info.Provider + "/" + s.info.Name
}

// fold updates a summary with lines in at most allowed tokens, piece by piece, oldest
// first. The only possible error is that of ctx.
func (s *summarizer) fold(ctx context.Context, t task, previous string, lines []digest.Line, allowed int64) (string, error) {
	running, done := previous, 0
	var known nameBook
	for len(lines) > 0 {
		chunks := s.split(t, running, lines, allowed)
		if len(chunks) == 0 {
			return s.extract(running, lines, allowed), nil
		}
		if n := excess(chunks, maxChunks-done); n > 0 {
			running = s.extract(running, lines[:n], allowed)
			lines = lines[n:]
			continue
		}
		next := chunks[0].n
		known.add(lines[:next])
		q := question{task: t, previous: running, chunk: chunks[0], names: &known, allowed: allowed}
		text, got, err := s.ask(ctx, q, Progress{Chunk: done + 1, Chunks: done + len(chunks)})
		if err != nil {
			return "", err
		}
		switch got {
		case tooMuch:
			s.squeeze++
			continue
		case useless:
			text = s.extract(running, lines[:next], allowed)
		}
		running = text
		lines = lines[next:]
		done++
	}
	if s.counter.CountText(running) > allowed {
		return s.extract(running, nil, allowed), nil
	}
	return running, nil
}

// excess counts the lines of the oldest chunks beyond the newest n.
func excess(chunks []chunk, n int) int {
	lines := 0
	for i := range max(0, len(chunks)-max(n, 0)) {
		lines += chunks[i].n
	}
	return lines
}

// question is one piece to be summarized.
type question struct {
	task     task
	previous string
	chunk    chunk
	// names are the names in the input.
	names   *nameBook
	allowed int64
}

// outcome is the result of a model call.
type outcome int

const (
	// fine: there is a summary.
	fine outcome = iota
	// useless: there is no usable summary.
	useless
	// tooMuch: the piece was too long for the model.
	tooMuch
)

// ask has the model summarize one piece, with a second attempt if the first answer is
// unusable. If the model fails, it is not called again in this run.
func (s *summarizer) ask(ctx context.Context, q question, p Progress) (string, outcome, error) {
	tokens := s.counter.CountText(q.chunk.text) + s.counter.CountText(q.previous)
	for p.Try = 1; p.Try <= maxTriesOfChunk && s.mayAsk(); p.Try++ {
		if s.observe != nil {
			s.observe(p)
		}
		answer, err := s.call(ctx, q)
		if ctx.Err() != nil {
			return "", useless, context.Cause(ctx)
		}
		if provider.KindOf(err) == provider.Overflow && s.squeeze < maxSqueeze {
			return "", tooMuch, nil
		}
		if err != nil {
			s.model, s.failure = nil, err
			return "", useless, nil
		}
		addUsage(&s.usage, answer.Usage)
		if text, fault := checkSummary(&answer, q.names, tokens, q.allowed, s.counter); fault == "" {
			s.bad, s.asked, s.failure = 0, true, nil
			s.chunks++
			return text, fine, nil
		}
	}
	if s.bad++; s.bad >= maxBad {
		s.model = nil
	}
	if s.failure == nil && (s.model == nil || !s.asked) && s.calls > 0 {
		s.failure = errUseless
	}
	return "", useless, nil
}

// errUseless means that the model gave no usable summary.
var errUseless = errors.New("the model gave no usable summary")

// mayAsk reports whether another model call is allowed.
func (s *summarizer) mayAsk() bool {
	return s.model != nil && s.calls < maxCalls && time.Now().Before(s.deadline)
}

// call makes one call within the timeout.
func (s *summarizer) call(ctx context.Context, q question) (firn.Message, error) {
	s.calls++
	deadline := time.Now().Add(s.timeout)
	if s.deadline.Before(deadline) {
		deadline = s.deadline
	}
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	text := s.prompt(q.task, q.previous, q.chunk.text).text()
	path := window.Path{Entries: []firn.Entry{firn.UserText(text)}}
	req := provider.Request{
		Window: window.Build(path, window.Options{
			System: systemPrompt, Profile: s.info.Profile, Ask: s.info.Ask(), Counter: s.counter,
		}),
		MaxTokens: s.output(q.allowed),
		Thinking:  provider.ThinkOff,
		Purpose:   provider.ForSummary,
		Session:   s.session,
	}
	return provider.Ask(ctx, s.model, req, s.backoff, nil)
}

func (s *summarizer) prompt(t task, previous, conversation string) prompt {
	return prompt{task: t, conversation: conversation, previous: previous, identity: s.identity, hint: s.hint}
}

// output returns the maximum length of the model's answer.
func (s *summarizer) output(allowed int64) int64 {
	out := min(allowed, windowSize(s.info.Window)/4)
	if s.info.MaxOutput > 0 {
		out = min(out, s.info.MaxOutput)
	}
	return max(out, 1)
}

// extract makes a summary of at most allowed tokens without a model.
func (s *summarizer) extract(previous string, lines []digest.Line, allowed int64) string {
	s.extracted = s.extracted || len(lines) > 0
	chars := int(4 * max(allowed, 0))
	for range 8 {
		text := digest.Extract(previous, lines, chars)
		n := s.counter.CountText(text)
		if n <= allowed {
			return text
		}
		chars = int(float64(min(chars, len(text))) * 0.95 * float64(allowed) / float64(n))
	}
	return fitText(digest.Extract(previous, lines, chars), allowed, s.counter)
}

// cutMiddle shortens a text to about n bytes, two thirds of them from its start, and notes
// how much was removed.
func cutMiddle(text string, n int) string {
	n = max(n, 0)
	if len(text) <= n {
		return text
	}
	head := firn.CutText(text, n*2/3)
	tail := text[len(text)-n/3:]
	for len(tail) > 0 && tail[0]&0xc0 == 0x80 {
		tail = tail[1:]
	}
	return fmt.Sprintf("%s\n\n[… %d characters cut …]\n\n%s", head, len([]rune(text))-len([]rune(head))-len([]rune(tail)), tail)
}
