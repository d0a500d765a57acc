package project

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"anteroom/edge/assets"
	"anteroom/edge/native/disk"

	"go.yaml.in/yaml/v4"
)

// neutral has the hash and the name of every neutral text that this program or a release has
// shipped, as sha256sum prints them. A test adds the texts of this program. Update compares these
// files; all others belong to the operator.
//
//go:embed neutral.sha256
var neutral string

// written matches lines that init or a command writes, which do not count as edits.
var written = regexp.MustCompile(`(?m)^(name|updated|as_of|since): .*$`)

func (s *Service) neutralLine(name string, text []byte) string {
	text = []byte(strings.ReplaceAll(string(written.ReplaceAll(text, nil)), s.Host, "HOST"))
	return assets.SumOf(text) + "  " + name + "\n"
}

// Update replaces the unedited texts of a service's folder with the texts of this program, removes
// unedited ones without a successor, adds missing texts and missing lines of .gitignore, and
// returns a line for each change and each edited text. The content may have faults.
//
// Accepts: an optional text that the operator removed comes back each time, and git shows it.
// Avoiding this would need a list of former texts in each service.
func Update(dir string, now time.Time) (report []string, err error) {
	service, err := assets.ReadFile(filepath.Join(dir, "content", "service.yaml"))
	if err != nil {
		return nil, fmt.Errorf("%w (name the folder of a service)", err)
	}
	var s Service
	if err := yaml.Load(service, &s); err != nil || s.Name == "" || s.Host == "" {
		return nil, errors.New("no name or canonical_host in service.yaml (run anteroom generate --check)")
	}
	s.Worker = identifier(s.Name, s.Apex())
	files, err := s.files(now)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(neutral) {
		names = append(names, strings.TrimSpace(line[64:]))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		file, text := filepath.Join(dir, name), files[name]
		here, err := assets.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return report, err
		}
		err = nil
		what, is := "", here != nil && strings.Contains(neutral, s.neutralLine(name, here))
		switch {
		case here == nil && text != nil:
			what, err = "added", errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, text, 0o666))
		case here == nil || text != nil && s.neutralLine(name, here) == s.neutralLine(name, text): // the same
		case is && text == nil:
			what, err = "removed", os.Remove(file)
		case is:
			what, err = "replaced", disk.Replace(file, text)
		case text == nil:
			what = "no longer used; remove it, as you edited it"
		default:
			what = "you edited it: compare it with the text of a new service"
		}
		if err != nil {
			return report, err
		}
		if what != "" {
			report = append(report, name+": "+what)
		}
	}
	added, err := completeIgnored(filepath.Join(dir, ignoredFile))
	return append(report, added...), err
}

const ignoredFile = ".gitignore"

// completeIgnored appends the patterns that a .gitignore lacks: without them git takes secrets and
// records.
func completeIgnored(file string) (report []string, err error) {
	here, err := assets.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	lines := strings.Split(string(here), "\n")
	var missing []string
	for line := range strings.Lines(string(gitignore)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && !slices.Contains(lines, line) {
			missing = append(missing, line)
		}
	}
	if len(missing) == 0 {
		return nil, nil
	}
	text := strings.Join(missing, "\n") + "\n"
	if len(here) > 0 && here[len(here)-1] != '\n' {
		text = "\n" + text
	}
	if err := os.WriteFile(file, append(here, text...), 0o666); err != nil {
		return nil, err
	}
	return []string{ignoredFile + ": added " + strings.Join(missing, " ")}, nil
}
