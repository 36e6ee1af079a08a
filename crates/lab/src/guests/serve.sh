# Serves commands, one a line: "NUMBER SECONDS COMMAND" is answered by "NUMBER STATUS BYTES" and as many bytes of output. What takes longer
# than its seconds is killed, so there is always an answer.
output=$(mktemp)
while read -r number seconds command; do
    timeout -s KILL "$seconds" sh -c "$command" >"$output" 2>&1 </dev/null
    status=$?
    echo "$number $status $(wc -c <"$output")"
    cat "$output"
done
rm -f "$output"
