package window

import (
	"firn.dev"
)

// Tokens is how much of a model's window is used.
type Tokens struct {
	// System and Items are what the counter makes of the system prompt and of
	// all items.
	System, Items int64
	// Reported is what the provider said of the conversation with its latest
	// answer, zero if it did not, if something was compacted or hidden since, or
	// if some of what it saw is left out or shortened.
	// Since is what the counter makes of the items behind that answer.
	Reported, Since int64
	// Total is the best answer there is: Reported and Since, else System and
	// Items.
	Total int64
	// Estimated says that the counter had a part in Total, or that another
	// model will be asked than the one that reported.
	Estimated bool
}

// TokenCounter says how many tokens a model makes of things. Methods may be
// called from many goroutines.
type TokenCounter interface {
	// CountText counts plain text.
	CountText(text string) int64
	// CountMessage counts all that is sent of a message.
	CountMessage(m *firn.Message) int64
}

// Chars counts a token for every four characters, and 1,200 for an image, as
// pi does. A PDF counts by its size, 2,000 for each 48 kB. It is the counter to have when there is none.
type Chars struct{}

// imageChars is how many characters an image counts for.
const imageChars = 4800

// CountText counts a quarter of the UTF-16 units of text, rounded up.
func (Chars) CountText(text string) int64 { return quarter(units(text)) }

// CountMessage counts a quarter of the UTF-16 units of all that is sent of a
// message, rounded up once.
func (Chars) CountMessage(m *firn.Message) int64 { return quarter(chars(m.Parts, imageChars)) }

func quarter(n int) int64 { return (int64(n) + 3) / 4 }

// chars counts the UTF-16 units of parts, with so many for an image.
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

// units counts the UTF-16 units of a text: one for each rune, two for those
// that UTF-8 writes in four bytes. Eight bytes of ASCII are counted at once.
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

// count counts the tokens of a window that was built of a path.
func count(p Path, w *Window, o Options) Tokens {
	counter := o.Counter
	if counter == nil {
		counter = Chars{}
	}
	at, said := reporter(p)
	if said != nil && foreign(&p.Entries[at], o.Agent, o.Owner) != "" {
		said = nil // another agent was sent another system prompt and other tools
	}
	t := Tokens{System: counter.CountText(w.System), Estimated: true}
	behind := 0
	for i := range w.Items {
		it := &w.Items[i]
		it.Tokens = counter.CountMessage(&it.Message)
		t.Items += it.Tokens
		if said != nil && it.at > at {
			t.Since += it.Tokens
			behind++
		}
	}
	t.Total = t.System + t.Items
	if said != nil {
		t.Reported = said.Usage.Context()
		t.Total = t.Reported + t.Since
		t.Estimated = behind > 0 || !w.Ask.Same(said)
	}
	return t
}

// reporter finds the latest answer whose usage tells the size of the
// conversation as it still is: nothing was compacted or hidden since, wherever
// that was said, nor left out or shortened.
func reporter(p Path) (at int, said *firn.Message) {
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
