package highlight

import (
	"strings"
	"sync"
)

// Grammar describes a language as far as coloring needs it.
type Grammar struct {
	name string
	// line starts a comment up to the end of the line; block are the delimiters of block
	// comments.
	line  []string
	block [][2]string
	// quotes are the string delimiters, longest first. Those of three characters and the
	// backquote may span lines.
	quotes []string
	// words are the keywords, types the built-in names; fold ignores case.
	words, types map[string]bool
	fold         bool
	// marks are characters that make the following word a name: decorators and variables.
	marks string
	// keys reports whether the language has named members. prose reports whether a
	// parenthesis after a word is not a call.
	keys, prose bool
	// scan, if not nil, is called first. It returns the class and the length of the next
	// token in rest, which is at position at of the code. A length of zero leaves it to the
	// rest of the grammar.
	scan func(code string, at int, rest string) (class string, n int)
}

// Name returns the name of the language.
func (g *Grammar) Name() string { return g.name }

// Lookup returns the grammar of a language by its name or file extension.
func Lookup(name string) (*Grammar, bool) {
	if len(name) > 20 {
		return nil, false
	}
	name = strings.ToLower(strings.Trim(name, "{}."))
	if full, ok := aliases[name]; ok {
		name = full
	}
	g, ok := grammars()[name]
	return g, ok
}

// aliases are alternative names of languages.
var aliases = map[string]string{
	"golang": "go", "py": "python", "python3": "python", "js": "javascript", "jsx": "javascript", "mjs": "javascript", "node": "javascript", "ts": "typescript", "tsx": "typescript",
	"jsonl": "json", "json5": "json", "jsonc": "json", "yml": "yaml", "ini": "toml", "conf": "toml", "sh": "bash", "shell": "bash", "zsh": "bash", "console": "bash", "fish": "bash", "dockerfile": "docker",
	"h": "c", "cc": "cpp", "hpp": "cpp", "c++": "cpp", "cxx": "cpp", "objc": "cpp", "cs": "csharp", "c#": "csharp", "kt": "kotlin", "rs": "rust", "rb": "ruby", "pl": "perl", "hs": "haskell", "ml": "ocaml", "ex": "elixir", "clj": "clojure",
	"patch": "diff", "svg": "xml", "vue": "html", "svelte": "html", "less": "css", "scss": "css", "make": "makefile", "tf": "hcl", "terraform": "hcl", "protobuf": "proto", "ps1": "powershell", "pwsh": "powershell", "latex": "tex", "postgres": "sql", "mysql": "sql", "sqlite": "sql",
}

// set returns the set of words in a line.
func set(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[w] = true
	}
	return m
}

// grammars are all grammars by name. They are made at the first use: most commands color
// nothing.
var grammars = sync.OnceValue(makeGrammars)

// Delimiters of comments and strings that languages share.
var (
	slashes = []string{"//"}
	hashes  = []string{"#"}
	stars   = [][2]string{{"/*", "*/"}}
	two     = []string{`"`, "'"}
	three   = []string{`"""`, "'''", `"`, "'"}
	ticks   = []string{`"`, "'", "`"}
)

// makeGrammars returns all grammars.
func makeGrammars() map[string]*Grammar {
	cTypes := set("int long short char bool float double void unsigned signed size_t uint8_t uint16_t uint32_t uint64_t int8_t int16_t int32_t int64_t byte string String true false null NULL nullptr")
	cWords := "if else for while do switch case default break continue return goto struct union enum typedef static const extern inline sizeof volatile register "
	classy := cWords + "class interface public private protected abstract final override new this super extends implements import package namespace using try catch finally throw throws async await yield in is as get set virtual operator template typename auto var let val fun func "
	jsWords := set("if else for while do switch case default break continue return function class extends new delete typeof instanceof in of var let const import export from as async await yield try catch finally throw this super static get set void interface type enum implements public private protected readonly namespace declare abstract keyof infer satisfies")
	jsTypes := set("true false null undefined NaN string number boolean any unknown never object Array Map Set Promise Record Date Error JSON Math console window document process")
	return byName([]*Grammar{
		{name: "go", line: slashes, block: stars, quotes: ticks, words: set("break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var"), types: set("bool byte complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr any comparable true false nil iota append cap clear close copy delete len make max min new panic print println recover")},
		{name: "python", line: hashes, quotes: three, marks: "@", words: set("and as assert async await break class continue def del elif else except finally for from global if import in is lambda match case nonlocal not or pass raise return try while with yield"), types: set("True False None self cls int str float bool bytes list dict set tuple object len range print open isinstance super enumerate zip map filter sorted type Exception ValueError TypeError KeyError")},
		{name: "javascript", line: slashes, block: stars, quotes: ticks, marks: "@", words: jsWords, types: jsTypes},
		{name: "typescript", line: slashes, block: stars, quotes: ticks, marks: "@", words: jsWords, types: jsTypes},
		{name: "json", line: slashes, block: stars, quotes: []string{`"`}, keys: true, words: set("true false null")},
		{name: "yaml", line: hashes, quotes: two, marks: "&*!", keys: true, prose: true, words: set("true false null yes no on off")},
		{name: "toml", line: []string{"#", ";"}, quotes: three, keys: true, prose: true, words: set("true false")},
		{name: "bash", line: hashes, quotes: ticks, marks: "$", prose: true, words: set("if then else elif fi for in do done while until case esac function select time return exit break continue local export readonly declare unset shift trap set source eval exec"), types: set("cd echo printf read test cat grep sed awk find xargs sort uniq head tail cut tr wc ls cp mv rm mkdir chmod curl git go npm pip python node docker make sudo ssh tar kill ps true false")},
		{name: "powershell", line: hashes, block: [][2]string{{"<#", "#>"}}, quotes: two, marks: "$@", fold: true, words: set("if else elseif for foreach while do switch function param return break continue try catch finally throw begin process end filter in")},
		{name: "c", line: slashes, block: stars, quotes: two, marks: "#", words: set(cWords), types: cTypes},
		{name: "cpp", line: slashes, block: stars, quotes: two, marks: "#", words: set(classy), types: cTypes},
		{name: "csharp", line: slashes, block: stars, quotes: two, marks: "#", words: set(classy + "foreach out ref params record sealed partial where select"), types: cTypes},
		{name: "java", line: slashes, block: stars, quotes: three, marks: "@", words: set(classy + "record sealed permits instanceof synchronized transient"), types: cTypes},
		{name: "kotlin", line: slashes, block: stars, quotes: three, marks: "@", words: set(classy + "when object companion data sealed suspend by where internal lateinit"), types: set("Int Long String Boolean Double Float Unit Any Nothing List Map Set true false null")},
		{name: "scala", line: slashes, block: stars, quotes: three, marks: "@", words: set(classy + "def object trait match with given case sealed lazy implicit"), types: set("Int Long String Boolean Double Unit Any Nothing List Map Option Some None true false null")},
		{name: "swift", line: slashes, block: stars, quotes: []string{`"""`, `"`}, marks: "@#", words: set(classy + "guard defer extension protocol struct enum init deinit self where repeat inout mutating associatedtype some any"), types: set("Int String Bool Double Float Array Dictionary Set Optional true false nil")},
		{name: "dart", line: slashes, block: stars, quotes: three, marks: "@", words: set(classy + "mixin on late required part library show hide dynamic"), types: cTypes},
		{name: "php", line: []string{"//", "#"}, block: stars, quotes: two, marks: "$", words: set(classy + "function echo foreach elseif endif use fn match trait global isset unset require include"), types: set("true false null int string bool array float void mixed")},
		{name: "rust", line: slashes, block: stars, quotes: []string{`"`}, words: set("as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move mut pub ref return self static struct super trait type unsafe use where while"), types: set("i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char str String Vec Option Some None Result Ok Err Box Rc Arc Self true false")},
		{name: "zig", line: slashes, quotes: two, marks: "@", words: set("const var fn pub return if else while for switch break continue defer errdefer try catch orelse struct enum union error comptime inline extern export test usingnamespace async await suspend resume unreachable and or"), types: set("u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool void type anytype true false null undefined")},
		{name: "ruby", line: hashes, quotes: two, marks: "@$:", words: set("alias and begin break case class def defined do else elsif end ensure extend false for if in include module next nil not or raise redo require rescue retry return self super then true undef unless until when while yield puts attr_accessor attr_reader")},
		{name: "perl", line: hashes, quotes: two, marks: "$@%", words: set("my our local sub if elsif else unless while until for foreach return use no package last next redo die warn print push shift pop keys values eval do and or not eq ne lt gt le ge")},
		{name: "lua", line: []string{"--"}, quotes: two, words: set("and break do else elseif end for function goto if in local not or repeat return then until while"), types: set("true false nil self print pairs ipairs require")},
		{name: "r", line: hashes, quotes: two, words: set("if else for while repeat function return break next in library require"), types: set("TRUE FALSE NULL NA Inf NaN")},
		{name: "julia", line: hashes, block: [][2]string{{"#=", "=#"}}, quotes: []string{`"""`, `"`}, marks: "@", words: set("begin break catch const continue do else elseif end export finally for function global if import in let local macro module quote return struct mutable try using while where")},
		{name: "haskell", line: []string{"--"}, block: [][2]string{{"{-", "-}"}}, quotes: []string{`"`}, words: set("case class data default deriving do else family forall foreign if import in infix infixl infixr instance let module newtype of then type where qualified as hiding"), types: set("Int Integer String Bool Char Maybe Just Nothing Either Left Right IO True False")},
		{name: "ocaml", block: [][2]string{{"(*", "*)"}}, quotes: []string{`"`}, words: set("and as assert begin class do done else end exception external for fun function functor if in include inherit let match method module mutable new object of open or rec sig struct then to try type val when while with")},
		{name: "elixir", line: hashes, quotes: three, marks: "@:", words: set("after and case catch cond def defmodule defp defmacro defstruct do else end fn for if import in not or quote raise receive rescue require try unless use when with alias")},
		{name: "erlang", line: []string{"%"}, quotes: two, words: set("after begin case catch cond end fun if let of query receive try when module export import record define")},
		{name: "clojure", line: []string{";"}, quotes: []string{`"`}, marks: ":@", prose: true, words: set("def defn defmacro let fn if do loop recur cond when ns require import true false nil")},
		{name: "lisp", line: []string{";"}, quotes: []string{`"`}, marks: ":@", prose: true, words: set("defun defvar defmacro let lambda if cond progn loop setq setf require provide t nil define")},
		{name: "sql", line: []string{"--"}, block: stars, quotes: two, fold: true, words: set("select from where and or not in is null like between join left right inner outer full cross on using group by order having limit offset union all distinct as insert into values update set delete create table view index unique primary key foreign references drop alter add column constraint default check if exists begin commit rollback with recursive case when then else end returning explain analyze asc desc over partition"), types: set("int integer bigint smallint text varchar char boolean bool date timestamp timestamptz time numeric decimal real double float json jsonb uuid blob serial true false count sum avg min max coalesce")},
		{name: "graphql", line: hashes, quotes: []string{`"""`, `"`}, marks: "$@", words: set("query mutation subscription fragment on type input enum interface union scalar schema extend implements directive true false null")},
		{name: "css", line: slashes, block: stars, quotes: two, marks: "@#.$", keys: true},
		{name: "html", block: [][2]string{{"<!--", "-->"}}, scan: markup, prose: true},
		{name: "xml", block: [][2]string{{"<!--", "-->"}}, scan: markup, prose: true},
		{name: "diff", scan: changes},
		{name: "docker", line: hashes, quotes: two, marks: "$", prose: true, words: set("FROM AS RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL")},
		{name: "makefile", line: hashes, quotes: two, marks: "$.", keys: true, prose: true, words: set("ifeq ifneq ifdef ifndef else endif include define endef export override")},
		{name: "cmake", line: hashes, quotes: []string{`"`}, fold: true, words: set("if else elseif endif foreach endforeach while endwhile function endfunction macro endmacro set include return")},
		{name: "hcl", line: []string{"#", "//"}, block: stars, quotes: []string{`"`}, keys: true, words: set("resource data variable output module provider terraform locals for in if true false null")},
		{name: "nginx", line: hashes, quotes: two, marks: "$", prose: true, words: set("server location upstream listen root index proxy_pass return rewrite if set include http events map")},
		{name: "proto", line: slashes, block: stars, quotes: two, words: set("syntax package import option message enum service rpc returns repeated optional required oneof map reserved extend stream"), types: set("double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 bool string bytes true false")},
		{name: "nix", line: hashes, block: stars, quotes: []string{`"`}, words: set("let in with rec inherit if then else assert import true false null"), keys: true},
		{name: "vim", line: []string{`" `}, quotes: []string{"'"}, prose: true, words: set("let set if else elseif endif for endfor while endwhile function endfunction return call autocmd augroup map nmap nnoremap command execute")},
		{name: "tex", line: []string{"%"}, marks: `\`, prose: true},
	})
}

func byName(all []*Grammar) map[string]*Grammar {
	m := make(map[string]*Grammar, len(all))
	for _, g := range all {
		m[g.name] = g
	}
	return m
}

// markup scans tags.
func markup(code string, at int, rest string) (string, int) {
	switch {
	case rest[0] == '<' && !strings.HasPrefix(rest, "<!--"):
		n := 1
		for n < len(rest) && (isLetter(rest[n]) || strings.IndexByte("/!?:-0123456789", rest[n]) >= 0) {
			n++
		}
		return "ha", n
	case rest[0] == '"' && at > 0 && code[at-1] == '=':
		return "hs", quoteLen(rest, `"`, true)
	case rest[0] == '>' || strings.HasPrefix(rest, "/>"):
		return "ha", 1 + strings.Index(rest, ">")
	}
	return "", 0
}

// changes scans the lines of a diff.
func changes(code string, at int, rest string) (string, int) {
	if at > 0 && code[at-1] != '\n' {
		return "", 0
	}
	n := lineLen(rest)
	switch {
	case n == 0:
		return "", 0
	case strings.HasPrefix(rest, "+++"), strings.HasPrefix(rest, "---"), strings.HasPrefix(rest, "@@"), strings.HasPrefix(rest, "diff "):
		return "hh", n
	case rest[0] == '+':
		return "hi", n
	case rest[0] == '-':
		return "hd", n
	}
	return "", n
}
