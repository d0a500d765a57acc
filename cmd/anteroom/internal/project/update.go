package project

import (
	"bytes"
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

// Change is one file of an update.
type Change struct {
	File, What string
	Neutral    []byte // this program's, or nil
	Kept       bool   // the text here is not a neutral one, and stays
}

// Updates compares the folder of a service with the neutral texts of this program. Its content may
// have faults, which the update repairs. The record is the last change.
func Updates(dir string, now time.Time) (changes []Change, err error) {
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
		here, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		what, kept := compare(here, files[name], recorded[name])
		_, noList := os.Stat(filepath.Join(dir, strings.TrimSuffix(name, ".yaml")+".json"))
		if what != "" && !theirs.MatchString(name) && (here != nil || noList != nil) {
			changes = append(changes, Change{name, what, files[name], kept})
		}
	}
	if !bytes.Equal(record, files[Record]) {
		changes = append(changes, Change{File: Record, What: "replaced", Neutral: files[Record]})
	}
	return changes, nil
}

// compare decides as dpkg does about a conffile: see deb-conffiles(5). A missing text is nil.
func compare(here, neutral []byte, recorded string) (what string, kept bool) {
	sum, sumHere := neutralSum(neutral), neutralSum(here)
	switch {
	case here == nil && neutral != nil && recorded == "":
		return "added", false
	case here == nil || neutral != nil && sumHere == sum: // removed by the operator, or the same
		return "", false
	case sumHere == recorded && neutral == nil:
		return "removed", false
	case sumHere == recorded:
		return "replaced", false
	case neutral == nil:
		return "no longer used, but kept because you edited it", true
	case sum != recorded:
		return "differs from the neutral text, and kept", true
	}
	return "", true
}

// Apply makes the change in the folder of a service.
func (c *Change) Apply(dir string) error {
	path := filepath.Join(dir, c.File)
	switch {
	case c.Kept:
		return nil
	case c.Neutral == nil:
		return os.Remove(path)
	}
	if err := disk.Replace(path, c.Neutral); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, c.Neutral, 0o666))
}
