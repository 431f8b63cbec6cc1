package memory

import "slices"

// Limits of comparing recalled notes with newer ones.
const (
	// mostCompared is the number of recalled notes that are compared.
	mostCompared = 20
	// factBytes is the length up to which a note is one statement. A longer one is kept if
	// a newer note contradicts it, since it may say more.
	factBytes = 200
)

// yield replaces each recalled note with the newest note that contradicts it.
func yield(hits []Hit, all []scoped) []Hit {
	var kept []Hit
	for i, h := range hits {
		later := -1
		if i < mostCompared {
			later = contradiction(h, all)
		}
		if later < 0 {
			kept = merge(kept, h)
			continue
		}
		name := "note " + string(h.Scope) + "/" + h.Ref
		newer := all[later].hit(h.Score)
		if len(h.Text) > factBytes {
			h.Disputed = "note " + string(newer.Scope) + "/" + newer.Ref
			kept = merge(kept, h)
		} else {
			newer.Replaces = []string{name}
		}
		kept = merge(kept, newer)
	}
	return kept
}

// merge adds a hit, or joins it with the same one.
func merge(hits []Hit, h Hit) []Hit {
	i := slices.IndexFunc(hits, func(o Hit) bool { return o.Scope == h.Scope && o.Ref == h.Ref && o.Text == h.Text })
	if i < 0 {
		return append(hits, h)
	}
	for _, name := range h.Replaces {
		if !slices.Contains(hits[i].Replaces, name) {
			hits[i].Replaces = append(hits[i].Replaces, name)
		}
	}
	return hits
}

// contradiction returns the index of the newest piece that contradicts an older one, or -1.
func contradiction(h Hit, all []scoped) int {
	at := slices.IndexFunc(all, func(p scoped) bool { return p.scope == h.Scope && p.ref == h.Ref && p.text == h.Text })
	if at < 0 || all[at].day.IsZero() {
		return -1
	}
	found := -1
	for i, p := range all {
		if len(p.text) > factBytes || !isLater(all, i, at) || found >= 0 && !isLater(all, i, found) || shared(p.textTerms, all[at].textTerms) == 0 {
			continue
		}
		if relate(all[at].text, p.text) == contrary {
			found = i
		}
	}
	return found
}

// isLater reports whether piece i was noted after piece j: on a later day, or below it in the
// same folder on the same day.
func isLater(all []scoped, i, j int) bool {
	a, b := all[i], all[j]
	if a.day.IsZero() || b.day.IsZero() {
		return false
	}
	return a.day.After(b.day) || a.day.Equal(b.day) && a.scope == b.scope && i > j
}
