package smtp

import (
	"context"
	"time"

	"formledger/relay"
)

// Login connects, logs in and takes leave, without a message. A zero cause says
// that all of it worked; the conversation is redacted.
func (s *Sender) Login(ctx context.Context) (cause relay.Cause, conversation string) {
	lease := relay.NewLease(time.Now().Add(s.config.Deadlines.Total()), time.Now)
	c := &call{sender: s, config: s.config, ctx: ctx, lease: lease, stage: stageConnect}
	defer c.close()
	if end := c.begin(); end != nil {
		return end.Cause, c.talk.String()
	}
	c.quit()
	return relay.Cause{}, c.talk.String()
}
