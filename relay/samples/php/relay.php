<?php
// A relay for formledger in one file, for PHP 8.1 or newer: it takes the signed call of a form
// server and hands the message to sendmail, at most once for every claim. docs/relay-protocol.md
// says what it has to do; README.md how to configure it, in relay-config.php beside it.
declare(strict_types=1);
ini_set('display_errors', '0'); ignore_user_abort(true); set_time_limit(240); date_default_timezone_set('UTC'); umask(0077);

const MAX_CALL = 1 << 20, LIFE = 60, SKEW = 30; // bytes of a body; seconds of a call, and of a clock that is ahead
const AT_WORK = 300; // seconds after which a send without result is uncertain
const PATHS = ['send' => '/v1/messages', 'inquiry' => '/v1/inquiries', 'hello' => '/v1/hello'];
const ACK = '("@status" "content-type" "content-digest" "@method";req "@authority";req "@path";req '
    . '"content-digest";req "relay-submission-id";req "signature";req;key="sig1")';
const INPUT = '/^sig1=(\("@method" "@authority" "@path" "content-type" "content-digest" "relay-submission-id"\)'
    . ';created=([1-9][0-9]{0,10});expires=([1-9][0-9]{0,10});nonce="[A-Za-z0-9_-]{16,64}"'
    . ';keyid="([a-z0-9-]{1,32})\.call";tag="relay-(send|inquiry|hello)-v1")$/D';

try {
    relay(require __DIR__ . '/relay-config.php');
} catch (Throwable $e) { // unsigned, so the form server concludes nothing
    error_log('relay: ' . $e->getMessage());
    unsigned(503, 'the relay cannot say what became of the call');
}

function relay(array $config) { // returns nothing: it answers
    $folder = realpath($config['folder']) ?: fail('the folder is missing');
    if (str_starts_with("$folder/", (realpath($_SERVER['DOCUMENT_ROOT']) ?: __DIR__) . '/')) fail('the folder lies in the web root');
    if (!$call = verify($config)) return unsigned(401, 'not verified');
    $raw = file_get_contents('php://input', false, null, 0, MAX_CALL + 1);
    if (strlen($raw) > MAX_CALL) return unsigned(413, 'too long');
    if (!hash_equals($call['digest'], digest_of($raw))) return unsigned(401, 'not verified');
    $lock = fopen("$folder/lock", 'c') ?: fail('the folder cannot be written');
    flock($lock, LOCK_EX) || fail('the folder cannot be locked'); // while it is decided, not while it is sent
    if (!$epoch = @file_get_contents("$folder/epoch")) write("$folder/epoch", 'w', $epoch = bin2hex(random_bytes(16)));
    if (($m = parse($raw, $call)) === null) return unsigned(400, 'not what the protocol says');
    if ($call['tag'] !== 'send' && late($call)) return unsigned(401, 'not verified: ' . late($call)); // may be a copy
    $hello = ['epoch' => $epoch, 'time' => gmdate(DATE_RFC3339), 'from' => $config['from'], 'to' => $config['to']];
    if ($call['tag'] === 'hello') return acknowledge($call, $hello);
    $result = known($folder, $m, $m['claim']); // before every refusal
    if ($call['tag'] === 'inquiry' && ($m['peek'] ?? false)) $result ??= ['status' => 'unseen'] + names($m);
    $result ??= decide($folder, $m, $call, $config, $epoch);
    if (array_diff_assoc(names($m), $result ?? names($m))) return unsigned(409, 'not this claim');
    flock($lock, LOCK_UN);
    $result ??= settle($folder, $m, attempt($m, $call, $config)); // nothing spoke against it: this call sends
    return acknowledge($call, $result + ['epoch' => $epoch]);
}

// verify checks everything of a call but its body and its time.
function verify(array $config): ?array {
    $header = fn(string $name): string => $_SERVER[$name] ?? ''; // joined by a comma if it came twice
    [$path, $digest, $id] = [$header('REQUEST_URI'), $header('HTTP_CONTENT_DIGEST'), $header('HTTP_RELAY_SUBMISSION_ID')];
    $mac = preg_match('/^sig1=:([A-Za-z0-9+\/]{43}=):$/D', $header('HTTP_SIGNATURE'), $found) ? bytes_of($found[1]) : null;
    $sum = preg_match('/^sha-256=:([A-Za-z0-9+\/]{43}=):$/D', $digest, $found) ? bytes_of($found[1]) : null;
    if ($mac === null || $sum === null || !preg_match('/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/D', $id)) return null;
    if (!preg_match(INPUT, $header('HTTP_SIGNATURE_INPUT'), $input)) return null;
    [, $params, $created, $expires, $name, $tag] = $input;
    if ($header('REQUEST_METHOD') !== 'POST' || $path !== PATHS[$tag] || $header('CONTENT_TYPE') !== 'application/json') return null;
    [$key, $ack] = [key_of($config, $name, 'call'), key_of($config, $name, 'ack')];
    if ($key === null || $ack === null) return null;
    $base = "\"@method\": POST\n\"@authority\": {$config['authority']}\n\"@path\": $path\n\"content-type\": application/json\n"
        . "\"content-digest\": $digest\n\"relay-submission-id\": $id\n\"@signature-params\": $params";
    if (!hash_equals(hash_hmac('sha256', $base, $key, true), $mac)) return null;
    return ['tag' => $tag, 'id' => $id, 'digest' => $digest, 'name' => $name, 'ack' => $ack, 'created' => (int) $created,
        'expires' => (int) $expires, 'authority' => $config['authority'], 'path' => $path, 'signature' => base64_encode($mac)];
}

// key_of finds a key that is valid now in the key file.
function key_of(array $config, string $name, string $direction): ?string {
    $lines = file_get_contents($config['keys']) ?: fail('the key file cannot be read');
    if (!preg_match("/^[ \t]*{$name}[ \t]+{$direction}[ \t]+(\S+)[ \t]+(\S+)[ \t]+(\S+)[ \t\r]*$/m", $lines, $in)) return null;
    $time = fn(string $t) => preg_match('/^\d{4}-\d\d-\d\d(T[\d:.]+(Z|[+-]\d\d:\d\d))?$/D', $t) ? strtotime($t) : false;
    $begun = $in[1] === '-' || ($at = $time($in[1])) !== false && $at <= time();
    $lasts = $in[2] === '-' || ($at = $time($in[2])) !== false && time() < $at;
    return $begun && $lasts && strlen(bytes_of($in[3]) ?? '') >= 64 ? bytes_of($in[3]) : null;
}

// parse reads the body of a call that asks to send, or what became of a claim.
function parse(string $raw, array $call): ?array {
    $m = json_decode($raw, true);
    if ($call['tag'] === 'hello') return $raw === '{}' && trim($call['id'], '0-') === '' ? [] : null;
    $texts = ['submission_id', 'payload_hash', 'claim', 'epoch'];
    if ($call['tag'] === 'send') array_push($texts, 'reference', 'from', 'subject', 'date', 'message_id', 'text');
    foreach ($texts as $name) if (!is_string($m[$name] ?? null)) return null;
    if ($m['submission_id'] !== $call['id'] || !preg_match('/^[A-Za-z0-9_-]{21}[AQgw]$/D', $m['claim'])) return null;
    if ($m['payload_hash'] === '' || strlen($m['payload_hash']) > 128) return null;
    if ($call['tag'] === 'inquiry') return is_bool($m['peek'] ?? false) ? $m : null;
    $to = is_array($m['to'] ?? null) ? array_values(array_filter($m['to'], 'is_string')) : [];
    if (!$to || $to !== $m['to'] || count($to) > 100 || !is_string($m['reply_to'] ?? '')) return null;
    return date_create($m['date']) ? $m : null;
}

function late(array $call): ?string {
    if (time() >= $call['expires']) return 'call_expired';
    $long = $call['expires'] - $call['created'] > LIFE ? 'call_lives_too_long' : null;
    return $call['created'] > time() + SKEW ? 'call_from_the_future' : $long;
}

// decide takes a claim that was never seen: it seals what is only asked for, and
// what it refuses, and returns null if the message is to be sent.
function decide(string $folder, array $m, array $call, array $config, string $epoch): ?array {
    $no = fn(string $code, bool $permanent = false): array => ['status' => 'refused', 'code' => $code, 'permanent' => $permanent];
    $instead = match (true) {
        $call['tag'] === 'inquiry' => ['status' => 'sealed'],
        late($call) !== null => $no(late($call)),
        $m['epoch'] !== $epoch => $no('wrong_epoch'),
        !in_array($m['from'], $config['from'], true) => $no('from_not_allowed', true),
        array_diff($m['to'], $config['to']) !== [] => $no('to_not_allowed', true),
        mail_of($m) === null => $no('not_rendered', true),
        default => null,
    };
    $list = "$folder/{$m['submission_id']}.claims"; // all of this submission
    foreach (!$instead && file_exists($list) ? explode("\n", file_get_contents($list)) : [] as $claim) {
        $other = known($folder, $m, $claim) ?? ['status' => 'unseen'];
        if ($other['status'] === 'processing') $instead = $no('busy');
        if ($other['status'] !== 'accepted') continue;
        $same = $other['payload_hash'] === $m['payload_hash'];
        $instead = $same ? array_diff_key($other, names($m)) + ['earlier_claim' => $claim] : $no('other_content', true);
    }
    begin($folder, $m);
    return $instead ? settle($folder, $m, $instead) : null;
}

// known is what is recorded of a claim. One without a result may have been sent.
function known(string $folder, array $m, string $claim): ?array {
    $path = "$folder/" . hash('sha256', $claim); // some file systems do not tell a from A
    if (!file_exists("$path.claim")) return null;
    $row = (json_decode(file_get_contents("$path.claim"), true) ?? []) + ['claim' => $claim] + names($m);
    if (file_exists("$path.result")) return json_decode(file_get_contents("$path.result"), true) + $row;
    return ['status' => time() - filemtime("$path.claim") < AT_WORK ? 'processing' : 'uncertain'] + $row;
}

// begin takes a claim for ever: its file cannot be made a second time.
function begin(string $folder, array $m): void {
    write("$folder/" . hash('sha256', $m['claim']) . '.claim', 'x', json_encode(names($m)));
    write("$folder/{$m['submission_id']}.claims", 'a', "\n{$m['claim']}");
}

function settle(string $folder, array $m, array $result): array {
    $path = "$folder/" . hash('sha256', $m['claim']);
    write("$path.tmp", 'w', json_encode($result));
    rename("$path.tmp", "$path.result") || fail('a result cannot be kept');
    return $result + names($m);
}

function write(string $path, string $mode, string $text): void {
    $f = fopen($path, $mode);
    ($f && fwrite($f, $text) === strlen($text) && fflush($f) && fsync($f) && fclose($f)) || fail("$path cannot be written");
}

// attempt hands the mail to sendmail. Only an exit of 0 says that it was taken,
// and nothing says for certain that it was not once the program has begun.
function attempt(array $m, array $call, array $config): array {
    if (late($call)) return ['status' => 'refused', 'code' => late($call)];
    $bare = fn(string $a): string => preg_replace('/^.*<(.*)>$/', '$1', $a);
    $command = [...$config['sendmail'], '-f', $bare($m['from']), '--', ...array_map($bare, $m['to'])]; // no shell
    $none = ['file', '/dev/null', 'w'];
    $sendmail = is_executable($command[0]) ? proc_open($command, [['pipe', 'r'], $none, $none], $pipes) : false;
    if (!$sendmail) return ['status' => 'refused', 'code' => 'no_sendmail']; // not started
    $whole = fwrite($pipes[0], mail_of($m)) === strlen(mail_of($m));
    fclose($pipes[0]); // the end of the mail
    $exit = proc_close($sendmail);
    return $whole && $exit === 0 ? ['status' => 'accepted', 'receipt' => 'sendmail has taken it']
        : ['status' => 'uncertain', 'code' => "sendmail_exit_$exit"];
}

// mail_of renders the message, or returns null: nothing may end a header but we.
function mail_of(array $m): ?string {
    if (preg_match('/[\x00-\x1f\x7f]/', implode([$m['from'], ...$m['to'], $m['subject'], $m['reference'], $m['message_id']]))) return null;
    $word = fn(array $in): string => '=?UTF-8?B?' . base64_encode($in[0]) . "?=\n "; // RFC 2047
    $words = fn(string $text): string => preg_replace_callback('/^.+?(?= <[!-~]+>$|$)/Ds', fn(array $in): string =>
        preg_match('/^(?!.*=\?)[ -~]{1,70}$/D', $in[0]) ? $in[0] : rtrim(preg_replace_callback('/.{1,10}/us', $word, $in[0])), $text);
    $reply = $m['reply_to'] ?? '';
    $bare = preg_match('/^[A-Za-z0-9.!#$%&\'*+\/^_`{|}~-]+@[A-Za-z0-9.-]+$/D', $reply); // the text tells others
    return 'From: ' . $words($m['from']) . "\nTo: " . implode(",\n ", array_map($words, $m['to'])) . ($bare ? "\nReply-To: $reply" : '')
        . "\nSubject: " . $words($m['subject']) . " [{$m['reference']}]\nDate: " . date_create($m['date'])->format(DATE_RFC2822)
        . "\nMessage-ID: <{$m['message_id']}>\nX-Submission-Reference: {$m['reference']}\nMIME-Version: 1.0\n"
        . "Content-Type: text/plain; charset=UTF-8\nContent-Transfer-Encoding: quoted-printable\n\n"
        . str_replace("\r\n", "\n", quoted_printable_encode(preg_replace('/\r\n?|\n/', "\r\n", $m['text'])));
}

function acknowledge(array $call, array $answer): void {
    $body = json_encode($answer, JSON_UNESCAPED_SLASHES | JSON_THROW_ON_ERROR);
    $digest = digest_of($body);
    $params = ACK . ';created=' . time() . ";keyid=\"{$call['name']}.ack\";tag=\"relay-ack-v1\"";
    $base = "\"@status\": 200\n\"content-type\": application/json\n\"content-digest\": $digest\n\"@method\";req: POST\n"
        . "\"@authority\";req: {$call['authority']}\n\"@path\";req: {$call['path']}\n\"content-digest\";req: {$call['digest']}\n"
        . "\"relay-submission-id\";req: {$call['id']}\n\"signature\";req;key=\"sig1\": :{$call['signature']}:\n\"@signature-params\": $params";
    $signature = base64_encode(hash_hmac('sha256', $base, $call['ack'], true));
    header('Content-Type: application/json'); header("Content-Digest: $digest");
    header("Signature-Input: sig1=$params"); header("Signature: sig1=:$signature:");
    echo $body;
}

function unsigned(int $status, string $text): void { http_response_code($status); echo "$text\n"; }
function fail(string $why): never { throw new Exception($why); }
function names(array $m): array { return array_intersect_key($m, ['submission_id' => 0, 'payload_hash' => 0, 'claim' => 0]); }
function digest_of(string $body): string { return 'sha-256=:' . base64_encode(hash('sha256', $body, true)) . ':'; }
function bytes_of(string $t): ?string { return base64_encode(base64_decode($t, true) ?: '') === $t ? base64_decode($t) : null; } // strictly
