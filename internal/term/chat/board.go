package chat

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"firn.dev/internal/render/markdown"
	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

// board is a [screen] on a terminal with line editing. Printed lines scroll up; below them
// are rows with the current activity, and the input line at the bottom.
type board struct {
	term   *line.Terminal
	styles bool
	// out receives answers if stdout is not the terminal; nil if it is.
	out io.Writer

	mu sync.Mutex
	// text formats the current answer; nil between answers. outOpen is true if the last
	// line of out is incomplete.
	text    *markdown.Writer
	outOpen bool
	// calls are the running tool calls, and thought is the last line of the model's
	// thinking.
	calls   []running
	thought string
	working bool
	queue   []string
	// folds are the texts that were not shown in full.
	folds []folded
	err   error
}

// running is a running tool call and the end of its output.
type running struct{ id, what, tail string }

func newBoard(term *line.Terminal, o Options) *board {
	b := &board{term: term, styles: o.Terminal.Dim}
	if !o.Terminal.Out {
		b.out = o.Stdout
	}
	return b
}

func (b *board) seen() bool { return true }

func (b *board) failure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return b.err
	}
	if err := b.term.Err(); err != nil {
		return fmt.Errorf("print the answer: %w", err)
	}
	return nil
}

func (b *board) answer(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.out != nil {
		b.write(text)
		return
	}
	if b.text == nil {
		b.text = markdown.New(b.term.Width())
		if !b.styles {
			b.text = markdown.Plain(b.term.Width())
		}
	}
	b.show(b.text.Write(prose.CleanLines(text))...)
}

// write writes to stdout, which is not a terminal.
func (b *board) write(text string) {
	if b.err != nil || text == "" {
		return
	}
	if _, err := io.WriteString(b.out, text); err != nil {
		b.err = fmt.Errorf("print the answer: %w", err)
		return
	}
	b.outOpen = !strings.HasSuffix(text, "\n")
}

func (b *board) endAnswer() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outOpen {
		b.write("\n")
	}
	if b.text != nil {
		rows := b.text.End()
		b.text = nil
		b.show(rows...)
	}
}

func (b *board) thinking(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.thought = text
	b.show()
}

func (b *board) printf(format string, args ...any) {
	b.lines(strings.Split(fmt.Sprintf(format, args...), "\n"))
}

func (b *board) note(format string, args ...any) {
	b.lines([]string{b.dim(fmt.Sprintf(format, args...))})
}

func (b *board) lines(lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.show(prose.WrapAll(lines, b.term.Width())...)
}

func (b *board) width() int { return b.term.Width() }

func (b *board) problem(err error, hint string) {
	lines := problemLines(err, hint)
	if b.styles && headline(err) != "" {
		lines[0] = "\x1b[31m" + lines[0] + "\x1b[0m"
	}
	b.lines(lines)
}

func (b *board) callBegins(id, what string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, running{id: id, what: what})
	b.show()
}

func (b *board) callEnds(id, what, how string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = slices.DeleteFunc(b.calls, func(r running) bool { return r.id == id })
	b.show(prose.Wrap(b.dim("· "+what+" … "+how), b.term.Width())...)
}

func (b *board) callOutput(id, text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range b.calls {
		if b.calls[i].id == id {
			b.calls[i].addOutput(text)
		}
	}
	b.show()
}

func (b *board) busy(is bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.working = is
	if !is { // discard calls that did not end
		b.calls, b.thought = nil, ""
	}
	b.show()
}

func (b *board) showQueue(lines []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = slices.Clone(lines)
	b.show()
}

// show prints lines and redraws the activity rows below them.
func (b *board) show(lines ...string) {
	var live []line.Live
	for _, r := range b.calls {
		live = append(live, line.Live{Text: "· " + r.what + " …", Dim: true})
		for _, l := range r.lastLines() {
			live = append(live, line.Live{Text: l, Dim: true})
		}
	}
	if b.thought != "" {
		live = append(live, line.Live{Text: "· thinking: " + b.thought, Dim: true})
	}
	if b.text != nil {
		for _, l := range b.text.Live() {
			live = append(live, line.Live{Text: l})
		}
	}
	if b.working && len(live) == 0 {
		live = append(live, line.Live{Text: "· …", Dim: true})
	}
	for _, l := range b.queue {
		live = append(live, line.Live{Text: "  (queued) " + prose.OneLine(l, 200), Dim: true})
	}
	b.term.Show(lines, live...)
}

func (b *board) prompt() { b.term.Prompt(true) }

func (b *board) typed(text string) { b.term.Echo(text) }

func (b *board) endPrompt() {}

func (b *board) dim(text string) string {
	if !b.styles || text == "" {
		return text
	}
	return "\x1b[2m" + text + "\x1b[0m"
}
