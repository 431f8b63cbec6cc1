package serve

import (
	"path/filepath"
	"strings"

	"firn.dev/internal/ops/config"
	"firn.dev/wire"
)

// personal are the settings of an agent that people change. Others, such as directories,
// commands and addresses, are not shown to those who may only read.
var personal = map[string]bool{
	"model": true, "fallbacks": true, "summarizer": true, "thinking": true, "description": true,
	"titles": true, "approvals.mode": true, "compaction.mode": true, "memory.enabled": true,
}

// shownSetting reports whether a setting is listed for clients.
func shownSetting(path string) bool {
	first, rest, _ := strings.Cut(path, ".")
	switch first {
	case "default_agent", "chat":
		return true
	case "defaults":
		return personal[rest]
	case "agents":
		_, rest, _ = strings.Cut(rest, ".")
		return personal[rest]
	}
	return false
}

// settingsList returns the settings that people change, as they were read last.
func (h *Instance) settingsList() []wire.Setting {
	s := h.shown.Load()
	if s == nil {
		s = h.o.Settings
	}
	list := []wire.Setting{}
	for _, e := range s.All() {
		if !shownSetting(e.Path) {
			continue
		}
		one := wire.Setting{Path: e.Path, Value: e.String(), Layer: string(e.Origin.Layer), Description: e.Field.Description}
		if e.Origin.Layer != config.FromDefault {
			origin := e.Origin
			origin.File = filepath.Base(origin.File)
			one.Where = origin.String()
		}
		list = append(list, one)
	}
	return list
}
