# Runs under systemd: the units of `deploy` with the real program.
trap '[ $? = 0 ] || journalctl --no-pager --lines 60' EXIT
systemctl start systemd-journald.socket systemd-journald.service systemd-udevd.service
cp /out/wiremend /usr/bin/wiremend
cp /deploy/wiremend-*.service /usr/lib/systemd/system/
mkdir -p /etc/wiremend
sh /deploy/debian/postinst configure ""
id wiremend
ip link set lo up
for pair in "h1 l1" "w1 w2" "l2 h2"; do
    ip link add ${pair% *} type veth peer name ${pair#* }
done
for name in h1 l1 w1 w2 l2 h2; do
    case $name in w*) ip link set $name mtu 1518 ;; esac
    ip link set $name up
done
options() { printf 'lan = "l%s"\nrate = "100Mbps"\ngive_up = "1s"\nactive = true\nmetrics_listen = 946%s\n' "$1" "$1"; }
until_true() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 1500 ] || { echo "waited in vain for: $*"; exit 1; }
        sleep 0.2
    done
}
is_protected() { wiremend relay status --link "$1" 2>/dev/null | grep -q '^sending *protected'; }
is_protected_or_failed() { is_protected "$1" || has wiremend-relay@"$1" ActiveState failed; }
is_not_protected() { ! is_protected "$1"; }
logged() { journalctl --quiet --unit "$1" --grep "$2" >/dev/null 2>&1; }
property() { systemctl show --value --property "$2" "$1"; }
has() { [ "$(property "$1" "$2")" = "$3" ]; }
was_restarted() { ! has "$1" NRestarts 0; }

echo "# both ends start under the unit, and protect"
for end in 1 2; do
    options $end >/etc/wiremend/relay-w$end.toml
    systemctl start wiremend-relay@w$end
done
until_true is_protected w1
until_true is_protected w2
has wiremend-relay@w1 MemoryMax 536870912
has wiremend-relay@w1 OOMPolicy continue
test "$(stat -c '%U:%G' /run/wiremend/w1/control)" = root:wiremend

echo "# the user of the monitor may change settings, others may not even read them"
as() { setpriv --reuid "$1" --regid "$1" --init-groups "$2" relay "$3" --link w1; }
as wiremend wiremend deactivate
until_true is_not_protected w1
as wiremend wiremend activate
if setpriv --reuid 65534 --regid 65534 --clear-groups wiremend relay status --link w1; then exit 1; fi
until_true is_protected w1

echo "# a reload applies what may change, and keeps the process"
main=$(property wiremend-relay@w1 MainPID)
(options 1; echo 'mode = "non-blocking"') >/etc/wiremend/relay-w1.toml
systemctl reload wiremend-relay@w1
until_true logged wiremend-relay@w1 'the configuration is reloaded'
wiremend relay status --link w1 --json | grep -q '"mode": "non-blocking"'
echo 'mode = "orderd"' >/etc/wiremend/relay-w1.toml
systemctl reload wiremend-relay@w1
until_true logged wiremend-relay@w1 'the previous one stays in effect'
has wiremend-relay@w1 MainPID "$main"
(options 1) >/etc/wiremend/relay-w1.toml

echo "# a killed relay lets the kernel forward and starts again"
systemctl kill --signal KILL wiremend-relay@w1
until_true was_restarted wiremend-relay@w1
until_true is_protected w1
test "$(property wiremend-relay@w1 MainPID)" != "$main"

echo "# XDP works in the sandbox, and a refused call is an error with a remedy instead of the end of the process"
systemctl stop wiremend-relay@w2
(options 2; echo 'port = "xdp"') >/etc/wiremend/relay-w2.toml
systemctl start wiremend-relay@w2
until_true is_protected_or_failed w2
# A machine may refuse the limit of locked memory that the unit asks for.
if ! is_protected w2; then
    logged wiremend-relay@w2 'the kernel refused XDP .No buffer space available'
    prlimit --memlock=unlimited true 2>/dev/null && exit 1
fi
systemctl stop wiremend-relay@w2
mkdir -p /run/systemd/system/wiremend-relay@w2.service.d
printf '[Service]\nSystemCallFilter=~bpf\n' >/run/systemd/system/wiremend-relay@w2.service.d/bpf.conf
systemctl daemon-reload
systemctl start wiremend-relay@w2
until_true is_protected_or_failed w2
has wiremend-relay@w2 NRestarts 0
until_true logged wiremend-relay@w2 'the kernel refused XDP .*; use --port packet'
rm /run/systemd/system/wiremend-relay@w2.service.d/bpf.conf
systemctl daemon-reload
systemctl reset-failed wiremend-relay@w2

echo "# bad options are no reason to try again"
echo 'rate = "fast"' >/etc/wiremend/relay-w2.toml
systemctl start wiremend-relay@w2 || true
until_true has wiremend-relay@w2 ActiveState failed
has wiremend-relay@w2 NRestarts 0
until_true logged wiremend-relay@w2 'relay-w2.toml: '

echo "# monitor and planner run without root and capabilities"
cat >/etc/wiremend/monitor.toml <<'TOML'
node = "leaf-1"
[redis]
address = "/run/none.sock"
[[link]]
port = "w1"
peer = "spine-3:w2"
protect = "relay"
TOML
printf '[redis]\naddress = "/run/none.sock"\n[[switch]]\nname = "leaf-1"\nlevel = 0\n[[switch]]\nname = "spine-3"\nlevel = 1\n[[link]]\na = "leaf-1:w1"\nb = "spine-3:w2"\n' >/etc/wiremend/planner.toml
systemctl start wiremend-monitor wiremend-planner
for unit in wiremend-monitor wiremend-planner; do
    until_true logged $unit 'cannot use Redis'
    status=/proc/$(property $unit MainPID)/status
    test "$(awk '/^Uid/ {print $2}' $status)" = "$(id -u wiremend)"
    test "$(awk '/^CapEff/ {print $2}' $status)" = 0000000000000000
    systemctl reload $unit
    until_true logged $unit 'the configuration is reloaded'
    test "$(property $unit MemoryMax)" -le 2147483648
    systemctl stop $unit
    has $unit Result success
done
echo "# what a broken service could reach is bounded, on a scale from 0 to 100"
systemd-analyze security --no-pager --threshold 30 wiremend-relay@w1 >/dev/null
systemd-analyze security --no-pager --threshold 15 wiremend-monitor >/dev/null
systemd-analyze security --no-pager --threshold 15 wiremend-planner >/dev/null
systemctl stop wiremend-relay@w1
has wiremend-relay@w1 Result success
echo "all done"
