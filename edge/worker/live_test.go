package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"anteroom/edge/worker/cloudflare/apitest"
)

// runtime runs what is deployed, for apitest.Live.
type runtime struct {
	mutex    sync.Mutex
	services map[string]int // in the harness, by address
}

// onRuntime begins the harness, and makes a runtime of it.
func onRuntime(t *testing.T) *runtime {
	t.Helper()
	harness.once.Do(func() { harness.err = startHarness(t) })
	if harness.err != nil {
		t.Fatal(harness.err)
	}
	return &runtime{services: map[string]int{}}
}

func (r *runtime) Start(s apitest.Service) (string, error) {
	answer, err := tell(map[string]any{"start": map[string]any{"deployed": s}})
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.services[answer.URL] = answer.Service
	return answer.URL, err
}

func (r *runtime) Stop(address string) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, err := tell(map[string]any{"service": r.services[address], "stop": true})
	return err
}

// What runs is what was uploaded and deployed: its modules, bindings and assets, and how those are
// served.
func TestLive(t *testing.T) {
	t.Parallel()
	s := apitest.Start(t)
	zone := s.AddZone("tern.example")
	db := s.AddDatabase(t, "tern")
	if _, err := db.DB.Exec("CREATE TABLE seen (what TEXT) STRICT"); err != nil {
		t.Fatal(err)
	}
	const worker = `import text from './text.txt';
export default {
  async fetch(request, env) {
    const mail = await env.EMAIL?.send({ from: 'relay@tern.example', to: 'ada@tern.example', subject: 's', text: 't' }).then(() => 'sent', String);
    await env.DB.prepare('INSERT INTO seen VALUES (?)').bind(request.url).run();
    return Response.json({ text, key: env.KEY, host: new URL(request.url).host, mail, limited: !(await env.RL.limit({ key: 'a' })).success });
  },
};`
	version := apitest.Version{
		Main: "worker.mjs", Date: "2026-11-17",
		Modules: map[string]apitest.Module{"worker.mjs": {Type: "esm", Data: []byte(worker)}, "text.txt": {Type: "text", Data: []byte("first")}},
		Bindings: []apitest.Binding{
			{Name: "DB", Type: "d1", DatabaseID: db.ID},
			{Name: "KEY", Type: "secret_text", Text: "secret"},
			{Name: "ASSETS", Type: "assets"},
			{Name: "SELF", Type: "service", Service: "tern"},
			{Name: "EMAIL", Type: "send_email", To: "ada@tern.example", AllowedFrom: []string{"relay@tern.example"}},
			{Name: "RL", Type: "ratelimit", NamespaceID: "7", Simple: &apitest.RateLimit{Limit: 3, Period: 60}},
		},
		Assets: map[string]apitest.Asset{
			"/a.txt": {Type: "text/x-odd", Data: []byte("a")}, "/b": {Data: []byte("b")}, "/c.json": {Type: "text/plain", Data: []byte("{}")}, "/index.html": {Type: "text/html", Data: []byte("home")},
			"/d/e.json": {Type: "text/plain", Data: []byte("[]")},
			"/404.html": {Type: "text/html", Data: []byte("none")},
		},
		AssetsConfig: apitest.AssetsConfig{
			HTMLHandling: "none", NotFoundHandling: "404-page", RunWorkerFirst: json.RawMessage(`["/api/*"]`),
			Headers: "/*\n  X-Every: yes\n/c.json\n  Content-Type: application/json\n/d/*\n  Content-Type: application/ld+json\n", Redirects: "/ /index.html 200\n",
		},
	}
	first := s.Put(t, "tern", version)
	s.AddDomain(t, zone, "www.tern.example", "tern")
	live := s.Live(t, onRuntime(t))
	client := live.Client()
	get := func(url string) (*http.Response, string) {
		t.Helper()
		answer, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return answer, string(text)
	}
	for _, test := range []struct {
		path   string
		status int
		media  string
		text   string
	}{
		{"/a.txt", 200, "text/x-odd", "a"},
		{"/b", 200, "", "b"},
		{"/c.json", 200, "application/json", "{}"},
		{"/d/e.json", 200, "application/ld+json", "[]"},
		{"/", 200, "text/html", "home"},
		{"/index", 404, "text/html; charset=utf-8", "none"},
	} {
		answer, text := get("https://www.tern.example" + test.path)
		if media := answer.Header.Get("Content-Type"); answer.StatusCode != test.status || text != test.text || media != test.media && test.status == 200 || answer.Header.Get("X-Every") != "yes" {
			t.Errorf("%s: %d %q %q %v, want %+v", test.path, answer.StatusCode, media, text, answer.Header, test)
		}
	}
	want := func(url, want string) {
		t.Helper()
		if answer, text := get(url); answer.StatusCode != 200 || text != want {
			t.Errorf("%s: %d %s, want %s", url, answer.StatusCode, text, want)
		}
	}
	const unverified = `"Error: destination address is not a verified address"`
	want("https://www.tern.example/api/x", `{"text":"first","key":"secret","host":"www.tern.example","mail":`+unverified+`,"limited":false}`)
	want("http://www.tern.example/api/y", `{"text":"first","key":"secret","host":"www.tern.example","mail":`+unverified+`,"limited":false}`)
	var rows int
	if err := db.DB.QueryRow("SELECT count(*) FROM seen").Scan(&rows); err != nil || rows != 2 {
		t.Errorf("the database has %d rows, %v", rows, err)
	}

	s.Set(zone, "always_use_https", "on")
	if answer, _ := get("http://www.tern.example/api/z?q"); answer.StatusCode != 301 || answer.Header.Get("Location") != "https://www.tern.example/api/z?q" {
		t.Errorf("plain HTTP: %d to %s", answer.StatusCode, answer.Header.Get("Location"))
	}
	if answer, err := client.Get("https://apex.tern.example/"); err == nil {
		t.Errorf("a host without a worker answers %d", answer.StatusCode)
	}
	if answer, _ := get("http://apex.tern.example/"); answer.StatusCode != 530 {
		t.Errorf("a host without a worker answers %d", answer.StatusCode)
	}

	// A new version is followed, late, and one that is deployed again.
	version.Modules = map[string]apitest.Module{"worker.mjs": {Type: "esm", Data: []byte(worker)}, "text.txt": {Type: "text", Data: []byte("second")}}
	version.Bindings = append(version.Bindings[:1:1], version.Bindings[4:]...)
	s.AddAddress("ada@tern.example", true)
	s.Put(t, "tern", version)
	live.Lag(1)
	want("https://www.tern.example/api/x", `{"text":"first","key":"secret","host":"www.tern.example","mail":`+unverified+`,"limited":false}`)
	want("https://www.tern.example/api/x", `{"text":"second","host":"www.tern.example","mail":"sent","limited":false}`)
	body := `{"strategy":"percentage","versions":[{"version_id":"` + first.ID + `","percentage":100}]}`
	r, err := http.NewRequest("POST", s.URL+"/accounts/"+s.Account+"/workers/scripts/tern/deployments?force=true", bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + s.Token}, "Content-Type": {"application/json"}}
	if answer, err := http.DefaultClient.Do(r); err != nil || answer.StatusCode != 200 {
		t.Fatal(answer, err)
	}
	if _, text := get("https://www.tern.example/api/x"); !strings.Contains(text, `"text":"first","key":"secret"`) || !strings.Contains(text, `"mail":"sent"`) {
		t.Errorf("after a rollback: %s", text)
	}
}
