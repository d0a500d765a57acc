package cloudflare

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Permissions that Settings needs. Without one it lists the settings to check by hand.
const (
	permissionScripts      = "Account, Workers Scripts, Read"
	permissionZone         = "Zone, Zone, Read"
	permissionZoneSettings = "Zone, Zone Settings, Read"
	permissionBots         = "Zone, Bot Management, Read"
)

const PermissionsSettings = permissionScripts + "; " + permissionZone + "; " + permissionZoneSettings + "; " +
	permissionBots

type Severity string

const (
	Fault   Severity = "fault"        // it breaks a promise of the service
	Warning Severity = "warning"      // it may be intended
	byHand  Severity = "look by hand" // it could not be read
)

// Remark is a setting of the account or of a zone that spoils the service.
type Remark struct {
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"` // a worker, a zone
	What     string   `json:"what"`
	Next     string   `json:"next"`
}

func (r Remark) String() string { return fmt.Sprintf("%s: %s (%s)", r.Subject, r.What, r.Next) }

// IsFault reports whether the setting breaks a promise of the service.
func (r Remark) IsFault() bool { return r.Severity == Fault }

const (
	rewrites  = "it changes HTML, which then differs from what the manifest hashes"
	automated = ", as every agent sends"

	certificates = "SSL/TLS, Edge Certificates"
	security     = "Security, Settings"
	bots         = "Security, Settings, Bot traffic"
)

// zoneSettings lists the settings of a zone that stop agents or change documents.
var zoneSettings = []struct {
	name     string // of a setting, or of a member of bot_management
	good     string // values, separated by spaces
	severity Severity
	what     string
	where    string // in the zone's dashboard
}{
	{"always_use_https", "on", Warning, "Always Use HTTPS is off: documents may change on the way", certificates},
	{"browser_check", "off", Warning, "Browser Integrity Check is on: it turns agents away", security},
	{"email_obfuscation", "off", Warning, "Email Address Obfuscation is on: " + rewrites, security},
	{"rocket_loader", "off", Warning, "Rocket Loader is on: " + rewrites, "Speed, Settings"},
	{"automatic_https_rewrites", "off", Warning, "Automatic HTTPS Rewrites is on: " + rewrites, certificates},
	{
		"security_level", "off essentially_off low medium high", Fault,
		"Under Attack mode is on: no agent passes its challenge", security,
	},
	{"fight_mode", "false", Fault, "Bot Fight Mode is on: it challenges agents, and rules cannot make an exception", bots},
	{
		"ai_bots_protection", "disabled", Fault,
		"Block AI bots is on: it turns away agents of language models, MCP clients among them", bots,
	},
	{
		"content_bots_protection", "disabled", Fault,
		"Block content bots is on: it blocks automated requests" + automated, bots,
	},
	{"is_robots_txt_managed", "false", Fault, "robots.txt is managed by Cloudflare, which puts its own rules first", bots},
	{
		"cf_robots_variant", "off", Fault,
		"Cloudflare adds a policy to robots.txt, which then differs from what the manifest hashes", bots,
	},
	{"crawler_protection", "disabled", Warning, "AI Labyrinth is on: " + rewrites, bots},
	{"enable_js", "false", Warning, "JavaScript Detections is on: " + rewrites, bots},
	{
		"sbfm_definitely_automated", "allow", Fault,
		"Super Bot Fight Mode stops definitely automated requests" + automated, bots,
	},
	{"sbfm_likely_automated", "allow", Fault, "Super Bot Fight Mode stops likely automated requests" + automated, bots},
	{
		"sbfm_static_resource_protection", "false", Warning,
		"Super Bot Fight Mode is on for static resources, as the documents are", bots,
	},
}

type inspection struct {
	*client
	ctx     context.Context
	remarks []Remark
}

func (i *inspection) say(severity Severity, subject, what, next string) {
	i.remarks = append(i.remarks, Remark{severity, subject, what, next})
}

func (i *inspection) read(subject, what, where, permission, path string, into any) bool {
	err := i.get(i.ctx, path, into)
	if err == nil {
		return true
	}
	why := err.Error()
	if denied(err) {
		why = "the token lacks the permission " + permission
	}
	i.say(byHand, subject, what+" could not be read: "+why, "look in the dashboard at "+where)
	return false
}

// Settings returns the settings that spoil the service of an environment, the gravest first.
func (c *Config) Settings(ctx context.Context, environment string) ([]Remark, error) {
	e, err := c.environment(environment)
	if err != nil {
		return nil, err
	}
	api, err := connect(ctx, e.Account, PermissionsSettings)
	if err != nil {
		return nil, err
	}
	defer api.http.CloseIdleConnections()
	i := &inspection{client: api, ctx: ctx, remarks: []Remark{}}
	i.worker(e.Name)
	seen := map[string]bool{}
	for _, host := range e.domains() {
		if id, name := i.zoneOf(host); id != "" && !seen[id] {
			seen[id] = true
			i.zone(id, name)
		}
	}
	order := []Severity{Fault, Warning, byHand}
	slices.SortStableFunc(i.remarks, func(a, b Remark) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return i.remarks, nil
}

func (i *inspection) zoneOf(host string) (id, name string) {
	for at := host; strings.Contains(at, "."); _, at, _ = strings.Cut(at, ".") {
		var found []struct{ ID, Name string }
		if !i.read(host, "its zone", "Websites", permissionZone, "zones?name="+url.QueryEscape(at), &found) {
			break
		}
		if len(found) > 0 {
			return found[0].ID, found[0].Name
		}
	}
	return "", ""
}

func (i *inspection) worker(name string) {
	var got struct {
		Logpush bool  `json:"logpush"`
		Tails   []any `json:"tail_consumers"`
	}
	where := "Workers & Pages, " + name + ", Settings"
	path := i.path("workers/scripts/" + url.PathEscape(name) + "/script-settings")
	if i.read(name, "its logging", where, permissionScripts, path, &got) && (got.Logpush || len(got.Tails) > 0) {
		i.say(Warning, name, "Logpush or another worker (tail_consumers) gets its logs, which may hold URLs "+
			"with their queries", "remove it in the dashboard at "+where)
	}
}

// zone checks the settings of a zone. A setting that its plan lacks is good.
func (i *inspection) zone(id, name string) {
	results, refused := map[string]map[string]any{}, map[string]bool{}
	for _, s := range zoneSettings {
		path, member, what, permission := "settings/"+s.name, "value", s.name, permissionZoneSettings
		if s.where == bots {
			path, member, what, permission = "bot_management", s.name, "what it does about bots", permissionBots
		}
		if results[path] == nil && !refused[permission] {
			var got map[string]any
			refused[permission] = !i.read(name, what, s.where+" of "+name, permission, "zones/"+id+"/"+path, &got)
			results[path] = got
		}
		if value := results[path][member]; value != nil && !slices.Contains(strings.Fields(s.good), fmt.Sprint(value)) {
			i.say(s.severity, name, s.what, "change it in the dashboard at "+s.where+" of "+name)
		}
	}
}
