package chat

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"firn.dev/internal/render/prose"
	"firn.dev/internal/term/line"
)

// suggest fills the menu of the input line: commands after a slash, files after an @.
func (c typing) suggest(before string) (from int, items []line.Item) {
	if typed, ok := strings.CutPrefix(before, "/"); ok {
		if strings.ContainsAny(typed, " \n/") {
			return -1, nil
		}
		return 0, commandItems(typed)
	}
	from, typed, ok := fileWord(before)
	if !ok {
		return -1, nil
	}
	return from, fileItems(c.project.list(), typed)
}

// commandItems returns the commands for typed text: first those that begin with it, then
// those that contain it.
func commandItems(typed string) []line.Item {
	typed = strings.ToLower(typed)
	var first, others []line.Item
	if name, ok := otherNames[typed]; ok {
		first = append(first, line.Item{Text: "/" + typed, Help: "as /" + name})
	}
	for _, cmd := range commands() {
		item := line.Item{Text: "/" + cmd.name, Name: "/" + strings.TrimSpace(cmd.name+" "+cmd.args), Help: cmd.help}
		item.Stay = cmd.args != "" && !strings.HasPrefix(cmd.args, "[")
		switch {
		case cmd.name == typed:
			first = append([]line.Item{item}, first...)
		case strings.HasPrefix(cmd.name, typed):
			first = append(first, item)
		case strings.Contains(cmd.name, typed):
			others = append(others, item)
		}
	}
	return append(first, others...)
}

// fileWord returns the word after an @ before the cursor, and where it begins.
func fileWord(before string) (from int, typed string, ok bool) {
	from = strings.LastIndexByte(before, '@')
	if from < 0 || from > 0 && !strings.ContainsRune(" \t\n(", rune(before[from-1])) {
		return 0, "", false
	}
	typed = before[from+1:]
	quoted := strings.HasPrefix(typed, `"`)
	typed = strings.TrimPrefix(typed, `"`)
	if !quoted && strings.ContainsAny(typed, " \t") || strings.ContainsAny(typed, "\"\n") {
		return 0, "", false
	}
	return from, typed, true
}

// maxFileItems is the number of files in the menu.
const maxFileItems = 50

// fileItems returns the files for typed text, the best matches first.
func fileItems(files []string, typed string) []line.Item {
	type match struct {
		name string
		rank int
	}
	var found []match
	typed = strings.ToLower(typed)
	for _, name := range files {
		if rank := matchFile(name, typed); rank > 0 {
			found = append(found, match{name, rank})
		}
	}
	slices.SortFunc(found, func(a, b match) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(len(a.name), len(b.name)), strings.Compare(a.name, b.name))
	})
	var items []line.Item
	for _, m := range found[:min(len(found), maxFileItems)] {
		text := "@" + m.name
		if strings.ContainsAny(m.name, " \t") {
			text = `@"` + m.name + `"`
		}
		items = append(items, line.Item{Text: text, Name: prose.Clean(m.name), Stay: true})
	}
	return items
}

// matchFile ranks a path for typed text in lower case; 1 is the best, 0 means that it does
// not match.
func matchFile(name, typed string) int {
	low := strings.ToLower(name)
	base := low[strings.LastIndexByte(low, '/')+1:]
	switch {
	case typed == "":
		return 1 + strings.Count(low, "/")
	case strings.HasPrefix(base, typed):
		return 1
	case strings.HasPrefix(low, typed):
		return 2
	case strings.Contains(base, typed):
		return 3
	case strings.Contains(low, typed):
		return 4
	}
	rest := low
	for _, r := range typed {
		i := strings.IndexRune(rest, r)
		if i < 0 {
			return 0
		}
		rest = rest[i+1:]
	}
	return 5
}

// project is the list of the project's files. It is read in the background when it is first
// needed, and again when it is old. It is safe for concurrent use.
type project struct {
	read    func(ctx context.Context) ([]string, error)
	changed func()
	now     func() time.Time

	mu      sync.Mutex
	files   []string
	at      time.Time
	reading bool
	cancel  context.CancelFunc
	run     sync.WaitGroup
	closed  bool
}

// fresh is how long a list of files is used, and listWait the most time for reading one.
const (
	fresh    = 5 * time.Second
	listWait = 20 * time.Second
)

// list returns the files that are known, and reads them again if needed. It never waits.
func (p *project) list() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.read != nil && !p.reading && !p.closed && (p.at.IsZero() || p.now().Sub(p.at) > fresh) {
		ctx, cancel := context.WithTimeout(context.Background(), listWait)
		p.reading, p.cancel = true, cancel
		p.run.Go(func() { p.fill(ctx) })
	}
	return p.files
}

// fill reads the list. If that fails, the old one is kept.
func (p *project) fill(ctx context.Context) {
	files, err := p.read(ctx)
	p.mu.Lock()
	p.cancel()
	if err == nil {
		p.files = files
	}
	p.reading, p.at = false, p.now()
	closed := p.closed
	p.mu.Unlock()
	if !closed {
		p.changed()
	}
}

// close stops reading.
func (p *project) close() {
	p.mu.Lock()
	p.closed = true
	if p.reading {
		p.cancel()
	}
	p.mu.Unlock()
	p.run.Wait()
}
