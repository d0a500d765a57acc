package project

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// Record is the file in the folder of a service with the hash of each neutral text, as sha256sum
// prints it: the text that init wrote there, or that an update compared with an edited one.
const Record = ".neutral.sha256"

// theirs are files of a new service that no update compares: the operator's settings, and boards.
var theirs = regexp.MustCompile(`^(content/service\.yaml|wrangler\.toml|content/(scoreboard|verifications)/.*)$`)

// dated are lines whose dates change without an edit. The hash of a text leaves them out.
var dated = regexp.MustCompile(`(?m)^(updated|as_of|since): .*$`)

func neutralSum(text []byte) string { return assets.SumOf(dated.ReplaceAll(text, nil)) }

func recordOf(files map[string][]byte) (record []byte) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !theirs.MatchString(name) {
			record = fmt.Appendf(record, "%s  %s\n", neutralSum(files[name]), name)
		}
	}
	return record
}

// Update brings the texts of a service's folder that nobody has edited to those of this program,
// adds new ones, and returns a line for each that it changed, and for each edited one that differs
// from this program's. The content may have faults.
func Update(dir string, now time.Time) (report []string, err error) {
	service, err := os.ReadFile(filepath.Join(dir, "content", "service.yaml"))
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
	record, err := os.ReadFile(filepath.Join(dir, Record))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	names, recorded := maps.Clone(files), map[string]string{}
	for line := range strings.Lines(string(record)) {
		if sum, name, _ := strings.Cut(strings.TrimSpace(line), "  "); filepath.IsLocal(name) {
			names[name], recorded[name] = nil, sum
		}
	}
	delete(names, Record)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, isList := os.Stat(filepath.Join(dir, strings.TrimSuffix(name, ".yaml")+".json"))
		if theirs.MatchString(name) || isList == nil {
			continue
		}
		path, neutral := filepath.Join(dir, name), files[name]
		here, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return report, err
		}
		err = nil
		was, isNow := recorded[name], neutralSum(neutral)
		what := ""
		switch sum := neutralSum(here); { // as dpkg does about a conffile: deb-conffiles(5)
		case here == nil && was == "":
			what, err = "added", errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, neutral, 0o666))
		case here == nil || neutral != nil && sum == isNow: // removed by the operator, or the same
		case sum == was && neutral == nil:
			what, err = "removed", os.Remove(path)
		case sum == was:
			what, err = "replaced", disk.Replace(path, neutral)
		case neutral == nil:
			what = "no longer used; remove it, as you edited it"
		case was != isNow:
			what = "you edited it, and this program has another text: compare it with that of a new service"
			files[name] = nil // its hash stays, so that it is named again
		}
		if err != nil {
			return report, err
		}
		if what != "" {
			report = append(report, name+": "+what)
		}
	}
	var sums strings.Builder
	for _, name := range slices.Sorted(maps.Keys(files)) {
		sum := neutralSum(files[name])
		if files[name] == nil {
			sum = cmp.Or(recorded[name], strings.Repeat("0", len(sum)))
		}
		if name != Record && !theirs.MatchString(name) {
			fmt.Fprintf(&sums, "%s  %s\n", sum, name)
		}
	}
	err = disk.Replace(filepath.Join(dir, Record), []byte(sums.String()))
	if errors.Is(err, fs.ErrNotExist) {
		err = os.WriteFile(filepath.Join(dir, Record), []byte(sums.String()), 0o666)
	}
	return report, err
}
