package cloudflare

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"anteroom/cmd/anteroom/internal/cloudflare/d1test"
)

// answer is the result of a call, and its type in Cloudflare's own client.
type answer struct{ kind, result string }

const (
	accountPath = "/accounts/" + d1test.Account
	zonePath    = "/zones/0123456789abcdef0123456789abcde0"
)

// settings are what the API answers of an account with nothing to complain of.
func settings() map[string]answer {
	all := map[string]answer{
		accountPath + "/workers/scripts/anteroom/script-settings": {"ScriptSetting", `{"logpush":false,"observability":{"enabled":true},"tail_consumers":null}`},
		"/zones": {"", `[{"id":"` + zonePath[7:] + `","name":"anteroom.example"}]`},
		zonePath + "/bot_management": {"BotManagementGetResponse", `{"ai_bots_protection":"disabled","content_bots_protection":"disabled","cf_robots_variant":"off",` +
			`"crawler_protection":"disabled","enable_js":false,"fight_mode":false,"is_robots_txt_managed":false}`},
	}
	for id, value := range map[string]string{
		"always_use_https": "on", "browser_check": "off", "email_obfuscation": "off", "rocket_loader": "off", "automatic_https_rewrites": "off", "security_level": "medium",
	} {
		all[zonePath+"/settings/"+id] = answer{"SettingGetResponse", fmt.Sprintf(`{"id":%q,"value":%q,"editable":true,"modified_on":"2026-11-01T00:00:00Z"}`, id, value)}
	}
	return all
}

// spoiled are answers that spoil the service, each with what is said of it.
var spoiled = []struct {
	path string
	answer
	want string
}{
	{zonePath + "/bot_management", answer{"BotManagementGetResponse", `{"fight_mode":true}`}, "fault anteroom.example: Bot Fight Mode is on"},
	{zonePath + "/bot_management", answer{"BotManagementGetResponse", `{"content_bots_protection":"block"}`}, "fault anteroom.example: Block content bots is on"},
	{zonePath + "/bot_management", answer{"BotManagementGetResponse", `{"cf_robots_variant":"policy_only"}`}, "fault anteroom.example: Cloudflare adds a policy to robots.txt"},
	{zonePath + "/bot_management", answer{"BotManagementGetResponse", `{"sbfm_likely_automated":"managed_challenge"}`}, "fault anteroom.example: Super Bot Fight Mode stops likely automated requests"},
	{zonePath + "/settings/security_level", answer{"SettingGetResponse", `{"id":"security_level","value":"under_attack"}`}, "fault anteroom.example: Under Attack mode is on"},
	{zonePath + "/settings/email_obfuscation", answer{"SettingGetResponse", `{"id":"email_obfuscation","value":"on"}`}, "warning anteroom.example: Email Address Obfuscation is on"},
	{accountPath + "/workers/scripts/anteroom/script-settings", answer{"ScriptSetting", `{"logpush":true}`}, "warning anteroom: Logpush or another worker"},
	{zonePath + "/bot_management", answer{}, "look by hand anteroom.example: what it does about bots could not be read: the token lacks the permission Zone, Bot Management, Read"},
	{zonePath + "/settings/browser_check", answer{}, "look by hand anteroom.example: browser_check could not be read"},
	{"/zones", answer{}, "look by hand www.anteroom.example: its zone could not be read"},
}

// Each setting that spoils the service is named, and nothing is said of an account without one.
func TestSettings(t *testing.T) {
	pause = time.Millisecond
	server := d1test.Start(t)
	config, err := ReadConfig("../../../../wrangler.toml")
	if err != nil {
		t.Fatal(err)
	}
	look := func(change func(map[string]answer)) string {
		t.Helper()
		answers := settings()
		change(answers)
		server.Other = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			a, known := answers[r.URL.Path]
			switch {
			case !known:
				t.Errorf("%s is requested", r.URL)
			case a.result == "":
				d1test.Refuse(w, 403, 10000, "Authentication error")
			case r.URL.Query().Get("name") == "www.anteroom.example":
				d1test.Answer(w, 200, `{"success":true,"errors":[],"messages":[],"result":[]}`)
			default:
				d1test.Answer(w, 200, `{"success":true,"errors":[],"messages":[],"result":`+a.result+`}`)
			}
		})
		remarks, err := config.Settings(t.Context(), Production)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, r := range remarks {
			lines = append(lines, string(r.Severity)+" "+r.String())
		}
		return strings.Join(lines, "\n")
	}
	if said := look(func(map[string]answer) {}); said != "" {
		t.Errorf("of nothing it says\n%s", said)
	}
	for _, c := range spoiled {
		if said := look(func(all map[string]answer) { maps.Copy(all, map[string]answer{c.path: c.answer}) }); !strings.HasPrefix(said, c.want) {
			t.Errorf("of %s it says\n%s\nwant %s", c.result, said, c.want)
		}
	}
}
