// Package route determines the session of a message from outside.
//
// A message from outside is an [Envelope]. [Resolve] returns its [Route]: the agent that
// answers and the [Key] of the conversation. The package also makes the other decisions
// before a model is called: whether the current session has expired ([Fresh]), whether the
// text starts a new one ([Trigger]) or is a command ([ParseCommand]), how it is queued
// while a turn runs ([Queue]), and whether the answer may be sent ([SendPolicy]).
//
// All functions are pure: no files, no network, no clock. Time and time zone are arguments.
// Two senders never get the same key unless the settings say so; missing or unknown data is
// an error, never a shared default.
package route
