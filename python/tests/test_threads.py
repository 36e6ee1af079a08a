"""Runs can be stopped, and leave other threads alone."""

import os
import signal
import subprocess
import sys
import threading

import wiremend

# Simulates far longer than the test waits.
LONG = """
import sys, wiremend
started = []
def report(share):
    if not started:
        started.append(share)
        print("running", flush=True)
try:
    wiremend.run("tour", {"workload.0.flows": 4_000_000}, seeds=1000, out=sys.argv[1], progress=report)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_control_c_interrupts_a_run_and_leaves_no_files(tmp_path):
    out = tmp_path / "results"
    child = subprocess.Popen([sys.executable, "-c", LONG, str(out)], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "running\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "interrupted\n"
        assert child.wait() == 0
    finally:
        child.kill()
        child.wait()
    assert not out.exists()


def test_other_threads_run_meanwhile():
    counted = 0
    ended = threading.Event()

    def count():
        nonlocal counted
        while not ended.is_set():
            counted += 1

    thread = threading.Thread(target=count)
    thread.start()
    reports = []
    try:
        # Ends by the count alone: with a held lock, no report would see it rise.
        def report(share):
            reports.append(counted)
            if len(set(reports)) > 5:
                raise StopIteration

        try:
            wiremend.run("tour", {"workload.0.flows": 4_000_000}, seeds=1000, progress=report)
            stopped = False
        except StopIteration:
            stopped = True
    finally:
        ended.set()
        thread.join()
    assert stopped, reports


def test_runs_of_several_threads_do_not_mix():
    seeds = range(4)
    found = {}

    def run(seed):
        found[seed] = wiremend.run("tour", {"workload.0.flows": 500}, seed=seed, threads=1).digests

    threads = [threading.Thread(target=run, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in seeds:
        assert found[seed] == wiremend.run("tour", {"workload.0.flows": 500}, seed=seed).digests
    assert len({tuple(digests.values()) for digests in found.values()}) == len(seeds)


def test_the_process_forks_and_runs_again():
    digests = wiremend.run("nak").digests
    child = os.fork()
    if child == 0:
        os._exit(0 if wiremend.run("nak").digests == digests else 1)
    assert os.waitpid(child, 0)[1] == 0
