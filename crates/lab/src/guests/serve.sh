# Executes commands, one per line: "NUMBER SECONDS COMMAND". The reply is "NUMBER STATUS BYTES" and that many bytes of output.
# A command that exceeds its time limit is killed, so there is always a reply.
output=$(mktemp)
while read -r number seconds command; do
    timeout -s KILL "$seconds" sh -c "$command" >"$output" 2>&1 </dev/null
    status=$?
    echo "$number $status $(wc -c <"$output")"
    cat "$output"
done
rm -f "$output"
