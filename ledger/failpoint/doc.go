// Package failpoint names the steps of the journey at which a test may kill or
// pause the whole process, so that "what if it dies right here" is a test and
// not a guess. A sleep in a test hits such a step by luck; a fail point always.
//
// Only a binary built with the tag failpoints has them:
//
//	go build -tags failpoints ./cmd/formledger
//	FORMLEDGER_FAILPOINT="maildir.before-rename=stop" ./formledger serve
//
// The variable holds name=kill (SIGKILL to itself) or name=stop (SIGSTOP to
// itself, until somebody sends SIGCONT), several separated by commas. A name
// acts only the first time that it is hit in a process. Without the tag, Hit is
// an empty function and the variable is never read.
package failpoint
