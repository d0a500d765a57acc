//go:build full

// Package browser_test looks at the pages with a browser, as look.mjs says.
package browser_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io/fs"
	"log/slog"
	"maps"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"anteroom/content"
	"anteroom/edge/edgetest"
	"anteroom/edge/native"
	"anteroom/edge/native/static"
	"anteroom/generator"
	"anteroom/generator/site"
	"anteroom/generator/site/sitetest"
	"anteroom/generator/tlog"
)

// node is the pinned Node.js.
const node = "../npm/node_modules/.bin/node"

// TestPages looks at every page of the shipped content, and goes through the flows.
func TestPages(t *testing.T) {
	look(t, serve(t, shipped(t)))
}

var makePicture = flag.Bool("picture", false, "write the picture of the front page")

// TestPicture compares the picture in the README with the front page after make run, where the host
// signs with a key that the shipped content does not publish: a picture of words may differ by its
// fonts, so cells of it are compared. -picture makes a new one.
func TestPicture(t *testing.T) {
	const kept, most = "front-page.png", 100 << 10
	file := filepath.Join(t.TempDir(), "picture.png")
	t.Setenv("PICTURE", file)
	look(t, serve(t, content.Files), "picture", "shipped")
	taken := picture(t, file)
	if *makePicture {
		write(t, kept, taken)
	}
	shown := picture(t, kept)
	if info, err := os.Stat(kept); err != nil || info.Size() > most {
		t.Fatalf("%s: %d bytes, want at most %d (%v)", kept, info.Size(), most, err)
	}
	if shown.Bounds() != taken.Bounds() {
		t.Fatalf("%s is %v, and the front page %v (go test -tags full ./build/browser -run TestPicture -picture)", kept, shown.Bounds(), taken.Bounds())
	}
	differing, all := 0, 0
	for y := 0; y < taken.Bounds().Dy(); y += cell {
		for x := 0; x < taken.Bounds().Dx(); x += cell {
			all++
			if a, b := light(shown, x, y), light(taken, x, y); max(a, b)-min(a, b) > 12 {
				differing++
			}
		}
	}
	if differing > all/20 {
		t.Errorf("%d of %d cells of %s differ from the front page (go test -tags full ./build/browser -run TestPicture -picture)", differing, all, kept)
	}
}

func picture(t *testing.T, name string) image.Image {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	shown, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return shown
}

// write keeps the most frequent colors of a picture, which makes it small.
func write(t *testing.T, name string, shown image.Image) {
	t.Helper()
	counts := map[color.Color]int{}
	box := shown.Bounds()
	for y := range box.Dy() {
		for x := range box.Dx() {
			counts[shown.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	small := image.NewPaletted(box, colors[:min(len(colors), 256)])
	draw.Draw(small, box, shown, image.Point{}, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, small); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// cell is the side of a cell, in pixels.
const cell = 20

// light is the mean lightness of a cell, up to 255.
func light(shown image.Image, left, top int) int {
	sum := 0
	for y := range cell {
		for x := range cell {
			sum += int(color.GrayModel.Convert(shown.At(left+x, top+y)).(color.Gray).Y)
		}
	}
	return sum / (cell * cell)
}

// TestLog looks at the pages about the public log where there is one, and has answers checked that
// it holds, and others.
func TestLog(t *testing.T) {
	full, cases := logged(t)
	file := filepath.Join(t.TempDir(), "cases.json")
	if err := os.WriteFile(file, cases, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("LOG_CASES", file)
	look(t, serve(t, full), "/log.html", "/scoreboard.html", "log")
}

// logged returns the shipped content with a public log, and cases for the flow log as JSON.
func logged(t *testing.T) (full fstest.MapFS, cases []byte) {
	t.Helper()
	full = shipped(t)
	newest := full["scoreboard/2026-11-20.yaml"]
	newest.Data = []byte(strings.NewReplacer(
		"verified_organic_agent_conversions: 0", "verified_organic_agent_conversions: 1", "registrations_recorded: 0", "registrations_recorded: 300",
		"charters_filed: 0", "charters_filed: 3",
	).Replace(string(newest.Data)))

	registered := edgetest.NewFake(t).Do("POST", "/api/waitlist", `{"agent_name":"ledger-lark"}`)
	var answer map[string]any
	if err := json.Unmarshal(registered.Body, &answer); err != nil {
		t.Fatal(err)
	}
	// with is the answer with another value of a member.
	with := func(member string, value any) string {
		changed := maps.Clone(answer)
		changed[member] = value
		text, err := json.Marshal(changed)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	payload := answer["payload_sha256"].(string)
	hash := tlog.RecordHash(answer["record_id"].(string), payload)
	other := strings.Repeat("0", 32)
	log(t, full, hash)
	type logCase struct{ Name, Answer, Stamp, Says string }
	const counted = "The hand verification of 2026-11-20 counted this registration."
	const absent = "Not counted by a hand verification yet"
	const unchecked = "No check was possible: "
	answer["promise"] = nil // it is another host's
	name := strings.Replace(string(registered.Body), "ledger-lark", "eve", 1)
	cases, err := json.Marshal([]logCase{
		{"an answer", with("promise", nil), "Counted", counted},
		{"a promise of another host", string(registered.Body), "Unverified", "Anyone could have made this: the promise is not from"},
		{"another name in it", name, "Tampered", "This was edited: agent_name and"},
		{"a later answer", with("record_id", other), "Not counted", absent},
		{"a dry run", with("record_id", nil), "Unchecked", unchecked + "a dry run"},
		{"a receipt", string(edgetest.NewFake(t).Do("POST", "/api/receipt", "{}").Body), "Unchecked", unchecked},
		{"no JSON", "ledger-lark", "Unchecked", unchecked + "this is not JSON"},
		{"a list", "[]", "Unchecked", unchecked + "this is not an answer"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return full, cases
}

// TestFullPages looks at the pages that grow, with something in them.
func TestFullPages(t *testing.T) {
	full := shipped(t)
	add := func(file, old, new string) {
		text := string(full[file].Data)
		if !strings.Contains(text, old) {
			t.Fatalf("%s lacks %q", file, old)
		}
		full[file] = &fstest.MapFile{Data: []byte(strings.Replace(text, old, new, 1))}
	}
	var jobs, audits strings.Builder
	for i := range 200 {
		title := [2]string{"Check a table of tariffs", "בדוק טבלה של תעריפים"}[i%2]
		fmt.Fprintf(&jobs, "\n  - id: job-%d\n    title: %s, %d\n    description: %[2]s, and list every difference.\n"+
			"    status: %[4]s\n    posted: 2026-11-%02[5]d\n    tags: [data, review]\n    poster: ledger-lark\n",
			i, title, i, [2]string{"open", "completed\n    completed_on: 2026-11-20"}[i/100], 1+i%19)
		fmt.Fprintf(&audits, "\n  - agent_name: ledger-lark-%d\n    registration_sha256: a%063x\n    scope: Recomputed all hashes of the answers of one week.\n"+
			"    claimed_at: 2026-11-14T08:30:00Z\n    report_url: https://example.org/%s.txt\n    report_sha256: a%063x\n    verified_by_hand_on: null\n", i, i, strings.Repeat("report", 1+i%30), i)
	}
	add("jobs.yaml", "jobs: []", "jobs:"+jobs.String())
	add("auditors.yaml", "ledger: []", "ledger:"+audits.String())
	const newest = "scoreboard/2026-11-20.yaml"
	for i := range 40 {
		name := fmt.Sprintf("scoreboard/2026-10-%02d%s.yaml", 1+i%20, []string{"", "-2"}[i/20])
		text := strings.ReplaceAll(string(full[newest].Data), "2026-11-20", name[len("scoreboard/"):][:len("2026-10-01")])
		full[name] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(text, "registrations_recorded: 0", fmt.Sprint("registrations_recorded: ", 10*(1+i%20)+i/20)))}
	}
	add(newest, "registrations_recorded: 0", "registrations_recorded: 123456")
	add("service.yaml", "name: Anteroom", "name: "+strings.Repeat("Waitingroom ", 2)+strings.Repeat("W", 36)) // 60 letters
	log(t, full)
	look(t, serve(t, full), "/", "/jobs.html", "/scoreboard.html", "/log.html")
}

// shipped is the content of this project, with the key that the host of these tests signs with.
func shipped(t *testing.T) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	err := fs.WalkDir(content.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(content.Files, name)
		all[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	service := strings.Replace(string(all["service.yaml"].Data), `current: ""`, "current: "+edgetest.PublicKey(edgetest.Key), 1)
	all["service.yaml"] = &fstest.MapFile{Data: []byte(service)}
	return all
}

func output(t *testing.T, files fs.FS) *generator.Output {
	t.Helper()
	s, err := site.Load(files)
	if err != nil {
		t.Fatal(err)
	}
	output, err := generator.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// log adds a public log, whose first registrations have the given hashes.
func log(t *testing.T, full fstest.MapFS, registrations ...string) {
	t.Helper()
	sitetest.Verify(full)
	documents := map[string][]byte{}
	for _, d := range output(t, full).Documents {
		documents[d.Path] = d.Bytes
	}
	sitetest.Log(t, full, func(path string) []byte { return documents[path] }, registrations...)
}

// serve runs a host with a content, and gives its address.
func serve(t *testing.T, files fs.FS) string {
	t.Helper()
	output := output(t, files)
	documents, err := static.New(output.Documents)
	if err != nil {
		t.Fatal(err)
	}
	host, err := native.Open(native.Config{
		Data: t.TempDir(), Create: true, Key: edgetest.Key, Snapshot: output.Snapshot, Documents: documents, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(host)
	t.Cleanup(func() {
		server.Close()
		if err := host.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

// look runs look.mjs.
func look(t *testing.T, base string, chosen ...string) {
	t.Helper()
	for name, hint := range map[string]string{node: "build/toolchain/install.sh installs it", browser(): "build/toolchain/debian.sh installs it on Debian"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Fatalf("%v: %s", err, hint)
		}
	}
	said, err := exec.Command(node, append([]string{"look.mjs", base}, chosen...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	t.Logf("%s", said)
}

// browser is the browser that look.mjs uses.
func browser() string {
	if name := os.Getenv("CHROMIUM"); name != "" {
		return name
	}
	return "chromium"
}
