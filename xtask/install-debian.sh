#!/bin/sh
# Installs the Debian packages named as arguments: no questions, no recommended extras, no service started.
set -eu
export DEBIAN_FRONTEND=noninteractive

# What invoke-rc.d asks before it starts a service. A machine that has its own answer keeps it.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    trap 'exit 130' INT TERM
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
fi

# Nobody but root needs to capture from real interfaces.
echo 'wireshark-common wireshark-common/install-setuid boolean false' | debconf-set-selections

apt-get --quiet update
apt-get --quiet --yes --no-install-recommends --option Dpkg::Use-Pty=0 install "$@"
