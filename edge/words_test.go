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
)

// maxTurns is the most turns of phrase in 1,000 lines of sources, documents and content.
const maxTurns = 2

// turns are phrases that make a reader stop. A sentence around one has a plainer form.
var turns = []struct {
	instead string
	example string         // has the phrase
	needs   string         // is in every match: a search for it is fast
	phrase  *regexp.Regexp // in lower case
	except  *regexp.Regexp // usual English that phrase also matches
}{
	{
		"belongs to, was made for, has", "the key is of another log", " of ",
		phrase(`(is|are|was|were) of [a-z%"'-]+( [a-z]+)?\b`),
		phrase(`of (an? |the )?(same )?(type|kinds?|size|length|course|interest|order|form|use|help|` +
			`at (least|most)|equal|different|unknown)\b`),
	},
	{"repeat the noun", "its name is that of the host", " of", phrase(`(that|those|this|these|the ones?) of\b`), nil},
	{
		"separate, its, or leave it out", "a window of its own", " own",
		phrase(`of (its|their|your|our|his|somebody's) own\b`), nil,
	},
	{
		"name the thing", "what is missing stays", "what",
		phrase(`what (there )?(is|are|was|were|came|comes|waits|has|had) [a-z%-]+`),
		phrase(`what (is|are|was|were) (the|an?|called|needed|required|going|inside|used|expected|usually)\b`),
	},
	{
		"begin with a noun or a verb", "change is what an update does", "",
		regexp.MustCompile(`^[a-z]+ (is|are) (what|how|where|whether|who|why|when|that|those)\b`), nil,
	},
	{
		"returns, reports, reads", "year gives the year of a day", "",
		regexp.MustCompile(`^[a-z]+ (gives|says|asks|leads|tells)\b`), nil,
	},
	{
		"returns, prints, writes, shows", "the file that the command gives", "give",
		phrase(`(it|which|that|this|one|they|[a-z]+er|command|file|service|answer) gives?\b`), nil,
	},
	{
		"if, when", "nil where there are none", "where ",
		regexp.MustCompile(`(^|[.;:,] |\b(nil|true|false|and|or|but|error|one) )where ` +
			`(it|there|one|nobody|they|no|none|others|nothing|few|neither|that|this)\b`), nil,
	},
	{
		"unchanged, in this form, like", "the file stays as it is", "as ",
		phrase(`as (it|they|that|this|those) ` +
			`(is|are|was|were|does|do|did|has|have|had|came|says|gives|stands)\b( [a-z]+)?`),
		phrase(`as it (is|was|were) (being|possible|not|just|now|more|less)`),
	},
	{
		"contains, reports, lists, explains", "the log says how it ended", "say",
		phrase(`says? (what|whether|how|which|that|of|where|when|who|no|nothing|until)\b`), nil,
	},
	{
		"exists, is present", "the key is there twice", " there",
		phrase(`(is|are|was|were) there( (twice|already|too|to|is|before|yet|for|in|with|and|or)\b|[,.;:)]|$)`), nil,
	},
	{"next to, with, except", "the file beside it", "beside", phrase(`besides?\b`), nil},
	{"no one, or name the person", "nobody reads it", "body", phrase(`(nobody|somebody)\b`), nil},
	{"anyone who, or name the person", "it goes to whoever asks", "whoever", phrase(`whoever\b`), nil},
	{
		"what is, not what is not", "nothing of the other is shown", "nothing ",
		phrase(`nothing (of|is|was|that|here|there|about|waits|but|has|by|more)\b( [a-z]+)?`),
		phrase(`nothing (is|was) (written|recorded|stored|sent|signed|published|changed|deleted|done)`),
	},
	{
		"a second sentence, or leave it out", "it ends, and nothing is written", ", and n",
		regexp.MustCompile(`, and (no|nothing|nobody|none|not|neither)\b`), nil,
	},
	{
		"does not match X: got Y, want Z", "the root is not that of the proof", " no",
		phrase(`(is|are|was|were) (not|none of) ` +
			`(what|as|that|those|the ones?|one of|of|its|theirs)\b( [a-z]+)?( [a-z]+)?`),
		phrase(`not of the form|not as (good|simple|strict|fast|well|many|much|common|large|expected)`),
	},
	{"fails, is invalid", "the field is at fault", "at fault", phrase(`at fault\b`), nil},
	{
		"follows, differs, is not counted, has no X", "the key counts for none", "",
		phrase(`(is (still )?to come|otherwise than|goes? (beyond|back|to its end)|counts? for none|` +
			`comes? to nothing|it has none|lead there)\b`), nil,
	},
	{
		"returns, responds, handles", "the core answers with a document", "answers ",
		phrase(`answers (it|with|what|an?|the|all|as|no|in|by|[0-9]+|%d|%s)\b`), nil,
	},
	{
		"everything, each N, or name it", "the first of all that wait", "all ",
		phrase(`all (that|there is|there are|of it|it has|else)\b( [a-z]+)?( [a-z]+)?`),
		phrase(`all that (much|matters|remains|is (left|needed|required))`),
	},
	{
		"if any, or leave it out", "its body, if it has one", "if ",
		phrase(`if (there is|there are|there was|it has|they have|it is) (one|none|any|that)\b`), nil,
	},
	{"the same way, the same", "both hosts behave alike", "alike", phrase(`alike\b`), nil},
	{
		"after", "the key behind the name", "behind ",
		phrase(`behind (it|them|%s|the (entry|last|name|size|note|number|key|@|fault|hint|record))\b`), nil,
	},
}

// phrase compiles an expression that begins at a word.
func phrase(expression string) *regexp.Regexp { return regexp.MustCompile(`\b` + expression) }

// A passage is one paragraph or one string literal.
type passage struct {
	file  string
	line  int // of lines[0]
	lines []string
}

// The texts of the project are plain English. The limit leaves room for sentences that need one of
// the phrases, and for records of the past; above it, the test lists all of them.
func TestWordsArePlain(t *testing.T) {
	for _, turn := range turns {
		if !turn.phrase.MatchString(turn.example) || !strings.Contains(turn.example, turn.needs) {
			t.Errorf("%q: want a match of %s, with %q", turn.example, turn.phrase, turn.needs)
		}
	}
	passages, lines := texts(t)
	var hits []string
	for _, p := range passages {
		text := strings.ToLower(strings.Join(p.lines, " "))
		for _, turn := range turns {
			if !strings.Contains(text, turn.needs) {
				continue
			}
			for _, at := range turn.phrase.FindAllStringIndex(text, -1) {
				found := text[at[0]:at[1]]
				if turn.except != nil && turn.except.MatchString(found) {
					continue
				}
				hits = append(hits, p.file+":"+strconv.Itoa(p.lineAt(at[0]))+": "+strconv.Quote(found)+": write: "+turn.instead)
			}
		}
	}
	t.Logf("%d turns of phrase in %d lines", len(hits), lines)
	if len(hits)*1000 > maxTurns*lines {
		t.Errorf("%d turns of phrase in %d lines, want at most %d in 1,000 lines:\n%s",
			len(hits), lines, maxTurns, strings.Join(hits, "\n"))
	}
}

// described matches the description of a member, which the OpenAPI document and the pages show.
var described = regexp.MustCompile(`\bdoc:"([^"]+)`)

// nameless matches a description that asks or points instead of naming a thing.
var nameless = regexp.MustCompile(`^(What|How|Which|Where|Who|For whom|Why|When|In how|Its|Their|Most|Least)\b`)

// A description says what its member is: "Number of writes.", not "How many.".
func TestDescriptionsNameTheThing(t *testing.T) {
	passages, _ := texts(t)
	found := 0
	for _, p := range passages {
		if text := described.FindStringSubmatch(strings.Join(p.lines, " ")); text != nil && strings.HasSuffix(p.file, ".go") {
			found++
			if nameless.MatchString(text[1]) {
				t.Errorf("%s:%d: %q does not begin with the name of a thing", p.file, p.line, text[1])
			}
		}
	}
	if found < 300 {
		t.Errorf("found %d descriptions: the search itself is wrong", found)
	}
}

// lineAt returns the line of an offset in the joined lines.
func (p passage) lineAt(offset int) int {
	line := p.line
	for _, text := range p.lines {
		if offset <= len(text) {
			break
		}
		offset -= len(text) + 1
		line++
	}
	return line
}

// texts returns the passages of the repository, and the number of lines of their files. Published
// documents are made from them. CHANGELOG.md is history.
func texts(t *testing.T) (passages []passage, lines int) {
	t.Helper()
	kinds := map[string]int{}
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			skipped := []string{"node_modules", "testdata", "vendor", "public", "cache", "out", "bundle"}
			if strings.HasPrefix(entry.Name(), ".") && name != "." || slices.Contains(skipped, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		kind := path.Ext(name)
		switch {
		case kind == ".go" && !strings.HasSuffix(name, "_test.go") && !strings.HasSuffix(name, "_templ.go"):
		case kind == ".md" && name != "CHANGELOG.md":
		case kind == ".yaml" && strings.HasPrefix(name, "content/"):
		case entry.Name() == "help.txt" || kind == ".tmpl":
		default:
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		kinds[kind]++
		lines += strings.Count(string(text), "\n")
		if kind != ".go" {
			passages = append(passages, paragraphs(name, string(text))...)
			return nil
		}
		spoken, err := spokenIn(name, text)
		passages = append(passages, spoken...)
		return err
	})
	if err != nil || len(kinds) != 5 {
		t.Fatalf("looked at %v: %v", kinds, err)
	}
	return passages, lines
}

// sentence matches a string that is prose.
var sentence = regexp.MustCompile(`[a-z%].* .* `)

// spokenIn returns the comments and the string literals of a Go file.
func spokenIn(name string, text []byte) (passages []passage, err error) {
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, group := range file.Comments {
		open := false
		for _, comment := range group.List {
			for i, line := range strings.Split(comment.Text, "\n") {
				line = strings.TrimSpace(strings.TrimPrefix(strings.TrimPrefix(line, "//"), "/*"))
				if line == "" || strings.HasPrefix(comment.Text, "//go:") {
					open = false
					continue
				}
				if !open {
					passages = append(passages, passage{file: name, line: set.Position(comment.Pos()).Line + i})
				}
				open = true
				last := &passages[len(passages)-1]
				last.lines = append(last.lines, line)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING && sentence.MatchString(literal.Value) {
			said := strings.Trim(literal.Value, "\"`")
			passages = append(passages, passage{name, set.Position(literal.Pos()).Line, strings.Split(said, "\n")})
		}
		return true
	})
	return passages, nil
}

// begins matches a line that begins a paragraph: a list item, a row, a heading, a member of YAML.
var begins = regexp.MustCompile(`^\s*([|#]|[-*] |[0-9]+\. |[A-Za-z_.-]+:( |$)|<!--)`)

// paragraphs returns the paragraphs of a document, without its code blocks.
func paragraphs(name, text string) (passages []passage) {
	open, code := false, false
	for i, line := range strings.Split(text, "\n") {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "```"):
			open, code = false, !code
		case code || line == "":
			open = false
		default:
			if !open || begins.MatchString(line) {
				passages = append(passages, passage{file: name, line: i + 1})
			}
			open = true
			last := &passages[len(passages)-1]
			last.lines = append(last.lines, line)
		}
	}
	return passages
}
