package serve

import "firn.dev/internal/disk/history"

// eraseTyped takes what is to be erased out of what was typed at terminals of this
// home, whoever asked for it, and returns how many lines went.
func (h *House) eraseTyped(texts []string) (int, error) {
	var typed history.Typed
	for _, text := range texts {
		typed.Add(text)
	}
	return history.Erase(h.fs, history.Path(h.home()), typed.Has)
}
