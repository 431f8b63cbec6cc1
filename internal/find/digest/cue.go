package digest

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// cue is what the words of a sentence tell of it. A sentence may have several.
type cue int

const (
	rule     cue = 1 << iota // what shall always or never be done
	personal                 // who the user is and what they like
	decision                 // what was settled
	plan                     // what was going to be done
	done                     // what was done
	trouble                  // what stands in the way
	fact                     // something is something
)

// cueWords are the phrases that tell. They are English; in other languages
// nothing is recognised and the first and last asks must do.
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

// phrase is a cue's words after the first.
type phrase struct {
	rest string
	cue  cue
}

// phrases lists phrases by their first word.
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

// cueLength bounds how much of a sentence is looked at.
const cueLength = 600

// cues finds the cues of sentences. It keeps a buffer between them.
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
		found &^= rule | personal | fact // "must I always …?" rules nothing
	}
	return found
}

func startsWithWords(plain []byte, words string) bool {
	return len(plain) > len(words) && string(plain[:len(words)]) == words && plain[len(words)] == ' '
}

// appendPlain adds the words of a sentence in lower case (of ASCII), each with
// a space behind it. An apostrophe belongs to a word, however it is written.
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

// Notes returns what the user said that is worth remembering for ever: who
// they are, what they like, what shall always or never be done, what was
// decided. The oldest stands first, and nothing twice.
func Notes(lines []Line) []string {
	var c cues
	var notes section
	for i, l := range lines {
		if l.Role != "user" || l.Kind != Said {
			continue
		}
		for s := range Sentences(Genuine(l.Text)) {
			if c.find(s)&(rule|personal|decision) != 0 {
				notes.add(tidy(s, itemChars), i)
			}
		}
	}
	return notes.texts()
}
