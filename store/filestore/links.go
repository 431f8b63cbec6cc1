package filestore

import (
	"fmt"
	"slices"

	"firn.dev"
	"firn.dev/internal/base/hashchain"
)

// chainEnd is the state of a session's hash chain at a position. Lines are linked only if
// it is known.
type chainEnd struct {
	state hashchain.State
	pos   firn.Pos
	known bool
	// searched is set once the state was searched for, even if it is not known.
	searched bool
}

// at returns the state for another position.
func (c chainEnd) at(pos firn.Pos) chainEnd {
	c.pos = pos
	return c
}

// manyEntries is the number of entries from which an encoding buffer is sized in advance.
const manyEntries = 16

// roughSize estimates the size of the lines of entries, from the texts of messages.
func roughSize(entries []firn.Entry) int {
	size := 0
	for i := range entries {
		size += 512 // the other members, and the link
		if m, ok := entries[i].Body.(*firn.Message); ok {
			size += partsSize(m.Parts)
		}
	}
	return size + size/8 // escapes
}

// partsSize returns the size of the texts of a message.
func partsSize(parts []firn.Part) int {
	size := 0
	for _, part := range parts {
		switch p := part.(type) {
		case firn.Text:
			size += len(p.Text)
		case firn.Thinking:
			size += len(p.Text) + len(p.Signature)
		case firn.ToolCall:
			size += len(p.Arguments)
		case firn.ToolResult:
			size += partsSize(p.Content)
		}
	}
	return size
}

// encode encodes entries as lines that follow the end of the session, with their links.
func (s *session) encode(buf []byte, end firn.Pos, entries []firn.Entry) ([]byte, chainEnd, error) {
	chain := s.chain
	if len(entries) > 0 && (!chain.searched || chain.pos != end) {
		chain = s.findChain(end)
	}
	if len(entries) >= manyEntries {
		buf = slices.Grow(buf, roughSize(entries)) // else the lines are copied many times
	}
	for _, e := range entries {
		var err error
		before := len(buf)
		if buf, err = s.st.dialect.Append(buf, e); err != nil {
			return nil, chain, err
		}
		if n := int64(len(buf) - before); n > s.st.opts.MaxLine {
			return nil, chain, fmt.Errorf("%w: entry %s has %d bytes as a line, and the limit is %d (store.max_line)", firn.ErrTooLarge, e.ID, n, s.st.opts.MaxLine)
		}
		if chain.known && int64(len(buf)-before+hashchain.LinkBytes) <= s.st.opts.MaxLine {
			buf, chain.state = chain.state.Append(buf, before)
		} else if chain.known {
			chain.state = chain.state.Next(buf[before:])
		}
		buf = append(buf, '\n')
	}
	return buf, chain, nil
}

// findChain returns the state of the hash chain at the end of the session. It is unknown if
// the lines before the end cannot be read: an append does not need them.
func (s *session) findChain(end firn.Pos) chainEnd {
	var f hashchain.Finder
	for line, err := range s.journal.Source().Back(end) {
		if err != nil || line.Gap != "" {
			f.Unreadable()
			break
		}
		if !f.Add(line.Data) {
			break
		}
	}
	chain := chainEnd{pos: end, searched: true}
	chain.state, chain.known = f.State(string(s.id))
	return chain
}
