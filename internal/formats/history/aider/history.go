package aider

import (
	"io/fs"
	"strconv"
	"strings"
	"time"

	"firn.dev/internal/formats/history"
)

// The marks of lines.
const (
	headMark   = "# aider chat started at "
	promptMark = "#### "
	noticeMark = "> "
	lineEnd    = "  " // before the newline of prompts and notices
)

// run is a run of Aider.
type run struct {
	// started is the time of its heading, empty for text before the first one.
	started     string
	firstPrompt string
	blocks      []block
	// strict is set if prompts and notices end with two spaces, which
	// distinguishes them from similar lines of the model. The first such line determines it.
	strict, known bool
}

// block is a prompt, an answer or notices: consecutive lines with the same role.
type block struct {
	role string
	text strings.Builder
}

// The roles of blocks.
const (
	user, assistant, notice = "user", "assistant", "notice"
)

// split returns the runs in a history. Windows ends lines with a carriage return too.
func split(text string) []run {
	runs := []run{{}}
	for line := range strings.Lines(strings.ReplaceAll(text, "\r\n", "\n")) {
		if started, ok := strings.CutPrefix(line, headMark); ok && isTime(started) {
			runs = append(runs, run{started: strings.TrimSpace(started)})
			continue
		}
		runs[len(runs)-1].add(line)
	}
	return runs
}

// isTime reports whether a text is the time in a heading.
func isTime(text string) bool { return !history.ParseTime(strings.TrimSpace(text)).IsZero() }

// add adds a line with its newline to a run. Blank lines belong to an answer that they follow,
// and separate prompts.
func (r *run) add(line string) {
	role := r.roleOf(line)
	blank := strings.TrimSpace(line) == ""
	if role == user && r.firstPrompt == "" && strings.HasSuffix(line, "\n") {
		r.firstPrompt = promptText(line)
	}
	if n := len(r.blocks); n > 0 {
		last := &r.blocks[n-1]
		if last.role == role && !(role == user && strings.HasSuffix(last.text.String(), "\n\n")) || blank {
			last.text.WriteString(line)
			return
		}
	}
	if blank {
		return // before the first block
	}
	r.blocks = append(r.blocks, block{role: role})
	r.blocks[len(r.blocks)-1].text.WriteString(line)
}

// roleOf returns the role of a line.
func (r *run) roleOf(line string) string {
	role := notice
	if strings.HasPrefix(line, promptMark) {
		role = user
	} else if !strings.HasPrefix(line, noticeMark) {
		return assistant
	}
	ended := strings.HasSuffix(line, lineEnd+"\n")
	if !r.known {
		r.known, r.strict = true, ended
	}
	if r.strict && !ended {
		return assistant
	}
	return role
}

// promptText returns the text of a prompt without its marks.
func promptText(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(strings.TrimPrefix(line, promptMark), " \n"))
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// session returns the session of a run; false if it has no prompt.
func (r *run) session(prompts []prompt) (s history.Session, ok bool) {
	if r.firstPrompt == "" {
		return s, false
	}
	s.ID, s.Title = r.id(), history.OneLine(r.firstPrompt)
	s.Created = history.ParseTime(r.started)
	times := r.promptTimes(s.Created, prompts)
	s.Updated = s.Created
	for _, at := range times {
		if at.After(s.Updated) {
			s.Updated = at
		}
	}
	s.Records = func() ([][]byte, error) { return r.records(s.ID, times), nil }
	return s, true
}

// promptTimes returns the times of prompts by the number of their block: the time of the next
// prompt in the other file with the same text, from the start of the run on.
func (r *run) promptTimes(started time.Time, prompts []prompt) map[int]time.Time {
	times := make(map[int]time.Time)
	for !started.IsZero() && len(prompts) > 0 && prompts[0].at.Before(started) {
		prompts = prompts[1:]
	}
	if started.IsZero() {
		return times
	}
	for i := range r.blocks {
		if r.blocks[i].role != user {
			continue
		}
		text := promptText(r.blocks[i].text.String())
		for n, p := range prompts {
			if p.text == text {
				times[i], prompts = p.at, prompts[n+1:]
				break
			}
		}
	}
	return times
}

// records returns the heading and a record for each block, with its lines as they are.
func (r *run) records(id string, times map[int]time.Time) [][]byte {
	all := [][]byte{history.Record("session", id, "started", history.Quote(r.started))}
	for i := range r.blocks {
		b := &r.blocks[i]
		all = append(all, history.Record("message", strconv.Itoa(i+1), append(history.Timestamp(times[i]), "role", history.Quote(b.role), "text", history.Quote(b.text.String()))...))
	}
	return all
}

// prompt is a prompt in the file of prompts.
type prompt struct {
	at   time.Time
	text string
}

// readPrompts reads the file of prompts: for each a line with its time, "# 2026-01-02
// 03:04:05.678901", and its lines, each with a leading plus sign. Other lines are ignored.
func readPrompts(home fs.FS) (prompts []prompt) {
	data, err := fs.ReadFile(home, promptFile)
	if err != nil {
		return nil
	}
	var lines []string
	var at time.Time
	flush := func() {
		if text := strings.TrimSpace(strings.Join(lines, "\n")); text != "" && !at.IsZero() {
			prompts = append(prompts, prompt{at, text})
		}
		lines = nil
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\r\n")
		if text, ok := strings.CutPrefix(line, "+"); ok {
			lines = append(lines, strings.TrimRight(text, " "))
		} else if text, ok := strings.CutPrefix(line, "# "); ok {
			flush()
			at = history.ParseTime(text)
		}
	}
	flush()
	return prompts
}
