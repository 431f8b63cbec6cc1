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

// progressFile records up to which entry each conversation was examined. It is written
// together with the extracted facts.
const (
	progressFile = ".extraction_state.json"
	// keptProgress is the number of conversations that are recorded.
	keptProgress = 2000
)

// progress records up to which entry conversations were examined.
type progress struct {
	Sessions map[firn.ID]examinedUpTo `json:"sessions"`
}

type examinedUpTo struct {
	Entry firn.EntryID `json:"entry"`
	Time  time.Time    `json:"time"`
}

func readProgress(text string) progress {
	var p progress
	if json.Unmarshal([]byte(text), &p) != nil || p.Sessions == nil {
		p.Sessions = make(map[firn.ID]examinedUpTo) // the file only saves work
	}
	return p
}

// with returns the content of the progress file with more entries.
func (p progress) with(more map[firn.ID]firn.EntryID, now time.Time) content {
	for id, entry := range more {
		p.Sessions[id] = examinedUpTo{entry, now.UTC().Truncate(time.Second)}
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

// content returns the content of the progress file.
func (p progress) content() content {
	data, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return content{}
	}
	return content{string(data) + "\n", true}
}

// readState reads a state file, bypassing the cache.
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

// Examined returns the entry up to which a conversation was examined; empty if it was not.
func (d *Dir) Examined(session firn.ID) (firn.EntryID, error) {
	c, err := d.readState(progressFile)
	if err != nil {
		return "", err
	}
	return readProgress(c.text).Sessions[session].Entry, nil
}

// Learn stores the facts extracted from a conversation that was examined up to an entry. It
// is atomic and idempotent. Without facts it only records the progress. Facts from sources
// erased meanwhile are not stored.
func (d *Dir) Learn(ctx context.Context, facts []Fact, session firn.ID, upTo firn.EntryID) (Change, error) {
	var done Change
	err := d.retryLocked(ctx, func() error {
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
		if living := erased.remainingFacts(facts); len(living) > 0 {
			work := newWorkspace(files, dayStart(now))
			work.add(living)
			work.write(change, files)
			change.index(files)
		}
		if session != "" && upTo != "" && !erased.contains(Source{Session: session}) {
			old, err := d.readState(progressFile)
			if err != nil {
				return err
			}
			to := readProgress(old.text).with(map[firn.ID]firn.EntryID{session: upTo}, now)
			if change.dropUnchanged(); len(change.Files) == 0 {
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

// dayStart returns the start of the day of a time, as used in notes.
func dayStart(at time.Time) time.Time {
	return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)
}
