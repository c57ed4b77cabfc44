<?php // Save it as relay-config.php beside relay.php.
return [
    // The host that the form server calls, in lower case, with its port unless it is 443.
    'authority' => 'www.example.com',
    // The key file, the same as the form server's; and a folder for the memory of the relay.
    // Both lie OUTSIDE the web root, and the web server's user may read the one, write the other.
    'keys' => '/home/example/relay-keys.relay',
    'folder' => '/home/example/relay-calls',
    // Spelled exactly as in the form's configuration. Nothing else is sent.
    'from' => ['Website <website@example.com>'],
    'to' => ['owner@example.com'],
    // The mail program and its options.
    'sendmail' => ['/usr/sbin/sendmail', '-i'],
];
