package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"anteroom/edge/assets"
	"anteroom/edge/snapshot"
)

type Artifact struct {
	Snapshot *snapshot.Snapshot
	Files    []assets.File // sorted by path

	Foreign []string // paths of the other files in the folder, sorted

	dir string
}

func (a *Artifact) File(path string) []byte {
	if i := slices.IndexFunc(a.Files, func(f assets.File) bool { return f.Path == path }); i >= 0 {
		return a.Files[i].Bytes
	}
	return nil
}

func encode(s *snapshot.Snapshot, sums map[string]string) []byte {
	text := append(s.Encode(), '\n')
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		text = fmt.Appendf(text, "%s  %s\n", sums[name], name[1:])
	}
	return text
}

func decode(text []byte) (known []byte, sums map[string]string, err error) {
	known, list, isWhole := bytes.Cut(text, []byte("\n\n"))
	sums = map[string]string{}
	for line := range strings.Lines(string(list)) {
		sum, name, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		sums["/"+name], isWhole = sum, isWhole && found
	}
	if !isWhole {
		return nil, nil, errors.New("no list of documents (run anteroom generate)")
	}
	return append(known, '\n'), sums, nil
}

// Warning names the foreign files, or is "" without any.
func (a *Artifact) Warning() string {
	if len(a.Foreign) == 0 {
		return ""
	}
	return fmt.Sprintf("not generated: %s; anteroom serve leaves them out, anteroom deploy publishes them "+
		"(put your own files into content/static, and remove the others)", list(a.dir, a.Foreign))
}

func list(dir string, paths []string) string {
	const shown = 3
	var files []string
	for _, p := range paths[:min(len(paths), shown)] {
		files = append(files, filepath.Join(dir, p))
	}
	text := strings.Join(files, ", ")
	if more := len(paths) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Read reads the folder and the snapshot file. It refuses a folder whose documents differ from the
// list, as after a killed run, and names the files. No other rule decides what can be served.
func Read(dir, snapshotFile string) (*Artifact, error) {
	const hint = "(run anteroom generate)"
	if _, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("read the documents: %w (run anteroom generate, or name another folder)", err)
	}
	text, err := assets.ReadFile(snapshotFile)
	if err != nil {
		return nil, fmt.Errorf("read the snapshot: %w %s", err, hint)
	}
	known, sums, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("read the snapshot %s: %w", snapshotFile, err)
	}
	a := &Artifact{dir: dir}
	if a.Snapshot, err = snapshot.Decode(known); err != nil {
		return nil, fmt.Errorf("read the snapshot %s: %w %s", snapshotFile, err, hint)
	}
	dir = resolve(dir)
	there, err := sizes(dir)
	if err != nil {
		return nil, fmt.Errorf("read the documents of %s: %w", dir, err)
	}
	var stale []string // or missing
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		file := filepath.Join(dir, name)
		text, err := assets.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("read the documents of %s: %w (give this user access to it)", dir, err)
		}
		if err != nil || assets.SumOf(text) != sums[name] {
			stale = append(stale, name)
		}
		a.Files = append(a.Files, assets.File{Path: name, Bytes: text})
	}
	for _, name := range slices.Sorted(maps.Keys(there)) {
		if sums[name] == "" {
			a.addForeign(name)
		}
	}
	if stale != nil {
		return nil, fmt.Errorf("%s does not fit %s: stale: %s (run anteroom generate, and try again)",
			dir, snapshotFile, list(dir, stale))
	}
	return a, nil
}

func (a *Artifact) addForeign(name string) {
	if name != "/.assetsignore" {
		a.Foreign = append(a.Foreign, name)
	}
}
