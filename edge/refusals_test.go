package edge_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// refusals are the functions whose texts refuse an input, a state or a call, in lower case.
var refusals = []string{"errorf", "errors.new", "unusable", "usage", "fault", "evidence"}

// unprovoked are the sentences that no test can provoke.
var unprovoked = []string{
	"faulty list",                        // its reader reads the list again, and says what is faulty
	"a fault ended the check",            // the fault is printed instead
	"these answers were verified before", // publish says so otherwise
}

// verbs are the verbs of a format.
var verbs = regexp.MustCompile(`%[-+# 0-9.]*(\[[0-9]+\])?[a-zA-Z%]`)

// Every sentence that refuses something is provoked: three of its words in a row are in a test, a
// script or a file of testdata. A format that only wraps an error ("read answers: %w") refuses
// nothing itself.
func TestRefusalsAreProvoked(t *testing.T) {
	provoked := testedWords(t)
	set, folders := sources(t)
	found := 0
	for _, files := range folders {
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				if spec, ok := n.(*ast.ValueSpec); ok && strings.Contains(provoked, " "+strings.ToLower(spec.Names[0].Name)+" ") {
					return false // a test compares with the error itself
				}
				call, ok := n.(*ast.CallExpr)
				if !ok || !refuses(call) {
					return true
				}
				for _, sentence := range sentences(call) {
					found++
					if !slices.Contains(unprovoked, sentence) && !seen(provoked, sentence) {
						t.Errorf("%s: no test provokes %q", set.Position(call.Pos()), sentence)
					}
				}
				return true
			})
		}
	}
	if found < 300 {
		t.Errorf("found %d sentences: the search itself is wrong", found)
	}
}

func refuses(call *ast.CallExpr) bool {
	name := strings.ToLower(lastName(call.Fun))
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok && name == "new" {
		name = lastName(selector.X) + ".new"
	}
	return slices.Contains(refusals, name)
}

// sentences are the texts among the arguments of a call.
func sentences(call *ast.CallExpr) (texts []string) {
	for _, argument := range call.Args {
		text := literal(argument)
		_, wraps := strings.CutSuffix(text, ": %w")
		if !wraps && len(words(text)) > 1 {
			texts = append(texts, text)
		}
	}
	return texts
}

// literal is the text of a string, or of several that are added.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			text, _ := strconv.Unquote(e.Value)
			return text
		}
	case *ast.BinaryExpr:
		return literal(e.X) + "%v" + literal(e.Y)
	}
	return ""
}

func seen(provoked, sentence string) bool {
	compared := false
	for _, part := range verbs.Split(strings.ReplaceAll(sentence, "%v%v", ""), -1) {
		run := words(part)
		if len(run) < 2 {
			continue
		}
		compared = true
		for width := min(3, len(run)); len(run) >= width; run = run[1:] {
			if strings.Contains(provoked, " "+strings.Join(run[:width], " ")+" ") {
				return true
			}
		}
	}
	return !compared
}

func words(text string) []string {
	found := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r != '\'' && r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	for i := range found {
		found[i] = strings.Trim(found[i], "'-")
	}
	return found
}

// testedWords are the words of all tests and of what they compare with, with spaces between them.
func testedWords(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	tested := func(name string) bool {
		return strings.HasSuffix(name, "_test.go") || strings.Contains(name, "/testdata/") || strings.Contains(name, "/transcripts/")
	}
	walk(t, tested, func(_ string, text []byte) { all.WriteString(" " + strings.Join(words(string(text)), " ") + " ") })
	return all.String()
}
