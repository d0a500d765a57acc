package site

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxFile is the largest content file besides the lists, in bytes. The YAML parser takes
// a multiple of it.
const maxFile = 1 << 20

var (
	scoreboardFile = regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}(-[2-9])?$`)
	pageFile       = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	requiredPages  = []string{"field-guide", "index", "privacy"}
)

// Load reads the content folder fsys and checks it as a whole. Its error is Faults, with every
// fault found; their files are relative to the folder. There is no Site then.
func Load(fsys fs.FS) (*Site, error) {
	l := &loader{fsys: fsys, site: &Site{}, sums: map[string][32]byte{}}
	files, err := l.walk()
	if err != nil {
		return nil, Faults{{File: ".", What: "cannot read the content folder: " + cause(err), Hint: "name the folder that holds service.yaml"}}
	}
	l.files = files

	s := l.site
	service := l.yaml("service.yaml", &s.Service)
	presence := l.yaml("presence.yaml", &s.Presence)
	quest := l.yaml("quest.yaml", &s.Quest)
	aup := l.yaml("aup.yaml", &s.AUP)
	org := l.yaml("org.yaml", &s.Org)
	endpoints := l.yaml("endpoints.yaml", &s.Endpoints)
	problems := l.yaml("problems.yaml", &s.Problems)
	l.yaml("llms.yaml", &s.LLMs)
	l.scoreboards()
	l.pages()
	l.lists()
	for _, file := range files {
		if _, read := l.sums[file]; !read {
			l.fault(file, "nothing reads this file", nearest(file, l.expected))
		}
	}

	checkService(service, &s.Service)
	checkPresence(presence, &s.Presence)
	checkQuest(quest, &s.Quest)
	checkAUP(aup, &s.AUP)
	checkOrg(org, &s.Org)
	checkEndpointNames(endpoints, s.Endpoints)
	checkProblems(problems, &s.Problems)
	for _, d := range s.documents {
		checkPlaceholders(d)
	}
	if err := l.faults.err(); err != nil {
		return nil, err
	}
	s.Source = l.source()
	return s, nil
}

// loader is a content folder while it is read.
type loader struct {
	fsys     fs.FS
	files    []string // all files that are not hidden
	expected []string // names asked for, for hints
	sums     map[string][32]byte
	site     *Site
	faults   Faults
}

func (l *loader) fault(file, what, hint string) {
	l.faults = append(l.faults, Fault{File: file, What: what, Hint: hint})
}

// walk lists the files of the folder, by name; those whose names, or whose folders' names, begin with a dot are left out.
func (l *loader) walk() (files []string, err error) {
	err = fs.WalkDir(l.fsys, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(path.Base(name), "."):
			if entry.IsDir() {
				return fs.SkipDir
			}
		case !entry.IsDir():
			files = append(files, name)
		}
		return nil
	})
	slices.Sort(files)
	return files, err
}

// cause is an error without the operation and the path that the caller names itself.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// read reads a file of at most limit bytes and keeps its sum; nil, and a fault, where that fails.
func (l *loader) read(file string, limit int64) []byte {
	l.sums[file] = [32]byte{}
	if info, err := fs.Stat(l.fsys, file); err == nil && info.Size() > limit {
		l.fault(file, "too large", "a content file has at most "+bytesText(limit))
		return nil
	}
	src, err := fs.ReadFile(l.fsys, file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.fault(file, "missing", "every content folder has one")
		return nil
	case err != nil:
		l.fault(file, "cannot be read: "+cause(err), "")
		return nil
	case len(bytes.TrimSpace(src)) == 0:
		l.fault(file, "empty", "write it")
		return nil
	}
	l.sums[file] = sha256.Sum256(src)
	return src
}

func bytesText(n int64) string {
	if n >= 1<<30 {
		return "1 GiB"
	}
	return "1 MiB"
}

// open makes the document of a file.
func (l *loader) open(file string) *document {
	d := &document{file: file, at: map[string]place{}, faults: &l.faults}
	l.site.documents = append(l.site.documents, d)
	return d
}

// yaml reads one YAML file into target. The document is nil where it cannot be parsed: what its values mean
// together is then not checked.
func (l *loader) yaml(file string, target any) *document {
	l.expected = append(l.expected, file)
	src := l.read(file, maxFile)
	if src == nil {
		return nil
	}
	d := l.open(file)
	if !d.decode(src, target) {
		return nil
	}
	return d
}

func (l *loader) scoreboards() {
	var previous *Scoreboard
	for _, file := range l.files {
		dir, base := path.Split(file)
		if dir != "scoreboard/" || path.Ext(base) != ".yaml" {
			continue
		}
		name := strings.TrimSuffix(base, ".yaml")
		if !scoreboardFile.MatchString(name) || !validDate([]byte(name[:10])) {
			l.sums[file] = [32]byte{}
			l.fault(file, "not the name of a hand verification", "name it after its as_of: scoreboard/2026-11-20.yaml, a second one on that date 2026-11-20-2.yaml")
			continue
		}
		board := Scoreboard{File: name}
		if d := l.yaml(file, &board); d != nil {
			if len(name) > 10 && !slices.Contains(l.files, "scoreboard/"+before(name)+".yaml") {
				d.fault("as_of", "scoreboard/"+before(name)+".yaml is missing", "the numbers of one date follow each other")
			}
			checkScoreboard(d, &board, previous)
			previous = &board
		}
		l.site.Scoreboards = append(l.site.Scoreboards, board)
	}
	if len(l.site.Scoreboards) == 0 {
		l.fault("scoreboard", "holds no hand verification", "write one, named after its date: scoreboard/2026-11-20.yaml")
	}
}

// before is the name of the verification that one with a number follows.
func before(name string) string {
	if n := name[len(name)-1]; n > '2' {
		return name[:11] + string(n-1)
	}
	return name[:10]
}

func (l *loader) pages() {
	for _, name := range requiredPages {
		file := "pages/" + name + ".md"
		l.expected = append(l.expected, file)
		if !slices.Contains(l.files, file) {
			l.fault(file, "missing", "every content folder has one")
		}
	}
	for _, file := range l.files {
		dir, base := path.Split(file)
		name, markdown := strings.CutSuffix(base, ".md")
		if dir != "pages/" || !markdown {
			continue
		}
		src := l.read(file, maxFile)
		if !pageFile.MatchString(name) {
			l.fault(file, "not the name of a page", "its name is its address: "+formats["id"].want)
		}
		if src == nil {
			continue
		}
		page := Page{Name: name}
		l.page(file, src, &page)
		l.site.Pages = append(l.site.Pages, page)
	}
}

// page splits the front matter off and reads it.
func (l *loader) page(file string, src []byte, page *Page) {
	d := l.open(file)
	if !d.readable(src) {
		return
	}
	rest, ok := bytes.CutPrefix(src, []byte("---\n"))
	front, body, closed := bytes.Cut(rest, []byte("\n---\n"))
	if !ok || !closed {
		d.report(place{1, 1}, "no front matter", "begin the file with a line ---, title, description and updated, and a line ---")
		return
	}
	d.shift = 1
	d.decode(front, page)
	page.Markdown = body
	line := bytes.Count(src[:len(src)-len(body)], []byte{'\n'}) + 1
	d.texts = append(d.texts, text{at: place{line, 1}, value: string(body), lines: true})
	if len(bytes.TrimSpace(body)) == 0 {
		d.report(place{line, 1}, "the page has no text", "write it")
	}
	checkMarkers(d, page)
}

// lists reads the two lists that grow, side by side.
func (l *loader) lists() {
	type job struct {
		schema *schema
		target *List
		name   string
		file   string
		src    []byte
		faults Faults
	}
	jobs := []*job{{schema: jobsSchema, target: &l.site.Jobs, name: "jobs"}, {schema: auditorsSchema, target: &l.site.Auditors, name: "auditors"}}
	var wait sync.WaitGroup
	for _, j := range jobs {
		l.expected = append(l.expected, j.name+".yaml", j.name+".json")
		inYAML, inJSON := slices.Contains(l.files, j.name+".yaml"), slices.Contains(l.files, j.name+".json")
		switch {
		case inYAML && inJSON:
			l.sums[j.name+".yaml"], l.sums[j.name+".json"] = [32]byte{}, [32]byte{}
			l.fault(j.name+".json", j.name+".yaml is there too", "keep one of them")
			continue
		case inJSON:
			j.file = j.name + ".json"
		default:
			j.file = j.name + ".yaml"
		}
		if j.src = l.read(j.file, maxListBytes); j.src == nil {
			continue
		}
		wait.Go(func() {
			var list *List
			if list, j.faults = loadList(l.fsys, j.file, j.src, j.schema); len(j.faults) == 0 {
				*j.target = *list
			}
			j.src = nil
		})
	}
	wait.Wait()
	for _, j := range jobs {
		l.faults = append(l.faults, j.faults...)
	}
}

// loadList reads one list file whose bytes are src. They are not a file afterwards: where a place is needed,
// the file is read again.
func loadList(fsys fs.FS, file string, src []byte, s *schema) (*List, Faults) {
	loader := newListLoader(file, s)
	if path.Ext(file) == ".json" {
		loader.readJSON(src)
		return loader.finish(func() func(place64) place {
			var again []byte
			return func(at place64) place {
				if again == nil {
					again, _ = fs.ReadFile(fsys, file)
				}
				return placeOf(again, int(at))
			}
		}())
	}
	var faults Faults
	loader.readYAML(&document{file: file, at: map[string]place{}, faults: &faults}, src)
	list, more := loader.finish(func(at place64) place { return place{int(at >> 32), int(at & (1<<32 - 1))} })
	return list, append(faults, more...)
}

// source is the version of the content.
func (l *loader) source() []byte {
	hash := sha256.New()
	for _, file := range l.files {
		sum := l.sums[file]
		hash.Write([]byte(file))
		hash.Write([]byte{0})
		hash.Write(sum[:])
	}
	return hash.Sum(nil)
}
