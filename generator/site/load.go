package site

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"anteroom/edge/assets"
	"anteroom/edge/endpoint/receipt"
	"anteroom/edge/store/migrations"
	"anteroom/generator/markdown"
	"anteroom/generator/tlog"
)

const dateForm = "2026-11-20"

// Load reads the content folder fsys and checks it as a whole. Its error is Errors and holds every
// fault that was found, with files relative to the folder.
func Load(fsys fs.FS) (*Site, error) {
	s := &Site{documents: map[string]*document{}}
	l := &loader{fsys: fsys, site: s}
	if err := l.walk(); err != nil {
		return nil, Errors{{
			File: ".", What: "cannot read the content folder: " + withoutPath(err),
			Hint: "name the folder that holds service.yaml",
		}}
	}
	var slow sync.WaitGroup // the longest files are read concurrently
	l.list(&slow, "jobs", jobs, &s.Jobs)
	l.list(&slow, "auditors", auditors, &s.Auditors)
	l.pages(&slow)
	decodeFile(l, "endpoints.yaml", &s.Endpoints, nil)
	s.Service.Limits.PromiseDays, s.Service.Limits.CopyDays = 30, 14 // unless the content has others
	service := decodeFile(l, "service.yaml", &s.Service, checkService)
	decodeFile(l, "presence.yaml", &s.Presence, checkPresence)
	decodeFile(l, "quest.yaml", &s.Quest, checkQuest)
	decodeFile(l, "aup.yaml", &s.AUP, checkAUP)
	decodeFile(l, "org.yaml", &s.Org, checkOrg)
	decodeFile(l, "problems.yaml", &s.Problems, checkProblems)
	decodeFile(l, "llms.yaml", &s.LLMs, nil)
	decodeFile(l, "mcp.yaml", &s.MCP, checkMCP)
	l.verifications(service)
	l.static()
	l.receipt(&s.Service)
	l.icon()
	slow.Wait()

	for _, file := range l.files {
		if s.documents[file] == nil {
			l.fault(file, "nothing reads this file", "name it as anteroom init does, or remove it")
		}
	}
	for _, d := range s.documents {
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

type loader struct {
	fsys  fs.FS
	files []string // except Ignored ones, sorted by name
	site  *Site
}

func decodeFile[T any](l *loader, file string, target *T, check func(*document, *T)) *document {
	d := l.site.document(file)
	if src := l.read(d); src != nil {
		if d.decode(src, target); d.decoded && check != nil {
			check(d, target)
		}
	}
	return d
}

func (l *loader) fault(file, what, hint string) {
	l.site.document(file).report(place{}, what, hint)
}

func (s *Site) document(file string) *document {
	d := s.documents[file]
	if d == nil {
		d = newDocument(file)
		s.documents[file] = d
	}
	return d
}

func (s *Site) faults() error {
	var all Errors
	for _, d := range s.documents {
		all = append(all, d.faults...)
		d.faults = nil
	}
	return all.err()
}

// packageFile makes the shipped content a Go package that the program carries.
const packageFile = "content.go"

// ignoredNames are patterns of files and folders that are not content: hidden ones, and the
// leftovers of editors and merges.
var ignoredNames = []string{".?*", "*~", "#*#", "*.bak", "*.bck", "*.tmp", "*.swp", "*.orig", "*.rej"}

// Ignored reports whether the last part of a path in the content folder matches one of
// ignoredNames. The hidden folder static/.well-known (RFC 8615) is content.
func Ignored(name string) bool {
	return name != StaticFolder+"/.well-known" && slices.ContainsFunc(ignoredNames, func(pattern string) bool {
		is, _ := path.Match(pattern, path.Base(name))
		return is
	})
}

func (l *loader) walk() error {
	err := fs.WalkDir(l.fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case Ignored(name):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case strings.HasPrefix(name, StaticFolder+"/") && !entry.IsDir() && !entry.Type().IsRegular():
			l.fault(name, "not a file: a link, or a pipe", "put a copy of the file here")
		case !entry.IsDir() && name != packageFile:
			l.files = append(l.files, name)
		}
		return nil
	})
	slices.Sort(l.files)
	return err
}

func withoutPath(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

func (l *loader) read(d *document) []byte {
	var src []byte
	info, err := fs.Stat(l.fsys, d.file)
	if err == nil {
		err = assets.IsFile(info)
	}
	if err == nil {
		src, err = fs.ReadFile(l.fsys, d.file)
	}
	d.sum = sha256.Sum256(src)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.report(place{}, "missing", "every content folder has one")
	case err != nil:
		d.report(place{}, "cannot be read: "+withoutPath(err), "")
	case len(bytes.TrimSpace(src)) == 0:
		d.report(place{}, "empty", "write it")
	default:
		// Later faults would repeat parts of a file with a secret.
		if !d.refuse(src) {
			return src
		}
	}
	return nil
}

const secretHint = "everything in the content is published: remove it, and if others may have seen " +
	"it, make a new one with "

const conflict = "<<<<<<< " // begins the line

// refused are secret keys, databases, and the mark of a conflict in git.
var refused = []struct{ text, what, hint string }{
	{receipt.SecretPrefix, "a secret receipt key is here", secretHint + "anteroom key rotate"},
	{receipt.NotePrefix, "a secret key of the log is here", secretHint + "anteroom key rotate --log"},
	{migrations.Magic, "a database is here", "everything in the content is published: move it away"},
	{conflict, "git left a conflict here", "keep one side"},
}

func (d *document) refuse(src []byte) (found bool) {
	for _, r := range refused {
		if !bytes.Contains(src, []byte(r.text)) {
			continue
		}
		number := 0
		for line := range bytes.Lines(src) {
			number++
			if at := bytes.Index(line, []byte(r.text)); at == 0 || at > 0 && r.text != conflict && r.text != migrations.Magic {
				d.report(place{number, placeOf(line, at).Column}, r.what, r.hint)
				found = true
			}
		}
	}
	return found
}

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

// verifications reads the files of every hand verification. Each has a board, what it counted and,
// from the first stage of the log on, a stage.
func (l *loader) verifications(service *document) {
	boards, verified := l.dated("scoreboard/", ".yaml"), l.dated("verifications/", ".yaml")
	stages := l.dated("log/", ".jsonl", ".checkpoint")
	if len(boards) == 0 {
		l.fault("scoreboard", "holds no hand verification",
			"anteroom publish makes one, named after its date: scoreboard/2026-11-20.yaml")
	}
	for _, name := range slices.Concat(boards, verified, stages) {
		entries, checkpoint := LogFiles(name)
		files := []string{"scoreboard/" + name + ".yaml", "verifications/" + name + ".yaml", entries, checkpoint}
		if len(stages) == 0 || tlog.CompareNames(name, stages[0]) < 0 {
			files = files[:2]
		}
		for _, file := range files {
			if d := l.site.document(file); d.faults == nil && !slices.Contains(l.files, file) {
				d.report(place{}, "missing", "anteroom publish writes the files of a verification together: "+
					"restore it from git or, if publish was interrupted, remove the others")
			}
		}
	}
	for _, name := range boards {
		d := l.site.document("scoreboard/" + name + ".yaml")
		l.site.addBoard(d, name, l.read(d))
	}
	for _, name := range verified {
		d := l.site.document("verifications/" + name + ".yaml")
		l.site.addVerification(d, name, l.read(d))
	}
	l.log(service, stages)
}

func (s *Site) addBoard(d *document, name string, src []byte) {
	s.Scoreboards = append(s.Scoreboards, Scoreboard{File: name, sum: SumOfBoard(src)})
	if board := &s.Scoreboards[len(s.Scoreboards)-1]; src != nil {
		d.decode(src, board)
		d.refuseLater(board.Format)
	}
}

func (s *Site) addVerification(d *document, name string, src []byte) {
	s.Verifications = append(s.Verifications, Verification{File: name, SHA256: assets.SumOf(src)})
	v := &s.Verifications[len(s.Verifications)-1]
	if src == nil {
		return
	}
	d.decode(src, v)
	d.refuseLater(v.Format)
	if d.decoded && !sumHolds(src, v.Sum) {
		d.fault("sum", "the lines above do not match their sum",
			"restore the file from git, with * -text in .gitattributes; a correction is a new verification")
	}
}

const newestFormat = 1

// refuseLater replaces the faults of a file in a later format with one fault.
func (d *document) refuseLater(format int) {
	if format > newestFormat {
		d.faults, d.decoded = nil, false
		d.fault("format", fmt.Sprintf("format %d, newest supported %d", format, newestFormat), "install a later anteroom")
	}
}

func (s *Site) checkVerifications() {
	boards := map[string]*Scoreboard{} // that could be decoded
	var before *Scoreboard
	for i := range s.Scoreboards {
		board := &s.Scoreboards[i]
		if d := s.documents["scoreboard/"+board.File+".yaml"]; d.decoded {
			checkScoreboard(d, board, before)
			boards[board.File], before = board, board
		}
	}
	ledger := newLedger()
	follows, sum := "", ""
	for i := range s.Verifications {
		v := &s.Verifications[i]
		d := s.documents["verifications/"+v.File+".yaml"]
		if !d.decoded {
			return // the later ones depend on it
		}
		d.want(v.Follows == follows && v.FollowsSHA256 == sum, "follows",
			"the verification before it has changed: its hash does not match", "restore both files from git")
		ledger.Enter(v)
		follows, sum = v.File, v.SHA256
		if board := boards[v.File]; board != nil {
			checkCounts(s.documents["scoreboard/"+v.File+".yaml"], board, v, ledger)
		}
	}
}

func (l *loader) pages(reading *sync.WaitGroup) {
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
		reading.Go(func() {
			if src := l.read(d); src != nil {
				d.decodePage(src, page)
			}
		})
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
		d.report(place{1, 1}, "no front matter",
			"begin the file with a line ---, title, description and updated, and a line ---")
		return
	}
	d.decode(src[:len("---\n")+len(front)], page)
	page.Markdown = body
	line := bytes.Count(src[:len(src)-len(body)], []byte{'\n'}) + 1
	d.texts = append(d.texts, text{place{line, 1}, string(body), string(markdown.WithoutCode(body))})
	if len(bytes.TrimSpace(body)) == 0 {
		d.report(place{line, 1}, "the page is empty", "write it")
	}
	checkMarkers(d, page)
	written := &d.texts[len(d.texts)-1]
	for _, loss := range markdown.Losses(body) {
		d.report(written.place(loss.At), loss.What, loss.Hint)
	}
}

func (l *loader) list(reading *sync.WaitGroup, name string, kind *listKind, target *List) {
	inYAML, inJSON := l.site.document(name+".yaml"), l.site.document(name+".json")
	d := inYAML
	if slices.Contains(l.files, inJSON.file) {
		d = inJSON
		if slices.Contains(l.files, inYAML.file) {
			d.report(place{}, inYAML.file+" exists too", "keep one of them")
			return
		}
	}
	reading.Go(func() {
		src := l.read(d)
		if src == nil {
			return
		}
		var list *List
		if list, d.faults = readList(d.file, src, kind); list != nil {
			*target = *list
		}
	})
}

func (l *loader) contentVersion() []byte {
	hash := sha256.New()
	for _, file := range l.files {
		hash.Write([]byte(file))
		hash.Write([]byte{0})
		hash.Write(l.site.documents[file].sum[:])
	}
	return hash.Sum(nil)
}

// With returns the site with one more hand verification, whose two files are not in the folder yet,
// checked as Load checks them. The log stays. The error is Errors.
func (s *Site) With(name string, verification, board []byte) (*Site, error) {
	next := *s
	next.documents = maps.Clone(s.documents)
	next.Scoreboards, next.Verifications = slices.Clip(s.Scoreboards), slices.Clip(s.Verifications)
	v, b := next.document("verifications/"+name+".yaml"), next.document("scoreboard/"+name+".yaml")
	if !v.refuse(verification) {
		next.addVerification(v, name, verification)
	}
	if !b.refuse(board) {
		next.addBoard(b, name, board)
	}
	if v.decoded && b.decoded {
		next.checkVerifications()
		checkPlaceholders(b)
	}
	if err := next.faults(); err != nil {
		return nil, err
	}
	return &next, nil
}
