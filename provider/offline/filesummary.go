package offline

import (
	"fmt"
	"regexp"
	"strings"

	"firn.dev/internal/base/pattern"
	"firn.dev/internal/find/digest"
)

// The limits of a file's summary.
const (
	maxHeadings     = 12
	maxDeclarations = 12
	maxSentences    = 5
	maxSentenceLen  = 240
)

var (
	headingLine     = pattern.New(`^#{1,4} +(.+?) *#*$`)
	declarationLine = pattern.New(`^(?:export |pub |public |private |static |async |default |abstract )*(?:func|type|class|def|fn|struct|interface|enum|trait|impl|module|package|const|var|function) +(\([^)]*\) *)?[A-Za-z_][\w.]*`)
)

// summarizeFile summarizes the text of a file: its size, its headings or declarations, and the
// first sentences of its paragraphs.
func summarizeFile(path, text string) string {
	lines := strings.Split(text, "\n")
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s.", path, counted(len(lines), "line"), counted(len(strings.Fields(text)), "word"))
	headings, comments := matching(lines, headingLine(), maxHeadings), false
	if declared := matching(lines, declarationLine(), maxDeclarations); len(declared) > len(headings) {
		headings, comments = declared, true
	}
	sentences := leadSentences(text, comments)
	if len(sentences) > 0 {
		b.WriteString(" Sentences picked from it:\n\n- " + strings.Join(sentences, "\n- "))
	}
	if len(headings) > 0 {
		b.WriteString("\n\nIts parts:\n\n- " + strings.Join(headings, "\n- "))
	}
	if len(sentences)+len(headings) == 0 {
		b.WriteString(" It begins with:\n\n" + fenced(head(text)))
	}
	return b.String()
}

// matching returns the lines that match, at most n of them.
func matching(lines []string, p *regexp.Regexp, n int) (found []string) {
	more := 0
	for _, l := range lines {
		m := p.FindStringSubmatch(strings.TrimRight(l, " \t\r{"))
		if m == nil {
			continue
		}
		if len(found) == n {
			more++
			continue
		}
		text := m[0]
		if strings.HasPrefix(text, "#") {
			text = m[1]
		}
		found = append(found, excerpt(text, 80))
	}
	if more > 0 {
		found = append(found, fmt.Sprintf("… and %d more", more))
	}
	return found
}

// leadSentences returns the first sentence of each of the first paragraphs of prose, or of the
// first comments.
func leadSentences(text string, comments bool) (found []string) {
	for paragraph := range strings.SplitSeq(withoutCode(text), "\n\n") {
		paragraph = strings.TrimSpace(paragraph)
		comment := strings.HasPrefix(paragraph, "//") || strings.HasPrefix(paragraph, "/*") || strings.HasPrefix(paragraph, "# ") || strings.HasPrefix(paragraph, `"""`)
		if comments {
			if comment {
				found = append(found, commentSentence(paragraph)...)
			}
			if len(found) >= maxSentences {
				return found[:maxSentences]
			}
			continue
		}
		if paragraph == "" || strings.HasPrefix(paragraph, "#") && !strings.Contains(paragraph, "\n") || strings.HasPrefix(paragraph, "|") || strings.HasPrefix(paragraph, "<") {
			continue
		}
		if first, rest, ok := strings.Cut(paragraph, "\n"); ok && strings.HasPrefix(first, "#") {
			paragraph = rest
		}
		for s := range digest.Sentences(strings.Join(strings.Fields(strings.TrimLeft(paragraph, "/*#>- ")), " ")) {
			if len(wordsOf(s)) >= 3 {
				found = append(found, excerpt(s, maxSentenceLen))
				break
			}
		}
		if len(found) == maxSentences {
			break
		}
	}
	return found
}

// commentSentence returns the first sentence of a comment, if it has one.
func commentSentence(paragraph string) []string {
	var words []string
	for line := range strings.Lines(paragraph) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "*") && !strings.HasPrefix(line, "/*") && !strings.HasPrefix(line, `"""`) {
			break
		}
		words = append(words, strings.Fields(strings.Trim(line, `/*#" `))...)
	}
	for s := range digest.Sentences(strings.Join(words, " ")) {
		if len(wordsOf(s)) >= 3 {
			return []string{excerpt(s, maxSentenceLen)}
		}
	}
	return nil
}

// withoutCode removes fenced blocks from a text.
func withoutCode(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
			continue
		}
		if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}
