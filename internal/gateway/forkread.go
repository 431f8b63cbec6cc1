package gateway

import "firn.dev"

// readEntry is an entry that was read: decoded, or with its ID and the reason why not.
type readEntry struct {
	firn.Entry
	err  error
	size int
}

// decoded decodes a record.
func decoded(rec *firn.Record) readEntry {
	e, err := rec.Entry()
	if err != nil {
		e = firn.Entry{ID: rec.Glance.ID}
	}
	return readEntry{e, err, len(rec.Line())}
}

// readEntries are the first entries of a session, kept while its structure is read, so that
// a fork reads the session once. A session with more than [copyBytes] is not kept.
type readEntries struct {
	entries []readEntry
	size    int
	// done is set if no more entries are kept.
	done bool
}

// add keeps the next entry of the session, up to the last one that is needed; all if last is
// empty.
func (r *readEntries) add(rec *firn.Record, last firn.EntryID) {
	if r.done {
		return
	}
	if r.size += len(rec.Line()); r.size > copyBytes {
		r.entries, r.done = nil, true
		return
	}
	r.entries = append(r.entries, decoded(rec))
	r.done = last != "" && rec.Glance.ID == last
}
