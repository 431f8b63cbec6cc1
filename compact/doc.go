// Package compact shortens conversations: a summary stands for the part that is
// cut off.
//
// [Settings] say when, [NewPlan] says where; both are pure. [Run] does it: it
// takes the path as it is, lets a model summarise what goes, in pieces that
// fit the model, checks what came, and appends one compaction to the log.
// Nothing that was said is changed or removed, so that [Undo] gives back the
// window that was there before, and [Redo] takes it away again.
//
// Three things are promised:
//
//   - It ends. The number of calls and the time are bounded; where a model
//     fails, says nothing of use or is not there, the summary is made without one.
//   - It shrinks. What is committed was measured, and fits; if it cannot be made
//     to fit the error is a [*TooBig] that names the sizes. Failures are written
//     to the log, and after some in a row nothing more is tried without being asked.
//   - It is seen whole or not at all. No lock is held while a model is asked; what
//     is said meanwhile is kept and seen. Only the one entry at the end counts.
//
// The package never decides what a model is sent: that is for package window.
package compact
