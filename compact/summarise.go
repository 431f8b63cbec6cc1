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
	// maxChunks bounds the pieces in which a conversation is given to a model.
	// What is older than that many pieces is summarised without one.
	maxChunks = 32
	// maxCalls bounds how often a model is asked in one run, retries of the
	// connection not counted.
	maxCalls = 64
	// maxTriesOfChunk is how often a model is asked for the same piece.
	maxTriesOfChunk = 2
	// maxBad is how many pieces in a row may get no answer of use before the
	// model is not asked any more.
	maxBad = 2
	// maxSqueeze is how often the pieces are halved because one was too long.
	maxSqueeze = 3
)

// summariser makes summaries. It asks a model as long as that is of use, and
// does without otherwise.
type summariser struct {
	model    provider.Model // nil: does without
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
	// asked and extracted say how the summary came to be.
	asked, extracted bool
	chunks, calls    int
	usage            firn.Usage
	// failure is why the model is not asked any more; nil if it may be.
	failure error
}

// newSummariser makes a summariser; its time begins to run.
func newSummariser(m provider.Model, s Settings, counter window.TokenCounter) *summariser {
	sum := &summariser{model: m, counter: counter, backoff: s.Backoff, timeout: s.timeout()}
	sum.deadline = time.Now().Add(patience * sum.timeout)
	if m != nil {
		sum.info = m.Info()
	}
	return sum
}

// strategy says how the summary was made.
func (s *summariser) strategy() Strategy {
	switch {
	case s.asked && s.extracted:
		return Mixed
	case s.asked:
		return ByModel
	}
	return Extractive
}

// modelName is the model as details tell it, empty if it had no part.
func (s *summariser) modelName() string {
	if !s.asked {
		return ""
	}
	return s.info.Provider + "/" + s.info.Name
}

// fold brings a summary up to date with lines, in at most allowed tokens,
// piece by piece, the oldest first. The error is only ever that of ctx.
func (s *summariser) fold(ctx context.Context, t task, previous string, lines []digest.Line, allowed int64) (string, error) {
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

// excess counts the lines of the oldest chunks, those above n.
func excess(chunks []chunk, n int) int {
	lines := 0
	for i := range max(0, len(chunks)-max(n, 0)) {
		lines += chunks[i].n
	}
	return lines
}

// question is one piece to be summarised.
type question struct {
	task     task
	previous string
	chunk    chunk
	// names are those in what the answer stands for.
	names   *nameBook
	allowed int64
}

// outcome is what came of asking.
type outcome int

const (
	// fine: there is a summary.
	fine outcome = iota
	// useless: there is none.
	useless
	// tooMuch: the piece was too long for the model.
	tooMuch
)

// ask asks the model for one piece, twice if the first answer is of no use.
// Where the model fails it is not asked again in this run.
func (s *summariser) ask(ctx context.Context, q question, p Progress) (string, outcome, error) {
	tokens := s.counter.CountText(q.chunk.text) + s.counter.CountText(q.previous)
	for p.Try = 1; p.Try <= maxTriesOfChunk && s.willing(); p.Try++ {
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
		if text, fault := verdict(&answer, q.names, tokens, q.allowed, s.counter); fault == "" {
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

// errUseless says that the model gave no summary that is of use.
var errUseless = errors.New("the model gave no usable summary")

// willing reports whether the model may be asked once more.
func (s *summariser) willing() bool {
	return s.model != nil && s.calls < maxCalls && time.Now().Before(s.deadline)
}

// call makes one call, within its time.
func (s *summariser) call(ctx context.Context, q question) (firn.Message, error) {
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

func (s *summariser) prompt(t task, previous, conversation string) prompt {
	return prompt{task: t, conversation: conversation, previous: previous, identity: s.identity, hint: s.hint}
}

// output is how long the model's answer may be.
func (s *summariser) output(allowed int64) int64 {
	out := min(allowed, known(s.info.Window)/4)
	if s.info.MaxOutput > 0 {
		out = min(out, s.info.MaxOutput)
	}
	return max(out, 1)
}

// extract makes a summary without a model. It has at most allowed tokens.
func (s *summariser) extract(previous string, lines []digest.Line, allowed int64) string {
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

// cutMiddle takes so much out of a text that about n bytes are left, two thirds
// of them from its beginning, and says how much it took.
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
