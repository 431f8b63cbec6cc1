package openclaw

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"firn.dev"
	"firn.dev/internal/base/rawjson"
	"firn.dev/internal/formats/dialect"
)

// Index says how the table must read so that the key leads to the transcript. A
// key that is not told is made from the session, so that no other session loses
// its own. What else the table holds stays as it is. A table that makes no sense
// is an ErrCorrupt: writing it anew would lose all other sessions.
func (layout) Index(home fs.FS, file string, to dialect.Target) ([]dialect.File, error) {
	dir := path.Dir(file)
	rows, err := readTable(home, dir)
	if err != nil {
		return nil, fmt.Errorf("entering session %s: %w", to.Session, err)
	}
	at := rows.find(file, to)
	if at < 0 {
		if key := keyFor(file, to); rows.at(key) < 0 {
			rows = append(rows, row{key: key})
		}
		at = rows.at(keyFor(file, to))
	}
	rows[at].enter(path.Base(file), to)
	data, err := rows.append(nil)
	if err != nil {
		return nil, fmt.Errorf("entering session %s: %w", to.Session, err)
	}
	return []dialect.File{{Path: path.Join(dir, tableName), Data: data}}, nil
}

// find returns the place of the row that is to lead to the file: the key's in
// whatever spelling, or if no key is told the one that does already; -1 if there
// is none.
func (t table) find(file string, to dialect.Target) int {
	base := path.Base(file)
	name, _ := parseName(base)
	for i, r := range slices.Backward(t) { // of two rows with one key the last counts
		if to.Key != "" && sameKey(r.key, to.Key) || to.Key == "" && r.leadsTo(base, name) {
			return i
		}
	}
	return -1
}

// at returns the place of the row of a key; -1 if there is none. Of two rows with
// one key the last counts.
func (t table) at(key string) int {
	for i, r := range slices.Backward(t) {
		if sameKey(r.key, key) {
			return i
		}
	}
	return -1
}

// keyFor is the key for a session that has none in the table, made from the name
// of its file: each file has a row of its own.
func keyFor(file string, to dialect.Target) string {
	if key := strings.ToLower(to.Key); key != "" {
		return key
	}
	name, _ := parseName(path.Base(file))
	return "agent:" + agentOf(path.Dir(file)) + ":firn-" + strings.ToLower(name.id)
}

// counters tell of the session that a row leads to, and not of the next one.
var counters = []string{"inputTokens", "outputTokens", "totalTokens", "totalTokensFresh", "cacheRead", "cacheWrite", "compactionCount", "memoryFlushAt", "memoryFlushCompactionCount", "systemSent", "abortedLastRun", "sessionStartedAt"}

// enter makes the row lead to a file of its directory.
func (r *row) enter(file string, to dialect.Target) {
	name, _ := parseName(file)
	was := r.text("sessionId")
	if was != name.id {
		if was != "" {
			r.unset(counters...)
		}
		r.set("sessionId", rawjson.AppendString(nil, name.id))
	}
	updated := int64(0)
	if !to.Updated.IsZero() {
		updated = to.Updated.UnixMilli()
	}
	r.set("updatedAt", strconv.AppendInt(nil, max(updated, r.millis("updatedAt")), 10))
	r.file(file, name)
	if was == name.id || r.title() == "" { // what another session was called stays with the key
		r.name(to.Title)
	}
	r.spell()
}

// name gives the session a title where the one stands that is shown: a label if
// it has one. Labels are short; a longer title takes its place.
func (r *row) name(title string) {
	title, _ = firn.CleanText(title)
	if title = strings.TrimSpace(title); title == "" || title == r.title() {
		return
	}
	if r.text("label") != "" {
		if len([]rune(title)) <= maxLabel {
			r.set("label", rawjson.AppendString(nil, title))
			return
		}
		r.unset("label")
	}
	r.set("displayName", rawjson.AppendString(nil, title))
}

// maxLabel is how many characters OpenClaw allows in a label.
const maxLabel = 64

// file tells the row its file, if that is not named after the session alone or
// the row names another one.
func (r *row) file(file string, name fileName) {
	was := r.text("sessionFile")
	dir, base := path.Split(strings.ReplaceAll(was, `\`, "/"))
	switch {
	case was != "" && base == file:
	case was != "":
		r.set("sessionFile", rawjson.AppendString(nil, dir+file))
	case file != name.id+ext:
		r.set("sessionFile", rawjson.AppendString(nil, file))
	}
}
