package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"firn.dev"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialect/native"
	"firn.dev/internal/formats/dialect/pi"
	"firn.dev/store"
	"firn.dev/store/memstore"
	"firn.dev/window"
	"firn.dev/wire"
)

// piMessages returns the lines of messages with these numbers, each a child of the one before.
func piMessages(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		parent := "null"
		if i > 1 {
			parent = fmt.Sprintf(`"%08x"`, i-1)
		}
		fmt.Fprintf(&b, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2020-01-01T00:00:01.000Z","message":{"role":"user","content":"theirs %d","timestamp":1577836801000}}`+"\n", i, parent, i)
	}
	return b.String()
}

// onRead calls a function when it is read, and returns its error.
type onRead func() error

func (f onRead) Read([]byte) (int, error) { return 0, f() }

// TestInterruptedImportKeepsHead interrupts imports into a session that was continued in firn
// after they added messages. The head stays at the messages that were written in firn.
func TestInterruptedImportKeepsHead(t *testing.T) {
	const head = `{"type":"session","version":3,"id":"both","timestamp":"2020-01-01T00:00:00.000Z","cwd":"/"}` + "\n"
	const many = 1500 // more than are read ahead and appended at a time
	lost := errors.New("the connection is lost")
	say := func(r *room, text string) error {
		_, err := r.Append(r.ctx, "both", store.Any, wire.NewEntries{User: text})
		return err
	}
	tests := map[string]func(t *testing.T, r *room) (last string){
		"the body fails": func(t *testing.T, r *room) string {
			body := io.MultiReader(strings.NewReader(head+piMessages(1, many)), onRead(func() error { return lost }))
			if _, err := r.Import(r.ctx, wire.Import{From: "pi"}, body); !errors.Is(err, lost) {
				t.Errorf("the import: %v", err)
			}
			return "mine"
		},
		"the client is gone": func(t *testing.T, r *room) string {
			ctx, cancel := context.WithCancel(r.ctx)
			body := io.MultiReader(strings.NewReader(head+piMessages(1, many)), onRead(func() error { cancel(); return lost }))
			if _, err := r.Import(ctx, wire.Import{From: "pi"}, body); err == nil {
				t.Error("the import succeeded")
			}
			return "mine"
		},
		"the process ended": func(t *testing.T, r *room) string {
			src := convert.Transcript(r.Tools[0], dialect.Origin{}, func() iter.Seq2[[]byte, error] { return convert.Lines(strings.NewReader(head+piMessages(1, many)), 0) })
			if _, err := convert.Import(r.ctx, r.Store, "both", src, &convert.Report{}); err != nil {
				t.Fatal(err)
			}
			for i, wantBranch := range []bool{true, false} { // the second has nothing left to do
				done, err := r.Import(r.ctx, wire.Import{From: "pi"}, strings.NewReader(head+piMessages(1, many)))
				if err != nil || done.Added != 0 || (done.Branch != "") != wantBranch {
					t.Errorf("repetition %d: %+v, %v", i, done, err)
				}
			}
			return "mine"
		},
		"a message during the import": func(t *testing.T, r *room) string {
			body := io.MultiReader(strings.NewReader(head+piMessages(1, many)), onRead(func() error {
				if err := say(r, "also mine"); err != nil {
					return err
				}
				return io.EOF
			}), strings.NewReader(piMessages(many+1, 2*many)))
			done, err := r.Import(r.ctx, wire.Import{From: "pi"}, body)
			if err != nil || done.Branch == "" {
				t.Errorf("the import: %+v, %v", done, err)
			}
			return "also mine"
		},
	}
	for name, interrupt := range tests {
		t.Run(name, func(t *testing.T) {
			r := newRoom(t, memstore.New(memstore.Options{}), "")
			r.Tools = []dialect.Tool{pi.New(native.New())}
			got(r.Import(r.ctx, wire.Import{From: "pi"}, strings.NewReader(head+piMessages(1, 2))))(t)
			if err := say(r, "mine"); err != nil {
				t.Fatal(err)
			}
			last := interrupt(t, r)
			if text := lastText(t, r, "both"); text != last {
				t.Errorf("the head is at %q, want %q", text, last)
			}
		})
	}
}

// lastText returns the text of the last message of the branch.
func lastText(t *testing.T, r *room, id firn.ID) (text string) {
	t.Helper()
	path := got(window.Collect(r.Store.ReadBack(r.ctx, id, store.End)))(t)
	for _, e := range path.Entries {
		if m, ok := e.Body.(*firn.Message); ok {
			text = m.Text()
		}
	}
	return text
}
