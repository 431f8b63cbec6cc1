package main

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"firn.dev"
	"firn.dev/internal/disk/vfs"
	"firn.dev/internal/find/fulltext"
	"firn.dev/internal/find/search"
	"firn.dev/store"
	"firn.dev/store/filestore"
)

// search builds an index of many short messages and runs all kinds of queries, in a
// separate process.
func (b *bench) search() error {
	for _, size := range []struct {
		messages int
		most     time.Duration
	}{{100_000, 50 * time.Millisecond}, {1_000_000, 200 * time.Millisecond}} {
		home, fresh := b.home(fmt.Sprintf("search%d", size.messages))
		if fresh {
			if err := manyMessages(home, size.messages); err != nil {
				return err
			}
		}
		var r searched
		if err := spawn(&r, "search", home); err != nil {
			return err
		}
		of := grouped(size.messages) + " messages"
		rate := perSecond(size.messages, r.Build)
		b.want("index "+of, fmt.Sprintf("%s/s", grouped(int(rate))), "≥ 20,000/s", rate >= 20_000)
		b.want("index "+of+": peak memory of the process", fmt.Sprintf("%.0f MB", r.Peak), "≤ 300 MB", r.Peak <= 300)
		b.note("index "+of+": size of the index", fmt.Sprintf("%d MB", r.Size>>20))
		b.note("search "+of+": median", ms(r.Median))
		b.want("search "+of+": p99", ms(r.P99), "≤ "+ms(size.most), r.P99 <= size.most)
		b.note("search "+of+": slowest kind of query, p99", r.Slowest)
		b.want("append to "+of+": added by the index, p99", ms(r.Added), "≤ 1 ms", r.Added <= time.Millisecond)
	}
	return nil
}

func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// searched is the result of the child process.
type searched struct {
	Build, Median, P99, Added time.Duration
	Peak                      float64
	Size                      int64
	Slowest                   string
}

// lexicon generates words with a natural frequency distribution: a few are common, most are
// rare.
type lexicon struct {
	rng  *rand.Rand
	zipf *rand.Zipf
	all  []string
}

func newLexicon(seed uint64) *lexicon {
	rng := rand.New(rand.NewPCG(seed, 11))
	l := &lexicon{rng: rng, all: make([]string, 60_000)}
	syllables := strings.Fields("ka to mi re lo su ne vi da po ru ge sha ti bo la fe no qui za")
	made := rand.New(rand.NewPCG(5, 5))
	for i := range l.all {
		for range 2 + made.IntN(3) {
			l.all[i] += syllables[made.IntN(len(syllables))]
		}
	}
	l.zipf = rand.NewZipf(rng, 1.15, 4, uint64(len(l.all)-1))
	return l
}

func (l *lexicon) word() string { return l.all[l.zipf.Uint64()] }

// text returns a message of about 31 words.
func (l *lexicon) text() string {
	words := make([]string, 8+l.rng.IntN(47))
	for i := range words {
		words[i] = l.word()
	}
	return strings.Join(words, " ")
}

// manyMessages fills a home with sessions of 200 messages.
func manyMessages(home string, n int) error {
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return err
	}
	l := newLexicon(1)
	at := time.Now().Add(-time.Duration(n) * time.Minute)
	for done := 0; done < n; done += 200 {
		entries := make([]firn.Entry, 200)
		for i := range entries {
			at = at.Add(time.Minute)
			m := &firn.Message{Role: firn.RoleUser, Parts: []firn.Part{firn.Text{Text: l.text()}}, Time: at}
			if i%2 == 1 {
				m.Role, m.StopReason = firn.RoleAssistant, firn.StopEnd
			}
			entries[i] = firn.NewEntry(m)
			entries[i].Time = at
		}
		if _, err := st.Append(context.Background(), firn.NewID(), store.Start, entries...); err != nil {
			return err
		}
	}
	return st.Close()
}

func searchChild(args []string) (any, error) {
	ctx := context.Background()
	home := args[0]
	st, err := filestore.Open(home, filestore.Options{Sync: filestore.SyncNever})
	if err != nil {
		return nil, err
	}
	index := fulltext.New(vfs.OS{}, filepath.Join(home, "index"), st, fulltext.Options{Patience: time.Hour})
	var r searched
	start := time.Now()
	if err := index.Rebuild(ctx); err != nil {
		return nil, err
	}
	r.Build = time.Since(start)
	r.Peak = peakMemory()
	if info, err := (vfs.OS{}).Stat(filepath.Join(home, "index", "words.db")); err == nil {
		r.Size = info.Size
	}
	if err := r.queries(ctx, index); err != nil {
		return nil, err
	}
	if r.Added, err = added(ctx, st, index); err != nil {
		return nil, err
	}
	return r, index.Close()
}

// queries runs 700 queries of seven kinds.
func (r *searched) queries(ctx context.Context, index *fulltext.Index) error {
	l := newLexicon(2)
	kinds := []struct {
		name string
		make func() string
	}{
		{"rare", func() string { return l.all[len(l.all)/2+l.rng.IntN(len(l.all)/2)] }},
		{"usual", l.word},
		{"common", func() string { return l.all[l.rng.IntN(20)] }},
		{"all of", func() string { return l.word() + " AND " + l.word() }},
		{"either", func() string { return l.word() + " OR " + l.word() }},
		{"prefix", func() string { w := l.word(); return w[:min(len(w), 3+l.rng.IntN(3))] + "*" }},
		{"phrase", func() string { return `"` + l.word() + " " + l.word() + `"` }},
		{"question", func() string { return l.word() + " " + l.word() + " " + l.word() + " " + l.word() + " " + l.word() }},
	}
	var all []time.Duration
	slowest := time.Duration(0)
	for _, kind := range kinds {
		var own []time.Duration
		for i := range 101 {
			q, err := search.Parse(kind.make(), time.Now())
			if err != nil {
				return err
			}
			start := time.Now()
			if _, err := index.Search(ctx, q); err != nil {
				return err
			}
			if i > 0 {
				own = append(own, time.Since(start))
			}
		}
		all = append(all, own...)
		if p := percentile(own, 99); p > slowest {
			slowest, r.Slowest = p, kind.name+" "+ms(p)
		}
	}
	r.Median, r.P99 = percentile(all, 50), percentile(all, 99)
	return nil
}

func percentile(d []time.Duration, p int) time.Duration {
	slices.SortFunc(d, cmp.Compare[time.Duration])
	return d[min(len(d)-1, len(d)*p/100)]
}

// added measures the additional time of an append with the index.
func added(ctx context.Context, st *filestore.Store, index *fulltext.Index) (time.Duration, error) {
	wrapped := fulltext.Wrap(st, index)
	l := newLexicon(3)
	times := [2][]time.Duration{}
	ids := [2]firn.ID{firn.NewID(), firn.NewID()}
	for range 1000 {
		for i, s := range []store.Store{st, wrapped} {
			entry := userEntry(l.text())
			start := time.Now()
			if _, err := s.Append(ctx, ids[i], store.Any, entry); err != nil {
				return 0, err
			}
			times[i] = append(times[i], time.Since(start))
		}
	}
	return max(0, percentile(times[1], 99)-percentile(times[0], 99)), nil
}
