package storetest

import (
	"firn.dev"
	"firn.dev/store"

	"pgregory.net/rapid"
)

var someKeys = rapid.SampledFrom([]string{"k1", "agent:ops:k2", "agent:ops:k3"})

func (w *twins) doBind() {
	subject, model := capability[store.Keyed](w)
	key, id := someKeys.Draw(w.T, "key"), w.session()
	w.agree(subject.Bind(w.ctx, key, id), model.Bind(w.ctx, key, id))
}

func (w *twins) doLookup() {
	subject, model := capability[store.Keyed](w)
	key := someKeys.Draw(w.T, "key")
	got, err := subject.Lookup(w.ctx, key)
	want, modelErr := model.Lookup(w.ctx, key)
	if w.agree(err, modelErr) && got != want {
		w.Fatalf("%s: key %s points at %s, in the model at %s", w.doing, key, got, want)
	}
}

func (w *twins) doClaim() {
	subject, model := capability[store.Claimer](w)
	key, id := someKeys.Draw(w.T, "key"), w.session()
	got, err := subject.Claim(w.ctx, key, id)
	want, modelErr := model.Claim(w.ctx, key, id)
	if w.agree(err, modelErr) && got != want {
		w.Fatalf("%s: key %s is held by %s, in the model by %s", w.doing, key, got, want)
	}
}

func (w *twins) doArchive() {
	subject, model := capability[store.Remover](w)
	id := w.session()
	if rapid.Bool().Draw(w.T, "back") {
		w.agree(subject.Unarchive(w.ctx, id), model.Unarchive(w.ctx, id))
	} else {
		w.agree(subject.Archive(w.ctx, id), model.Archive(w.ctx, id))
	}
}

func (w *twins) doRemove() {
	subject, model := capability[store.Remover](w)
	id := w.session()
	w.agree(subject.Remove(w.ctx, id, "random"), model.Remove(w.ctx, id, "random"))
}

func (w *twins) doRestore() {
	subject, model := capability[store.Remover](w)
	id := w.session()
	w.agree(subject.Restore(w.ctx, id), model.Restore(w.ctx, id))
}

// doErase purges one or two entries of an existing session.
func (w *twins) doErase() {
	subject, model := capability[store.Remover](w)
	id := w.session()
	if _, err := drain(w.model.Read(w.ctx, id, store.End)); err != nil {
		return
	}
	ids := rapid.SliceOfN(w.someEntry(id), 1, 2).Draw(w.T, "entries")
	_, err := subject.Purge(w.ctx, id, "random", ids...)
	_, modelErr := model.Purge(w.ctx, id, "random", ids...)
	if w.agree(err, modelErr) {
		w.erased = true
		w.compareRead(id, store.Start, store.Start)
	}
}

// doPurge purges a session, but rarely, since there are only a few.
func (w *twins) doPurge() {
	subject, model := capability[store.Remover](w)
	id := w.session()
	if rapid.IntRange(0, 3).Draw(w.T, "sure") < 3 {
		return
	}
	_, err := subject.Purge(w.ctx, id, "random")
	_, modelErr := model.Purge(w.ctx, id, "random")
	w.agree(err, modelErr)
}

func (w *twins) doSync() {
	subject, model := capability[store.Deferred](w)
	id := w.session()
	w.agree(subject.Sync(w.ctx, id), model.Sync(w.ctx, id))
}

// someEntry draws an entry of a session, rarely an unknown one.
func (w *twins) someEntry(id firn.ID) *rapid.Generator[firn.EntryID] {
	known := w.entries[id]
	return rapid.Custom(func(t *rapid.T) firn.EntryID {
		n := rapid.IntRange(0, len(known)+len(known)/8).Draw(t, "entry")
		if n < len(known) {
			return known[len(known)-1-n]
		}
		return "nowhere"
	})
}
