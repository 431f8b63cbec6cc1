package index

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/store"
)

// fakeSource has n sessions that never change.
type fakeSource struct{ n int }

func (s fakeSource) info(i int) store.Info {
	return store.Info{
		ID: firn.ID(fmt.Sprintf("0199a%03x-0000-7000-8000-%012d", i%4096, i)), Agent: "main", CWD: "/home/somebody/projects/the-project",
		Title: fmt.Sprintf("Session number %d and what it is about", i), Prompt: "please have a look at the failing test in package store and tell me why it fails on Tuesdays only",
		Created: time.Unix(1_770_000_000+int64(i), 5_000_000), Updated: time.Unix(1_770_000_600+int64(i), 123_000_000), Bytes: 40_000 + int64(i), Parts: 1, End: 40_000,
	}
}

func (s fakeSource) standing(i int) store.Status {
	info := s.info(i)
	return store.Status{ID: info.ID, Agent: info.Agent, Bytes: info.Bytes, Modified: info.Updated, Parts: info.Parts}
}

func (s fakeSource) Census(context.Context) ([]store.Status, error) {
	standings := make([]store.Status, s.n)
	for i := range standings {
		standings[i] = s.standing(i)
	}
	return standings, nil
}

func (s fakeSource) Status(_ context.Context, id firn.ID) (store.Status, error) {
	i, err := s.number(id)
	if err != nil {
		return store.Status{}, err
	}
	return s.standing(i), nil
}

func (s fakeSource) Inspect(_ context.Context, id firn.ID) (store.Info, error) {
	i, err := s.number(id)
	if err != nil {
		return store.Info{}, err
	}
	return s.info(i), nil
}

func (s fakeSource) number(id firn.ID) (int, error) {
	i, err := strconv.Atoi(string(id[strings.LastIndexByte(string(id), '-')+1:]))
	if err != nil || i >= s.n || i < 0 || s.info(i).ID != id {
		return 0, fmt.Errorf("session %s: %w", id, firn.ErrNotFound)
	}
	return i, nil
}
