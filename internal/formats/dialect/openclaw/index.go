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

// Index returns the new table in which the key leads to the transcript. If no key is given,
// one is derived from the session, so that no other session loses its key. The rest of the
// table is unchanged. It fails with ErrCorrupt if the table is invalid: rewriting it would
// lose all other sessions.
func (layout) Index(home fs.FS, file string, to dialect.Target) ([]dialect.File, error) {
	dir := path.Dir(file)
	if agentOf(dir) != agentName(to.Agent) { // its key is that of an agent that OpenClaw does not have
		to.Key = ""
	}
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
	rows[at].leadTo(path.Base(file), to)
	data, err := rows.append(nil)
	if err != nil {
		return nil, fmt.Errorf("entering session %s: %w", to.Session, err)
	}
	return []dialect.File{{Path: path.Join(dir, tableName), Data: data}}, nil
}

// find returns the index of the row that is to lead to the file: the row of the key in any
// spelling, or, without a key, the row that already does. It returns -1 if there is none.
func (t table) find(file string, to dialect.Target) int {
	base := path.Base(file)
	name, _ := parseName(base)
	for i, r := range slices.Backward(t) { // of duplicate keys the last counts
		if to.Key != "" && sameKey(r.key, to.Key) || to.Key == "" && r.leadsTo(base, name) {
			return i
		}
	}
	return -1
}

// at returns the index of the row of a key, -1 if there is none. Of duplicate keys the last
// counts.
func (t table) at(key string) int {
	for i, r := range slices.Backward(t) {
		if sameKey(r.key, key) {
			return i
		}
	}
	return -1
}

// keyFor returns the key for a session without one in the table, derived from its file
// name, so that each file has its own row.
func keyFor(file string, to dialect.Target) string {
	if key := strings.ToLower(to.Key); key != "" {
		return key
	}
	name, _ := parseName(path.Base(file))
	return "agent:" + agentOf(path.Dir(file)) + ":firn-" + strings.ToLower(name.id)
}

// counters are members that describe the row's current session and are removed when it
// changes.
var counters = []string{"inputTokens", "outputTokens", "totalTokens", "totalTokensFresh", "cacheRead", "cacheWrite", "compactionCount", "memoryFlushAt", "memoryFlushCompactionCount", "systemSent", "abortedLastRun", "sessionStartedAt"}

// leadTo makes the row lead to a file in its directory.
func (r *row) leadTo(file string, to dialect.Target) {
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
	r.setSessionFile(file, name)
	if was == name.id || r.title() == "" { // the title of another session stays with the key
		r.setTitle(to.Title)
	}
	r.encode()
}

// setTitle sets the title in the member that is displayed: the label if there is one. A
// title too long for a label replaces it.
func (r *row) setTitle(title string) {
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

// maxLabel is OpenClaw's limit for labels in characters.
const maxLabel = 64

// setSessionFile sets the row's file if its name has more than the session ID or the row
// names another file.
func (r *row) setSessionFile(file string, name fileName) {
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
