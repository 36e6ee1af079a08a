#!/bin/busybox sh
# What a guest does first: its network, soft-RoCE on it, and then whatever it is told on its virtio port. Our kernel parameters:
# wiremend.address (with prefix), wiremend.mtu.
/bin/busybox mount -t proc proc /proc
/bin/busybox --install -s /bin
export PATH=/usr/bin:/bin HOME=/run TMPDIR=/run
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mount -t tmpfs tmpfs /run

give_up() {
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
    insmod "$module" || give_up "$module was not loaded"
done
ip link set lo up
{ ip link set eth0 mtu "$mtu" up && ip address add "$address" dev eth0; } || give_up "no network"
# Memory that a device writes to is locked; a guest has no other use for it.
ulimit -l unlimited
rdma link add rxe0 type rxe netdev eth0 || give_up "no soft-RoCE"

# The address of RoCEv2 over IPv4 is the second one, and comes a moment later.
tries=0
until grep -q '[1-9a-f]' /sys/class/infiniband/rxe0/ports/1/gids/1; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || give_up "soft-RoCE has no address"
    sleep 0.1
done 2>/dev/null

# The device appears a moment after its driver. What is written waits until the other end is there; from then on reading waits too.
tries=0
until line=$(ls /dev/vport*p1); do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || give_up "no virtio port"
    sleep 0.1
done 2>/dev/null
exec 3<>"$line"
echo ready >&3
exec sh /serve <&3 >&3 2>/dev/console
