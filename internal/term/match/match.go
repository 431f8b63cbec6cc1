// Package match ranks sessions by typed text.
package match

import (
	"strings"

	"firn.dev/internal/base/fuzzy"
	"firn.dev/wire"
)

// Latest is the number of latest sessions that are ranked by fuzzy matching. Older ones are
// found by the gateway: by a substring of the title or first message, and by content.
const Latest = 1000

// Sessions returns the sessions whose title, first message, directory or key matches all
// words of a text, best first; without words, all of them. An ID matches by a part of it.
func Sessions(all []wire.Session, text string) []wire.Session {
	return fuzzy.Rank(all, text, fields)
}

// fields returns the texts of a session that are matched.
func fields(s wire.Session) []fuzzy.Field {
	place := s.CWD
	if place == "" {
		place = s.Key
	}
	name := place[strings.LastIndexAny(place, `/\`)+1:]
	return []fuzzy.Field{{Text: s.Title, Weight: 100}, {Text: s.Prompt, Weight: 90}, {Text: name, Weight: 90}, {Text: place, Weight: 80}, {Text: string(s.ID), Weight: 50, Exact: true}}
}

// AppendNew appends the sessions that are not in the list yet.
func AppendNew(list, more []wire.Session) []wire.Session {
	seen := make(map[string]bool, len(list))
	for _, s := range list {
		seen[string(s.ID)] = true
	}
	list = list[:len(list):len(list)]
	for _, s := range more {
		if !seen[string(s.ID)] {
			seen[string(s.ID)] = true
			list = append(list, s)
		}
	}
	return list
}
