// Generated from web/texts by go generate ./web.

export const english = {
  "clear": "Clear the form",
  "contact": "Where to ask",
  "copied": "Copied",
  "copy": "Copy",
  "dir": "ltr",
  "lang": "en",
  "next_try": "Next try in {seconds} s",
  "offline": "You are offline. This page goes on as soon as the connection is back.",
  "problem": "Problem",
  "receipt": "See what became of it",
  "reference": "Reference",
  "restored": "Your draft was restored.",
  "send_again": "Send again",
  "send_new": "Send as a new message",
  "sending": "Sending…",
  "sending_long": "Still sending. Please leave this page open.",
  "try_now": "Try now",
  "unreached": "No answer yet",
  "unreached_detail": "It may or may not have arrived. This page keeps trying, and it will not be sent twice.",
  "unreached_quiet": "Still no answer. This page tries again from time to time; if it is urgent, please ask us and mention the reference.",
  "write_another": "Write another message"
};
