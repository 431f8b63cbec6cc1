package config

// Chat configures the chat in a terminal.
type Chat struct {
	Keys  string `key:"keys" default:"emacs" allow:"emacs|vim" doc:"The keys of the input line: those of shells (emacs), or those of vi, with a normal and an insert mode (vim). docs/keys.md lists them."`
	Mouse bool   `key:"mouse" default:"false" doc:"In firn browse, the mouse wheel scrolls and clicks select. The terminal then selects text with Shift."`
	Theme string `key:"theme" default:"auto" allow:"auto|light|dark" doc:"The background for which colors are chosen. auto asks the terminal, and uses COLORFGBG until it has answered."`
}
