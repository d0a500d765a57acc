package tlog_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"anteroom/generator/tlog"

	merkle "golang.org/x/mod/sumdb/tlog"
)

// verifiers is the folder of the programs that verify.
const verifiers = "../../build/verifiers"

var (
	temporary string // a folder for all tests

	// programs are the verifiers that share no code with the log: those of other projects, and a
	// program that has the description of the format alone. To build the first takes a while.
	programs = sync.OnceValues(func() ([][]string, error) {
		// The test looks at the sources itself, too, so that "go test" does not take a cached result
		// for other sources.
		err := filepath.WalkDir(verifiers, func(name string, _ fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		python, err := exec.LookPath("python3")
		if err != nil {
			return nil, errors.New("the log cannot be verified without python3: install it (Debian: apt-get install python3)")
		}
		program := filepath.Join(temporary, "verifiers")
		build := exec.Command("go", "build", "-o", program, ".")
		build.Dir = verifiers
		if said, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("build %s: %w\n%s", verifiers, err, said)
		}
		return [][]string{{program}, {python, filepath.Join(verifiers, "check.py")}}, nil
	})
)

func TestMain(m *testing.M) {
	var err error
	if temporary, err = os.MkdirTemp("", "anteroom-translog-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(temporary)
	os.Exit(code)
}

// The verifiers by their names.
const (
	torchwood = "torchwood"
	mod       = "x/mod"
	tessera   = "tessera"
	checkPy   = "check.py"
)

var everyone = []string{checkPy, tessera, torchwood, mod}

// verdict is a line of a verifier.
var verdict = regexp.MustCompile(`(?m)^(?:\S+ )?(torchwood|x/mod|tessera|check\.py): (refused: )?.*$`)

// shelf is a folder with published files, which verifiers look at one after the other.
type shelf struct {
	folder string
	files  map[string][]byte
	url    string // where the folder is served; "" for nowhere
}

// hold makes the folder have these files, and no others.
func (s *shelf) hold(t *testing.T, files map[string][]byte) {
	t.Helper()
	for p := range s.files {
		if _, still := files[p]; !still {
			if err := os.Remove(filepath.Join(s.folder, p)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for p, data := range files {
		if was, there := s.files[p]; there && bytes.Equal(was, data) {
			continue
		}
		if err := os.MkdirAll(filepath.Join(s.folder, filepath.Dir(p)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.folder, p), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.files = files
}

// verify lets every verifier look at published files, and gives those that refuse them. Each must
// have a verdict on each tree, check.py one on them all.
func (s *shelf) verify(t *testing.T, files map[string][]byte, keys []string, trees int) (refused []string, said string) {
	t.Helper()
	all, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	s.hold(t, files)
	vkey := filepath.Join(t.TempDir(), "vkey")
	if err := os.WriteFile(vkey, []byte(strings.Join(keys, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, program := range all {
		out, err := exec.Command(program[0], append(program[1:], cmp.Or(s.url, s.folder), vkey)...).CombinedOutput()
		said += string(out)
		some := false
		for _, line := range verdict.FindAllSubmatch(out, -1) {
			if seen[string(line[1])]++; len(line[2]) > 0 {
				some, refused = true, append(refused, string(line[1]))
			}
		}
		if exit := (*exec.ExitError)(nil); some != (err != nil) || err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
			t.Errorf("%s: %v\n%s", program, err, out)
		}
	}
	if want := (map[string]int{torchwood: trees, mod: trees, tessera: trees, checkPy: 1}); !maps.Equal(seen, want) {
		t.Errorf("there are verdicts of %v, want %v\n%s", seen, want, said)
	}
	slices.Sort(refused)
	return slices.Compact(refused), said
}

// What is published is taken by verifiers that others wrote, or that know the format alone.
func TestVerifiersTake(t *testing.T) {
	for _, n := range []int64{1, 255, 256, 257, 65_537} {
		t.Run(strconv.FormatInt(n, 10), func(t *testing.T) {
			at, b := &shelf{folder: t.TempDir()}, treeOf(t, sizesFrom(n)...)
			if refused, said := at.verify(t, filesOf(t, b.Log), b.Keys, 1); refused != nil {
				t.Errorf("refused by %q\n%s", refused, said)
			}
		})
	}
	t.Run("two trees, corrections and a witness", func(t *testing.T) {
		at, b := &shelf{folder: t.TempDir()}, empty(t, 3)
		b.add(t, 1, "2026-11-20", recordOf(tlog.Registration, 0), recordOf(tlog.Charter, 1), recordOf(tlog.Own, 2), recordOf(tlog.Suggestion, 3))
		b.add(t, 1, "2026-11-21", tlog.Entry{Kind: tlog.Vouched, Index: 0}, tlog.Entry{Kind: tlog.Correction, Index: 1, To: tlog.Own})
		b.add(t, 3, "2026-11-21-2", recordOf(tlog.Registration, 4), tlog.Entry{Kind: tlog.Correction, Index: 3, To: tlog.None}, tlog.Entry{Kind: tlog.Vouched, Index: 2})
		b.add(t, 3, "2026-11-22", tlog.Entry{Kind: tlog.Correction, Index: 5, To: tlog.None}, tlog.Entry{Kind: tlog.Correction, Index: 3, To: tlog.Suggestion})
		w := cosigningKey("witness.example", 1)
		for i := range b.stages {
			s := &b.stages[i]
			s.checkpoint = append(s.checkpoint, w.cosign(signedText(s), 1_795_000_000, 1_795_000_000)...)
		}
		l, faults := readAll(b.Keys, []tlog.Witness{w.verifier(4)}, b.stages)
		if faults != nil {
			t.Fatal(told(faults))
		}
		server := httptest.NewServer(http.FileServer(http.Dir(at.folder)))
		defer server.Close()
		for _, at.url = range []string{"", server.URL} {
			if refused, said := at.verify(t, filesOf(t, l), b.Keys, 2); refused != nil {
				t.Errorf("%s refused by %q\n%s", at.url, refused, said)
			}
		}
	})
}

// changed gives a log like that of treeOf, in which the record with this number is another one.
func changed(t testing.TB, number int, sizes ...int64) *book {
	t.Helper()
	b := empty(t, 1)
	for day, size := range sizes {
		var entries []tlog.Entry
		for n := b.Size(); n < size-1; n++ {
			e := recordOf(tlog.Registration, int(n))
			if int(n) == number {
				e = recordOf(tlog.Registration, -1)
			}
			entries = append(entries, e)
		}
		b.add(t, 1, fmt.Sprintf("2026-11-%02d", day+1), entries...)
	}
	return b
}

// A log that was tampered with is refused by each verifier that can see it.
func TestVerifiersRefuse(t *testing.T) {
	sizes := sizesFrom(257) // 257, 258 and 513
	b := treeOf(t, sizes...)
	good := filesOf(t, b.Log)
	flip := func(p string, at int) func(map[string][]byte) {
		return func(files map[string][]byte) {
			if at < 0 {
				at += len(files[p])
			}
			files[p] = slices.Clone(files[p])
			files[p][at] ^= 1
		}
	}
	gone := func(p string) func(map[string][]byte) {
		return func(files map[string][]byte) { delete(files, p) }
	}
	// checkpoints puts those of another log in the place of some, by their sizes.
	checkpoints := func(files, of map[string][]byte, sizes ...int64) {
		for _, size := range sizes {
			p := tlog.CheckpointOf("/log", size)
			if files[p] = of[p]; size == 513 {
				files["/log/checkpoint"] = of[p]
			}
		}
	}
	at := &shelf{folder: t.TempDir()}
	for name, c := range map[string]struct {
		change func(files map[string][]byte)
		refuse []string
	}{
		"nothing": {func(map[string][]byte) {}, nil},

		// A bit.
		"a full tile":                   {flip("/log/tile/0/000", 99), []string{checkPy, tessera, torchwood}}, // no proof of consistency needs it
		"the last tile":                 {flip("/log/tile/0/002.p/1", 9), everyone},
		"a tile of an old checkpoint":   {flip("/log/tile/0/001.p/1", 9), []string{checkPy, tessera, torchwood}},
		"a tile of a higher level":      {flip("/log/tile/1/000.p/2", 40), everyone},
		"an entry":                      {flip("/log/tile/entries/000", 60), []string{checkPy, tessera, torchwood}},
		"an entry of an old checkpoint": {flip("/log/tile/entries/001.p/1", 60), []string{checkPy, tessera, torchwood}},
		"the length of an entry":        {flip("/log/tile/entries/000", 1), []string{checkPy, tessera, torchwood}},
		"the signature of the newest": {func(files map[string][]byte) {
			flip("/log/checkpoint", -9)(files)
			files["/log/checkpoints/513"] = files["/log/checkpoint"]
		}, everyone},
		"the signature of an old checkpoint": {flip("/log/checkpoints/257", -9), everyone},
		"the newest checkpoint, by its size": {flip("/log/checkpoints/513", -9), everyone},
		"the root of an old checkpoint":      {flip("/log/checkpoints/258", 30), everyone},
		"the proof of a verification":        {flip("/log/verifications/2026-11-01.tlog-proof", 700), []string{checkPy, torchwood}},
		"the look-up":                        {flip(tlog.LookupPath(b.HashAt(0)), 66), []string{checkPy}},
		"the keys that are published":        {flip(tlog.KeysPath, 50), []string{checkPy}},
		"the policy":                         {flip("/log/policy", 50), []string{checkPy, torchwood}},

		// A file.
		"no tile":                    {gone("/log/tile/0/001"), everyone},
		"no tile of an old size":     {gone("/log/tile/0/001.p/1"), []string{checkPy, torchwood}}, // tessera takes the full one
		"no bundle":                  {gone("/log/tile/entries/000"), []string{checkPy, tessera, torchwood}},
		"no old checkpoint":          {gone("/log/checkpoints/257"), everyone},
		"no proof of a verification": {gone("/log/verifications/2026-11-02.tlog-proof"), []string{checkPy, torchwood}},
		"no look-up":                 {gone(tlog.LookupPath(b.HashAt(0))), []string{checkPy}},
		"a file more":                {func(files map[string][]byte) { files["/log/tile/0/003.p/0"] = []byte{} }, []string{checkPy}},

		// Other entries, with the tiles and proofs of theirs, under checkpoints that were signed.
		"an entry gone": {func(files map[string][]byte) {
			maps.Copy(files, filesOf(t, treeOf(t, 256, 257, 512).Log))
			files["/log/checkpoint"] = good["/log/checkpoint"]
		}, everyone},
		"entries swapped": {func(files map[string][]byte) {
			swapped := slices.Clone(files["/log/tile/entries/000"])
			entry := len(swapped) / 256
			for i := range entry {
				swapped[i], swapped[i+entry] = swapped[i+entry], swapped[i]
			}
			files["/log/tile/entries/000"] = swapped
		}, []string{checkPy, tessera, torchwood}},
		"an entry changed": {func(files map[string][]byte) {
			maps.Copy(files, filesOf(t, changed(t, 3, sizes...).Log))
			checkpoints(files, good, sizes...)
		}, everyone},

		// The key of the log has signed a second history.
		"a fork before the first checkpoint": {func(files map[string][]byte) {
			maps.Copy(files, filesOf(t, changed(t, 3, sizes...).Log))
			checkpoints(files, good, 257, 258)
		}, everyone},
		"a fork of which one checkpoint is left": {func(files map[string][]byte) {
			maps.Copy(files, filesOf(t, changed(t, 3, sizes...).Log))
			checkpoints(files, good, 258)
		}, everyone},
		"an entry added before the last checkpoint": {func(files map[string][]byte) {
			maps.Copy(files, filesOf(t, treeOf(t, 257, 259, 513).Log))
			checkpoints(files, good, 513)
		}, everyone},
		"a checkpoint of the log's other history": {func(files map[string][]byte) {
			checkpoints(files, filesOf(t, changed(t, 3, sizes...).Log), 513)
		}, everyone},

		// Another key has signed.
		"a checkpoint of another log": {func(files map[string][]byte) {
			signer, _ := namedKey(t, "other.example/log", 9)
			files["/log/checkpoint"] = signNote(t, strings.Replace(signedText(&b.stages[2]), host, "other.example", 1), signer)
			files["/log/checkpoints/513"] = files["/log/checkpoint"]
		}, everyone},
		"a checkpoint by a key of the same name": {func(files map[string][]byte) {
			signer, _ := namedKey(t, tlog.Origin(host, 1), 9)
			files["/log/checkpoint"] = signNote(t, signedText(&b.stages[2]), signer)
			files["/log/checkpoints/513"] = files["/log/checkpoint"]
		}, everyone},
		"another origin, signed by the log": {func(files map[string][]byte) {
			signer, _ := keyOf(t, 1)
			files["/log/checkpoint"] = signNote(t, strings.Replace(signedText(&b.stages[2]), host, "other.example", 1), signer)
			files["/log/checkpoints/513"] = files["/log/checkpoint"]
		}, everyone},
	} {
		t.Run(name, func(t *testing.T) {
			files := maps.Clone(good)
			c.change(files)
			if name != "nothing" && maps.EqualFunc(files, good, bytes.Equal) {
				t.Fatal("nothing was changed")
			}
			if refused, said := at.verify(t, files, b.Keys, 1); !slices.Equal(refused, c.refuse) {
				t.Errorf("refused by %q, want %q\n%s", refused, c.refuse, said)
			}
		})
	}
}

// plain is a tree of any entries, of a few, that package tlog makes.
type plain struct {
	hashes merkle.HashReaderFunc
	size   int64
	root   merkle.Hash
	tile   []byte
}

func plainTree(t testing.TB, lines ...string) (p plain) {
	t.Helper()
	var stored []merkle.Hash
	p.size = int64(len(lines))
	p.hashes = func(indexes []int64) (hashes []merkle.Hash, err error) {
		for _, i := range indexes {
			hashes = append(hashes, stored[i])
		}
		return hashes, nil
	}
	for i, line := range lines {
		hashes, err := merkle.StoredHashes(int64(i), []byte(line), p.hashes)
		if err != nil {
			t.Fatal(err)
		}
		stored = append(stored, hashes...)
		p.tile = append(p.tile, hashes[0][:]...)
	}
	var err error
	if p.root, err = merkle.TreeHash(p.size, p.hashes); err != nil {
		t.Fatal(err)
	}
	return p
}

// checkpoint is signed with the first key.
func (p *plain) checkpoint(t testing.TB) []byte {
	signer, _ := keyOf(t, 1)
	return signNote(t, fmt.Sprintf("%s\n%d\n%s\n", signer.Name(), p.size, p.root), signer)
}

// forge publishes any entries, of a few, as the log would if it took them.
func forge(t testing.TB, lines ...string) (files map[string][]byte, key string) {
	t.Helper()
	_, key = keyOf(t, 1)
	tree := plainTree(t, lines...)
	size, checkpoint := tree.size, tree.checkpoint(t)
	hashes, err := merkle.ProveRecord(size, size-1, tree.hashes)
	if err != nil {
		t.Fatal(err)
	}
	var bundle []byte
	for _, line := range lines {
		bundle = append(append(append(bundle, byte(len(line)>>8)), byte(len(line))), line...)
	}
	proof := tlog.Proof{Extra: []byte(lines[size-1]), Index: size - 1, Hashes: hashes, Checkpoint: checkpoint}
	files = map[string][]byte{
		tlog.KeysPath: []byte(key + "\n"), "/log/policy": []byte("log " + key + "\nquorum none\n"),
		"/log/checkpoint": checkpoint, tlog.CheckpointOf("/log", size): checkpoint,
		"/log" + tlog.TilePath(0, 0, size): tree.tile, "/log" + tlog.TilePath(-1, 0, size): bundle,
		tlog.ProofPath("2026-11-20"): proof.Append(nil),
	}
	hash := recordOf(tlog.Registration, 0).Hash
	files[tlog.LookupPath(hash)] = []byte(hash + " 0 2026-11-20 registration\n")
	return files, key
}

// Entries that say what is not so are refused by who counts again, even where they are signed.
func TestVerifiersCount(t *testing.T) {
	first := recordOf(tlog.Registration, 0)
	last := verification("2026-11-20")
	last.Counts.Registrations = 1
	good := []string{string(first.Append(nil)), string(last.Append(nil))}
	at := &shelf{folder: t.TempDir()}
	for name, c := range map[string]struct {
		lines  []string
		refuse []string
	}{
		"nothing":                        {good, nil},
		"a count that is too high":       {[]string{good[0], strings.Replace(good[1], `"registrations_recorded":1`, `"registrations_recorded":2`, 1)}, []string{checkPy}},
		"another member":                 {[]string{good[0], strings.Replace(good[1], `"board_sha256"`, `"board_md5"`, 1)}, []string{checkPy}},
		"another day than that of board": {[]string{good[0], strings.Replace(good[1], `"as_of":"2026-11-20"`, `"as_of":"2026-11-19"`, 1)}, []string{checkPy}},
		"white space":                    {[]string{strings.Replace(good[0], ":", ": ", 1), good[1]}, []string{checkPy}},
		"a correction of a later entry":  {[]string{good[0], `{"kind":"correction","index":1,"to":"own"}`, good[1]}, []string{checkPy}},
		"a correction that counts":       {[]string{good[0], `{"kind":"correction","index":0,"to":"own"}`, good[1]}, []string{checkPy}},
		"a correction to anything":       {[]string{good[0], `{"kind":"correction","index":0,"to":"gone"}`, good[1]}, []string{checkPy}},
		"a tree before the first":        {[]string{good[0], `{"kind":"log","checkpoint":""}`, good[1]}, []string{checkPy}},
		"no verification at the end":     {good[:1], []string{checkPy}},
	} {
		t.Run(name, func(t *testing.T) {
			files, key := forge(t, c.lines...)
			if refused, said := at.verify(t, files, []string{key}, 1); !slices.Equal(refused, c.refuse) {
				t.Errorf("refused by %q, want %q\n%s", refused, c.refuse, said)
			}
		})
	}
}
