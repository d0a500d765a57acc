package cloudflare

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cloudflare/cloudflare-go/v6/bot_management"
	"github.com/cloudflare/cloudflare-go/v6/email_routing"
	"github.com/cloudflare/cloudflare-go/v6/email_sending"
	"github.com/cloudflare/cloudflare-go/v6/workers"
	"github.com/cloudflare/cloudflare-go/v6/zones"
)

// Permissions to read what Settings looks at. Without one, Settings says what to look at by hand.
const (
	permissionScripts      = "Account, Workers Scripts, Read"
	permissionAddresses    = "Account, Email Routing Addresses, Read"
	permissionSending      = "Account, Email Sending, Read"
	permissionRouting      = "Zone, Email Routing Rules, Read"
	permissionZone         = "Zone, Zone, Read"
	permissionZoneSettings = "Zone, Zone Settings, Read"
	permissionBots         = "Zone, Bot Management, Read"
)

// PermissionsSettings are all of them.
const PermissionsSettings = permissionScripts + "; " + permissionAddresses + "; " + permissionSending + "; " + permissionRouting +
	"; " + permissionZone + "; " + permissionZoneSettings + "; " + permissionBots

// Severity is how much a remark matters.
type Severity string

// The severities, the gravest first.
const (
	Fault   Severity = "fault"        // something that the service promises does not hold
	Warning Severity = "warning"      // it may be intended
	ByHand  Severity = "look by hand" // it could not be read
)

// Remark is a setting of the account or of a zone that spoils the service.
type Remark struct {
	Severity Severity `json:"severity"`
	Subject  string   `json:"subject"` // a worker, a zone, an address
	What     string   `json:"what"`
	Next     string   `json:"next"` // what to do about it
}

func (r Remark) String() string { return fmt.Sprintf("%s: %s (%s)", r.Subject, r.What, r.Next) }

// zoneSettings are the settings of a zone that stop agents, or change what the service says. The
// second and the third are not good in a new zone.
var zoneSettings = []struct {
	id       zones.SettingGetResponseID
	good     []string
	severity Severity
	what     string
	where    string // in the dashboard of the zone
}{
	{"always_use_https", []string{"on"}, Warning, "Always Use HTTPS is off: documents may change on the way", "SSL/TLS, Edge Certificates"},
	{"browser_check", []string{"off"}, Warning, "Browser Integrity Check is on: it turns agents away", "Security, Settings"},
	{"email_obfuscation", []string{"off"}, Warning, "Email Address Obfuscation is on: " + rewrites, "Security, Settings"},
	{"rocket_loader", []string{"off"}, Warning, "Rocket Loader is on: " + rewrites, "Speed, Settings"},
	{"automatic_https_rewrites", []string{"off"}, Warning, "Automatic HTTPS Rewrites is on: " + rewrites, "SSL/TLS, Edge Certificates"},
	{
		"security_level",
		[]string{"off", "essentially_off", "low", "medium", "high"},
		Fault,
		"Under Attack mode is on: no agent passes its challenge", "Security, Settings",
	},
}

const rewrites = "it changes HTML, which is then not what the manifest hashes"

// inspection gathers remarks.
type inspection struct {
	*client
	ctx     context.Context
	remarks []Remark
}

func (i *inspection) say(severity Severity, subject, what, next string) {
	i.remarks = append(i.remarks, Remark{severity, subject, what, next})
}

// unread says that something could not be read, and reports whether.
func (i *inspection) unread(subject, what, where, permission string, err error) bool {
	if err == nil {
		return false
	}
	why := err.Error()
	if denied(err) {
		why = "the token lacks the permission " + permission
	}
	i.say(ByHand, subject, what+" could not be read: "+why, "look in the dashboard at "+where)
	return true
}

// IsFault reports whether a promise of the service does not hold.
func (r Remark) IsFault() bool { return r.Severity == Fault }

// Settings looks for settings that spoil the service of an environment of the wrangler.toml at path,
// the gravest first.
func Settings(ctx context.Context, path, environment string) ([]Remark, error) {
	config, err := ReadConfig(path)
	if err != nil {
		return nil, err
	}
	e, err := config.environment(environment)
	if err != nil {
		return nil, err
	}
	c, err := connect(ctx, e.Account, PermissionsSettings)
	if err != nil {
		return nil, err
	}
	defer c.http.CloseIdleConnections()
	i := &inspection{client: c, ctx: ctx, remarks: []Remark{}}
	i.worker(e.Name)
	for _, m := range e.Mail {
		i.recipient(m.Destination)
		for _, sender := range m.Senders {
			i.sender(sender)
		}
	}
	seen := map[string]bool{}
	for _, host := range e.domains() {
		zone, err := i.zoneOf(host)
		if i.unread(host, "its zone", "Websites", permissionZone, err) || zone == nil || seen[zone.ID] {
			continue
		}
		seen[zone.ID] = true
		i.zone(zone)
	}
	order := []Severity{Fault, Warning, ByHand}
	slices.SortStableFunc(i.remarks, func(a, b Remark) int {
		return cmp.Compare(slices.Index(order, a.Severity), slices.Index(order, b.Severity))
	})
	return i.remarks, nil
}

// zoneOf finds the zone of a host, nil if the token sees none.
func (i *inspection) zoneOf(host string) (*zones.Zone, error) {
	for name := host; strings.Contains(name, "."); _, name, _ = strings.Cut(name, ".") {
		var params zones.ZoneListParams
		set(&params.Name.Value, &params.Name.Present, name)
		page, err := zones.NewZoneService(i.reading()...).List(i.ctx, params)
		if err != nil {
			return nil, err
		}
		if len(page.Result) > 0 {
			return &page.Result[0], nil
		}
	}
	return nil, nil
}

// worker looks at who is given the worker's logs: queries hold e-mail addresses.
func (i *inspection) worker(name string) {
	var params workers.ScriptSettingGetParams
	set(&params.AccountID.Value, &params.AccountID.Present, i.account)
	where := "Workers & Pages, " + name + ", Settings"
	got, err := workers.NewScriptSettingService(i.reading()...).Get(i.ctx, name, params)
	if i.unread(name, "what is logged of it", where, permissionScripts, err) {
		return
	}
	if got.Logpush || len(got.TailConsumers) > 0 {
		i.say(Warning, name, "Logpush or another worker (tail_consumers) gets its logs, which may hold URLs with their queries",
			"remove it in the dashboard at "+where)
	}
}

// recipient looks whether mail to an address is delivered.
func (i *inspection) recipient(address string) {
	const where = "the account's Email Service, Destination addresses"
	var params email_routing.AddressListParams
	set(&params.AccountID.Value, &params.AccountID.Present, i.account)
	set(&params.PerPage.Value, &params.PerPage.Present, 50)
	is, there := false, false
	pages := email_routing.NewAddressService(i.reading()...).ListAutoPaging(i.ctx, params)
	for pages.Next() {
		if a := pages.Current(); strings.EqualFold(a.Email, address) {
			is, there = !a.Verified.IsZero(), true
		}
	}
	err := pages.Err()
	switch {
	case i.unread(address, "whether it is verified", where, permissionAddresses, err), is:
	case !there:
		i.say(Fault, address, "it is not a destination address of the account: mail to it needs Email Sending on a paid plan",
			"add it under "+where+", and open the link in the mail that comes")
	default:
		i.say(Fault, address, "it is not verified: mail to it needs Email Sending on a paid plan",
			"open the link in the mail from Cloudflare; "+where+" sends another one")
	}
	// The library has no method for these.
	var suppressed struct {
		Result []struct {
			Email  string `json:"email"`
			Reason string `json:"reason"`
		} `json:"result"`
	}
	err = i.ask(i.ctx, http.MethodGet, "email/sending/suppressions?email="+url.QueryEscape(address), "", &suppressed)
	if i.unread(address, "whether mail to it is suppressed", "the account's Email Service, Suppressions", permissionSending, err) {
		return
	}
	for _, s := range suppressed.Result {
		if strings.EqualFold(s.Email, address) {
			i.say(Fault, address, "the account suppresses mail to it: "+s.Reason,
				"remove it in the dashboard from the account's Email Service, Suppressions")
			return
		}
	}
}

// sender looks whether the domain of a sender may send.
func (i *inspection) sender(address string) {
	_, domain, _ := strings.Cut(address, "@")
	const where = "Email Service of the domain"
	zone, err := i.zoneOf(domain)
	if i.unread(address, "the zone of its domain", where, permissionZone, err) {
		return
	}
	if zone == nil {
		i.say(Fault, address, "the token sees no zone of its domain: mail from it is refused",
			"add the domain to the account, or give the token this zone")
		return
	}
	var params email_sending.SubdomainListParams
	set(&params.ZoneID.Value, &params.ZoneID.Present, zone.ID)
	sending, err := email_sending.NewSubdomainService(i.reading()...).List(i.ctx, params)
	if i.unread(address, "whether its domain is set up for Email Sending", where, permissionSending, err) {
		return
	}
	for _, d := range sending.Result {
		suffix, wildcard := strings.CutPrefix(d.Name, "*")
		if d.Enabled && (strings.EqualFold(d.Name, domain) || wildcard && strings.HasSuffix(domain, suffix)) {
			return
		}
	}
	var routing email_routing.EmailRoutingGetParams
	set(&routing.ZoneID.Value, &routing.ZoneID.Present, zone.ID)
	got, err := email_routing.NewEmailRoutingService(i.reading()...).Get(i.ctx, routing)
	if !i.unread(address, "whether Email Routing is on", where, permissionRouting, err) && !bool(got.Enabled) {
		i.say(Fault, address, "its domain is set up neither for Email Sending nor for Email Routing: mail from it is refused",
			"set it up in the dashboard at "+where)
	}
}

// zone looks at the settings of a zone.
func (i *inspection) zone(zone *zones.Zone) {
	at := func(where string) string { return where + " of " + zone.Name }
	for _, s := range zoneSettings {
		var params zones.SettingGetParams
		set(&params.ZoneID.Value, &params.ZoneID.Present, zone.ID)
		got, err := zones.NewSettingService(i.reading()...).Get(i.ctx, string(s.id), params)
		if i.unread(zone.Name, string(s.id), at("SSL/TLS, Security and Speed"), permissionZoneSettings, err) {
			break
		}
		if !slices.Contains(s.good, fmt.Sprint(got.Value)) {
			i.say(s.severity, zone.Name, s.what, "change it in the dashboard at "+at(s.where))
		}
	}
	var params bot_management.BotManagementGetParams
	set(&params.ZoneID.Value, &params.ZoneID.Present, zone.ID)
	const where = "Security, Settings, Bot traffic"
	bots, err := bot_management.NewBotManagementService(i.reading()...).Get(i.ctx, params)
	if i.unread(zone.Name, "what it does about bots", at(where), permissionBots, err) {
		return
	}
	const automated = ", as every agent is"
	for _, s := range []struct {
		bad      bool
		severity Severity
		what     string
	}{
		{bots.FightMode, Fault, "Bot Fight Mode is on: it challenges agents, and no rule makes an exception"},
		{on(bots.AIBotsProtection), Fault, "Block AI bots is on: it turns away agents of language models, MCP clients among them"},
		{on(bots.ContentBotsProtection), Fault, "Block content bots is on: it blocks what looks automated" + automated},
		{bots.IsRobotsTXTManaged, Fault, "robots.txt is managed by Cloudflare, which puts its own rules before those of the service"},
		{on(bots.CfRobotsVariant), Fault, "Cloudflare adds a policy to robots.txt, which is then not what the manifest hashes"},
		{on(bots.CrawlerProtection), Warning, "AI Labyrinth is on: " + rewrites},
		{bots.EnableJS, Warning, "JavaScript Detections is on: " + rewrites},
		{on(bots.SBFMDefinitelyAutomated), Fault, "Super Bot Fight Mode stops what is definitely automated" + automated},
		{on(bots.SBFMLikelyAutomated), Fault, "Super Bot Fight Mode stops what is likely automated" + automated},
		{bots.SBFMStaticResourceProtection, Warning, "Super Bot Fight Mode is on for static resources, as the documents are"},
	} {
		if s.bad {
			i.say(s.severity, zone.Name, s.what, "change it in the dashboard at "+at(where))
		}
	}
}

// on reports whether a setting does something.
func on[T ~string](value T) bool {
	return value != "" && value != "disabled" && value != "off" && value != "allow"
}
