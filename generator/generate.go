// Package generator turns a checked content folder into the documents that a CDN serves and into
// the snapshot that the edge reads. It is pure: the same content gives the same bytes. It reads no
// clock and writes no file.
//
// Package contract makes the answers of the endpoints. The families of documents follow from these:
// lists, boards and OpenAPI there, calendars and the public log here, the others in pages and
// discovery.
package generator

import (
	"fmt"
	"slices"
	"strings"

	"anteroom/edge/api"
	"anteroom/edge/endpoint/health"
	"anteroom/edge/snapshot"
	"anteroom/generator/contract"
	"anteroom/generator/discovery"
	"anteroom/generator/output"
	"anteroom/generator/pages"
	"anteroom/generator/site"
	"anteroom/generator/tlog"

	"golang.org/x/sync/errgroup"
)

type File = output.File

type Output struct {
	Documents []File // sorted by path
	Snapshot  *snapshot.Snapshot
	Log       *tlog.Log // nil if the content has none
}

// Generate makes all documents and the snapshot from a loaded site and the route table. The error
// is site.Errors if the content does not describe the whole route table, or links to an unpublished
// path.
func Generate(s *site.Site) (*Output, error) {
	made, err := generate(s)
	if err != nil {
		return nil, fmt.Errorf("generate: %w", err)
	}
	return made, nil
}

func generate(s *site.Site) (*Output, error) {
	if err := s.CheckEndpoints(); err != nil {
		return nil, err
	}
	expanded, err := s.Expand()
	if err != nil {
		return nil, err
	}
	if expanded.Log.Current() == nil { // a section of the scoreboard says so
		isLog := func(p site.Page) bool { return p.Name == contract.LogPage }
		expanded.Pages = slices.DeleteFunc(expanded.Pages, isLog)
	}
	// The path of the front page, "/", sorts before all others.
	slices.SortStableFunc(expanded.Pages, func(a, b site.Page) int { return strings.Compare(a.Path(), b.Path()) })
	a, err := contract.New(expanded)
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	var anchors map[string]map[string]bool
	var logRest []File
	families := []func(*contract.Answers) ([]File, error){
		func(a *contract.Answers) (files []File, err error) {
			files, anchors, err = pages.Files(a)
			return files, err
		},
		func(a *contract.Answers) (first []File, err error) {
			first, logRest, err = publicLog(a)
			return first, err
		},
		contract.Jobs, contract.Auditors, contract.OpenAPI, contract.Boards, calendars, discovery.Files,
	}
	made := make([][]File, len(families))
	for i, family := range families {
		group.Go(func() (err error) {
			made[i], err = family(a)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	files := slices.Concat(made...)
	a.Snapshot.Documents[api.Pages] = output.Compact(output.Pages(files))
	if files, err = withOwn(a, s, files); err != nil {
		return nil, err
	}
	index, err := discovery.Index(a, files)
	if err != nil {
		return nil, err
	}
	files = slices.Concat(files, index, logRest)
	configuration, err := discovery.Configuration(a, files)
	if err != nil {
		return nil, err
	}
	files = append(files, configuration...)
	if err := s.CheckLinks(paths(files), anchors); err != nil {
		return nil, err
	}
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	all := &Output{Documents: files, Snapshot: a.Snapshot}
	if s.Service.Log.Key != "" {
		all.Log = s.Log
	}
	return all, nil
}

// withOwn adds the operator's own files. It refuses the paths of other documents, made so far or
// not, and those that a host or the CDN answers itself.
func withOwn(a *contract.Answers, s *site.Site, files []File) ([]File, error) {
	taken := []string{health.Live, health.Ready, "/api", "/v1", "/cdn-cgi", "/scoreboard", tlog.Folder}
	var faults site.Errors
	for i := range files {
		if name, isPage := strings.CutSuffix(files[i].Path, ".html"); isPage && slices.Contains(taken, files[i].Path) {
			faults = append(faults, usedItself("pages"+name+".md", files[i].Path))
		}
		taken = append(taken, files[i].Path)
	}
	for _, p := range output.Paths {
		taken = append(taken, p.Pattern) // no own file has a star
	}
	for _, line := range discovery.Redirects(a) {
		taken = append(taken, strings.Fields(line)[0])
	}
	for i := range s.Static {
		f := &s.Static[i]
		at := slices.IndexFunc(taken, func(p string) bool {
			return p == f.Path || strings.HasPrefix(f.Path, p+"/") || strings.HasPrefix(p, f.Path+"/")
		})
		if at >= 0 {
			faults = append(faults, usedItself(site.StaticFolder+f.Path, taken[at]))
			continue
		}
		files = append(files, output.Own(f.Path).File(f.Path, f.Bytes))
	}
	if faults != nil {
		return nil, faults
	}
	return files, nil
}

func usedItself(file, path string) site.Error {
	return site.Error{File: file, What: "the service itself uses " + path, Hint: "give the file another name"}
}

func paths(files []File) map[string]bool {
	// The content may link to a security.txt that has expired: those links are left out too.
	paths := map[string]bool{"/": true, "/api/": true, output.SecurityTxtPath: true}
	for _, f := range files {
		paths[f.Path] = f.MediaType != ""
	}
	for _, route := range api.Routes {
		paths[route.Path] = true
	}
	return paths
}
