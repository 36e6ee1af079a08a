//! Draws a random scenario with long messages, of the kind in which runs can skip time.

use wiremend_units::mix;

use crate::common::{Draws, scenario};

pub(super) fn draw(seed: u64) -> String {
    let mut draws = Draws(mix(seed ^ 0xFA57));
    let topology = draw_topology(&mut draws);
    let transport = draw_transport(&mut draws);
    let workloads: String = (0..draws.pick(&[1, 1, 1, 1, 1, 2])).map(|_| draw_workload(&mut draws)).collect();
    let impairs: String = (0..draws.pick(&[0, 0, 1, 1, 2])).map(|_| draw_impairment(&mut draws)).collect();
    let others = draws.write(
        "[engine]\nties = '<fixed|fixed|fixed|fixed|fixed|drawn>'\nports = '<auto|auto|scheduled>'\n\
         [stop]\nafter = '<100ms|100ms|700us|1234567ns>'\n\
         <||||[series]\nevery = '50us'\nlinks = 'hosts'\n|[series]\nevery = '33us'\nlinks = 'all'\n>",
    );
    let text = format!(
        "title = \"long messages\"\nseed = {seed}\n{topology}{transport}{others}{workloads}{impairs}"
    );
    // A pair has no links between switches.
    let text = if text.contains("\"pair\"") { text.replace("\"switches\"", "\"all\"") } else { text };
    scenario(&text);
    text
}

fn draw_topology(draws: &mut Draws) -> String {
    let graph = "kind = 'graph'\nhosts = ['a', 'b', 'c']\nswitches = ['x', 'y', 'z']\nlinks = [{ ends = ['a', 'x'] }, \
         { ends = ['b', 'y'], delay = '70ns' }, { ends = ['c', 'z'] }, { ends = ['x', 'y'], rate = '10Gbps' }, \
         { ends = ['y', 'z'], delay = '3us' }, { ends = ['z', 'x'] }, { ends = ['z', 'x'], delay = '250ns' }]";
    draws.write(&format!(
        "[topology]\n<kind = 'pair'|kind = 'chain'\nswitches = 2\nhosts_per_end = 2|kind = 'chain'\nswitches = 3\nhosts_per_end = 1\
         |kind = 'leaf-spine'\nleaves = 2\nspines = 2\nhosts_per_leaf = 2|{graph}>\n\
         delay = '<1us|1037ns|600ns|2500ns>'\nrate = '<100Gbps|100Gbps|25Gbps|33Gbps|400Gbps>'\n\
         buffer = '<unlimited|unlimited|unlimited|20kB|200kB>'\nswitch_latency = '<0ns|450ns>'\n"
    ))
}

fn draw_transport(draws: &mut Draws) -> String {
    draws.write(
        "[transport]\nrecovery = '<go-back-n|go-back-n|go-back-0>'\noperation = '<write|send>'\nmtu = <1024|1024|1024|256|4096>\n\
         timeout = <14|6|4|3>\nwindow = <'unlimited'|1|8|17|64|300>\nack_every = <1|1|4|7>\n\
         ack_coalescing = <true|false>\nresend_delay = '<0s|500ns>'\nqp = '<per-flow|per-pair>'\n\
         first_psn = <0|16777000|8388000|'random'>\n",
    )
}

fn draw_workload(draws: &mut Draws) -> String {
    let body = match draws.below(8) {
        0 | 1 => "kind = 'flows'\nbytes = '<400kB|1MB>'\npattern = 'permutation'",
        2 => "kind = 'flows'\nbytes = '<100kB|300kB>'\npattern = 'incast'",
        3 | 4 => "kind = 'stream'\nmessage = '<400kB|1000001B>'\ndepth = <1|1|2>\ncount = 4",
        5 => "kind = 'alltoall'\nbytes = '1MB'",
        6 => "kind = 'allreduce'\nbytes = '<1MB|4MB>'",
        _ => {
            "kind = '<cbr'\nrate = '1Gbps'\nframe = 1000\nstop = '200us|ping-pong'\nbytes = '64B'\niterations = 40\nsrc = 0\n\
             dst = '1|poisson'\nsizes = '20kB'\nload = 0.1\nflows = 20\npattern = 'uniform>'"
        }
    };
    draws.write(&format!("[[workload]]\nstart = '<0s|0s|33us>'\n{body}\n"))
}

fn draw_impairment(draws: &mut Draws) -> String {
    draws.write(
        "[[impair]]\nlinks = '<all|hosts|switches>'\ndirection = '<both|forward|backward>'\n\
         <kind = 'frames'\nrate = '1e-5'|kind = 'frames'\nrate = '1e-5'|kind = 'frames'\nrate = '1e-6'\
         |kind = 'bit-errors'\nrate = '1e-9'|kind = 'bit-errors'\nrate = '1e-10'|kind = 'bursts'\nloss = '1e-5'\nlength = 3.0\
         |kind = 'every'\nn = 17000|kind = 'frames'\nrate = '0.01'\nstart = '20us'\nstop = '60us'>\n",
    )
}
