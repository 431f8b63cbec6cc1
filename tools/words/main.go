// Command words measures the language of a Go module: the number of exported names of
// each public package, and how often each package uses phrases that read as translated
// in its comments and names. It is a mirror, not a gate: it always exits with 0.
//
// Usage: words DIR
package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
)

// phrases are counted in comments, per 1,000 lines. The figures of restic and age were
// counted with the same expressions.
var phrases = []struct {
	name   string
	expr   *regexp.Regexp
	others string
}{
	{"what is …", regexp.MustCompile(`(?i)\b(what|who|whoever) (is|was|are|were|the|it|they|a|has|had|can|may|must)\b`), "3"},
	{"tell/told", regexp.MustCompile(`(?i)\b(tell|tells|told|telling)\b`), "2"},
	{"some/nobody", regexp.MustCompile(`(?i)\b(somebody|nobody)\b`), "0"},
}

// odd are function names that do not say what a function does to what.
var odd = map[string]bool{"tell": true, "told": true, "said": true, "say": true, "look": true, "settle": true, "begin": true, "up": true, "behind": true, "insist": true}

// count is what was found in a package.
type count struct {
	dir      string
	public   bool
	comments int
	phrases  []int
	odd      int
	names    int
	methods  int
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: words DIR")
		os.Exit(2)
	}
	counts, err := measure(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	printCounts(counts)
}

// measure counts in every package below dir that is not another module's.
func measure(dir string) ([]count, error) {
	byDir := map[string]*count{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skip(dir, path)
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		at, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		c := byDir[at]
		if c == nil {
			c = &count{dir: filepath.ToSlash(at), phrases: make([]int, len(phrases))}
			c.public = isPublic(c.dir)
			byDir[at] = c
		}
		return c.add(path)
	})
	counts := make([]count, 0, len(byDir))
	for _, c := range byDir {
		counts = append(counts, *c)
	}
	slices.SortFunc(counts, func(a, b count) int { return cmp.Compare(a.dir, b.dir) })
	return counts, err
}

func skip(root, path string) error {
	if path == root {
		return nil
	}
	base := filepath.Base(path)
	if base[0] == '.' || base[0] == '_' || base == "testdata" || base == "node_modules" {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// isPublic reports whether other modules can import the package of a directory.
func isPublic(dir string) bool {
	first, _, _ := strings.Cut(dir, "/")
	return first != "internal" && first != "cmd" && first != "examples" && first != "proving"
}

// add counts one file. Exported names are counted outside of tests.
func (c *count) add(path string) error {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range file.Comments {
		text := group.Text()
		c.comments += strings.Count(text, "\n")
		text = strings.Join(strings.Fields(text), " ")
		for i, p := range phrases {
			c.phrases[i] += len(p.expr.FindAllString(text, -1))
		}
	}
	test := strings.HasSuffix(path, "_test.go")
	for _, d := range file.Decls {
		c.addDecl(d, test)
	}
	return nil
}

func (c *count) addDecl(d ast.Decl, test bool) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if odd[strings.ToLower(d.Name.Name)] {
			c.odd++
		}
		switch {
		case test || !d.Name.IsExported():
		case d.Recv == nil:
			c.names++
		default:
			c.methods++
		}
	case *ast.GenDecl:
		if test {
			return
		}
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				c.addNames(s.Name)
			case *ast.ValueSpec:
				c.addNames(s.Names...)
			}
		}
	}
}

func (c *count) addNames(names ...*ast.Ident) {
	for _, n := range names {
		if n.IsExported() {
			c.names++
		}
	}
}

func printCounts(counts []count) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "package\tcomment lines\t"
	for _, p := range phrases {
		head += p.name + "\t"
	}
	fmt.Fprintln(w, head+"odd names\texported\tmethods\t")
	total := count{dir: "all", phrases: make([]int, len(phrases))}
	for _, c := range counts {
		c.print(w, c.public)
		total.comments += c.comments
		total.odd += c.odd
		for i, n := range c.phrases {
			total.phrases[i] += n
		}
		if c.public {
			total.names += c.names
			total.methods += c.methods
		}
	}
	total.print(w, true)
	others := "restic, age\t\t"
	for _, p := range phrases {
		others += p.others + "\t"
	}
	fmt.Fprintln(w, others+"\t\t\t")
	_ = w.Flush() // to the terminal; nothing to do about it
	fmt.Println("\nPhrases are per 1,000 lines of comments; exported names and methods are of public packages.")
}

func (c count) print(w *tabwriter.Writer, names bool) {
	row := fmt.Sprintf("%s\t%d\t", c.dir, c.comments)
	for _, n := range c.phrases {
		row += fmt.Sprintf("%.0f\t", 1000*float64(n)/float64(max(c.comments, 1)))
	}
	row += fmt.Sprintf("%d\t", c.odd)
	if names {
		row += fmt.Sprintf("%d\t%d\t", c.names, c.methods)
	} else {
		row += "\t\t"
	}
	fmt.Fprintln(w, row)
}
