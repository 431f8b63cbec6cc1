package window_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/window"
)

// log is a session in memory, oldest first. Positions are ten apart.
type log []firn.Record

func (l *log) add(e firn.Entry) {
	at := firn.Pos(10 * len(*l))
	*l = append(*l, firn.NewRecord(at, at+10, e))
}

// back reads the log newest first and counts the records read.
func (l log) back(read *int) iter.Seq2[firn.Record, error] {
	return func(yield func(firn.Record, error) bool) {
		for _, rec := range slices.Backward(l) {
			*read++
			if !yield(rec, nil) {
				return
			}
		}
	}
}

// parse makes a log from lines such as "a < b compaction keep=c": an entry a with parent b.
// "a" alone is a root, "a < ?" has no parent field, "!" is a gap.
func parse(text string) log {
	var l log
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		at := firn.Pos(10 * len(l))
		if words[0] == "!" {
			l = append(l, firn.GapRecord(firn.Gap{Kind: firn.GapDamaged, At: at, Next: at + 10, Detail: "test"}))
			continue
		}
		l = append(l, parseRecord(at, words))
	}
	return l
}

func parseRecord(at firn.Pos, words []string) firn.Record {
	e := firn.Entry{ID: firn.EntryID(words[0]), Body: userBody(words[0])}
	noParent := false
	for i := 1; i < len(words); i++ {
		name, value, _ := strings.Cut(words[i], "=")
		switch name {
		case "<":
			i++
			noParent = words[i] == "?"
			if !noParent {
				e.Parent = firn.EntryID(words[i])
			}
		case "header":
			e = firn.Entry{Body: &firn.Header{Session: firn.ID(words[0]), Version: 3}}
		case "keep":
			e.Body = &firn.Compaction{Summary: "S" + words[0], FirstKept: firn.EntryID(value)}
		case "hide":
			e.Body = &firn.Tombstone{Target: firn.EntryID(value)}
		case "used":
			tokens, _ := strconv.ParseInt(value, 10, 64)
			e.Body = &firn.Message{Role: firn.RoleAssistant, Usage: &firn.Usage{Input: tokens}}
		case "erased":
			e.Body = &firn.Opaque{Type: firn.KindErased}
		case "model":
			e.Body = &firn.ModelChange{Provider: "p", Model: value}
		case "thinking":
			e.Body = &firn.ThinkingChange{Level: value}
		case "bad":
			g := firn.GlanceOf(e)
			g.NoParent = noParent
			return firn.LazyRecord(at, at+10, g, nil, func([]byte) (firn.Entry, error) { return firn.Entry{}, errors.New("bad line") })
		}
	}
	rec := firn.NewRecord(at, at+10, e)
	rec.Glance.NoParent = noParent
	return rec
}

func userBody(text string) *firn.Message {
	return &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: text}}}
}

// ids joins the IDs of the entries.
func ids(entries []firn.Entry) string {
	var b strings.Builder
	for i, e := range entries {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(string(e.ID))
	}
	return b.String()
}

func outs(p window.Path) string {
	var words []string
	for _, o := range p.Out {
		words = append(words, fmt.Sprintf("%s:%s-%s*%d@%d", o.Why, o.First, o.Last, o.Count, o.Before))
	}
	return strings.Join(words, " ")
}

func gaps(p window.Path) string {
	var words []string
	for _, g := range p.Gaps {
		words = append(words, fmt.Sprintf("%s:%s", g.Kind, g.Entry))
	}
	return strings.Join(words, " ")
}

func TestCollect(t *testing.T) {
	tests := []struct {
		name, log            string
		head                 firn.EntryID // CollectFrom if not empty
		entries, out, gaps   string
		read                 int // records requested
		compaction           firn.EntryID
		hidden, noHeader     bool
		wantHead             firn.EntryID
		model, thinkingLevel string
	}{
		{name: "empty", log: "", noHeader: true},
		{name: "header only", log: "s header", read: 1},
		{
			name: "linear", log: "s header\n a\n b < a\n c < b",
			entries: "a b c", read: 4, wantHead: "c",
		},
		{
			name: "another branch", log: "s header\n a\n b < a\n c < b\n d < a\n e < d",
			entries: "a d e", out: "other-branch:b-c*2@40", read: 6, wantHead: "e",
		},
		{
			name: "branch view", log: "s header\n a\n b < a\n c < b\n d < a\n e < d", head: "c",
			entries: "a b c", out: "other-branch:d-e*2@60", read: 6, wantHead: "c",
		},
		{
			name: "an older tree is not read", log: "s header\n x\n y < x\n a\n b < a",
			entries: "a b", out: "other-branch:-*-1@30", read: 3, wantHead: "b", noHeader: true,
		},
		{
			name: "compaction", log: "s header\n a\n b < a\n c < b\n k < c keep=b\n d < k",
			entries: "b c k d", out: "compacted:-*-1@20", read: 4, compaction: "k", wantHead: "d", noHeader: true,
		},
		{
			name: "compaction keeps the root", log: "s header\n a\n k < a keep=a\n d < k",
			entries: "a k d", read: 4, compaction: "k", wantHead: "d",
		},
		{
			name: "compaction keeps nothing", log: "s header\n a\n k < a keep=\n d < k",
			entries: "k d", out: "compacted:-*-1@20", read: 2, compaction: "k", wantHead: "d", noHeader: true,
		},
		{
			name: "compaction keeps itself", log: "s header\n a\n k < a keep=k\n d < k",
			entries: "k d", out: "compacted:-*-1@20", read: 2, compaction: "k", wantHead: "d", noHeader: true,
		},
		{
			name: "kept-from mark is not on the path", log: "s header\n a\n b < a\n x < a\n k < b keep=x\n d < k",
			entries: "k d", out: "compacted:a-b*2@40 other-branch:x-x*1@40", read: 6, compaction: "k", wantHead: "d",
		},
		{
			name: "older compaction in the kept part", log: "s header\n a\n b < a\n j < b keep=b\n c < j\n k < c keep=b\n d < k",
			entries: "b j c k d", out: "compacted:-*-1@20", read: 5, compaction: "k", wantHead: "d", noHeader: true,
		},
		{
			name: "compaction on another branch", log: "s header\n a\n b < a\n k < b keep=b\n c < a",
			entries: "a c", out: "other-branch:b-k*2@40", read: 5, wantHead: "c",
		},
		{
			name: "uncompact", log: "s header\n a\n b < a\n k < b keep=b\n c < k\n t < c hide=k",
			entries: "a b c t", out: "tombstoned:k-k*1@40", read: 6, wantHead: "t",
		},
		{
			name: "tombstone", log: "s header\n a\n b < a\n c < b\n d < c\n t < d hide=b\n u < t hide=c",
			entries: "a d t u", out: "tombstoned:b-c*2@40", read: 7, wantHead: "u",
		},
		{
			name: "tombstone on a tombstone", log: "s header\n a\n b < a\n t < b hide=a\n u < t hide=t",
			entries: "a b u", out: "tombstoned:t-t*1@40", read: 5, wantHead: "u",
		},
		{
			name: "tombstone on another branch", log: "s header\n a\n b < a\n t < b hide=a\n c < b",
			entries: "b c", out: "tombstoned:a-a*1@20", read: 5, wantHead: "c",
		},
		{
			name: "hidden head", log: "s header\n a\n b < a\n t < a hide=b", head: "b",
			entries: "a", out: "tombstoned:b-b*1@30", read: 4, wantHead: "b",
		},
		{
			name: "hidden kept-from mark", log: "s header\n a\n b < a\n c < b\n k < c keep=b\n t < k hide=b",
			entries: "c k t", out: "compacted:-*-1@20 tombstoned:b-b*1@30", read: 4, compaction: "k", wantHead: "t", noHeader: true,
		},
		{
			name: "hidden session", log: "s header\n a\n t < a hide=s", hidden: true,
			entries: "a t", read: 3, wantHead: "t",
		},
		{
			name: "a tombstone hides only earlier entries", log: "s header\n a\n t < a hide=b\n b < t",
			entries: "a t b", read: 4, wantHead: "b",
		},
		{
			name: "erased", log: "s header\n a\n b < a erased\n c < b",
			entries: "a b c", out: "erased:b-b*1@30", read: 4, wantHead: "c",
		},
		{
			name: "undecodable entry", log: "s header\n a\n b < a bad\n c < b",
			entries: "a c", gaps: "damaged:b", read: 4, wantHead: "c",
		},
		{
			name: "undecodable header", log: "s header bad\n a\n b < a",
			entries: "a b", gaps: "damaged:", read: 3, wantHead: "b", noHeader: true,
		},
		{
			name: "undecodable compaction", log: "s header\n a\n b < a\n k < b keep=b bad\n c < k",
			entries: "a b c", gaps: "damaged:k", read: 5, wantHead: "c",
		},
		{
			name: "gap in the file", log: "s header\n a\n !\n b < a",
			entries: "a b", gaps: "damaged:", read: 4, wantHead: "b",
		},
		{
			name: "no parent field", log: "s header\n a < ?\n x\n b < ?\n c < b",
			entries: "x b c", out: "other-branch:-*-1@20", gaps: "no-parent:b", read: 4, wantHead: "c", noHeader: true,
		},
		{
			name: "no parent field, to the first", log: "s header\n a < ?\n b < ?",
			entries: "a b", gaps: "no-parent:a no-parent:b", read: 3, wantHead: "b",
		},
		{
			name: "dangling parent", log: "s header\n a\n b < a\n !\n d < c\n e < d",
			entries: "a b d e", gaps: "damaged: dangling-parent:d", read: 6 * 3, wantHead: "e",
		},
		{
			name: "two dangling parents and a branch", log: "s header\n a\n b < a\n x < a\n d < c\n e < d\n y < b\n g < f\n h < g",
			entries: "a b y g h", out: "other-branch:x-e*3@60", gaps: "dangling-parent:g", read: 9 * 3, wantHead: "h",
		},
		{
			name: "dangling first entry", log: "s header\n d < c\n e < d",
			entries: "d e", gaps: "dangling-parent:d", read: 3 * 3, wantHead: "e",
		},
		{
			name: "a parent behind its child", log: "s header\n a\n b < c\n c < b",
			entries: "a b c", gaps: "dangling-parent:b", read: 4 * 3, wantHead: "c",
		},
		{
			name: "own parent", log: "s header\n a\n b < b",
			entries: "a b", gaps: "dangling-parent:b", read: 3 * 3, wantHead: "b",
		},
		{
			name: "same id twice", log: "s header\n a\n a < a\n b < a",
			entries: "a a b", read: 4, wantHead: "b",
		},
		{
			name: "dangling parent before a compaction", log: "s header\n a\n b < a\n d < c\n k < d keep=b\n e < k",
			entries: "b d k e", out: "compacted:-*-1@20", gaps: "dangling-parent:d", read: 6 + 6 + 4, compaction: "k", wantHead: "e",
		},
		{
			name: "state from the path", log: "s header\n m model=one\n n < m model=two\n h < n thinking=low\n a < h",
			entries: "m n h a", read: 5, wantHead: "a", model: "two", thinkingLevel: "low",
		},
		{
			name: "hidden state", log: "s header\n m model=one\n n < m model=two\n t < n hide=n",
			entries: "m t", out: "tombstoned:n-n*1@30", read: 4, wantHead: "t", model: "one",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var read int
			back := parse(tt.log).back(&read)
			p, err := window.Collect(back)
			if tt.head != "" {
				read = 0
				p, err = window.CollectFrom(back, tt.head)
			}
			if err != nil {
				t.Fatal(err)
			}
			check(t, "entries", ids(p.Entries), tt.entries)
			check(t, "out", outs(p), tt.out)
			check(t, "gaps", gaps(p), tt.gaps)
			check(t, "records read", read, tt.read)
			check(t, "head", p.Head, tt.wantHead)
			check(t, "hidden", p.Hidden, tt.hidden)
			check(t, "header missing", p.Header == nil, tt.noHeader)
			check(t, "model", p.State.Model, tt.model)
			check(t, "thinking level", p.State.ThinkingLevel, tt.thinkingLevel)
			var compaction firn.EntryID
			if p.Compaction != nil {
				compaction = p.Compaction.ID
			}
			check(t, "compaction", compaction, tt.compaction)
		})
	}
}

func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestCollectFromUnknown(t *testing.T) {
	var read int
	_, err := window.CollectFrom(parse("s header\n a").back(&read), "nope")
	if !errors.Is(err, firn.ErrNotFound) {
		t.Errorf("got %v, want an ErrNotFound", err)
	}
}

func TestCollectFailure(t *testing.T) {
	broken := errors.New("the disk is gone")
	calls := 0
	failAt := func(pass int) iter.Seq2[firn.Record, error] {
		calls = 0
		return func(yield func(firn.Record, error) bool) {
			calls++
			for i, rec := range slices.Backward(parse("s header\n a\n b < x\n c < b")) {
				if calls == pass && i == 1 {
					yield(firn.Record{}, broken)
					return
				}
				if !yield(rec, nil) {
					return
				}
			}
		}
	}
	for pass := 1; pass <= 3; pass++ {
		if _, err := window.Collect(failAt(pass)); !errors.Is(err, broken) {
			t.Errorf("failing in pass %d: got %v, want the sequence's error", pass, err)
		}
	}
}

// TestCollectWhileWritten checks that a session that grows between two passes is read as of
// the first pass, and that a replaced session is an error.
func TestCollectWhileWritten(t *testing.T) {
	l := parse("s header\n a\n b < x\n c < b")
	growing := func(yield func(firn.Record, error) bool) {
		now := slices.Clone(l)
		l.add(firn.Entry{ID: firn.EntryID(fmt.Sprint("new", len(l))), Parent: "a", Body: userBody("new")})
		var read int
		now.back(&read)(yield)
	}
	p, err := window.Collect(growing)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "entries", ids(p.Entries), "a b c")

	l = parse("s header\n a\n b < x\n c < b")
	shrinking := func(yield func(firn.Record, error) bool) {
		var read int
		l.back(&read)(yield)
		l = l[:2]
	}
	if _, err = window.Collect(shrinking); !errors.Is(err, firn.ErrReplaced) {
		t.Errorf("got %v, want an ErrReplaced", err)
	}
}

func TestStateFromCompaction(t *testing.T) {
	details := json.RawMessage(`{"State":{"modelId":"no"},"state":{"provider":"p","modelId":"m","thinkingLevel":"high"}}`)
	var l log
	l.add(firn.Entry{Body: &firn.Header{Session: "s"}})
	l.add(firn.Entry{ID: "a", Body: &firn.ThinkingChange{Level: "low"}})
	l.add(firn.Entry{ID: "k", Parent: "a", Body: &firn.Compaction{Summary: "S", FirstKept: "a", Details: details}})
	l.add(firn.Entry{ID: "b", Parent: "k", Body: &firn.Message{Role: firn.RoleAssistant, Provider: "openclaw", Model: "delivery-mirror"}})
	var read int
	p, err := window.Collect(l.back(&read))
	if err != nil {
		t.Fatal(err)
	}
	check(t, "state", p.State, firn.State{Provider: "p", Model: "m", ThinkingLevel: "high"})
}
