package cli

import (
	"firn.dev/internal/term/chat"
	"firn.dev/internal/term/line"
)

// applyLook sets the colors, characters and keys of a chat from the settings and the
// environment. Without line editing, the streams themselves are adapted.
func (p chatCommands) applyLook(o *chat.Options) {
	o.Palette = p.palette()
	if s, err := p.settings(); err == nil { // invalid settings are reported elsewhere
		o.Vim, o.FixedColors = s.Chat.Keys == "vim", s.Chat.Theme != "auto"
	}
	if o.Device != nil || o.Palette == (line.Palette{}) {
		return
	}
	if o.Terminal.Out {
		o.Stdout = o.Palette.Tint(o.Stdout)
	}
	if o.Terminal.Err {
		o.Stderr = o.Palette.Tint(o.Stderr)
	}
}

// palette returns the colors and characters for the terminal. NO_COLOR removes colors, a
// locale without UTF-8 gets ASCII, and chat.theme or COLORFGBG set the background.
func (p *program) palette() line.Palette {
	look := line.Palette{
		NoColor: p.env("NO_COLOR") != "", ASCII: line.IsASCII(p.env("LC_ALL"), p.env("LC_CTYPE"), p.env("LANG")),
		Light: line.BackgroundOf(p.env("COLORFGBG")) == line.Light,
	}
	if s, err := p.settings(); err == nil && s.Chat.Theme != "auto" {
		look.Light = s.Chat.Theme == "light"
	}
	return look
}
