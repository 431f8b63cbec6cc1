package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/grep"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

const (
	// rareWord is in one entry of one session.
	rareWord = "quokkasaurus"
	// grepSessions and grepBytes are the number of sessions and the minimum bytes of text;
	// with the JSON around it, that is about a gigabyte.
	grepSessions = 11_000
	grepBytes    = 683_000_000
)

// grep searches many sessions for a rare word without an index, alternating with ripgrep on
// the same files.
func (b *bench) grep() error {
	home, fresh := b.home("grep")
	if fresh {
		if err := manyBytes(home); err != nil {
			return err
		}
	}
	rg, missing := exec.LookPath("rg")
	ours, theirs := time.Duration(1<<63-1), time.Duration(1<<63-1)
	for range 6 { // alternating; the first run warms the system's cache for both
		took, err := best(1, func() error { return grepHome(home) })
		if err != nil {
			return err
		}
		ours = min(ours, took)
		if missing != nil {
			continue
		}
		if took, err = best(1, func() error { return exec.Command(rg, "-F", "-c", rareWord, home).Run() }); err != nil {
			return err
		}
		theirs = min(theirs, took)
	}
	b.note("grep: one rare word in 1 GB, 11,000 sessions", ms(ours))
	if missing != nil {
		b.want("grep against ripgrep", "no rg here", "≤ 1.3 ×", false)
		return nil
	}
	b.note("the same with ripgrep", ms(theirs))
	b.want("grep 1 GB without an index against ripgrep", times(ratio(ours, theirs)), "≤ 1.3 ×", ratio(ours, theirs) <= 1.3)
	return nil
}

// grepHome finds the rare word, as firn grep does.
func grepHome(home string) error {
	files, err := grep.Files(vfs.OS{}, false, home)
	if err != nil {
		return err
	}
	found, err := grep.Run(context.Background(), vfs.OS{}, files, grep.Options{Pattern: regexp.MustCompile(rareWord)}, func(grep.Match) error { return nil })
	if err != nil {
		return err
	}
	if found.Matches != 1 || found.Bytes < grepBytes {
		return fmt.Errorf("grep found %d lines in %d bytes", found.Matches, found.Bytes)
	}
	return nil
}

// manyBytes fills a home with the sessions to search.
func manyBytes(home string) error {
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return err
	}
	t := newTalk(9)
	each := int64(grepBytes / grepSessions)
	for i := range grepSessions {
		var entries []firn.Entry
		for size := int64(0); size < each; {
			turn := t.turn()
			for _, e := range turn {
				size += 300 + partsSize(e.Body.(*firn.Message).Parts)
			}
			entries = append(entries, turn...)
		}
		if i == grepSessions/2 {
			entries = append(entries, userEntry("Where is the "+rareWord+"?"))
		}
		if _, err := st.Append(context.Background(), firn.NewID(), store.Start, entries...); err != nil {
			return err
		}
	}
	return st.Close()
}
