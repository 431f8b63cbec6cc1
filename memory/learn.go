package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"firn.dev"
)

// progressFile remembers up to where conversations were looked through. It is
// written together with what was found there.
const (
	progressFile = ".extraction_state.json"
	// keptProgress is how many conversations are remembered.
	keptProgress = 2000
)

// progress is up to where conversations were looked through.
type progress struct {
	Sessions map[firn.ID]looked `json:"sessions"`
}

type looked struct {
	Entry firn.EntryID `json:"entry"`
	Time  time.Time    `json:"time"`
}

func readProgress(text string) progress {
	var p progress
	if json.Unmarshal([]byte(text), &p) != nil || p.Sessions == nil {
		p.Sessions = make(map[firn.ID]looked) // it only saves work
	}
	return p
}

// with is the progress with more, as its file has it.
func (p progress) with(more map[firn.ID]firn.EntryID, now time.Time) content {
	for id, entry := range more {
		p.Sessions[id] = looked{entry, now.UTC().Truncate(time.Second)}
	}
	if len(p.Sessions) > keptProgress {
		oldest := slices.SortedFunc(maps.Keys(p.Sessions), func(a, b firn.ID) int {
			return cmp.Or(p.Sessions[a].Time.Compare(p.Sessions[b].Time), cmp.Compare(a, b))
		})
		for _, id := range oldest[:len(p.Sessions)-keptProgress] {
			delete(p.Sessions, id)
		}
	}
	return p.content()
}

// content is the progress as its file has it.
func (p progress) content() content {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return content{}
	}
	return content{string(data) + "\n", true}
}

// readState reads one of the files beside the notes, past the cache.
func (d *Dir) readState(name string) (content, error) {
	data, err := readAll(d.fs, d.memoryPath(name))
	if errors.Is(err, fs.ErrNotExist) {
		return content{}, nil
	}
	if err != nil {
		return content{}, fmt.Errorf("read the state of the notes: %w", err)
	}
	return content{string(data), true}, nil
}

// Looked is up to which entry a conversation was looked through; empty if it
// was not.
func (d *Dir) Looked(session firn.ID) (firn.EntryID, error) {
	c, err := d.readState(progressFile)
	if err != nil {
		return "", err
	}
	return readProgress(c.text).Sessions[session].Entry, nil
}

// Learn takes in facts that were found in a conversation, which was looked
// through up to an entry. It is all there or nothing, and to learn the same
// again changes nothing. With no facts it only remembers how far it was looked.
// What was erased meanwhile is not taken in.
func (d *Dir) Learn(ctx context.Context, facts []Fact, session firn.ID, upTo firn.EntryID) (Change, error) {
	var done Change
	err := d.again(ctx, func() error {
		files, err := d.read(ctx)
		if err != nil {
			return err
		}
		erased, err := d.tombstones()
		if err != nil {
			return err
		}
		now := d.clock()
		change := newDraft("extract", now)
		if living := erased.living(facts); len(living) > 0 {
			desk := newDesk(files, dayStart(now))
			desk.add(living)
			desk.write(change, files)
			change.index(files)
		}
		if session != "" && upTo != "" && !erased.buried(Source{Session: session}) {
			old, err := d.readState(progressFile)
			if err != nil {
				return err
			}
			to := readProgress(old.text).with(map[firn.ID]firn.EntryID{session: upTo}, now)
			if change.settle(); len(change.Files) == 0 {
				return d.writeContent(memoryDir+"/"+progressFile, to)
			}
			change.put(memoryDir+"/"+progressFile, old, to)
		}
		err = d.commit(ctx, change)
		done = change.Change
		return err
	})
	return done, err
}

// dayStart is the day of a time, as notes are dated.
func dayStart(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
}
