package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"anteroom/edge/worker/cloudflare"

	"github.com/cloudflare/cloudflare-go/v6/bot_management"
	"github.com/cloudflare/cloudflare-go/v6/email_routing"
	"github.com/cloudflare/cloudflare-go/v6/workers"
	"github.com/cloudflare/cloudflare-go/v6/zones"
)

// Permissions to read what Platform looks at beside what a deployment needs. Without one of them
// what it is for is left to be looked at by hand.
const (
	permissionAddresses    = "Account, Email Routing Addresses, Read"
	permissionZoneSettings = "Zone, Zone Settings, Read"
	permissionBots         = "Zone, Bot Management, Read"
)

// PermissionsPlatform are those that Platform does without.
const PermissionsPlatform = permissionAddresses + "; " + permissionZoneSettings + "; " + permissionBots

// Severity is how much a remark matters.
type Severity string

// The severities, the gravest first.
const (
	Fault   Severity = "fault"        // something that the service promises does not hold
	Warning Severity = "warning"      // it may be meant so
	ByHand  Severity = "look by hand" // it could not be read
)

var severities = []Severity{Fault, Warning, ByHand}

// Remark is something that Cloudflare does, or would do, behind the service's back.
type Remark struct {
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"` // a worker, a zone, an address
	What     string   `json:"what"`
	Next     string   `json:"next"` // what to do about it
}

func (r Remark) String() string { return fmt.Sprintf("%s: %s (%s)", r.Subject, r.What, r.Next) }

// zoneSetting is a setting of a zone that stops agents, or changes what the service says.
type zoneSetting struct {
	id       string
	good     []string
	severity Severity
	what     string
	where    string // in the dashboard of the zone
}

// zoneSettings are those that matter. Where a zone is new, the second and the third are not good.
var zoneSettings = []zoneSetting{
	{"always_use_https", []string{"on"}, Warning, "Always Use HTTPS is off: documents are served over plain HTTP too, and anybody on the way may change them", "SSL/TLS, Edge Certificates"},
	{"browser_check", []string{"off"}, Warning, "Browser Integrity Check is on: it turns away agents whose header fields are unlike a browser's", "Security, Settings"},
	{"email_obfuscation", []string{"off"}, Warning, "Email Address Obfuscation is on: it rewrites addresses in HTML, which is then not what the manifest hashes", "Security, Settings"},
	{"rocket_loader", []string{"off"}, Warning, "Rocket Loader is on: it rewrites HTML, which is then not what the manifest hashes", "Speed, Settings"},
	{"automatic_https_rewrites", []string{"off"}, Warning, "Automatic HTTPS Rewrites is on: it rewrites links in HTML, which is then not what the manifest hashes", "SSL/TLS, Edge Certificates"},
	{"security_level", []string{"off", "essentially_off", "low", "medium", "high"}, Fault, "Under Attack mode is on: no agent passes its challenge", "Security, Settings"},
}

// botSetting is a member of a zone's bot management.
type botSetting struct {
	member   string
	good     []any // nil stands for a member that is not there
	severity Severity
	what     string
}

var botSettings = []botSetting{
	{"fight_mode", []any{nil, false}, Fault, "Bot Fight Mode is on: it challenges agents, and no rule makes an exception"},
	{"ai_bots_protection", []any{nil, "disabled"}, Fault, "Block AI bots is on: it turns away agents of language models, MCP clients among them"},
	{"is_robots_txt_managed", []any{nil, false}, Fault, "robots.txt is managed by Cloudflare: it puts its own rules before those of the service"},
	{"crawler_protection", []any{nil, "disabled"}, Warning, "AI Labyrinth is on: it puts links into HTML, which is then not what the manifest hashes"},
	{"enable_js", []any{nil, false}, Warning, "JavaScript Detections is on: it puts a script into HTML, which is then not what the manifest hashes"},
	{"sbfm_definitely_automated", []any{nil, "allow"}, Fault, "Super Bot Fight Mode stops what is definitely automated, which every agent is"},
	{"sbfm_likely_automated", []any{nil, "allow"}, Fault, "Super Bot Fight Mode stops what is likely automated, which every agent is"},
	{"sbfm_static_resource_protection", []any{nil, false}, Warning, "Super Bot Fight Mode is on for static resources, which the documents are"},
}

const whereBots = "Security, Settings, Bot traffic"

// exampleNamespace is the namespace_id of a rate limit in Cloudflare's documentation. Limits with
// equal ones share their counts, within an account.
const exampleNamespace = "1001"

// Platform looks at what Cloudflare does behind the service's back, as it is now: after Survey, and
// again after Do. It changes nothing. What the token may not read it lists as to be looked at by
// hand. The gravest remarks come first.
func (r *Run) Platform(ctx context.Context) []Remark {
	p := &platform{r: r, ctx: ctx}
	p.addresses()
	byName := map[string]*Zone{}
	for _, zone := range r.Zones {
		byName[zone.Name] = zone
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		p.zone(byName[name])
	}
	for _, s := range r.states {
		p.worker(s)
	}
	slices.SortStableFunc(p.remarks, func(a, b Remark) int {
		return cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity))
	})
	return p.remarks
}

// platform gathers remarks.
type platform struct {
	r       *Run
	ctx     context.Context
	remarks []Remark
}

func (p *platform) say(severity Severity, subject, what, next string) {
	p.remarks = append(p.remarks, Remark{severity, subject, what, next})
}

// unread says that something could not be read. where is the place in the dashboard.
func (p *platform) unread(subject, what, where, permission string, err error) {
	why := err.Error()
	if isDenied(err) {
		why = "the token lacks the permission " + permission
	}
	p.say(ByHand, subject, what+" could not be read: "+why, "look in the dashboard at "+where)
}

// addresses looks whether mail of the service goes to verified addresses.
func (p *platform) addresses() {
	var wanted []string
	for _, w := range p.r.Plan.Workers {
		for _, b := range w.Metadata.Bindings {
			if b.Type == "send_email" {
				wanted = append(wanted, b.Destinations...)
				if b.Destination != "" {
					wanted = append(wanted, b.Destination)
				}
			}
		}
	}
	if len(wanted) == 0 {
		return
	}
	const where = "the account's Email Service, Destination addresses"
	verified := map[string]bool{}
	for _, asked := range []bool{true, false} {
		list, err := p.r.api().addresses(p.ctx, asked)
		if err != nil {
			p.unread(strings.Join(wanted, ", "), "whether the address of the relay is verified", where, permissionAddresses, err)
			return
		}
		for _, a := range list {
			verified[strings.ToLower(a.Email)] = a.Verified != ""
		}
	}
	for _, address := range wanted {
		switch is, there := verified[strings.ToLower(address)]; {
		case !there:
			p.say(Fault, address, "it is no destination address of the account: mail to it is refused, unless the sender's domain is set up for Email Sending on a paid plan",
				"add it under "+where+", and open the link in the mail that comes")
		case !is:
			p.say(Fault, address, "it is not verified: mail to it is refused, unless the sender's domain is set up for Email Sending on a paid plan",
				"open the link in the mail that Cloudflare sent there; "+where+" sends another one")
		}
	}
}

// zone looks at the settings of a zone.
func (p *platform) zone(zone *Zone) {
	at := func(where string) string { return where + " of " + zone.Name }
	for i, s := range zoneSettings {
		value, err := p.r.api().zoneSetting(p.ctx, zone.ID, s.id)
		if isDenied(err) {
			var left []string
			for _, other := range zoneSettings[i:] {
				left = append(left, other.id)
			}
			p.unread(zone.Name, strings.Join(left, ", "), at("SSL/TLS, Security and Speed"), permissionZoneSettings, err)
			break
		}
		if err != nil {
			p.unread(zone.Name, s.id, at(s.where), permissionZoneSettings, err)
			continue
		}
		if !slices.Contains(s.good, value) {
			p.say(s.severity, zone.Name, s.what, "change it in the dashboard at "+at(s.where))
		}
	}
	bots, err := p.r.api().bots(p.ctx, zone.ID)
	if err != nil {
		p.unread(zone.Name, "what it does about bots", at(whereBots), permissionBots, err)
		return
	}
	for _, s := range botSettings {
		if value := bots[s.member]; !slices.Contains(s.good, value) {
			p.say(s.severity, zone.Name, s.what, "change it in the dashboard at "+at(whereBots))
		}
	}
}

// worker looks at the settings of a worker, and at what its version is bound to.
func (p *platform) worker(s *state) {
	for _, b := range s.Metadata.Bindings {
		if b.Namespace == exampleNamespace {
			p.say(Warning, s.Name, "the rate limit has the namespace_id "+exampleNamespace+", as Cloudflare's examples do: limits with equal ones share their counts",
				"choose an unusual number in wrangler.toml")
		}
	}
	for _, host := range slices.Sorted(maps.Keys(s.taken)) {
		p.say(Warning, host, "it leads to "+s.taken[host]+", which the domain of "+s.Name+" replaces", "keep a note of it")
	}
	where := "Workers & Pages, " + s.Name + ", Settings"
	got, exists, err := p.r.api().settings(p.ctx, s.Name)
	if err != nil {
		p.unread(s.Name, "what is logged of it", where, permissionScripts, err)
	}
	if err != nil || !exists {
		return // one that is not there yet does nothing
	}
	if got.Observability["redact_query_string"] != true {
		p.say(Fault, s.Name, "observability.redact_query_string is not set: queries hold e-mail addresses, and its logs would hold them", "run anteroom deploy, or set it in the dashboard at "+where)
	}
	if !covers(got.Observability, s.Settings.Observability) {
		p.say(Fault, s.Name, "what is logged is not as wrangler.toml says: "+inJSON(got.Observability), "run anteroom deploy")
	}
	if traces, _ := got.Observability["traces"].(map[string]any); traces["enabled"] == true {
		p.say(Fault, s.Name, "traces are on: whether they leave out queries is not known", "run anteroom deploy")
	}
	if got.Logpush {
		p.say(Warning, s.Name, "Logpush is on: what it pushes may hold URLs with their queries", "turn it off in the dashboard at "+where)
	}
	if len(got.Tails) > 0 {
		p.say(Warning, s.Name, "another worker is given all that is logged (tail_consumers): whether queries are left out there is not known", "remove it in the dashboard at "+where)
	}
	at, err := p.r.api().subdomain(p.ctx, s.Name)
	switch wanted := (subdomain{s.Settings.WorkersDev, s.Settings.PreviewURLs}); {
	case err != nil:
		p.unread(s.Name, "whether it answers at workers.dev", where, permissionScripts, err)
	case at != wanted:
		p.say(Fault, s.Name, "it has "+subdomainText(at)+", and wrangler.toml says "+subdomainText(wanted), "run anteroom deploy")
	}
}

// isDenied reports whether a call failed because the token may not make it.
func isDenied(err error) bool {
	var failed *cloudflare.Failure
	return errors.As(err, &failed) && (failed.Status == http.StatusForbidden || failed.Status == http.StatusUnauthorized)
}

type destination struct {
	Email    string `json:"email"`
	Verified string `json:"verified"` // when, "" for never
}

// addresses are the destination addresses of Email Routing that are verified, or not.
func (a api) addresses(ctx context.Context, verified bool) (all []destination, err error) {
	const perPage = 50 // the most that the API gives
	wanted := email_routing.AddressListParamsVerifiedFalse
	if verified {
		wanted = email_routing.AddressListParamsVerifiedTrue
	}
	service := email_routing.NewAddressService(a.Options()...)
	for page := 1; ; page++ {
		var p email_routing.AddressListParams
		set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
		set(&p.Verified.Value, &p.Verified.Present, wanted)
		set(&p.PerPage.Value, &p.PerPage.Present, perPage)
		set(&p.Page.Value, &p.Page.Present, float64(page))
		var list []destination
		err := a.call(ctx, cloudflare.Purpose{What: "read the destination addresses", Permission: permissionAddresses}, &list, unnamed(ctx, service.List, p))
		all = append(all, list...)
		if err != nil || len(list) < perPage {
			return all, err
		}
	}
}

// zoneSetting reads a setting of a zone.
func (a api) zoneSetting(ctx context.Context, zone, setting string) (value string, err error) {
	var p zones.SettingGetParams
	set(&p.ZoneID.Value, &p.ZoneID.Present, zone)
	service := zones.NewSettingService(a.Options()...)
	var result struct {
		Value string `json:"value"`
	}
	err = a.call(ctx, cloudflare.Purpose{What: "read the setting " + setting, Permission: permissionZoneSettings}, &result, named(ctx, service.Get, setting, p))
	return result.Value, err
}

// bots reads what a zone does about bots.
func (a api) bots(ctx context.Context, zone string) (members map[string]any, err error) {
	var p bot_management.BotManagementGetParams
	set(&p.ZoneID.Value, &p.ZoneID.Present, zone)
	service := bot_management.NewBotManagementService(a.Options()...)
	err = a.call(ctx, cloudflare.Purpose{What: "read the bot management", Permission: permissionBots}, &members, unnamed(ctx, service.Get, p))
	return members, err
}

// scriptSettings are the settings of a worker that are no part of a version.
type scriptSettings struct {
	Observability map[string]any `json:"observability"`
	Logpush       bool           `json:"logpush"`
	Tails         []any          `json:"tail_consumers"`
}

// settings reads the settings of a worker. exists is false where there is no such worker.
func (a api) settings(ctx context.Context, worker string) (settings scriptSettings, exists bool, err error) {
	var p workers.ScriptSettingGetParams
	set(&p.AccountID.Value, &p.AccountID.Present, a.Account)
	service := workers.NewScriptSettingService(a.Options()...)
	err = a.call(ctx, cloudflare.Purpose{What: "read the settings of " + worker, Permission: permissionScripts}, &settings, named(ctx, service.Get, worker, p))
	if isMissing(err) {
		return settings, false, nil
	}
	return settings, err == nil, err
}
