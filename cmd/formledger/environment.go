package main

import (
	"fmt"
	"strings"
)

// environment is what the FORMLEDGER_ variables set.
type environment struct {
	Config, Data, Listen, PublicURL string
	TrustedProxies                  []string
	PayloadKeys, PayloadKeysFile    string
	SMTPPassword, SMTPPasswordFile  string
	RelayKeys, RelayKeysFile        string
	OutboxKeys, OutboxKeysFile      string
	AlertSecret, AlertSecretFile    string

	AlertServices, AlertServicesFile string

	MailboxPassword, MailboxPasswordFile string
}

const envPrefix = "FORMLEDGER_"

// readEnvironment takes the variables that formledger knows. An unknown one is
// refused, as an unknown setting of the file is: most likely it is misspelt.
func readEnvironment(environ []string) (environment, error) {
	var e environment
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, envPrefix) || value == "" || ofKubernetes(name) {
			continue
		}
		if err := e.set(name, value); err != nil {
			return e, err
		}
	}
	for name, both := range map[string]bool{
		"PAYLOAD_KEYS":     e.PayloadKeys != "" && e.PayloadKeysFile != "",
		"RELAY_KEYS":       e.RelayKeys != "" && e.RelayKeysFile != "",
		"OUTBOX_KEYS":      e.OutboxKeys != "" && e.OutboxKeysFile != "",
		"ALERT_SECRET":     e.AlertSecret != "" && e.AlertSecretFile != "",
		"ALERT_SERVICES":   e.AlertServices != "" && e.AlertServicesFile != "",
		"MAILBOX_PASSWORD": e.MailboxPassword != "" && e.MailboxPasswordFile != "",
		"SMTP_PASSWORD":    e.SMTPPassword != "" && e.SMTPPasswordFile != "",
	} {
		if both {
			return e, fmt.Errorf("both %[1]s%[2]s and %[1]s%[2]s_FILE are set; please set one", envPrefix, name)
		}
	}
	return e, nil
}

// ofKubernetes reports the variables that it sets by itself for a service with
// the name formledger.
func ofKubernetes(name string) bool {
	return strings.HasPrefix(name, envPrefix+"SERVICE_") || strings.HasPrefix(name, envPrefix+"PORT")
}

func (e *environment) set(name, value string) error {
	switch strings.TrimPrefix(name, envPrefix) {
	case "CONFIG":
		e.Config = value
	case "DATA":
		e.Data = value
	case "LISTEN":
		e.Listen = value
	case "PUBLIC_URL":
		e.PublicURL = value
	case "TRUSTED_PROXIES":
		e.TrustedProxies = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	case "PAYLOAD_KEYS":
		e.PayloadKeys = value
	case "PAYLOAD_KEYS_FILE":
		e.PayloadKeysFile = value
	case "SMTP_PASSWORD":
		e.SMTPPassword = value
	case "SMTP_PASSWORD_FILE":
		e.SMTPPasswordFile = value
	case "RELAY_KEYS":
		e.RelayKeys = value
	case "RELAY_KEYS_FILE":
		e.RelayKeysFile = value
	case "OUTBOX_KEYS":
		e.OutboxKeys = value
	case "OUTBOX_KEYS_FILE":
		e.OutboxKeysFile = value
	case "ALERT_SECRET":
		e.AlertSecret = value
	case "ALERT_SECRET_FILE":
		e.AlertSecretFile = value
	case "ALERT_SERVICES":
		e.AlertServices = value
	case "ALERT_SERVICES_FILE":
		e.AlertServicesFile = value
	case "MAILBOX_PASSWORD":
		e.MailboxPassword = value
	case "MAILBOX_PASSWORD_FILE":
		e.MailboxPasswordFile = value
	case "FAILPOINT": // of builds for tests; see ledger/failpoint
	default:
		return fmt.Errorf("the environment variable %s is not known; formledger serve --help lists those that are", name)
	}
	return nil
}
