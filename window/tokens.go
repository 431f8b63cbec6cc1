package window

import (
	"firn.dev"
)

// Tokens is the usage of a model's window.
type Tokens struct {
	// System and Items are the counter's totals for the system prompt and all items.
	System, Items int64
	// Reported is the size of the conversation that the provider reported with its latest
	// answer. It is zero if none was reported, if entries were compacted or hidden since,
	// or if a part of the conversation is now left out or shortened. Since is the counter's
	// total for the items after that answer.
	Reported, Since int64
	// Total is the best estimate: Reported plus Since, or else System plus Items.
	Total int64
	// Estimated reports whether Total depends on the counter, or whether the request is for
	// another model than the one that reported.
	Estimated bool
}

// TokenCounter counts the tokens of text and messages for a model. Its methods must be safe
// for concurrent use.
type TokenCounter interface {
	// CountText counts plain text.
	CountText(text string) int64
	// CountMessage counts everything that is sent of a message.
	CountMessage(m *firn.Message) int64
}

// Chars counts one token per four characters and 1,200 per image, as pi does. A PDF counts
// by its size, 2,000 per 48 kB. It is the default counter.
type Chars struct{}

// imageChars is the size of an image in characters.
const imageChars = 4800

// CountText counts a quarter of the UTF-16 units of text, rounded up.
func (Chars) CountText(text string) int64 { return quarter(units(text)) }

// CountMessage counts a quarter of the UTF-16 units of everything that is sent of a
// message, rounded up once.
func (Chars) CountMessage(m *firn.Message) int64 { return quarter(chars(m.Parts, imageChars)) }

func quarter(n int) int64 { return (int64(n) + 3) / 4 }

// chars counts the UTF-16 units of parts, using the given number per image.
func chars(parts []firn.Part, image int) int {
	n := 0
	for _, part := range parts {
		switch b := part.(type) {
		case firn.Text:
			n += units(b.Text)
		case firn.Thinking:
			n += units(b.Text)
		case firn.Image:
			n += image
		case firn.OpaquePart:
			n += documentChars(b)
		case firn.ToolCall:
			n += units(b.Name) + units([]byte(b.Arguments))
		case firn.ToolResult:
			n += chars(b.Content, image)
		case firn.Shell:
			n += units(b.Command) + units(b.Output)
		}
	}
	return n
}

// units counts the UTF-16 units of a text: one per rune, two for runes of four UTF-8 bytes.
// ASCII is counted eight bytes at a time.
func units[T string | []byte](s T) int {
	const high = 0x8080808080808080
	n, i := 0, 0
	for i < len(s) {
		for i+8 <= len(s) {
			b := s[i : i+8]
			w := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
				uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
			if w&high != 0 {
				break
			}
			i += 8
			n += 8
		}
		for end := min(i+8, len(s)); i < end; i++ {
			switch c := s[i]; {
			case c >= 0xf0:
				n += 2
			case c < 0x80 || c >= 0xc0:
				n++
			}
		}
	}
	return n
}

// count counts the tokens of a window built from a path.
func count(p Path, w *Window, o Options) Tokens {
	counter := o.Counter
	if counter == nil {
		counter = Chars{}
	}
	at, answer := reporter(p)
	if answer != nil && otherAgent(&p.Entries[at], o.Agent, o.Owner) != "" {
		answer = nil // another agent had another system prompt and other tools
	}
	t := Tokens{System: counter.CountText(w.System), Estimated: true}
	behind := 0
	for i := range w.Items {
		it := &w.Items[i]
		it.Tokens = counter.CountMessage(&it.Message)
		t.Items += it.Tokens
		if answer != nil && it.at > at {
			t.Since += it.Tokens
			behind++
		}
	}
	t.Total = t.System + t.Items
	if answer != nil {
		t.Reported = answer.Usage.Context()
		t.Total = t.Reported + t.Since
		t.Estimated = behind > 0 || !w.Ask.Same(answer)
	}
	return t
}

// reporter finds the latest answer whose reported usage still applies: since then nothing
// was compacted, hidden, left out or shortened on any branch.
func reporter(p Path) (at int, answer *firn.Message) {
	for i := len(p.Entries) - 1; i >= p.stale; i-- {
		switch b := p.Entries[i].Body.(type) {
		case *firn.Compaction, *firn.Tombstone:
			return 0, nil
		case *firn.Message:
			if reports(b) {
				return i, b
			}
		}
	}
	return 0, nil
}

func reports(m *firn.Message) bool {
	return m.Role == firn.RoleAssistant && m.Usage != nil && m.Usage.Context() > 0 &&
		m.StopReason != firn.StopError && m.StopReason != firn.StopAborted && !mirrored(m)
}
