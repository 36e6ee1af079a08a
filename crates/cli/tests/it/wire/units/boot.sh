# Boots systemd in namespaces of its own, over a copy of this system that is thrown away.
# Arguments: an empty directory for the copy, a directory with the program and job.sh, which gets job.log, and the
# folder `deploy`.
set -eu
[ "$(id -u)" = 0 ] || { echo "cannot boot: not root" >&2; exit 77; }
copy=$1 out=$2 deploy=$3

# cgroups of its own, so that systemd sees only these. Hosts have one hierarchy, or one for each controller.
tops=/sys/fs/cgroup
[ -e /sys/fs/cgroup/cgroup.procs ] || tops=$(echo /sys/fs/cgroup/*)
for top in $tops; do
    mkdir "$top/wiremend-$$" 2>/dev/null || { echo "cannot boot: no cgroup in $top" >&2; exit 77; }
    if [ -e "$top/cpuset.cpus" ] && [ ! -e "$top/cgroup.controllers" ]; then
        cat "$top/cpuset.cpus" >"$top/wiremend-$$/cpuset.cpus"
        cat "$top/cpuset.mems" >"$top/wiremend-$$/cpuset.mems"
    fi
done
trap 'for top in $tops; do find "$top/wiremend-$$" -depth -type d -exec rmdir {} + 2>/dev/null || true; done' EXIT
(
    for top in $tops; do sh -c 'echo $PPID' >"$top/wiremend-$$/cgroup.procs"; done
    exec unshare --cgroup --mount --pid --net --uts --ipc --fork sh -eu "$out/init.sh" "$copy" "$out" "$deploy"
)
