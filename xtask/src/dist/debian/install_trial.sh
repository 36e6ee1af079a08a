# Tries a package in an overlay of this system. Arguments: an empty directory, the package.
dist=$1
package=$2
mount -t tmpfs trial "$dist/pages" 2>/dev/null || { echo "cannot mount a tmpfs" >&2; exit 1; }
cd "$dist/pages"
mkdir upper work root
mount -t overlay trial -o "lowerdir=/,upperdir=upper,workdir=work" root 2>/dev/null ||
    { echo "cannot mount an overlay" >&2; exit 1; }
mount -t proc proc root/proc
mount -t devtmpfs dev root/dev 2>/dev/null || mount --rbind /dev root/dev
cp "$package" root/tmp/wiremend.deb
# No service starts, and dpkg asks no questions.
printf '#!/bin/sh\nexit 101\n' >root/usr/sbin/policy-rc.d
chmod 755 root/usr/sbin/policy-rc.d
export DEBIAN_FRONTEND=noninteractive
in_root() { chroot root "$@"; }

in_root dpkg --install /tmp/wiremend.deb
in_root id wiremend
test "$(in_root stat -c '%U:%G %a' /etc/wiremend)" = "root:wiremend 750"
test "$(in_root getent passwd wiremend | cut -d: -f6,7)" = "/nonexistent:/usr/sbin/nologin"
test -x root/usr/bin/wiremend
for unit in wiremend-monitor wiremend-planner wiremend-relay@eth2; do
    in_root systemd-analyze verify --man=no "/usr/lib/systemd/system/$(echo $unit | sed 's/@.*/@/').service"
done

# A changed configuration survives an upgrade.
echo '# changed' >>root/etc/wiremend/monitor.toml
touch root/etc/wiremend/redis.secret
in_root dpkg --force-confold --install /tmp/wiremend.deb
grep -q '# changed' root/etc/wiremend/monitor.toml

in_root dpkg --remove wiremend
test ! -e root/usr/bin/wiremend
test -e root/etc/wiremend/monitor.toml
in_root dpkg --purge wiremend
test ! -e root/etc/wiremend/monitor.toml
# What the operator put there stays.
test -e root/etc/wiremend/redis.secret
test -z "$(in_root dpkg --listfiles wiremend 2>/dev/null)"
echo done
