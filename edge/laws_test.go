package edge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// The rules of the design that can be checked in the source files. The tests parse the files
// themselves, so that "go test" takes no cached result for files that have changed.

// pure are the packages that run on the edge, each with its tier. A package may import packages of
// lower tiers only. Every other folder in edge/endpoint is that of an endpoint, and has the tier of
// endpoints.
var pure = map[string]int{
	// texts and numbers
	"edge/civil": 0, "edge/jsondoc": 0, "edge/quote": 0, "edge/sha256": 0,
	// what a turn is made of
	"edge/canon": 1, "edge/input": 1, "edge/snapshot": 1, "edge/turn": 2, "edge/endpoint/mcp/protocol": 2,
	// what endpoints share
	"edge/signing": 3, "edge/store/outbox": 3, "edge/respond": 3, "edge/record": 4,
	// the table of endpoints, and what calls through it
	"edge/api": endpoint + 1, "edge/endpoint/mcp": endpoint + 2, "edge/worker/wire": endpoint + 2, "edge": endpoint + 3,
}

// endpoint is the tier of the endpoints: none knows another.
const endpoint = 5

func init() {
	folders, err := os.ReadDir("endpoint")
	if err != nil {
		panic(err)
	}
	for _, folder := range folders {
		name := "edge/endpoint/" + folder.Name()
		if _, listed := pure[name]; !listed && folder.IsDir() {
			pure[name] = endpoint
		}
	}
}

// allowed are the packages of the standard library that pure packages may import: those that are
// small, do no I/O and are supported by TinyGo.
var allowed = []string{
	"bytes", "cmp", "encoding/base64", "errors", "maps", "math/bits", "slices", "strconv", "strings", "unicode/utf8",
}

// walk visits the files of the repository whose names are kept, without those that are downloaded,
// built or published.
func walk(t *testing.T, keep func(name string) bool, visit func(name string, text []byte)) {
	t.Helper()
	root := os.DirFS("..")
	skipped := []string{"public", "build/cache", "build/out", "build/bundle", "build/clients/generated/out"}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(entry.Name(), ".") && name != "."
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (hidden || entry.Name() == "node_modules" || slices.Contains(skipped, name)):
			return fs.SkipDir
		case entry.IsDir() || !keep(name):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		visit(name, text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isSource reports whether a name belongs to a Go file that is written by hand and is no test.
func isSource(name string) bool {
	return strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_templ.go") &&
		!strings.Contains(name, "testdata/")
}

// sources parses every Go file of the module that is not a test, by folder.
func sources(t *testing.T) (*token.FileSet, map[string][]*ast.File) {
	t.Helper()
	set, files := token.NewFileSet(), map[string][]*ast.File{}
	walk(t, func(name string) bool { return isSource(name) && !strings.HasPrefix(name, "build/") }, func(name string, text []byte) {
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files[path.Dir(name)] = append(files[path.Dir(name)], file)
	})
	for folder := range pure {
		if len(files[folder]) == 0 {
			t.Errorf("%s: no such package: correct the list of tiers", folder)
		}
	}
	return set, files
}

// The table in ARCHITECTURE.md has every package, in the tier where it is.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text, err := os.ReadFile("../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	written := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\d|-) \\| (`[^|]+`) \\|").FindAllStringSubmatch(string(text), -1) {
		for folder := range strings.SplitSeq(row[2], ", ") {
			written[strings.Trim(folder, "`")] = row[1]
		}
	}
	_, files := sources(t)
	for folder := range files {
		tier, isPure := pure[folder]
		want := "-"
		if isPure {
			want = strconv.Itoa(tier)
		}
		if tier == endpoint {
			folder = "edge/endpoint/*"
		}
		if got := written[folder]; got != want {
			t.Errorf("ARCHITECTURE.md has %s in tier %q, want %q", folder, got, want)
		}
	}
	for folder := range written {
		if folder != "edge/endpoint/*" && len(files[folder]) == 0 {
			t.Errorf("ARCHITECTURE.md names %s, which is not a package", folder)
		}
	}
}

func imports(file *ast.File) (paths []string) {
	for _, spec := range file.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		paths = append(paths, p)
	}
	return paths
}

// apart lists packages that a package of the commands is not to import: whoever loads content links
// no HTTP client, a terminal knows no content, and a verification does not know where its store is.
var apart = map[string][]string{
	"cmd/anteroom/internal/cli":          {"generator/site"},
	"cmd/anteroom/internal/project":      {"cmd/anteroom/internal/live"},
	"cmd/anteroom/internal/verification": {"cmd/anteroom/internal/cloudflare"},
}

func TestImportsGoDown(t *testing.T) {
	_, files := sources(t)
	for folder, list := range files {
		tier, isPure := pure[folder]
		for _, file := range list {
			for _, p := range imports(file) {
				own, isOwn := strings.CutPrefix(p, "anteroom/")
				switch {
				case isPure && isOwn:
					if below, known := pure[own]; !known || below >= tier {
						t.Errorf("%s imports %s, which is not below it", folder, own)
					}
				case isPure && !slices.Contains(allowed, p):
					t.Errorf("%s imports %s, which is not on the list of what runs on the edge", folder, p)
				case isOwn && strings.HasPrefix(folder, "generator") && (own == "edge" || own == "edge/worker" || strings.HasPrefix(own, "edge/native")):
					t.Errorf("%s imports %s: the generator and the hosts never meet", folder, own)
				case isOwn && strings.HasPrefix(folder, "edge/") && (strings.HasPrefix(own, "generator") || strings.HasPrefix(own, "cmd")):
					t.Errorf("%s imports %s: the hosts and the generator never meet", folder, own)
				case slices.Contains(apart[folder], own):
					t.Errorf("%s imports %s, which it works without", folder, own)
				case strings.HasPrefix(p, "github.com/cloudflare/") && folder != "cmd/anteroom/internal/cloudflare":
					t.Errorf("%s imports %s: Cloudflare stays in cmd/anteroom/internal/cloudflare", folder, p)
				case p == "github.com/cloudflare/cloudflare-go/v6":
					t.Errorf("%s imports %s, the client of every product: import those of single ones, which are a quarter of the weight", folder, p)
				case isOwn && strings.HasPrefix(own, "cmd/") && !strings.HasPrefix(folder, "cmd/"):
					t.Errorf("%s imports %s: nothing imports a command", folder, own)
				}
			}
		}
	}
}

func TestThePureCore(t *testing.T) {
	set, files := sources(t)
	for folder := range pure {
		for _, file := range files[folder] {
			declared := mapNames(file)
			sorted := map[ast.Node]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.GoStmt:
					t.Errorf("%s: a goroutine", set.Position(n.Pos()))
				case *ast.CallExpr:
					if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "recover" || name.Name == "panic") {
						t.Errorf("%s: %s", set.Position(n.Pos()), name.Name)
					}
					if calls(n, "slices", "Sorted") {
						sorted[n.Args[0]] = true
					} else if calls(n, "maps", "") && !sorted[n] {
						t.Errorf("%s: the members of a map in their random order: sort them at once", set.Position(n.Pos()))
					}
				case *ast.RangeStmt:
					if slices.Contains(declared, lastName(n.X)) {
						t.Errorf("%s: a range over a map, whose order is random here and fixed on the edge", set.Position(n.Pos()))
					}
				}
				return true
			})
		}
	}
}

// calls reports whether a call is of the named function of a package. The name "" is any
// function.
func calls(n *ast.CallExpr, pkg, name string) bool {
	f, ok := n.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name == pkg && (name == "" || f.Sel.Name == name)
}

// mapNames are the names that a file declares with a map type or a map literal.
func mapNames(file *ast.File) (names []string) {
	isMap := func(e ast.Expr) bool {
		if lit, ok := e.(*ast.CompositeLit); ok {
			e = lit.Type
		}
		if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 {
			if f, ok := call.Fun.(*ast.Ident); ok && f.Name == "make" {
				e = call.Args[0]
			}
		}
		_, ok := e.(*ast.MapType)
		return ok
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			if isMap(n.Type) {
				for _, name := range n.Names {
					names = append(names, name.Name)
				}
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if n.Type != nil && isMap(n.Type) || i < len(n.Values) && isMap(n.Values[i]) {
					names = append(names, name.Name)
				}
			}
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				if i < len(n.Rhs) && isMap(n.Rhs[i]) {
					names = append(names, lastName(left))
				}
			}
		case *ast.KeyValueExpr:
			if isMap(n.Value) {
				names = append(names, lastName(n.Key))
			}
		}
		return true
	})
	return names
}

func lastName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// maxComment is the width of a comment line, in characters. A tab counts as one.
const maxComment = 100

// commentMarks begin the comment lines of a file, by the ending of its name.
var commentMarks = map[string][]string{".go": {"//"}, ".mjs": {"//", "/*", "*"}, ".sh": {"#"}}

// jsdoc matches a line of types of JavaScript, which is code.
var jsdoc = regexp.MustCompile(`^\s*/\*\* .*@(import|param|returns|template|type)\b`)

// Comments are prose, which is hard to read in long lines. The test names all lines that are too
// long at once.
func TestCommentLinesAreShort(t *testing.T) {
	kinds := map[string]int{}
	commented := func(name string) bool {
		return commentMarks[path.Ext(name)] != nil && !strings.HasSuffix(name, "_templ.go") && !strings.Contains(name, "testdata/")
	}
	walk(t, commented, func(name string, text []byte) {
		kinds[path.Ext(name)]++
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			comment := slices.ContainsFunc(commentMarks[path.Ext(name)], func(mark string) bool {
				return strings.HasPrefix(strings.TrimLeft(line, " \t"), mark)
			}) && !jsdoc.MatchString(line)
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); comment && n > maxComment {
				t.Errorf("%s:%d: a comment line of %d characters, want at most %d", name, number, n, maxComment)
			}
		}
	})
	if len(kinds) != len(commentMarks) {
		t.Errorf("looked at %v", kinds)
	}
}
