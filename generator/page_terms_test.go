package generator_test

import (
	"slices"
	"testing"

	"anteroom/edge/api"
	"anteroom/generator"
	"anteroom/generator/model"
	"anteroom/generator/site"
)

func TestTermsPage(t *testing.T) {
	s, err := site.Load(shippedContent)
	if err != nil {
		t.Fatal(err)
	}
	o, err := generator.Generate(s, api.Routes)
	if err != nil {
		t.Fatal(err)
	}
	text, policy := twinText(t, o, "terms"), &s.AUP
	says(t, "terms", text, "version **"+model.AUPVersion+"**", policy.Policy, policy.Why, policy.Enforcement, policy.CheckEndpoint, policy.Rationale, s.Service.Contact)
	var codes []string
	for _, p := range policy.Prohibited {
		codes = append(codes, p.Code)
		says(t, "terms", text, "### `"+p.Code+"`", p.Rule, "- **Not prohibited:** "+p.Examples.NotCovered)
		for _, example := range p.Examples.Covered {
			says(t, "terms", text, "- **Prohibited:** "+example)
		}
	}
	slices.Sort(codes)
	if want := slices.Sorted(slices.Values(site.AUPCodes)); !slices.Equal(codes, want) {
		t.Errorf("codes %v, want %v", codes, want)
	}
}
