package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"formledger/handlers"
	"formledger/ledger/enquiry"
	"formledger/ledger/intake"
	"formledger/relay"
)

// hooks compiles the forms that take webhooks, with their secrets and templates.
func (c config) hooks() ([]handlers.Hook, error) {
	var all []handlers.Hook
	var faults []error
	for _, f := range c.forms {
		if !f.IsWebhook() {
			continue
		}
		hook, found := intake.Compile(f, webhookSecrets, os.ReadFile)
		for _, fault := range found {
			faults = append(faults, fmt.Errorf("form %q: %s", f.Def().Name, fault.Message))
		}
		all = append(all, handlers.Hook{Form: f, Intake: hook})
	}
	return all, errors.Join(faults...)
}

func webhookSecrets(file string) (string, error) { return readPrivate(file, "the webhook's secrets") }

// visitorForms are those that people fill in.
func (c config) visitorForms() []*enquiry.Form {
	var all []*enquiry.Form
	for _, f := range c.forms {
		if !f.IsWebhook() {
			all = append(all, f)
		}
	}
	return all
}

// webhooksBeside makes relative paths of webhook forms mean the file's folder.
func (s *settings) webhooksBeside(file string) {
	for _, d := range s.Forms {
		if d.Webhook != nil {
			beside(filepath.Dir(file), &d.Webhook.SecretsFile, &d.Webhook.TemplateFile)
		}
	}
}

// envelopes say where the mails of each form go.
func (c config) envelopes() map[string]relay.Envelope {
	all := map[string]relay.Envelope{}
	for _, f := range c.forms {
		all[f.Def().Name] = relay.Envelope{From: f.Def().From, To: f.Def().To}
	}
	return all
}
