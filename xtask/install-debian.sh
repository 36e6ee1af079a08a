#!/bin/sh
# Installs the Debian packages named as arguments: no questions, no recommended extras, no service started.
set -eu
export DEBIAN_FRONTEND=noninteractive

# Prevents package scripts from starting services. An existing policy is kept.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

# Only root may capture from real interfaces.
echo 'wireshark-common wireshark-common/install-setuid boolean false' | debconf-set-selections

apt-get --quiet update

# The image may have QEMU tools of a later release than the emulator. They conflict, and apt downgrades them
# only on request.
downgrades=
for package; do
    [ "$package" = qemu-system-x86 ] || continue
    wanted=$(apt-cache policy "$package" | sed -n 's/^ *Candidate: //p')
    if present=$(dpkg-query --show --showformat '${Version}' qemu-utils 2>/dev/null) &&
        dpkg --compare-versions "$present" gt "$wanted"; then
        downgrades=--allow-downgrades
        set -- "$@" "qemu-utils=$wanted"
    fi
done

# shellcheck disable=SC2086 # Nothing, if there is nothing to go back to.
apt-get --quiet --yes --no-install-recommends $downgrades --option Dpkg::Use-Pty=0 install "$@"
