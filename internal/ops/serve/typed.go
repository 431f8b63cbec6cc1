package serve

import "firn.dev/internal/disk/history"

// eraseTyped removes the given texts from the input history of this home and returns the
// number of lines removed.
func (h *Instance) eraseTyped(texts []string) (int, error) {
	var typed history.Typed
	for _, text := range texts {
		typed.Add(text)
	}
	return history.Erase(h.fs, history.Path(h.home()), typed.Has)
}
