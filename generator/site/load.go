package site

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"anteroom/edge/endpoint/receipt"
	"anteroom/generator/tlog"

	"golang.org/x/sync/errgroup"
)

// maxFile is the largest size of a content file that is not a list, in bytes. It bounds the memory
// of the YAML parser, which takes a multiple of the file's size.
const maxFile = 1 << 20

// dateForm is a date in the form in which it begins the name of a hand verification.
const dateForm = "2026-11-20"

// Load reads the content folder fsys and checks it as a whole. Its error is Errors and holds every
// fault that was found, with files relative to the folder. With a fault there is no Site.
func Load(fsys fs.FS) (*Site, error) {
	s := &Site{}
	l := &loader{fsys: fsys, site: s, sums: map[string][32]byte{}}
	files, err := l.walk()
	if err != nil {
		return nil, Errors{{
			File: ".", What: "cannot read the content folder: " + withoutPath(err),
			Hint: "name the folder that holds service.yaml",
		}}
	}
	l.files = files

	// The files that take longest to read come first.
	l.queueList("jobs", jobs, &s.Jobs)
	l.queueList("auditors", auditors, &s.Auditors)
	l.queuePages()
	queueYAML(l, "endpoints.yaml", &s.Endpoints, checkEndpointNames)
	service := queueYAML(l, "service.yaml", &s.Service, checkService)
	queueYAML(l, "presence.yaml", &s.Presence, checkPresence)
	queueYAML(l, "quest.yaml", &s.Quest, checkQuest)
	queueYAML(l, "aup.yaml", &s.AUP, checkAUP)
	queueYAML(l, "org.yaml", &s.Org, checkOrg)
	queueYAML(l, "problems.yaml", &s.Problems, checkProblems)
	queueYAML(l, "llms.yaml", &s.LLMs)
	queueYAML(l, "mcp.yaml", &s.MCP, checkMCP)
	boards := l.queueScoreboards()
	verifications := l.queueVerifications()
	l.queueLog()
	l.run()
	if service.decoded {
		l.readLog(&s.Service)
	}

	for _, d := range s.documents {
		l.faults = append(l.faults, *d.faults...)
		d.faults = &l.faults
	}
	for _, file := range files {
		if _, read := l.sums[file]; !read {
			l.fault(file, "nothing reads this file", didYouMean(file, l.expected))
		}
	}

	for _, d := range s.documents {
		if d.decoded && d.check != nil {
			d.check()
		}
	}
	checkScoreboards(boards, s.Scoreboards, files)
	checkVerifications(verifications, boards, s)
	if service.decoded {
		checkKeys(service, &s.Service, s.Verifications)
	}
	for _, d := range s.documents {
		checkPlaceholders(d)
	}
	if err := l.faults.err(); err != nil {
		return nil, err
	}
	s.Source = l.contentVersion()
	return s, nil
}

// loader is a content folder while it is read.
type loader struct {
	fsys     fs.FS
	files    []string // all files that are not Ignored
	expected []string // names asked for, for hints
	site     *Site

	tasks  []func() // each reads one file
	stages []string // of the log, by their names

	mutex  sync.Mutex // guards what follows
	sums   map[string][32]byte
	faults Errors // those outside the documents, until all files are read
}

// run does the tasks side by side. They begin in the order in which they were queued.
func (l *loader) run() {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for _, task := range l.tasks {
		group.Go(func() error {
			task()
			return nil
		})
	}
	_ = group.Wait() // tasks keep their faults themselves
}

func (l *loader) fault(file, what, hint string) {
	l.addFaults(Errors{{File: file, What: what, Hint: hint}})
}

func (l *loader) addFaults(faults Errors) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.faults = append(l.faults, faults...)
}

// keepSum keeps the SHA-256 of a file. Load reports a file that has none: nothing reads it.
func (l *loader) keepSum(file string, sum [32]byte) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.sums[file] = sum
}

// packageFile makes the shipped content a Go package, which the program carries. It is not content
// itself.
const packageFile = "content.go"

// Ignored reports whether the content leaves out files and folders of this name: those that are
// hidden, which begin with a dot, and the copies that editors and merges leave beside a file.
func Ignored(name string) bool {
	for _, pattern := range []string{".?*", "*~", "#*#", "*.bak", "*.orig"} {
		if is, _ := path.Match(pattern, name); is {
			return true
		}
	}
	return false
}

// walk lists the files of the folder, sorted by name. It leaves out what is Ignored, and
// packageFile at the top.
func (l *loader) walk() (files []string, err error) {
	err = fs.WalkDir(l.fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case Ignored(path.Base(name)):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && name != packageFile:
			files = append(files, name)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// withoutPath is the message of an error without the operation and the path, which the caller names
// itself.
func withoutPath(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// read reads a file of at most limit bytes and keeps its sum. Where that fails, read reports a
// fault and gives nil.
func (l *loader) read(file string, limit int64) []byte {
	l.keepSum(file, [32]byte{})
	if info, err := fs.Stat(l.fsys, file); err == nil && info.Size() > limit {
		l.fault(file, "too large", fmt.Sprintf("a content file has at most %d MiB", limit>>20))
		return nil
	}
	src, err := fs.ReadFile(l.fsys, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.fault(file, "missing", "every content folder has one")
		return nil
	case err != nil:
		l.fault(file, "cannot be read: "+withoutPath(err), "")
		return nil
	case len(bytes.TrimSpace(src)) == 0:
		l.fault(file, "empty", "write it")
		return nil
	}
	// What is found in the file later would repeat parts of it: a file with a secret is not read
	// on.
	if secrets := findSecrets(file, src); secrets != nil {
		l.addFaults(secrets)
		return nil
	}
	if at := conflict.FindIndex(src); at != nil {
		l.addFaults(Errors{{
			File: file, Line: 1 + bytes.Count(src[:at[0]], []byte{'\n'}), Column: 1, What: "git left a conflict here",
			Hint: "keep one side; of two verifications that were made apart keep the published one with git checkout --ours or --theirs, then generate and verify again",
		}})
		return nil
	}
	l.keepSum(file, sha256.Sum256(src))
	return src
}

// conflict is how the first side of a conflict begins that a merge has left in a file.
var conflict = regexp.MustCompile(`(?m)^<<<<<<< `)

// secretHints say what each kind of secret key is, and what makes a new one.
var secretHints = map[string][2]string{
	receipt.SecretPrefix: {"receipt key", "anteroom key rotate"},
	receipt.NotePrefix:   {"key of the log", "anteroom key rotate --log"},
}

// findSecrets reports the secret keys in a file, without repeating them.
func findSecrets(file string, src []byte) (faults Errors) {
	for _, prefix := range receipt.SecretPrefixes {
		if !bytes.Contains(src, []byte(prefix)) {
			continue
		}
		hint := secretHints[prefix]
		number := 0
		for line := range bytes.Lines(src) {
			number++
			if at := bytes.Index(line, []byte(prefix)); at >= 0 {
				faults = append(faults, Error{
					File: file, Line: number, Column: placeOf(line, at).column, What: "a secret " + hint[0] + " is here",
					Hint: "everything in the content is published: remove it, and if others may have seen it, make a new one with " + hint[1],
				})
			}
		}
	}
	return faults
}

// newDocument makes the document of a file. It has a list of faults of its own until all files are
// read, because files are read side by side.
func (l *loader) newDocument(file string) *document {
	d := &document{file: file, places: map[string]place{}, faults: &Errors{}}
	l.site.documents = append(l.site.documents, d)
	return d
}

// queueYAML queues the reading of one YAML file into target, and checks of what its values mean
// together. A file that cannot be parsed leaves the document undecoded and unchecked.
func queueYAML[T any](l *loader, file string, target *T, checks ...func(*document, *T)) *document {
	l.expected = append(l.expected, file)
	d := l.newDocument(file)
	d.check = func() {
		for _, check := range checks {
			check(d, target)
		}
	}
	l.tasks = append(l.tasks, func() {
		if src := l.read(file, maxFile); src != nil {
			d.decode(src, target)
		}
	})
	return d
}

// dated gives the names of hand verifications that the files of a folder are called after, oldest
// first. endings are those of their names.
func (l *loader) dated(folder string, endings ...string) (names []string) {
	for _, file := range l.files {
		dir, base := path.Split(file)
		name, ending := strings.TrimSuffix(base, path.Ext(base)), path.Ext(base)
		if dir != folder || !slices.Contains(endings, ending) {
			continue
		}
		if !tlog.IsName(name) {
			l.keepSum(file, [32]byte{})
			l.fault(file, "not the name of a hand verification",
				"name it after its as_of: "+folder+dateForm+ending+", a second one on that date "+dateForm+"-2"+ending)
			continue
		}
		names = append(names, name)
	}
	slices.SortFunc(names, tlog.CompareNames)
	return slices.Compact(names)
}

// queueScoreboards queues the reading of all boards, and gives the document of each.
func (l *loader) queueScoreboards() (documents []*document) {
	names := l.dated("scoreboard/", ".yaml")
	if len(names) == 0 {
		l.fault("scoreboard", "holds no hand verification", "anteroom verify makes one, named after its date: scoreboard/2026-11-20.yaml")
	}
	l.site.Scoreboards = make([]Scoreboard, len(names))
	for i, name := range names {
		l.site.Scoreboards[i].File = name
		documents = append(documents, queueYAML(l, "scoreboard/"+name+".yaml", &l.site.Scoreboards[i]))
	}
	return documents
}

// queueVerifications queues the reading of all verifications, and gives the document of each.
func (l *loader) queueVerifications() (documents []*document) {
	names := l.dated("verifications/", ".yaml")
	l.site.Verifications = make([]Verification, len(names))
	for i, name := range names {
		v := &l.site.Verifications[i]
		v.File = name
		file := "verifications/" + name + ".yaml"
		l.expected = append(l.expected, file)
		d := l.newDocument(file)
		documents = append(documents, d)
		l.tasks = append(l.tasks, func() {
			src := l.read(file, maxListBytes)
			if src == nil {
				return
			}
			v.SHA256 = sumOf(src)
			if d.decode(src, v); d.decoded && !sumHolds(src, v.Sum) {
				d.fault("sum", "the file was edited after anteroom verify wrote it", "bring it back (git has it); a correction is a new verification")
			}
		})
	}
	return documents
}

// checkVerifications checks every verification by itself, against the one before it, and the board
// of its name against both.
func checkVerifications(documents, boards []*document, s *Site) {
	ledger := NewLedger()
	matched := 0 // boards that have a verification or a fault for the lack of one
	lacks := func(board *document, name string) {
		board.report(place{}, "has no verifications/"+name+".yaml", "anteroom verify writes both")
	}
	var previous *Verification
	for i, d := range documents {
		v := &s.Verifications[i]
		for ; matched < len(boards) && before(s.Scoreboards[matched].File, v.File); matched++ {
			lacks(boards[matched], s.Scoreboards[matched].File)
		}
		if !d.decoded {
			return // what follows would be judged by halves
		}
		checkVerification(d, v, previous, ledger)
		previous = v
		if matched == len(boards) || s.Scoreboards[matched].File != v.File {
			d.report(place{}, "has no scoreboard/"+v.File+".yaml", "anteroom verify writes both")
			continue
		}
		if boards[matched].decoded {
			checkCounts(boards[matched], &s.Scoreboards[matched], v, ledger)
		}
		matched++
	}
	for ; matched < len(boards); matched++ {
		lacks(boards[matched], s.Scoreboards[matched].File)
	}
}

// before reports whether one name of a hand verification comes before another.
func before(a, b string) bool { return tlog.CompareNames(a, b) < 0 }

// checkScoreboards checks every hand verification by itself and against the one before it.
func checkScoreboards(documents []*document, boards []Scoreboard, files []string) {
	var previous *Scoreboard
	for i, d := range documents {
		if !d.decoded {
			continue
		}
		board := &boards[i]
		if name := board.File; name != board.day() && !slices.Contains(files, "scoreboard/"+previousName(name)+".yaml") {
			d.fault("as_of", "scoreboard/"+previousName(name)+".yaml is missing", "the numbers of one date follow each other")
		}
		checkScoreboard(d, board, previous)
		previous = board
	}
}

// previousName is the name of the verification that a numbered verification of the same day
// follows.
func previousName(name string) string {
	date, number := name[:len(dateForm)], name[len(dateForm)+1:]
	if n, _ := strconv.Atoi(number); n > 2 {
		return date + "-" + strconv.Itoa(n-1)
	}
	return date
}

// queuePages queues the reading of all pages.
func (l *loader) queuePages() {
	for _, name := range slices.Sorted(maps.Keys(Markers)) {
		file := "pages/" + name + ".md"
		l.expected = append(l.expected, file)
		if !slices.Contains(l.files, file) {
			l.fault(file, "missing", "every content folder has one")
		}
	}
	for _, file := range l.files {
		dir, base := path.Split(file)
		if name, markdown := strings.CutSuffix(base, ".md"); dir == "pages/" && markdown {
			l.site.Pages = append(l.site.Pages, Page{Name: name})
		}
	}
	for i := range l.site.Pages {
		page := &l.site.Pages[i]
		d := l.newDocument("pages/" + page.Name + ".md")
		l.tasks = append(l.tasks, func() {
			src := l.read(d.file, maxFile)
			if !validID(page.Name) {
				l.fault(d.file, "not the name of a page", "its name is its address: "+formats["id"].want)
			}
			if src != nil {
				d.decodePage(src, page)
			}
		})
	}
}

// decodePage splits the front matter off a page and decodes it.
func (d *document) decodePage(src []byte, page *Page) {
	if !d.readable(src) {
		return
	}
	rest, ok := bytes.CutPrefix(src, []byte("---\n"))
	front, body, closed := bytes.Cut(rest, []byte("\n---\n"))
	if !ok || !closed {
		d.report(place{1, 1}, "no front matter", "begin the file with a line ---, title, description and updated, and a line ---")
		return
	}
	d.decode(src[:len("---\n")+len(front)], page)
	page.Markdown = body
	line := bytes.Count(src[:len(src)-len(body)], []byte{'\n'}) + 1
	d.texts = append(d.texts, text{at: place{line, 1}, value: string(body), verbatim: true})
	if len(bytes.TrimSpace(body)) == 0 {
		d.report(place{line, 1}, "the page has no text", "write it")
	}
	checkMarkers(d, page)
}

// queueList queues the reading of one of the lists that grow.
func (l *loader) queueList(name string, kind *listKind, target *List) {
	inYAML, inJSON := name+".yaml", name+".json"
	l.expected = append(l.expected, inYAML, inJSON)
	file := inYAML
	if slices.Contains(l.files, inJSON) {
		file = inJSON
		if slices.Contains(l.files, inYAML) {
			l.keepSum(inYAML, [32]byte{})
			l.keepSum(inJSON, [32]byte{})
			l.fault(inJSON, inYAML+" is there too", "keep one of them")
			return
		}
	}
	l.tasks = append(l.tasks, func() {
		if src := l.read(file, maxListBytes); src != nil {
			list, faults := readList(file, src, kind)
			l.addFaults(faults)
			if list != nil {
				*target = *list
			}
		}
	})
}

// contentVersion is the SHA-256 over the sorted file names and the SHA-256 of each file.
func (l *loader) contentVersion() []byte {
	hash := sha256.New()
	for _, file := range l.files {
		sum := l.sums[file]
		hash.Write([]byte(file))
		hash.Write([]byte{0})
		hash.Write(sum[:])
	}
	return hash.Sum(nil)
}
