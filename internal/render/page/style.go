package page

import "firn.dev/internal/render/richtext"

// style returns the CSS of pages: a narrow column of text, with collapsed blocks on one
// line.
func style() string { return sheet + richtext.CSS() }

const sheet = `
:root { color-scheme: light dark; --ink: #1f2328; --soft: #57606a; --paper: #ffffff; --box: #f6f8fa; --line: #d0d7de; --user: #ddf4ff; --bad: #a40e26; --link: #0550ae; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --box: #161b22; --line: #30363d; --user: #0c2d4a; --bad: #ff7b72; --link: #79c0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 1rem; background: var(--paper); color: var(--ink); font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
header { border-bottom: 1px solid var(--line); margin-bottom: 1rem; }
h1 { font-size: 1.5rem; margin: 0; }
header p, footer, .note, time, .size, .preview { color: var(--soft); font-size: .85rem; }
article { margin: 1rem 0; padding: .5rem 1rem; border: 1px solid var(--line); border-radius: .5rem; }
article.user { background: var(--user); }
article.tool, article.shell, article.system { border-style: dashed; }
article.hidden { opacity: .75; }
h2 { font-size: .9rem; margin: 0 0 .25rem; color: var(--soft); font-weight: 600; }
h2 time { font-weight: 400; float: right; }
h3, h4, h5, h6 { margin: 1rem 0 .5rem; }
a { color: var(--link); }
img { max-width: 100%; height: auto; }
pre { background: var(--box); border: 1px solid var(--line); border-radius: .4rem; padding: .6rem; overflow-x: auto; white-space: pre-wrap; font: .85rem/1.45 ui-monospace, monospace; }
code { font-family: ui-monospace, monospace; font-size: .9em; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid var(--line); padding: .25rem .6rem; }
blockquote { margin: .5rem 0; padding-left: 1rem; border-left: 3px solid var(--line); color: var(--soft); }
details { margin: .4rem 0; }
summary { cursor: pointer; color: var(--soft); white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.compaction { border-top: 2px dashed var(--line); border-bottom: 2px dashed var(--line); padding: .5rem 0; }
.label { border: 1px solid var(--line); border-radius: 1rem; padding: 0 .5rem; font-weight: 400; }
.error { color: var(--bad); }
.damage { color: var(--bad); border: 1px solid var(--bad); border-radius: .4rem; padding: .4rem .6rem; }
footer { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: .5rem; }
@media (max-width: 30rem) { body { padding: .5rem; } h2 time { float: none; display: block; } }
@media print { body { max-width: none; font-size: 11pt; } article { break-inside: avoid-page; } details::details-content { content-visibility: visible; block-size: auto; } summary { white-space: normal; } }
`
