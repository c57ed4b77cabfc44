package main

import (
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"formledger/relay"
	"formledger/relay/server"
	"formledger/relay/signed"
)

// examineStation goes through everything that a relay needs, and asks the
// running one as a form server would.
func examineStation(ctx context.Context, p places, environ []string, dns txtLooker) []finding {
	cfg, err := loadStation(p, "", environ)
	if err != nil {
		return []finding{misconfigured(err)}
	}
	all := []finding{ok("configuration", "of a relay; callers: "+strings.Join(cfg.callerNames(), ", "))}
	all = append(all, examineCalls(ctx, cfg), examineDisk(cfg.Data), examineClock(time.Now()), examineMail(ctx, &cfg.station))
	var senders []string
	for _, c := range cfg.Callers {
		senders = append(senders, c.From...)
		all = append(all, examineCaller(ctx, cfg, c)...)
	}
	return append(all, examineDomains(ctx, dns, &cfg.station, senders)...)
}

// examineCalls looks at the relay's own record, and changes nothing.
func examineCalls(ctx context.Context, cfg stationSettings) finding {
	file := cfg.callsFile()
	if !exists(file) {
		return notMade("calls", file)
	}
	made, epoch, err := server.ExamineCalls(ctx, file)
	switch {
	case err != nil:
		return fail("calls", err.Error(), "name another folder as data if this is not formledger's; else stop the relay, keep a copy of the folder, and start again: the restart recovers")
	case !made:
		return ok("calls", file+" is empty: the next start makes it")
	}
	return ok("calls", file+" can be read; its memory is "+epoch)
}

// examineCaller reads a caller's keys and says hello with them.
func examineCaller(ctx context.Context, cfg stationSettings, c callerSettings) []finding {
	subject := "caller " + c.Name
	caller, err := c.caller()
	if err == nil {
		err = caller.Keys.Check(time.Now())
	}
	if err != nil {
		return []finding{fail(subject, err.Error(), "make new keys with formledger keygen relay, for both ends")}
	}
	all := []finding{ok(subject, "its keys are "+strings.Join(caller.Keys.Names(), ", ")+"; the form server's doctor tells whether it has the same")}
	return append(all, examineRunning(ctx, cfg, c.Name, caller.Keys))
}

// examineRunning asks the relay that runs here, by the name that callers use.
func examineRunning(ctx context.Context, cfg stationSettings, name string, keys *signed.Keys) finding {
	subject := "relay for " + name
	sender, err := signed.New(signed.Config{URL: "http://" + reachable(cfg.Listen), Keys: keys, Plain: true, Authority: cfg.authority()})
	if err != nil {
		return fail(subject, err.Error(), "correct listen")
	}
	asked := time.Now()
	hello, cause := sender.Hello(ctx)
	if cause != (relay.Cause{}) {
		return warn(subject, fmt.Sprintf("no answer at %s that counts (%s)", cfg.Listen, cause), "start it with formledger relay, if it should be running: "+signed.Explain(cause, cfg.Listen))
	}
	if clocks := examineClocks(asked, hello.Time, time.Now()); clocks.State != "ok" {
		return clocks
	}
	return ok(subject, "it answers at "+cfg.Listen+", and its memory is "+hello.Epoch)
}

// reachable is an address of this machine for one that listens everywhere.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}
