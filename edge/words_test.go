package edge_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxTurns is the most turns of phrase in 1,000 lines of sources, documents and content.
const maxTurns = 2

// turns are phrases that make a reader stop. A sentence around one has a plainer form.
var turns = []struct {
	instead string
	needs   string         // is in every match: a search for it is fast
	phrase  *regexp.Regexp // in lower case
	except  *regexp.Regexp // usual English that phrase also matches
}{
	{
		"belongs to, was made for, has", " of ",
		phrase(`(is|are|was|were) of [a-z%"'-]+( [a-z]+)?\b`),
		phrase(`of (an? |the )?(same )?(type|kinds?|size|length|course|interest|order|form|use|help|` +
			`at (least|most)|equal|different|unknown)\b`),
	},
	{"repeat the noun", " of", phrase(`(that|those|this|these|the ones?) of\b`), nil},
	{
		"separate, its, or leave it out", " own",
		phrase(`of (its|their|your|our|his|somebody's) own\b`), nil,
	},
	{
		"name the thing", "what",
		phrase(`what (there )?(is|are|was|were|came|comes|waits|has|had) [a-z%-]+`),
		phrase(`what (is|are|was|were) (the|an?|called|needed|required|going|inside|used|expected|usually)\b`),
	},
	{
		"begin with a noun or a verb", "",
		regexp.MustCompile(`^[a-z]+ (is|are) (what|how|where|whether|who|why|when|that|those)\b`), nil,
	},
	{
		"returns, reports, reads", "",
		regexp.MustCompile(`^[a-z]+ (gives|says|asks|leads|tells)\b`), nil,
	},
	{
		"returns, prints, writes, shows", "give",
		phrase(`(it|which|that|this|one|they|[a-z]+er|command|file|service|answer) gives?\b`), nil,
	},
	{
		"if, when", "where ",
		regexp.MustCompile(`(^|[.;:,] |\b(nil|true|false|and|or|but|error|one) )where ` +
			`(it|there|one|nobody|they|no|none|others|nothing|few|neither|that|this)\b`), nil,
	},
	{
		"unchanged, in this form, like", "as ",
		phrase(`as (it|they|that|this|those) ` +
			`(is|are|was|were|does|do|did|has|have|had|came|says|gives|stands)\b( [a-z]+)?`),
		phrase(`as it (is|was|were) (being|possible|not|just|now|more|less)`),
	},
	{
		"contains, reports, lists, explains", "say",
		phrase(`says? (what|whether|how|which|that|of|where|when|who|no|nothing|until)\b`), nil,
	},
	{
		"exists, is present", " there",
		phrase(`(is|are|was|were) there( (twice|already|too|to|is|before|yet|for|in|with|and|or)\b|[,.;:)]|$)`), nil,
	},
	{"next to, with, except", "beside", phrase(`besides?\b`), nil},
	{"no one, or name the person", "body", phrase(`(nobody|somebody)\b`), nil},
	{"anyone who, or name the person", "whoever", phrase(`whoever\b`), nil},
	{
		"what is, not what is not", "nothing ",
		phrase(`nothing (of|is|was|that|here|there|about|waits|but|has|by|more)\b( [a-z]+)?`),
		phrase(`nothing (is|was) (written|recorded|stored|sent|signed|published|changed|deleted|done)`),
	},
	{
		"a second sentence, or leave it out", ", and n",
		regexp.MustCompile(`, and (no|nothing|nobody|none|not|neither)\b`), nil,
	},
	{
		"does not match X: got Y, want Z", " no",
		phrase(`(is|are|was|were) (not|none of) ` +
			`(what|as|that|those|the ones?|one of|of|its|theirs)\b( [a-z]+)?( [a-z]+)?`),
		phrase(`not of the form|not as (good|simple|strict|fast|well|many|much|common|large|expected)`),
	},
	{"fails, is invalid", "at fault", phrase(`at fault\b`), nil},
	{
		"follows, differs, is not counted, has no X", "",
		phrase(`(is (still )?to come|otherwise than|goes? (beyond|back|to its end)|counts? for none|` +
			`comes? to nothing|it has none|lead there)\b`), nil,
	},
	{
		"returns, responds, handles", "answers ",
		phrase(`answers (it|with|what|an?|the|all|as|no|in|by|[0-9]+|%d|%s)\b`), nil,
	},
	{
		"everything, each N, or name it", "all ",
		phrase(`all (that|there is|there are|of it|it has|else)\b( [a-z]+)?( [a-z]+)?`),
		phrase(`all that (much|matters|remains|is (left|needed|required))`),
	},
	{
		"if any, or leave it out", "if ",
		phrase(`if (there is|there are|there was|it has|they have|it is) (one|none|any|that)\b`), nil,
	},
	{"the same way, the same", "alike", phrase(`alike\b`), nil},
	{
		"after", "behind ",
		phrase(`behind (it|them|%s|the (entry|last|name|size|note|number|key|@|fault|hint|record))\b`), nil,
	},
	{"X is missing", "lacks ", regexp.MustCompile(`(^|[:;(] )lacks\b`), nil},
	{
		"a string, the text", " text",
		phrase(`(an?|one|each|another) texts?\b( (in|of|for|with|block|editor|file))?`),
		phrase(`text (block|editor|file)`),
	},
	{
		"start, create", "beg",
		phrase(`(begin|began|begun|beginning) (an?|(with )?another|anew|again)\b|(is|are|was|were) begun\b`), nil,
	},
	{"only X", "alone", phrase(`((leave|send) [a-z' ]+)?alone([.;:,)]|$)`), phrase(`(leave|send) `)},
	{"space, capacity", "room", phrase(`(its|their|no|the|enough|more|less|has|have|of|without) room\b`), nil},
	{"exits with status N", " with ", phrase(`ends? with [0-9]`), nil},
	{
		"even if, and for, or a second sentence", "also ",
		phrase(`also (if|when|where|for|in|of|with|by|from|at|to|under|after|before)\b`), nil,
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
	spoken := func(name string) bool {
		kind := path.Ext(name)
		return isSource(name) || !strings.Contains(name, "testdata/") && (kind == ".md" && name != "CHANGELOG.md" ||
			kind == ".yaml" && strings.HasPrefix(name, "content/") || path.Base(name) == "help.txt" || kind == ".tmpl")
	}
	walk(t, spoken, func(name string, text []byte) {
		kinds[path.Ext(name)]++
		lines += strings.Count(string(text), "\n")
		if !isSource(name) {
			passages = append(passages, paragraphs(name, string(text))...)
			return
		}
		found, err := spokenIn(name, text)
		if err != nil {
			t.Fatal(err)
		}
		passages = append(passages, found...)
	})
	if len(kinds) != 5 {
		t.Fatalf("looked at %v", kinds)
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
