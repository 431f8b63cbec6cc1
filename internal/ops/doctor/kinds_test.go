package doctor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// allKinds are all codes by the name of their constant.
var allKinds = map[string]Kind{
	"Torn": Torn, "Damaged": Damaged, "NUL": NUL, "Glued": Glued, "BOM": BOM, "NoHeader": NoHeader, "Duplicate": Duplicate, "Dangling": Dangling, "NoParent": NoParent,
	"TooLong": TooLong, "Erased": Erased, "Unfinished": Unfinished, "CRLF": CRLF, "BadText": BadText, "Malformed": Malformed, "NoID": NoID, "Cycle": Cycle, "ParentAfter": ParentAfter,
	"MoreHeaders": MoreHeaders, "OtherSession": OtherSession, "MissingPart": MissingPart, "SideFile": SideFile, "Interrupted": Interrupted, "Growing": Growing, "Empty": Empty,
	"Foreign": Foreign, "Unreadable": Unreadable, "Permissions": Permissions, "Symlink": Symlink, "Stray": Stray, "Leftover": Leftover, "Table": Table, "Files": Files, "Bin": Bin,
	"Receipt": Receipt, "CommitLog": CommitLog, "Index": Index, "DiskSpace": DiskSpace, "NetworkDisk": NetworkDisk, "InUse": InUse, "Twice": Twice, "SearchModel": SearchModel, "Copy": Copy, "Mirror": Mirror,
	"RolledBack": RolledBack, "Replaced": Replaced, "Incomparable": Incomparable, "Missing": Missing, "Purged": Purged, "NotAnchored": NotAnchored,
	"ChainChanged": ChainChanged, "ChainRemoved": ChainRemoved, "ChainInserted": ChainInserted, "ChainReordered": ChainReordered, "ChainSwapped": ChainSwapped,
	"ChainAltered": ChainAltered, "ChainUnproven": ChainUnproven, "Unlinked": Unlinked, "Redacted": Redacted,
}

// TestCodesAreDocumented checks that docs/scripting.md lists exactly the codes of findings:
// scripts rely on them, so a code that changes or disappears is a change of the interface.
func TestCodesAreDocumented(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "scripting.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "| kind | finding |\n")
	section, _, _ = strings.Cut(section, "\n\n")
	documented := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| .{5,} \\|$").FindAllStringSubmatch(section, -1) {
		documented[m[1]] = true
	}
	constants := kindConstants(t)
	for name, kind := range allKinds {
		if !documented[string(kind)] {
			t.Errorf("docs/scripting.md does not list the code %s", kind)
		}
		if !constants[name] {
			t.Errorf("there is no constant %s", name)
		}
		delete(documented, string(kind))
		delete(constants, name)
	}
	for code := range documented {
		t.Errorf("docs/scripting.md lists the code %s, which does not exist", code)
	}
	for name := range constants {
		t.Errorf("the constant %s is not in the table of this test", name)
	}
}

// kindConstants returns the names of all constants of type Kind in this package.
func kindConstants(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]bool)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range d.(*ast.GenDecl).Specs {
				spec := s.(*ast.ValueSpec)
				ast.Inspect(spec, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && id.Name == "Kind" {
						found[spec.Names[0].Name] = true
					}
					return true
				})
			}
		}
	}
	return found
}
