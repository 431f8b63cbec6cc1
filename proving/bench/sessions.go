package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"firn.dev"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// talk generates a conversation like those of coding agents: short questions, answers, tool
// calls, and results whose sizes have a heavy tail up to 1 MB. The same seed generates the
// same conversation.
type talk struct {
	rng  *rand.Rand
	n    int
	last int64
}

func newTalk(seed uint64) *talk { return &talk{rng: rand.New(rand.NewPCG(seed, 1))} }

var words = strings.Fields(`the file test error return func value read write open close lock append session entry
	parent window summary branch commit build run fix check why because when then should could patch review merge`)

// text returns about n bytes of words, with line breaks and occasional quotes.
func (t *talk) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(words[t.rng.IntN(len(words))])
		switch t.rng.IntN(16) {
		case 0:
			b.WriteString(".\n")
		case 1:
			b.WriteString(` "x" `)
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// resultSize returns a size with a heavy tail: mostly a kilobyte or two, at times a
// megabyte. The average entry then has 1.6 kB; recorded sessions of coding agents had 1.0
// to 2.4 kB.
func (t *talk) resultSize() int {
	size := 600 / (t.rng.Float64() + 0.0006)
	return int(min(size, 1<<20))
}

// turn generates one turn: question, call, result, answer.
func (t *talk) turn() []firn.Entry {
	t.n++
	call := fmt.Sprintf("call_%06d", t.n)
	t.last += 2000
	return []firn.Entry{
		userEntry(t.text(60)),
		t.assistant(firn.StopToolUse,
			firn.Thinking{Text: t.text(150), Signature: "c2lnbmF0dXJl"},
			firn.ToolCall{ID: call, Name: "read_file", Arguments: json.RawMessage(`{"path":"internal/journal/write.go"}`)}),
		firn.NewEntry(&firn.Message{Role: firn.RoleToolResult, Parts: []firn.Part{
			firn.ToolResult{CallID: call, Name: "read_file", Content: []firn.Part{firn.Text{Text: t.text(t.resultSize())}}}}}),
		t.assistant(firn.StopEnd, firn.Text{Text: t.text(300)}),
	}
}

func (t *talk) assistant(stop firn.StopReason, parts ...firn.Part) firn.Entry {
	return firn.NewEntry(&firn.Message{Role: firn.RoleAssistant, Parts: parts, API: "anthropic-messages", Provider: "anthropic",
		Model: "claude-test", StopReason: stop, Usage: &firn.Usage{Input: 1000, Output: 100, Total: 1100 + t.last}})
}

// liveTurns is the number of live turns in a compacted session, independent of its size.
const liveTurns = 30

// grow creates a session of about size bytes. If compacted, it has a compaction near its
// end, followed by the same turns for every size.
func grow(ctx context.Context, st *filestore.Store, id firn.ID, size int64, compacted bool) error {
	return growNamed(ctx, st, id, size, compacted, func([]firn.Entry) {})
}

// growNamed is grow with a function that may change the IDs of new entries.
func growNamed(ctx context.Context, st *filestore.Store, id firn.ID, size int64, compacted bool, rename func([]firn.Entry)) error {
	t := newTalk(7)
	written := func() (int64, error) {
		s, err := st.Status(ctx, id)
		return s.Bytes, err
	}
	for {
		var batch []firn.Entry
		for range 25 {
			batch = append(batch, t.turn()...)
		}
		rename(batch)
		if _, err := st.Append(ctx, id, store.Any, batch...); err != nil {
			return err
		}
		if n, err := written(); err != nil || n >= size {
			if err != nil {
				return err
			}
			break
		}
	}
	if !compacted {
		return nil
	}
	live := newTalk(8)
	live.n = 1 << 20 // distinct call IDs
	var tail []firn.Entry
	for range liveTurns {
		tail = append(tail, live.turn()...)
	}
	rename(tail)
	kept := tail[:liveTurns*2] // half of the live part is before the compaction
	summary := firn.NewEntry(&firn.Compaction{Summary: live.text(2000), FirstKept: kept[0].ID, TokensBefore: 150_000})
	_, err := st.Append(ctx, id, store.Any, append(append(append([]firn.Entry(nil), kept...), summary), tail[liveTurns*2:]...)...)
	return err
}
