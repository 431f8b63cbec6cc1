package main

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"firn.dev"
	"firn.dev/internal/formats/convert"
	"firn.dev/internal/formats/dialect"
	"firn.dev/internal/formats/dialects"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// judged is the set of dialogues and questions for measuring recall; see testdata/recall
// and its README.
type judged struct {
	Talk      []spoken
	Questions []question
}

// spoken is a line of the dialogues. A line with a title starts a session, one with a
// fixture names a transcript of another tool, and the others are messages.
type spoken struct {
	Session string    `json:"session"`
	Title   string    `json:"title"`
	Fixture string    `json:"fixture"`
	ID      string    `json:"id"`
	Time    time.Time `json:"time"`
	Role    string    `json:"role"`
	Text    string    `json:"text"`
	Noise   bool      `json:"noise"`
	Calls   []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"calls"`
}

// question is a later question, phrased differently. Each of its answers is a list of
// equivalent entries, of which one is enough.
type question struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	// Wording is "other" if the words of the answer were avoided where possible, and "near"
	// if the question uses words as a user would remember them.
	Wording  string     `json:"wording"`
	Question string     `json:"question"`
	Answers  [][]string `json:"answers"`
}

// halves are the parts of the set. Only the misses of the first may be used for tuning.
var halves = []string{"dev", "heldout"}

//go:embed testdata/recall/*.jsonl
var recallFiles embed.FS

// judgedHalf reads a half of the set.
func judgedHalf(half string) (judged, error) {
	talk, err := jsonLines[spoken]("testdata/recall/" + half + "-talk.jsonl")
	if err != nil {
		return judged{}, err
	}
	questions, err := jsonLines[question]("testdata/recall/" + half + "-questions.jsonl")
	return judged{Talk: talk, Questions: questions}, err
}

func jsonLines[T any](name string) ([]T, error) {
	data, err := recallFiles.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []T
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	for {
		var next T
		switch err := d.Decode(&next); err {
		case nil:
			all = append(all, next)
		case io.EOF:
			return all, nil
		default:
			return nil, fmt.Errorf("read %s, line %d: %w", name, len(all)+1, err)
		}
	}
}

// judgedHome writes the sessions of the set into a home. Fixtures are read from below root.
func judgedHome(ctx context.Context, home, root string, set judged) (*filestore.Store, error) {
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return nil, err
	}
	if err := fillHome(ctx, st, root, set); err != nil {
		st.Close() // the first error counts
		return nil, err
	}
	return st, nil
}

func fillHome(ctx context.Context, st *filestore.Store, root string, set judged) error {
	entries := make(map[string][]firn.Entry)
	var order []string
	for _, line := range set.Talk {
		switch {
		case line.Fixture != "":
			if err := takeFixture(ctx, st, firn.ID("recall-"+line.Session), root+"/"+line.Fixture); err != nil {
				return err
			}
		case line.Title != "":
			order = append(order, line.Session)
			entries[line.Session] = []firn.Entry{firn.NewEntry(&firn.Title{Name: line.Title})}
		default:
			before := entries[line.Session]
			if len(before) == 1 {
				before[0].Time = line.Time
			}
			entries[line.Session] = append(before, line.entry(before[len(before)-1]))
		}
	}
	for _, name := range order {
		if _, err := st.Append(ctx, firn.ID("recall-"+name), store.Start, entries[name]...); err != nil {
			return err
		}
	}
	return nil
}

// entry returns a message as an entry after before.
func (s spoken) entry(before firn.Entry) firn.Entry {
	m := &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: s.Text}}, Time: s.Time}
	switch s.Role {
	case "assistant":
		m.Role, m.StopReason = firn.RoleAssistant, firn.StopEnd
		for _, c := range s.Calls {
			m.Parts = append(m.Parts, firn.ToolCall{ID: "call-" + s.ID, Name: c.Name, Arguments: c.Arguments})
			m.StopReason = firn.StopToolUse
		}
	case "tool":
		result := firn.ToolResult{CallID: "call-" + string(before.ID), Content: m.Parts}
		if asked, ok := before.Body.(*firn.Message); ok {
			for _, part := range asked.Parts {
				if call, ok := part.(firn.ToolCall); ok {
					result.Name = call.Name
				}
			}
		}
		m.Role, m.Parts = firn.RoleToolResult, []firn.Part{result}
	}
	return firn.Entry{ID: firn.EntryID(s.ID), Time: s.Time, Body: m}
}

// takeFixture imports a transcript of another tool.
func takeFixture(ctx context.Context, st *filestore.Store, id firn.ID, path string) error {
	tool, ok := dialects.Find("claude")
	if !ok {
		return fmt.Errorf("%s has no reader", path)
	}
	src := convert.Transcript(tool, dialect.Origin{}, func() iter.Seq2[[]byte, error] {
		return func(yield func([]byte, error) bool) {
			f, err := os.Open(path)
			if err != nil {
				yield(nil, err)
				return
			}
			defer f.Close() // read-only
			convert.Lines(f, 0)(yield)
		}
	})
	_, err := convert.Import(ctx, st, id, src, &convert.Report{})
	return err
}
