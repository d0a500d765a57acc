package apitest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"
)

// caller calls a server.
type caller struct {
	*Server
	t *testing.T
}

// call makes a call of the account, or of the whole API where the path begins with "/".
func (c caller) call(method, path, media, token string, body []byte) (int, string) {
	c.t.Helper()
	if !strings.HasPrefix(path, "/") {
		path = "/accounts/" + c.Account + "/" + path
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if media != "" {
		r.Header.Set("Content-Type", media)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// json makes a call with a JSON body, which must be answered with a status and a text, and gives
// the result.
func (c caller) json(method, path, body string, status int, want string) (result map[string]any) {
	c.t.Helper()
	media := "application/json"
	if body == "" {
		media = ""
	}
	got, text := c.call(method, path, media, c.Token, []byte(body))
	return c.result(method+" "+path+" "+body, got, text, status, want)
}

func (c caller) result(what string, got int, text string, status int, want string) map[string]any {
	c.t.Helper()
	if got != status || !strings.Contains(text, want) {
		c.t.Fatalf("%.300s: %d %s, want %d %s", what, got, text, status, want)
	}
	var answer struct {
		Result any `json:"result"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		c.t.Fatalf("%s: %v in %s", what, err, text)
	}
	result, _ := answer.Result.(map[string]any)
	return result
}

// file is a part of a form.
type file struct{ name, media, text string }

func form(t *testing.T, parts ...file) (media string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range parts {
		header := textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf("form-data; name=%q; filename=%q", p.name, p.name)}}
		if p.media != "" {
			header.Set("Content-Type", p.media)
		}
		part, err := w.CreatePart(header)
		if err != nil {
			t.Fatal(err)
		}
		part.Write([]byte(p.text))
	}
	w.Close()
	return w.FormDataContentType(), b.Bytes()
}

// upload uploads modules, which must be answered with a status and a text.
func (c caller) upload(method, path, metadata string, status int, want string, parts ...file) map[string]any {
	c.t.Helper()
	if parts == nil {
		parts = []file{{"main.mjs", "application/javascript+module", "import './edge.wasm';\nexport default {};"}, {"edge.wasm", "application/wasm", "\x00asm"}}
	}
	if metadata != "" {
		parts = append([]file{{"metadata", "application/json", metadata}}, parts...)
	}
	media, body := form(c.t, parts...)
	got, text := c.call(method, path, media, c.Token, body)
	return c.result(method+" "+path+" "+metadata, got, text, status, want)
}

const (
	hashA = "0123456789abcdef0123456789abcdef"
	hashB = "1123456789abcdef0123456789abcdef"
	plain = `"main_module":"main.mjs","compatibility_date":"2026-11-17"`
)

// assets uploads the documents /a.txt and /b.txt for a worker, and gives the token for a script.
func (c caller) assets(worker string) string {
	c.t.Helper()
	session := c.json("POST", "workers/scripts/"+worker+"/assets-upload-session", `{"manifest":{"/a.txt":{"hash":"`+hashA+`","size":1},"/b.txt":{"hash":"`+hashB+`","size":2}}}`, 200, `"jwt":`)
	token := session["jwt"].(string)
	for _, bucket := range session["buckets"].([]any) {
		var parts []file
		for _, hash := range bucket.([]any) {
			text := map[string]string{hashA: "a", hashB: "bb"}[hash.(string)]
			parts = append(parts, file{hash.(string), "text/plain; charset=utf-8", base64.StdEncoding.EncodeToString([]byte(text))})
		}
		media, body := form(c.t, parts...)
		status, text := c.call("POST", "workers/assets/upload?base64=true", media, session["jwt"].(string), body)
		token, _ = c.result("upload", status, text, 201, `"jwt":`)["jwt"].(string)
	}
	return token
}

func TestDeployment(t *testing.T) {
	c := caller{Start(t), t}
	c.json("GET", "workers/scripts/edge/deployments", "", 404, "10007")
	c.json("PUT", "workers/scripts/edge/secrets", `{"name":"KEY","text":"x","type":"secret_text"}`, 404, "10007")
	self := `{` + plain + `,"bindings":[{"name":"SELF","type":"service","service":"edge"}]}`
	c.upload("PUT", "workers/scripts/edge", self, 400, "10143")
	c.upload("PUT", "workers/scripts/edge", `{`+plain+`,"observability":{"enabled":true,"redact_query_string":true}}`, 200, `"startup_time_ms":`)
	c.json("PUT", "workers/scripts/edge/secrets", `{"name":"KEY","text":"very secret","type":"secret_text"}`, 200, `"KEY"`)
	d := c.json("POST", "d1/database", `{"name":"tern","primary_location_hint":"weur"}`, 200, `"uuid"`)
	c.json("POST", "d1/database", `{"name":"tern"}`, 400, "7502")

	token := c.assets("edge")
	bindings := `[{"name":"SELF","type":"service","service":"edge"},{"name":"DB","type":"d1","id":"` + d["uuid"].(string) + `"},{"name":"ASSETS","type":"assets"}]`
	full := `{` + plain + `,"keep_bindings":["secret_text"],"bindings":` + bindings + `,"annotations":{"workers/tag":"t","workers/message":"m"},
		"assets":{"jwt":"` + token + `","config":{"html_handling":"none","run_worker_first":["/api/*"]}}}`
	second := c.upload("POST", "workers/scripts/edge/versions?bindings_inherit=strict", full, 200, `"workers/tag":"t"`)["id"].(string)
	if live := c.Deployed("edge"); live.ID == second || live.secrets()["KEY"] == "" {
		t.Errorf("after an upload %+v is live", live)
	}
	c.json("PUT", "workers/scripts/edge/secrets", `{"name":"KEY","text":"x","type":"secret_text"}`, 400, "10215")
	c.json("POST", "workers/scripts/edge/deployments", `{"strategy":"percentage","versions":[{"version_id":"`+second+`","percentage":90}]}`, 400, "percentages")
	c.json("POST", "workers/scripts/edge/deployments", `{"strategy":"percentage","versions":[{"version_id":"`+newUUID()+`","percentage":100}]}`, 404, "100146")
	c.json("POST", "workers/scripts/edge/deployments", `{"strategy":"percentage","versions":[{"version_id":"`+second+`","percentage":100}],"annotations":{"workers/message":"first"}}`, 200, `"first"`)
	live := c.Deployed("edge")
	if live.ID != second || live.secrets()["KEY"] != "very secret" || string(live.Assets["/b.txt"].Data) != "bb" || live.Assets["/a.txt"].Type != "text/plain; charset=utf-8" {
		t.Errorf("live is %+v", live)
	}
	for _, path := range []string{"settings", "secrets", "versions/" + second} {
		if _, text := c.call("GET", "workers/scripts/edge/"+path, "", c.Token, nil); strings.Contains(text, "very secret") || !strings.Contains(text, "KEY") {
			t.Errorf("%s: %s", path, text)
		}
	}

	// A secret that is not kept is lost, and a version with other secrets comes back by force alone.
	third := c.upload("POST", "workers/scripts/edge/versions", `{`+plain+`}`, 200, `"number":4`)["id"].(string)
	if c.Server.workers["edge"].version(third).secrets()["KEY"] != "" {
		t.Error("a secret is kept that was not to be")
	}
	c.json("POST", "workers/scripts/edge/deployments?force=true", `{"strategy":"percentage","versions":[{"version_id":"`+third+`","percentage":100}]}`, 200, third)
	back := `{"strategy":"percentage","versions":[{"version_id":"` + second + `","percentage":100}]}`
	c.json("POST", "workers/scripts/edge/deployments", back, 400, "10220")
	c.json("POST", "workers/scripts/edge/deployments?force=true", back, 200, second)
	if list := c.Deployments("edge"); len(list) != 5 || list[4].Versions[0].VersionID != second || list[1].Annotations["workers/triggered_by"] != "secret" {
		t.Errorf("the deployments are %+v", list)
	}

	// Settings are of the worker: a version does not change them.
	settings := c.json("GET", "workers/scripts/edge/script-settings", "", 200, `"redact_query_string":true`)
	if settings["logpush"] != false {
		t.Errorf("the settings are %v", settings)
	}
	c.json("PATCH", "workers/scripts/edge/script-settings", `{"observability":{"enabled":true}}`, 200, `"observability":{"enabled":true}`)
	c.json("PATCH", "workers/scripts/edge/script-settings", `{"observability":{"redact_query_strings":true}}`, 400, "redact_query_strings")
	c.json("GET", "workers/scripts/edge/subdomain", "", 200, `"enabled":true,"previews_enabled":true`)
	c.json("POST", "workers/scripts/edge/subdomain", `{"enabled":false,"previews_enabled":false}`, 200, `"enabled":false`)
	c.json("PUT", "workers/scripts/edge/schedules", `[{"cron":"*/5 * * * *"}]`, 200, `"cron":"*/5 * * * *"`)
	c.json("PUT", "workers/scripts/edge/schedules", `[{"cron":"often"}]`, 400, "10100")
	if crons := c.Schedules("edge"); !slices.Equal(crons, []string{"*/5 * * * *"}) {
		t.Errorf("the crons are %v", crons)
	}
	c.Interfere(t, "edge")
	c.json("GET", "workers/scripts/edge/deployments", "", 200, `"source":"dash"`)
	c.json("GET", "workers/scripts/edge/versions?deployable=true", "", 200, `"number":5`)
	c.json("GET", "workers/scripts/edge/versions?page=2&per_page=2", "", 200, `"number":3`)
}

func TestUploadsAreChecked(t *testing.T) {
	c := caller{Start(t), t}
	token := c.assets("edge")
	main := file{"main.mjs", "application/javascript+module", "export default {};"}
	for _, test := range []struct {
		metadata string
		parts    []file
		want     string
	}{
		{``, nil, "metadata"},
		{`{`, nil, "metadata"},
		{`{` + plain + `,"main":1}`, nil, "unknown field"},
		{`{` + plain + `}`, []file{main, main}, "as another"},
		{`{` + plain + `}`, []file{{"main.mjs", "application/javascript", ""}}, "10021"},
		{`{"main_module":"worker.mjs","compatibility_date":"2026-11-17"}`, nil, "worker.mjs"},
		{`{"main_module":"main.mjs","compatibility_date":"yesterday"}`, nil, "compatibility date"},
		{`{"main_module":"main.mjs","compatibility_date":"2999-01-01"}`, nil, "future"},
		{`{` + plain + `}`, []file{{"main.mjs", "application/javascript+module", "import { a } from './b.mjs';"}}, `No such module`},
		{`{` + plain + `}`, []file{main, {"edge.wasm", "application/wasm", "wasm"}}, "CompileError"},
		{`{` + plain + `,"bindings":[{"name":"X","type":"kv_namespace","namespace_id":"1"}]}`, nil, "kv_namespace"},
		{`{` + plain + `,"bindings":[{"name":"X","type":"plain_text","text":"a","extra":1}]}`, nil, "extra"},
		{`{` + plain + `,"bindings":[{"name":"X","type":"plain_text","text":"a","service":"edge"}]}`, nil, "has no service"},
		{`{` + plain + `,"bindings":[{"name":"X","type":"plain_text"}]}`, nil, "`text`"},
		{`{` + plain + `,"bindings":[{"name":"X","type":"plain_text","text":"a"},{"name":"X","type":"plain_text","text":"a"}]}`, nil, "two bindings"},
		{`{` + plain + `,"bindings":[{"name":"DB","type":"d1","id":"00000000-0000-0000-0000-000000000001"}]}`, nil, "must have a valid `id`"},
		{`{` + plain + `,"bindings":[{"name":"RL","type":"ratelimit","namespace_id":"1","simple":{"limit":3,"period":30}}]}`, nil, "ratelimit"},
		{`{` + plain + `,"bindings":[{"name":"OBSERVED","type":"analytics_engine","dataset":"d"}]}`, nil, "10089"},
		{`{` + plain + `,"bindings":[{"name":"ASSETS","type":"assets"}]}`, nil, "needs assets"},
		{`{` + plain + `,"bindings":[{"name":"K","type":"inherit"}]}`, nil, "10057"},
		{`{` + plain + `,"assets":{"jwt":"none"}}`, nil, "completion token"},
		{`{` + plain + `,"assets":{"jwt":"` + token + `","config":{"html_handling":"exact"}}}`, nil, "html_handling"},
		{`{` + plain + `,"assets":{"jwt":"` + token + `","config":{"run_worker_first":["api"]}}}`, nil, "run_worker_first"},
		{`{` + plain + `,"assets":{"jwt":"` + token + `","config":{"run_worker_first":["!/api"]}}}`, nil, "run_worker_first"},
		{`{` + plain + `,"assets":{"jwt":"` + token + `","config":{"_headers":"` + strings.Repeat(`/a\n X: y\n`, 101) + `"}}}`, nil, "101 rules"},
		{`{` + plain + `,"observability":{"redact_query_string":true}}`, nil, "enabled"},
		{`{` + plain + `,"annotations":{"workers/tag":"` + strings.Repeat("t", 101) + `"}}`, nil, "workers/tag"},
	} {
		status := 400
		if strings.Contains(test.want, "10089") {
			status = 403
		}
		c.upload("PUT", "workers/scripts/edge", test.metadata, status, test.want, test.parts...)
	}
	if c.Deployed("edge") != nil {
		t.Error("what was refused is live")
	}
	if got, text := c.call("PUT", "workers/scripts/edge", "application/json", c.Token, []byte(`{}`)); got != 400 {
		t.Errorf("a script in JSON: %d %s", got, text)
	}
	c.EnableAnalytics()
	c.upload("PUT", "workers/scripts/edge", `{`+plain+`,"bindings":[{"name":"OBSERVED","type":"analytics_engine","dataset":"d"}]}`, 200, "startup")
}

func TestAssetsAreChecked(t *testing.T) {
	c := caller{Start(t), t}
	const path = "workers/scripts/edge/assets-upload-session"
	manifest := func(entries string) string { return `{"manifest":{` + entries + `}}` }
	for entries, want := range map[string]string{
		``: "0 files",
		`"a.txt":{"hash":"` + hashA + `","size":1}`:                                             "path",
		`"/_headers":{"hash":"` + hashA + `","size":1}`:                                         "configuration",
		`"/a.txt":{"hash":"` + hashA[:31] + `","size":1}`:                                       "32 hexadecimal",
		`"/a.txt":{"hash":"` + hashA + `"}`:                                                     "size",
		`"/a.txt":{"hash":"` + hashA + `","size":26214401}`:                                     "size",
		`"/a.txt":{"hash":"` + hashA + `","size":1},"/b.txt":{"hash":"` + hashA + `","size":2}`: "another size",
		`"/a.txt":{"hash":"` + hashA + `","size":1,"type":"text/plain"}`:                        "unknown field",
	} {
		c.json("POST", path, manifest(entries), 400, want)
	}
	session := c.json("POST", path, manifest(`"/a.txt":{"hash":"`+hashA+`","size":1},"/b.txt":{"hash":"`+hashB+`","size":2}`), 200, hashA)
	token := session["jwt"].(string)
	claims, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil || !strings.Contains(string(claims), `"exp":`) {
		t.Errorf("the token says %s, %v", claims, err)
	}
	upload := func(token, query string, status int, want string, parts ...file) map[string]any {
		t.Helper()
		media, body := form(t, parts...)
		got, text := c.call("POST", "workers/assets/upload"+query, media, token, body)
		return c.result(fmt.Sprint(parts), got, text, status, want)
	}
	a, b := file{hashA, "text/plain", "YQ=="}, file{hashB, "application/null", "YmI="}
	upload(c.Token, "?base64=true", 401, "10000", a)
	upload(token, "", 400, "base64=true", a)
	upload(token, "?base64=true", 400, "Content-Type", file{hashA, "", "YQ=="})
	upload(token, "?base64=true", 400, "base64", file{hashA, "text/plain", "a"})
	upload(token, "?base64=true", 400, "bytes", file{hashA, "text/plain", "YWE="})
	upload(token, "?base64=true", 400, "no file of the hash", file{strings.Repeat("f", 32), "text/plain", "YQ=="})
	upload(token, "?base64=true", 202, `"jwt":null`, a)
	upload(token, "?base64=true", 400, "that of another file", file{hashA, "text/plain", "Yg=="})

	// What was uploaded once need not be again.
	again := c.json("POST", path, manifest(`"/a.txt":{"hash":"`+hashA+`","size":1},"/b.txt":{"hash":"`+hashB+`","size":2}`), 200, `"buckets":[["`+hashB+`"]]`)
	if again["jwt"] == token {
		t.Error("two sessions have one token")
	}
	metadata := func(token string) string { return `{` + plain + `,"assets":{"jwt":"` + token + `"}}` }
	c.upload("PUT", "workers/scripts/edge", metadata(token), 400, "completion token")
	complete := upload(token, "?base64=true", 201, `"jwt":"`, b)["jwt"].(string)
	c.upload("PUT", "workers/scripts/other", metadata(complete), 400, "completion token")
	c.upload("PUT", "workers/scripts/edge", metadata(complete), 200, "startup")
	if got := c.Deployed("edge").Assets["/b.txt"]; got.Type != "" || string(got.Data) != "bb" {
		t.Errorf("the asset is %+v", got)
	}
	c.ExpireUploads()
	c.upload("PUT", "workers/scripts/edge", metadata(complete), 400, "completion token")
	c.upload("PUT", "workers/scripts/edge", `{`+plain+`,"keep_assets":true}`, 200, `"has_assets":true`)
	none := c.json("POST", path, manifest(`"/a.txt":{"hash":"`+hashA+`","size":1}`), 200, `"buckets":[]`)
	c.upload("PUT", "workers/scripts/edge", metadata(none["jwt"].(string)), 200, "startup")
}

func TestZones(t *testing.T) {
	c := caller{Start(t), t}
	zone := c.AddZone("tern.example")
	c.upload("PUT", "workers/scripts/edge", `{`+plain+`}`, 200, "")
	c.upload("PUT", "workers/scripts/other", `{`+plain+`}`, 200, "")
	c.json("GET", "/zones?name=tern.example", "", 200, zone.ID)
	c.json("GET", "/zones?name=other.example", "", 200, `"result":[]`)
	put := func(service, more string, status int, want string) {
		t.Helper()
		c.json("PUT", "workers/domains", `{"hostname":"www.tern.example","service":"`+service+`","zone_id":"`+zone.ID+`"`+more+`}`, status, want)
	}
	c.AddRecord(zone, "CNAME", "www.tern.example", "pages.example")
	put("nowhere", ``, 404, "10007")
	put("edge", ``, 409, "100117")
	put("edge", `,"override_existing_dns_record":true,"environment":"production"`, 200, `"service":"edge"`)
	put("other", ``, 409, "100116")
	put("other", `,"override_existing_origin":true`, 200, `"service":"other"`)
	put("edge", `,"override":true`, 400, "unknown field")
	c.json("PUT", "workers/domains", `{"hostname":"www.wren.example","service":"edge"}`, 400, "100114")
	c.json("GET", "workers/domains?hostname=www.tern.example", "", 200, `"service":"other"`)
	c.json("GET", "workers/domains?service=edge", "", 200, `"result":[]`)
	c.json("GET", "/zones/"+zone.ID+"/dns_records?name.exact=www.tern.example", "", 200, `"read_only":true`)

	c.json("GET", "/zones/"+zone.ID+"/settings/browser_check", "", 200, `"value":"on"`)
	c.json("PATCH", "/zones/"+zone.ID+"/settings/browser_check", `{"value":"off"}`, 200, `"value":"off"`)
	c.json("GET", "/zones/"+zone.ID+"/settings/browser", "", 400, "1006")
	c.SetBots(zone, "fight_mode", true)
	c.json("GET", "/zones/"+zone.ID+"/bot_management", "", 200, `"fight_mode":true`)
	c.json("GET", "/zones/"+zone.ID+"/rulesets/phases/http_request_dynamic_redirect/entrypoint", "", 404, "10003")
	c.json("PUT", "/zones/"+zone.ID+"/rulesets/phases/http_request_dynamic_redirect/entrypoint", `{"rules":[{"action":"redirect","expression":"true"}]}`, 200, `"action":"redirect"`)
	c.json("POST", "/zones/"+zone.ID+"/purge_cache", `{"files":["https://www.tern.example/"]}`, 200, zone.ID)
	c.json("POST", "/zones/"+zone.ID+"/purge_cache", `{}`, 400, "1012")
	if got := c.Purged(zone); !slices.Equal(got, []string{"https://www.tern.example/"}) {
		t.Errorf("purged is %v", got)
	}
	c.AddAddress("a@tern.example", false)
	c.json("GET", "email/routing/addresses", "", 200, `"result":[]`)
	c.json("GET", "email/routing/addresses?verified=false", "", 200, "a@tern.example")
	c.AddAddress("a@tern.example", true)
	c.json("GET", "email/routing/addresses", "", 200, "a@tern.example")
}

func TestAuthorization(t *testing.T) {
	c := caller{Start(t), t}
	zone := c.AddZone("tern.example")
	c.json("GET", "/user/tokens/verify", "", 200, `"status":"active"`)
	c.json("GET", "tokens/verify", "", 200, `"status":"active"`)
	c.Deny("PUT", "workers/")
	c.Deny("", "zones/"+zone.ID+"/bot_management")
	c.upload("PUT", "workers/scripts/edge", `{`+plain+`}`, 403, "10000")
	c.json("GET", "workers/scripts", "", 200, "[]")
	c.json("GET", "/zones/"+zone.ID+"/bot_management", "", 403, "10000")
	c.json("GET", "/zones/"+zone.ID+"/settings/ssl", "", 200, "full")
	c.json("GET", "/nowhere", "", 404, "7003")
	c.json("PATCH", "workers/scripts", "", 405, "10405")
	c.json("GET", "/accounts/other/workers/scripts", "", 403, "7403")
	c.ExpireToken(time.Now())
	c.json("GET", "workers/scripts", "", 401, "1000")
	var statuses []int
	for _, call := range c.Calls() {
		statuses = append(statuses, call.Status)
	}
	if want := []int{200, 200, 403, 200, 403, 200, 404, 405, 403, 401}; !slices.Equal(statuses, want) {
		t.Errorf("the calls ended with %v, want %v", statuses, want)
	}
}

func TestFaults(t *testing.T) {
	c := caller{Start(t), t}
	c.upload("PUT", "workers/scripts/edge", `{`+plain+`}`, 200, "")
	c.FailOn("GET", "/secrets", Well, TooMany(3))
	c.FailOn("", "", Refuse(500, 1, "down"))
	c.json("GET", "workers/scripts/edge/secrets", "", 200, "[]") // which is the first for its path
	c.json("GET", "workers/scripts/edge/secrets", "", 429, "971")
	c.json("GET", "workers/scripts/edge/secrets", "", 500, "down")
	c.FailOn("GET", "deployments", Before(func() { c.Interfere(t, "edge") }))
	c.json("GET", "workers/scripts/edge/deployments", "", 200, `"source":"dash"`)
	if got, text := c.call("GET", "workers/scripts", "", c.Token, nil); got != 200 {
		t.Errorf("%d %s", got, text)
	}
	c.Fail(c.Hang)
	if _, err := (&http.Client{Timeout: 50 * time.Millisecond}).Get(c.URL + "/accounts"); err == nil {
		t.Error("a call that hangs is answered")
	}
}

func TestStatements(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                   nil,
		"-- a; b\n":                          nil,
		"SELECT 1":                           {"SELECT 1"},
		"SELECT 1; SELECT 2;":                {"SELECT 1", "SELECT 2"},
		"SELECT ';--', \"/*\" -- c\n; /*;*/": {"SELECT ';--', \"/*\""},
		"SELECT 'it''s;'; x":                 {"SELECT 'it''s;'", "x"},
		"CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END; SELECT 1": {
			"CREATE TRIGGER t AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END", "SELECT 1",
		},
	} {
		if got := statements(text); !slices.Equal(got, want) {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func FuzzStatements(f *testing.F) {
	for _, seed := range []string{"SELECT 1; SELECT ';'", "/*", "--", "'", "CREATE TRIGGER x BEGIN a; END;"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range statements(text) {
			if strings.TrimSpace(s) != s || s == "" {
				t.Errorf("%q holds %q", text, s)
			}
		}
	})
}

// The types of assets are added to a _headers file, and nothing that it says is lost.
func FuzzHeadersOf(f *testing.F) {
	for _, seed := range []string{"", "/*\n  A: b\n", "/a.txt\n  Content-Type: text/x\n", "/d/*\n  ! Content-Type\n", "# c\n/a.txt\n", "  A: b\n", "/a.txt\r\n\tX: y\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\r\x00\v\f\u0085\u00a0") {
			return // nothing that a file of rules has
		}
		assets := map[string]Asset{"/a.txt": {Type: "text/plain"}, "/d/e": {}}
		once := headersOf(text, assets)
		if again := headersOf(once, assets); again != once {
			t.Errorf("%q becomes %q, and then %q", text, once, again)
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "/") && !strings.Contains(once, line) {
				t.Errorf("%q loses %q: %q", text, line, once)
			}
		}
	})
}
