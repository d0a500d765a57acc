package site

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/endpoint/receipt"
	"anteroom/generator/lineends"
	"anteroom/generator/markdown"
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
	l := &loader{fsys: fsys, site: s}
	l.reading.SetLimit(runtime.GOMAXPROCS(0))
	if err := l.walk(); err != nil {
		return nil, Errors{{
			File: ".", What: "cannot read the content folder: " + withoutPath(err),
			Hint: "name the folder that holds service.yaml",
		}}
	}

	// The files that take longest to read come first.
	l.queueList("jobs", jobs, &s.Jobs)
	l.queueList("auditors", auditors, &s.Auditors)
	l.queuePages()
	queueYAML(l, "endpoints.yaml", &s.Endpoints, checkEndpointNames)
	s.Service.Limits.PromiseDays, s.Service.Limits.CopyDays = 30, 14 // unless the content has others
	service := queueYAML(l, "service.yaml", &s.Service, checkService)
	queueYAML(l, "presence.yaml", &s.Presence, checkPresence)
	queueYAML(l, "quest.yaml", &s.Quest, checkQuest)
	queueYAML(l, "aup.yaml", &s.AUP, checkAUP)
	queueYAML(l, "org.yaml", &s.Org, checkOrg)
	queueYAML(l, "problems.yaml", &s.Problems, checkProblems)
	queueYAML(l, "llms.yaml", &s.LLMs, nil)
	queueYAML(l, "mcp.yaml", &s.MCP, checkMCP)
	l.queueScoreboards()
	l.queueVerifications()
	l.queueLog()
	l.reading.Wait()
	if service.decoded {
		l.readLog()
	}
	expected := slices.Sorted(maps.Keys(s.documents))
	for _, file := range l.files {
		if s.documents[file] == nil {
			l.fault(file, "nothing reads this file", didYouMean(file, expected))
		}
	}
	for _, d := range s.documents {
		if d.decoded && d.check != nil {
			d.check()
		}
		checkPlaceholders(d)
	}
	s.checkVerifications()
	if service.decoded {
		checkKeys(service, &s.Service, s.Verifications)
	}
	if err := s.faults(); err != nil {
		return nil, err
	}
	s.Source = l.contentVersion()
	return s, nil
}

// loader is a content folder while it is read.
type loader struct {
	fsys    fs.FS
	files   []string // all that are not Ignored, sorted by name
	site    *Site
	reading errgroup.Group // of files side by side, each into a document of its own, which keeps the faults
	stages  []string       // of the log, by their names
}

// queue queues the reading of the file of a document, which has at most limit bytes.
func (l *loader) queue(d *document, limit int64, take func(src []byte)) {
	l.reading.Go(func() error {
		if src := l.read(d, limit); src != nil {
			take(src)
		}
		return nil
	})
}

func (l *loader) fault(file, what, hint string) {
	l.site.document(file).report(place{}, what, hint)
}

// document is the document of a file. Making it says that something reads the file.
func (s *Site) document(file string) *document {
	d := s.documents[file]
	if d == nil {
		d = newDocument(file)
		if s.documents == nil {
			s.documents = map[string]*document{}
		}
		s.documents[file] = d
	}
	return d
}

// faults takes the faults of all documents as an error, nil where there are none.
func (s *Site) faults() error {
	var all Errors
	for _, d := range s.documents {
		all = append(all, d.faults...)
		d.faults = nil
	}
	return all.err()
}

// packageFile makes the shipped content a Go package, which the program carries. It is not content
// itself.
const packageFile = "content.go"

// IgnoredNames are patterns of the files and folders that the content leaves out: those that are
// hidden, which begin with a dot, and those that editors, merges and systems leave next to files.
var IgnoredNames = []string{
	".?*", "*~", "#*#", "*.bak", "*.bck", "*.tmp", "*.swp", "*.orig", "*.rej",
	"*___jb_???___", // JetBrains, while it saves
	"491[0-9]",      // Vim, to find out whether a folder can be written
	"~$*",           // Microsoft Office, of an open file
	"Thumbs.db", "ehthumbs.db", "desktop.ini", "Icon\r",
}

// Ignored reports whether a name matches one of IgnoredNames.
func Ignored(name string) bool {
	return slices.ContainsFunc(IgnoredNames, func(pattern string) bool {
		is, _ := path.Match(pattern, name)
		return is
	})
}

// walk lists the files of the folder. It leaves out what is Ignored, and packageFile at the top.
func (l *loader) walk() error {
	err := fs.WalkDir(l.fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case Ignored(path.Base(name)):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir() && name != packageFile:
			l.files = append(l.files, name)
		}
		return nil
	})
	slices.Sort(l.files)
	return err
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

// read reads the file of a document, which has at most limit bytes. Where that fails, it reports a
// fault and gives nil.
func (l *loader) read(d *document, limit int64) []byte {
	if info, err := fs.Stat(l.fsys, d.file); err == nil && info.Size() > limit {
		d.report(place{}, "too large", fmt.Sprintf("a content file has at most %d MiB", limit>>20))
		return nil
	}
	src, err := fs.ReadFile(l.fsys, d.file)
	d.sum = sha256.Sum256(src)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.report(place{}, "missing", "every content folder has one")
	case err != nil:
		d.report(place{}, "cannot be read: "+withoutPath(err), "")
	case len(bytes.TrimSpace(src)) == 0:
		d.report(place{}, "empty", "write it")
	default:
		// What is found in a file later would repeat parts of it: one with a secret is not read on.
		if !d.refuse(src) {
			return src
		}
	}
	return nil
}

const secretHint = "everything in the content is published: remove it, and if others may have seen it, make a new one with "

const conflict = "<<<<<<< " // begins the line

// refused are what no content holds: secret keys, and what git begins a conflict with.
var refused = []struct{ text, what, hint string }{
	{receipt.SecretPrefix, "a secret receipt key is here", secretHint + "anteroom key rotate"},
	{receipt.NotePrefix, "a secret key of the log is here", secretHint + "anteroom key rotate --log"},
	{conflict, "git left a conflict here", "keep one side"},
}

// refuse reports the places of what no content holds, without repeating secrets.
func (d *document) refuse(src []byte) (found bool) {
	for _, r := range refused {
		if !bytes.Contains(src, []byte(r.text)) {
			continue
		}
		number := 0
		for line := range bytes.Lines(src) {
			number++
			if at := bytes.Index(line, []byte(r.text)); at == 0 || at > 0 && r.text != conflict {
				hint := r.hint
				folder, _, _ := strings.Cut(d.file, "/")
				if r.text == conflict && slices.Contains([]string{"verifications", "scoreboard", "log"}, folder) {
					hint += "; of two verifications that were made apart: " + madeApart
				}
				d.report(place{number, placeOf(line, at).Column}, r.what, hint)
				found = true
			}
		}
	}
	return found
}

// queueYAML queues the reading of one YAML file into target, and a check of what its values mean
// together. A file that cannot be parsed leaves the document undecoded and unchecked.
func queueYAML[T any](l *loader, file string, target *T, check func(*document, *T)) *document {
	d := l.site.document(file)
	if check != nil {
		d.check = func() { check(d, target) }
	}
	l.queue(d, maxFile, func(src []byte) { d.decode(src, target) })
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
			l.fault(file, "not the name of a hand verification",
				"name it after its as_of: "+folder+dateForm+ending+", a second one on that date "+dateForm+"-2"+ending)
			continue
		}
		names = append(names, name)
	}
	slices.SortFunc(names, tlog.CompareNames)
	return slices.Compact(names)
}

func (l *loader) queueScoreboards() {
	names := l.dated("scoreboard/", ".yaml")
	if len(names) == 0 {
		l.fault("scoreboard", "holds no hand verification",
			"anteroom verify makes one, named after its date: scoreboard/2026-11-20.yaml")
	}
	l.site.Scoreboards = make([]Scoreboard, len(names))
	for i, name := range names {
		l.site.Scoreboards[i].File = name
		queueYAML(l, "scoreboard/"+name+".yaml", &l.site.Scoreboards[i], nil)
	}
}

func (l *loader) queueVerifications() {
	names := l.dated("verifications/", ".yaml")
	l.site.Verifications = make([]Verification, len(names))
	for i, name := range names {
		v, d := &l.site.Verifications[i], l.site.document("verifications/"+name+".yaml")
		v.File = name
		l.queue(d, maxListBytes, func(src []byte) {
			v.SHA256 = assets.SumOf(src)
			if d.decode(src, v); !d.decoded || sumHolds(src, v.Sum) {
				return
			}
			if lineends.Changed(src, func(text []byte) bool { return sumHolds(text, v.Sum) }) {
				d.report(place{}, lineends.What, lineends.Restore)
				d.decoded = false // what follows compares its hash
			} else {
				d.fault("sum", "the file was edited after anteroom verify wrote it", "bring it back (git has it); a correction is a new verification")
			}
		})
	}
}

// checkVerifications checks every hand verification: its board and its file, each against the one
// before it, and both against each other.
func (s *Site) checkVerifications() {
	boards, verifications := map[string]*Scoreboard{}, map[string]*Verification{}
	var names []string
	for i := range s.Scoreboards {
		boards[s.Scoreboards[i].File] = &s.Scoreboards[i]
		names = append(names, s.Scoreboards[i].File)
	}
	for i := range s.Verifications {
		verifications[s.Verifications[i].File] = &s.Verifications[i]
		names = append(names, s.Verifications[i].File)
	}
	slices.SortFunc(names, tlog.CompareNames)
	ledger, halves := NewLedger(), false
	var previousBoard *Scoreboard
	var previous *Verification
	for _, name := range slices.Compact(names) {
		board, v := boards[name], verifications[name]
		shown, of := s.documents["scoreboard/"+name+".yaml"], s.documents["verifications/"+name+".yaml"]
		if board != nil && shown.decoded {
			if before := previousName(name); name != before && boards[before] == nil {
				shown.fault("as_of", "scoreboard/"+before+".yaml is missing", "the numbers of one date follow each other")
			}
			checkScoreboard(shown, board, previousBoard)
			previousBoard = board
		}
		// Behind a file that was not decoded, verifications would be judged by halves.
		if halves = halves || v != nil && !of.decoded; halves {
			continue
		}
		if v == nil {
			shown.report(place{}, "has no verifications/"+name+".yaml", "anteroom verify writes both")
			continue
		}
		checkVerification(of, v, previous, ledger)
		previous = v
		if board == nil {
			of.report(place{}, "has no scoreboard/"+name+".yaml", "anteroom verify writes both")
		} else if shown.decoded {
			checkCounts(shown, board, v, ledger)
		}
	}
}

// previousName is the name of the verification that a numbered verification of the same day
// follows. That of the first one is its own.
func previousName(name string) string {
	date, number := name[:len(dateForm)], strings.TrimPrefix(name[len(dateForm):], "-")
	if n, _ := strconv.Atoi(number); n > 2 {
		return date + "-" + strconv.Itoa(n-1)
	}
	return date
}

// queuePages queues the reading of all pages: those that every folder has, and further ones.
func (l *loader) queuePages() {
	names := slices.Collect(maps.Keys(Markers))
	for _, file := range l.files {
		dir, base := path.Split(file)
		if name, markdown := strings.CutSuffix(base, ".md"); dir == "pages/" && markdown {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	l.site.Pages = make([]Page, len(names))
	for i, name := range names {
		page, d := &l.site.Pages[i], l.site.document("pages/"+name+".md")
		page.Name = name
		if !validID(name) {
			d.report(place{}, "not the name of a page", "its name is its address: "+formats["id"].want)
		}
		l.queue(d, maxFile, func(src []byte) { d.decodePage(src, page) })
	}
}

func (d *document) decodePage(src []byte, page *Page) {
	if !d.readable(src) {
		return
	}
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
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
	written := &d.texts[len(d.texts)-1]
	seen := map[markdown.Loss]bool{}
	last := ""
	for _, group := range []int{1, 2} { // for a service with a log, and without one
		shown, place := choose(string(body), group)
		if shown == last {
			break
		}
		last = shown
		for _, loss := range markdown.Losses([]byte(shown)) {
			if loss.At = place(loss.At); !seen[loss] {
				seen[loss] = true
				d.report(written.place(loss.At), loss.What, loss.Hint)
			}
		}
	}
}

func (l *loader) queueList(name string, kind *listKind, target *List) {
	inYAML, inJSON := l.site.document(name+".yaml"), l.site.document(name+".json")
	d := inYAML
	if slices.Contains(l.files, inJSON.file) {
		d = inJSON
		if slices.Contains(l.files, inYAML.file) {
			d.report(place{}, inYAML.file+" is there too", "keep one of them")
			return
		}
	}
	l.queue(d, maxListBytes, func(src []byte) {
		var list *List
		if list, d.faults = readList(d.file, src, kind); list != nil {
			*target = *list
		}
	})
}

// contentVersion is the SHA-256 over the sorted file names and the SHA-256 of each file.
func (l *loader) contentVersion() []byte {
	hash := sha256.New()
	for _, file := range l.files {
		hash.Write([]byte(file))
		hash.Write([]byte{0})
		hash.Write(l.site.documents[file].sum[:])
	}
	return hash.Sum(nil)
}
