package serve

import "firn/internal/line"

// eraseTyped takes what is to be erased out of what was typed at terminals of this
// home, whoever asked for it, and returns how many lines went.
func (h *House) eraseTyped(texts []string) (int, error) {
	var typed line.Typed
	for _, text := range texts {
		typed.Add(text)
	}
	return line.EraseHistory(h.fs, line.HistoryPath(h.home()), typed.Has)
}
