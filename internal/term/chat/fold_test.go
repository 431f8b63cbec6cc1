package chat

import (
	"encoding/json"
	"strings"
	"testing"

	"firn.dev/provider/scripted"
	"firn.dev/wire"
)

// TestHelpPages reads the help on pages and returns to the chat.
func TestHelpPages(t *testing.T) {
	d := newBoardTest(t, nil)
	d.press("/help\r")
	d.shows("Commands and keys")
	d.shows("/new")
	d.shows("q closes")
	d.press("G")
	d.shows("HEAD~n")
	d.press("g/retry\r")
	d.screen.AwaitThat(t, "the search is at the top", func() bool {
		lines := strings.Split(d.screen.String(), "\n")
		return len(lines) > 1 && strings.Contains(lines[1], "/retry")
	})
	d.press("q")
	d.screen.AwaitThat(t, "the chat is back", func() bool {
		return !d.screen.Mode("?1049") && strings.Contains(d.screen.String(), "› /help") && !strings.Contains(d.screen.String(), "q closes")
	})
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Error(err)
	}
}

// TestUnfold checks that nothing is unfolded if nothing was folded, that Ctrl-O shows folded
// text in full, and that lines printed meanwhile appear afterwards.
func TestUnfold(t *testing.T) {
	d := newBoardTest(t, nil, scripted.Reply("An answer."))
	d.press("\x0f")
	d.shows("(nothing is folded)")
	b := d.c.screen.(*board)
	b.fold("shell seq 100", outputLines("first\n"+strings.Repeat("line\n", 98)+"last"), foldedOutput)
	d.shows("97 more lines (Ctrl-O shows all)")
	if strings.Contains(d.screen.String(), "last") {
		t.Error("the output is not folded")
	}
	d.press("\x0f")
	d.shows("shell seq 100")
	d.shows("of 100")
	d.press("G")
	d.shows("last")
	b.note("printed meanwhile")
	if strings.Contains(d.screen.String(), "meanwhile") {
		t.Error("a line was printed over the pager")
	}
	d.press("\x0f")
	d.shows("printed meanwhile")
	d.press("hello\r")
	d.sees("An answer.")
	d.sees(" on disk")
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Error(err)
	}
}

func TestLastLines(t *testing.T) {
	r := &running{}
	r.addOutput("one\ntwo\n\nthree\n")
	r.addOutput("four\nfive\nsix\n 10%\r 50%\r100%")
	if got, want := strings.Join(r.lastLines(), "|"), "    three|    four|    five|    six|    100%"; got != want {
		t.Errorf("the last lines are %q, want %q", got, want)
	}
	r.addOutput(strings.Repeat("x", 3*maxTail))
	if len(r.tail) > maxTail {
		t.Errorf("%d bytes are kept", len(r.tail))
	}
}

// TestUnfoldDiffs checks that Ctrl-O shows a folded diff in full, of /diff and of a question.
func TestUnfoldDiffs(t *testing.T) {
	d := newBoardTest(t, nil)
	diff := "--- a/f\n+++ b/f\n@@ -0,0 +1,60 @@\n+the first line\n" + strings.Repeat("+a line\n", 58) + "+the final line\n"
	for name, show := range map[string]func(){
		"/diff f": func() { d.c.showDiff("/diff f", diff, foldedDiff) },
		"edit":    func() { approvalPrompt{d.c}.showQuestion(wire.Approval{Name: "edit", Diff: diff}, foldedDiff) },
	} {
		show()
		d.shows("43 more lines (Ctrl-O shows all)")
		if strings.Contains(d.screen.String(), "the final line") {
			t.Errorf("%s: the diff is not folded", name)
		}
		d.press("\x0f")
		d.shows("the first line")
		d.press("/final\r")
		d.shows("+the final line")
		d.press("q")
		d.screen.AwaitThat(t, "the chat is back", func() bool { return !d.screen.Mode("?1049") })
	}
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Error(err)
	}
}

// TestQuestionShowsWholeCall checks that a question shows all of a command, however long it is:
// its end can be what matters.
func TestQuestionShowsWholeCall(t *testing.T) {
	d := newBoardTest(t, nil)
	call := func(command string) wire.Approval {
		raw, err := json.Marshal(map[string]any{"command": command, "background": true})
		if err != nil {
			t.Fatal(err)
		}
		return wire.Approval{Call: command, Name: "shell", Arguments: raw}
	}
	ask := func(command string) { approvalPrompt{d.c}.showQuestion(call(command), foldedDiff) }
	ask("echo " + strings.Repeat("x", 150) + "; rm -rf important")
	d.shows("Allow shell echo xxx")
	d.shows("rm -rf important")
	d.shows("y yes")
	ask("cd one\nrm two")
	d.shows("Allow shell cd one rm two (in the background)?")
	d.shows("    cd one")
	d.shows("    rm two")
	ask(strings.Repeat("echo line\n", 30) + "rm three")
	d.shows("11 more lines (Ctrl-O shows all)")
	d.shows("d show all of it")
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Error(err)
	}
}

// TestOneQuestionAtATime checks that of several calls that wait for approval one is shown, so
// that an answer is for the question that is seen.
func TestOneQuestionAtATime(t *testing.T) {
	d := newBoardTest(t, nil)
	c := approvalPrompt{d.c}
	c.looping = true
	for _, call := range []string{"one", "two", "three"} {
		c.question(t.Context(), wire.Approval{Call: call, Name: "mail", Digest: call, Arguments: json.RawMessage(`{"to":"` + call + `"}`)})
	}
	d.shows("Allow mail one?")
	for _, next := range [][2]string{{"one", "two"}, {"two", "three"}} {
		if strings.Contains(d.screen.String(), "Allow mail "+next[1]) {
			t.Errorf("two questions are shown:\n%s", d.screen.String())
		}
		c.approvalEvent(t.Context(), event(t, wire.ApprovalAnswered, wire.ApprovalAnswer{Call: next[0], Decision: wire.ApprovalAllow}))
		d.shows("Allow mail " + next[1] + "?")
	}
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Error(err)
	}
}

// TestRejectedAnswerIsAskedAgain checks that a question whose answer was not accepted is shown
// when the turn asks it again.
func TestRejectedAnswerIsAskedAgain(t *testing.T) {
	d := newBoardTest(t, nil)
	c := approvalPrompt{d.c}
	c.looping = true
	if err := c.ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	q := wire.Approval{Call: "one", Name: "mail", Digest: "one", Arguments: json.RawMessage(`{"to":"ann"}`)}
	c.question(t.Context(), q)
	if !c.tryAnswer(t.Context(), "y") { // no turn asks it yet
		t.Fatal("y is not an answer")
	}
	if q, ok := c.approvals.current(); ok {
		t.Errorf("%+v still waits", q)
	}
	c.question(t.Context(), q)
	if got, ok := c.approvals.current(); !ok || got.Call != q.Call {
		t.Error("the question is not asked again")
	}
	if n := strings.Count(d.screen.String(), "Allow mail ann?"); n != 2 {
		t.Errorf("the question was shown %d times:\n%s", n, d.screen.String())
	}
	d.press("\x04")
	if err := d.wait(); err != nil {
		t.Error(err)
	}
}
