// Package compact shortens conversations by replacing their older part with a summary.
//
// [Settings] define when to compact and [NewPlan] decides where to cut; both are pure.
// [Run] performs the compaction: it reads the path, has a model summarize the older part in
// pieces that fit the model, checks the answers, and appends one compaction to the log. No
// message is changed or removed, so [Undo] restores the previous window and [Redo] the
// compacted one.
//
// The package guarantees:
//
//   - Termination. The number of calls and the time are bounded. If a model fails, gives
//     no usable answer or is not available, the summary is made without one.
//   - Progress. The result was measured and fits. If it cannot be made to fit, the error
//     is a [*TooBig] with the sizes. Failures are recorded in the log; after several in
//     a row, compaction runs only on request.
//   - Atomicity. No lock is held during a model call, and messages appended in the
//     meantime are kept. Only the single entry at the end takes effect.
//
// The package does not decide what is sent to a model; package window does.
package compact
