package offline

import (
	"cmp"
	"slices"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/base/secrets"
	"firn.dev/internal/base/title"
	"firn.dev/internal/find/digest"
	"firn.dev/window"
)

// silent is the answer of a model that has nothing to send to the user.
const silent = "NO_REPLY"

// summary summarizes the conversation contained in the request as a record, or the request
// itself if there is none. The result is at most half as long as the original, unless that
// is very short.
func (c *conversation) summary(limit int64) reply {
	previous, lines, long := "", c.lines, 0
	for i, h := range c.utterances {
		if h.by == bySummary && i == 0 {
			previous = h.text
		}
	}
	for _, l := range c.lines {
		long += len(l.Text)
		if l.Role != firn.RoleUser || l.Kind != digest.Speech {
			continue
		}
		record, ok := between(l.Text, "conversation")
		if !ok {
			continue
		}
		lines = digest.Parse(record)
		previous, _ = between(strings.Replace(l.Text, record, "", 1), "previous-summary")
	}
	most := min(int(limit)*4, max(long/2, 800))
	text := digest.Extract(previous, lines, most)
	if (window.Chars{}).CountText(text) > limit {
		text = digest.Extract(previous, lines, most/2) // characters that count twice
	}
	if text == "" {
		text = cutUnits("Nothing was said.", limit*4)
	}
	return reply{thought: "Picking sentences.", text: text}
}

// title returns a title of the user's first message.
func (c *conversation) title() reply {
	text := ""
	for _, l := range c.lines {
		if l.Role == firn.RoleUser && l.Kind == digest.Speech && text == "" {
			asked, ok := between(l.Text, "user")
			if !ok {
				asked = digest.UserText(l.Text)
			}
			text = asked
		}
	}
	return reply{thought: "The words that matter.", text: cmp.Or(title.Of(text), "A talk without words")}
}

// maxNotes limits the notes of one flush.
const maxNotes = 5

// flush stores the facts that the user stated and that are not stored yet.
func (c *conversation) flush() reply {
	if !c.offers("remember") || len(c.outcomes) > 0 {
		return reply{thought: "Nothing to write down.", text: silent}
	}
	written := ""
	for _, l := range c.lines {
		if l.Kind == digest.Call && l.Name == "remember" {
			written += l.Text
		}
	}
	for _, h := range c.utterances {
		if h.by == byNote {
			written += h.text
		}
	}
	var requests []digest.Line
	for _, ask := range c.userMessages[:max(0, len(c.userMessages)-1)] { // the last one is the request for notes
		requests = append(requests, digest.Line{Role: firn.RoleUser, Kind: digest.Speech, Text: ask})
	}
	notes := slices.DeleteFunc(digest.Notes(requests), func(note string) bool {
		return secrets.In(note) || strings.HasSuffix(note, "?") || strings.Contains(written, note) || strings.Contains(written, quoted(note))
	})
	if len(notes) == 0 {
		return reply{thought: "Nothing new to write down.", text: silent}
	}
	var b strings.Builder
	for i, note := range notes[max(0, len(notes)-maxNotes):] {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- The user said: " + note)
	}
	return c.call("Worth keeping.", wanted{tool: "remember", args: args{{"text", b.String()}}})
}

// quoted returns a text as encoded within a JSON string.
func quoted(text string) string {
	encoded := rawjson.AppendString(nil, text)
	return string(encoded[1 : len(encoded)-1])
}
