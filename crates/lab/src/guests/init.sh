#!/bin/busybox sh
# Init script of a guest: sets up the network and soft-RoCE, then executes commands from the virtio port. Kernel parameters:
# wiremend.address (with prefix), wiremend.mtu.
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin HOME=/run TMPDIR=/run
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run

fail() {
    echo "failed: $1" >/dev/console
    sleep 1
    poweroff -f
}

for word in $(cat /proc/cmdline); do
    case $word in
    wiremend.address=*) address=${word#*=} ;;
    wiremend.mtu=*) mtu=${word#*=} ;;
    esac
done

for module in /modules/*; do
    insmod "$module" || fail "cannot load $module"
done
ip link set lo up
{ ip link set eth0 mtu "$mtu" up && ip address add "$address" dev eth0; } || fail "no network"
# RDMA locks the memory of its buffers.
ulimit -l unlimited
rdma link add rxe0 type rxe netdev eth0 || fail "no soft-RoCE"

# GID 1 is RoCEv2 over IPv4. It appears a moment later.
tries=0
until grep -q '[1-9a-f]' /sys/class/infiniband/rxe0/ports/1/gids/1; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "soft-RoCE has no address"
    sleep 0.1
done 2>/dev/null

# The device appears a moment after its driver. Writes block until the host end is open; reads block afterwards.
tries=0
until line=$(ls /dev/vport*p1); do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "no virtio port"
    sleep 0.1
done 2>/dev/null
exec 3<>"$line"
echo ready >&3
# Not by exec: process 1 gets SIGCHLD of every orphan, and `read` of busybox loses the part of a line that it has when a
# signal arrives.
sh /serve <&3 >&3 2>/dev/console
poweroff -f
