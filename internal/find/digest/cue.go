package digest

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// cue is a bit set of the topics that the words of a sentence indicate.
type cue int

const (
	rule     cue = 1 << iota // a rule or constraint
	personal                 // about the user and their preferences
	decision                 // a decision
	plan                     // a plan
	done                     // completed work
	trouble                  // a problem
	fact                     // a statement of fact
)

// cueWords are the phrases that indicate a cue. They are English; in other languages
// nothing is recognized, and only the first and last requests are used.
var cueWords = phrases(map[cue]string{
	rule: "must, never, always, don't, do not, please use, make sure, should not, shouldn't, mustn't, avoid, " +
		"required, needs to be, only use, be sure to, under no circumstances, no matter what",
	personal: "my name is, call me, i'm called, i am called, i live, i prefer, i like, i love, i hate, i dislike, i work, i use, i want, " +
		"remember, keep in mind, prefer, prefers, note that, my favorite, my favourite, my birthday, my email, for the record",
	decision: "decided, we will, we'll, let's, let us, instead, chose, chosen, going with, go with, agreed, settled on, opted, decision",
	plan:     "next step, next steps, next i, i will, i'll, i am going to, i'm going to, todo, plan to, planned, the plan is, remaining, still to do, still need",
	done: "fixed, added, implemented, created, updated, removed, deleted, wrote, written, completed, finished, renamed, refactored, " +
		"replaced, moved, installed, tests pass, now works, now passes, is done, merged, deployed, resolved",
	trouble: "blocked, stuck, fails, failing, failed, doesn't work, does not work, broken, crashes, crashed",
	fact:    "is, are, was, were, has, have, equals, costs, means",
})

// phrase is the words of a phrase after the first.
type phrase struct {
	rest string
	cue  cue
}

// phrases indexes phrases by their first word.
func phrases(lists map[cue]string) map[string][]phrase {
	byWord := make(map[string][]phrase)
	for cue, list := range lists {
		for words := range strings.SplitSeq(list, ", ") {
			first, rest, _ := strings.Cut(words, " ")
			byWord[first] = append(byWord[first], phrase{rest, cue})
		}
	}
	return byWord
}

// cueLength is how much of a sentence is examined, in bytes.
const cueLength = 600

// cues finds the cues of sentences. It reuses a buffer.
type cues struct{ plain []byte }

func (c *cues) find(sentence string) (found cue) {
	c.plain = appendPlain(c.plain[:0], sentence[:min(len(sentence), cueLength)])
	for at := 0; at < len(c.plain); {
		end := at + bytes.IndexByte(c.plain[at:], ' ')
		for _, p := range cueWords[string(c.plain[at:end])] {
			if p.rest == "" || startsWithWords(c.plain[end+1:], p.rest) {
				found |= p.cue
			}
		}
		at = end + 1
	}
	if strings.HasSuffix(sentence, "?") || strings.HasSuffix(sentence, "？") {
		found &^= rule | personal | fact // "must I always …?" is not a rule
	}
	return found
}

func startsWithWords(plain []byte, words string) bool {
	return len(plain) > len(words) && string(plain[:len(words)]) == words && plain[len(words)] == ' '
}

// appendPlain appends the words of a sentence in lower case (ASCII only), each followed by
// a space. Apostrophes of any kind are part of a word.
func appendPlain(dst []byte, sentence string) []byte {
	word := false
	for i := 0; i < len(sentence); i++ {
		c := sentence[i]
		switch {
		case strings.HasPrefix(sentence[i:], "’"):
			c = '\''
			i += len("’") - 1
		case c >= 'A' && c <= 'Z':
			c += 'a' - 'A'
		}
		if c >= utf8.RuneSelf || c == '\'' || nameByte(c) && c != '.' {
			dst = append(dst, c)
			word = true
		} else if word {
			dst = append(dst, ' ')
			word = false
		}
	}
	if word {
		dst = append(dst, ' ')
	}
	return dst
}

// Notes returns the sentences of the user worth remembering: facts about the user,
// preferences, rules and decisions. They are in order, without duplicates.
func Notes(lines []Line) []string {
	var c cues
	var notes section
	for i, l := range lines {
		if l.Role != "user" || l.Kind != Speech {
			continue
		}
		for s := range Sentences(UserText(l.Text)) {
			if c.find(s)&(rule|personal|decision) != 0 {
				notes.add(tidy(s, itemChars), i)
			}
		}
	}
	return notes.texts()
}
