#!/bin/sh
# Signs an order as the shop's payment provider would, and posts it.
#
#   ./send-paid.sh [ADDRESS [FILE]]
#
# It needs openssl and curl. The secret is the first line of shop.secret.
set -eu
cd "$(dirname "$0")"
address=${1:-http://127.0.0.1:8080/hooks/orders}
body=${2:-paid.json}

signature=$(openssl dgst -sha256 -hmac "$(head -n 1 shop.secret)" -r "$body" | cut -d ' ' -f 1)
curl --silent --show-error --write-out '%{http_code}\n' \
  --header 'Content-Type: application/json' --header "X-Shop-Signature: $signature" \
  --data-binary "@$body" "$address"
