package keys

import (
	"errors"

	"anteroom/generator/site"
)

// Webhook is where a command reads the URL to which a deployed service posts messages to the
// operator as JSON, instead of mailing them.
type Webhook = Secret[string]

var webhooks = kind[string]{
	"webhook", "the webhook's URL", "webhook-file", "ANTEROOM_WEBHOOK", parseWebhook, "see anteroom deploy --help",
}

// parseWebhook repeats no part of the URL in its error.
func parseWebhook(text string) (string, error) {
	if want := site.Wanted("upstream", text); want != "" {
		return "", errors.New(want)
	}
	return text, nil
}
