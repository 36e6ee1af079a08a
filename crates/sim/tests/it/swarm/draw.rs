//! Draws a random scenario from a seed.

use wiremend_units::mix;

use crate::common::{Draws, scenario};

pub(super) fn draw(seed: u64) -> String {
    let mut draws = Draws(mix(seed ^ 0x5EED));
    let topology = draw_topology(&mut draws);
    let transport = draw_transport(&mut draws);
    let mend = draw_mend(&mut draws, &transport);
    let workloads: String = (0..draws.pick(&[1, 1, 1, 2])).map(|_| draw_workload(&mut draws)).collect();
    let impairs: String = (0..draws.pick(&[0, 1, 1, 2, 3])).map(|_| draw_impairment(&mut draws)).collect();
    let stop = draws.pick(&["300us", "2ms", "5ms"]);
    let classes = draw_classes(&mut draws);
    let loads: String = (0..draws.pick(&[0, 0, 1, 2])).map(|_| draw_load(&mut draws)).collect();
    let pauses: String = (0..draws.pick(&[0, 0, 1, 3])).map(|_| draw_pause(&mut draws)).collect();
    let protect = draw_protect(&mut draws, &topology);
    let lossless = draw_lossless(&mut draws);
    // Lossless switches have one buffer for all ports.
    let topology = if lossless.is_empty() {
        topology
    } else {
        topology.replace("buffer = \"20kB\"\n", "").replace("buffer = \"200kB\"\n", "")
    };
    // Headroom includes the buffers of protected link ends.
    let (protect, lossless) = if lossless.is_empty() || protect.is_empty() {
        (protect, lossless)
    } else {
        let small = [("\"4MB\"", "\"1MB\""), ("\"20MB\"", "\"2MB\"")];
        let large = [
            ("1200kB", "40MB"),
            ("1300kB", "41MB"),
            ("1500kB", "42MB"),
            ("2500kB", "80MB"),
            ("12MB", "300MB"),
        ];
        let change = |text: String, (old, new): (&str, &str)| text.replace(old, new);
        (small.into_iter().fold(protect, change), large.into_iter().fold(lossless, change))
    };
    let text = format!(
        "title = \"swarm\"\nseed = {seed}\n[topology]\n{topology}\n[transport]\n{transport}\n{classes}{mend}\
         [stop]\nafter = \"{stop}\"\n{workloads}{loads}{impairs}{pauses}{protect}{lossless}"
    );
    // A ping-pong cannot use READ, and a pair has no links between switches: both are rejected.
    let text = if text.contains("ping-pong") { text.replace("\"read\"", "\"send\"") } else { text };
    let text = if text.contains("\"pair\"") { text.replace("\"switches\"", "\"all\"") } else { text };
    let text = draw_recovery(&mut Draws(mix(seed ^ 0x5E1)), &text);
    let text = draw_congestion(&mut Draws(mix(seed ^ 0xECE)), &text);
    let text = draw_lossy(&mut Draws(mix(seed ^ 0x7217)), &text);
    let text = draw_tcp(&mut Draws(mix(seed ^ 0x7C9)), &text);
    let text = draw_failures(&mut Draws(mix(seed ^ 0xFA1)), &text);
    let late = Draws(mix(seed ^ 0x1A7E)).below(5) == 0;
    let text = if late { format!("{text}[transport.host-delay]\nmedian = \"3us\"\n") } else { text };
    scenario(&text);
    text
}

/// Lets links or switches of a third of the networks fail.
fn draw_failures(draws: &mut Draws, text: &str) -> String {
    if draws.below(3) > 0 {
        return text.to_owned();
    }
    let many: String = (0..draws.pick(&[1, 1, 2]))
        .map(|_| {
            draws.write(
                "[[fail]]\n<links = 'all'|links = 'switches'|links = 'hosts'|switches = 'edge'>\n\
                 start = '<0s|3us|40us>'\n<|down = '30us'|down = '5us'\nup = '60us'\
                 |down = '20us'\nup = '90us'\nrandom = true|down = '1us'\nup = '4us'\nrandom = true\nstop = '200us'>\n\
                 flows = <1.0|1.0|0.3>\n<|detect = '0s'|detect = '4us'\nreroute = '7us'|detect = '15us'|detect = '2us'\nreroute_per_hop = '6us'>\n",
            )
        })
        .collect();
    let many = if text.contains("\"pair\"") { many.replace("\"switches\"", "\"all\"") } else { many };
    format!("{text}{many}")
}

fn draw_topology(draws: &mut Draws) -> String {
    let graph = "kind = 'graph'\nhosts = ['a', 'b', 'c']\nswitches = ['x', 'y', 'z']\nlinks = [{ ends = ['a', 'x'] }, \
         { ends = ['b', 'y'], delay = '0ns' }, { ends = ['c', 'z'] }, { ends = ['x', 'y'], rate = '10Gbps' }, \
         { ends = ['y', 'z'], delay = '3us' }, { ends = ['z', 'x'] }, { ends = ['z', 'x'], delay = '250ns' }]";
    draws.write(&format!(
        "<kind = 'pair'|kind = 'chain'\nswitches = 3\nhosts_per_end = 3|kind = 'fat-tree'\nk = 4\
         |kind = 'leaf-spine'\nleaves = 3\nspines = 2\nhosts_per_leaf = 3|{graph}>\n\
         delay = '<1us|100ns|0ns|7us|1ns>'\nswitch_delay = '<1us|300ns|2us>'\nrate = '<100Gbps|25Gbps|33Gbps>'\n\
         buffer = '<unlimited|unlimited|20kB|200kB>'\nswitch_latency = '<0ns|450ns>'"
    ))
}

fn draw_transport(draws: &mut Draws) -> String {
    draws.write(
        "recovery = '<go-back-n|go-back-n|go-back-0>'\noperation = '<write|send|read>'\nmtu = <1024|256|4096>\ntimeout = <4|8|10|3>\n\
         retry = <7|2|0>\nwindow = <'unlimited'|1|17|300>\nack_every = <1|4|64>\nack_coalescing = <true|false>\n\
         resend_delay = '<0s|0s|500ns>'\nqp = '<per-flow|per-pair>'\nrate = '<line|line|9Gbps>'\n\
         first_psn = <0|16777200|8388606|'random'>\nttl = <64|64|2>",
    )
}

fn draw_mend(draws: &mut Draws, transport: &str) -> String {
    if draws.below(2) == 0 {
        return String::new();
    }
    let copies = if transport.contains("\"read\"") { "0" } else { "0|1|2" };
    draws.write(&format!(
        "[mend]\npreset = '<none|all|all-optimized>'\ndummies = <0|1|2|16>\ndummies_when = '<deferred|at-post>'\n\
         dummies_after = '<0s|0s|1us|30us>'\nregisters = <1|7|4096>\ntail_copies = <{copies}>\npacket_copies = <{copies}>\n\
         check_epsn = <true|false>\n"
    ))
}

/// Draws the class of all connections, and the weights of switches.
fn draw_classes(draws: &mut Draws) -> String {
    draws.write(
        "class = <0|0|3|7>\n[switch]\n<||class = [{ number = 0, weight = 1 }]\
         |class = [{ number = 0, weight = 1 }, { number = 3, weight = 3 }]\
         |class = [{ number = 0, weight = 50 }, { number = 3, weight = 20 }, { number = 5, weight = 30 }]\
         |class = [{ number = 7, weight = 2 }, { number = 3, weight = 1000 }, { number = 5 }]>\n",
    )
}

/// Draws an open-loop load.
fn draw_load(draws: &mut Draws) -> String {
    let (src, dst) = draws.pick(&[("0", "last"), ("0", "last"), ("1", "0")]);
    draws.write(&format!(
        "[[workload]]\nkind = 'cbr'\nrate = '<1Gbps|12Gbps|30Gbps>'\nframe = <64|1000|9216>\nclass = <0|3|5>\n\
         start = '<0s|20us>'\nstop = '250us'\nsrc = '{src}'\ndst = '{dst}'\n"
    ))
}

fn draw_pause(draws: &mut Draws) -> String {
    draws.write(
        "[[pause]]\nlinks = '<all|hosts|switches>'\ndirection = '<both|forward|backward>'\nclass = <0|3|5|7>\n\
         start = '<0s|1us|33us|120us>'\n<stop = '121us'\n|stop = '180us'\n|stop = '1ms'\n|>",
    )
}

/// Draws protected links. A pair has none, and the prototype does not support every rate.
fn draw_protect(draws: &mut Draws, topology: &str) -> String {
    if draws.below(2) == 0 || topology.contains("\"pair\"") {
        return String::new();
    }
    if draws.below(3) == 0 {
        return draw_fec(draws);
    }
    if draws.below(3) == 0 && !topology.contains("33Gbps") {
        // Without backpressure every buffer may overflow.
        let room = draws.write(
            "<backpressure = true\nrx_buffer = '4MB'\n|backpressure = true\nrx_buffer = '4MB'\n|backpressure = false\n\
             |backpressure = false\nrx_buffer = '9kB'\ntx_buffer = '9kB'\n>",
        );
        return draws.write(&format!(
            "[[protect]]\nlinks = 'switches'\nprofile = 'prototype'\nby = '<linkguardian|linkguardian|linkguardian-nb>'\n\
             direction = '<both|forward|backward>'\ndummies = <1|3>\n{room}\
             <|copies = 2\n|stop = '150us'\n|start_at_loss = 0.01\n><|switch = 'ideal'\n>"
        ));
    }
    draws.write(
        "[[protect]]\nlinks = 'switches'\nby = '<linkguardian|linkguardian|linkguardian-nb>'\n\
         direction = '<both|both|forward|backward>'\ndummies = <1|3|8>\ncontrol_copies = <1|2>\ntx_buffer = '<4MB|4MB|20MB>'\n\
         rx_buffer = '4MB'\nbackpressure = <true|true|false>\nunordered = <[]|[]|[3]>\n\
         <||start = '20us'\n|stop = '150us'\n|copies = 1\n|start = '5us'\nstop = '60us'\n|start_at_loss = 1e-3\nstart_delay = '2us'\n\
         |start = '5us'\nstop = '90us'\nstart_at_loss = 0.02\nsample_frames = 50\n>",
    )
}

fn draw_fec(draws: &mut Draws) -> String {
    draws.write(
        "[[protect]]\nlinks = 'switches'\nby = '<fec|fec|fec-nb>(<25,1|5,1|5,2|1,1|20,10|251,4>)'\n\
         direction = '<both|both|forward|backward>'\n<||flush = '1us'\n|flush = '1ns'\ngive_up = '2ns'\n\
         |flush = '40us'\ngive_up = '41us'\n|start = '20us'\n|stop = '150us'\n|start = '5us'\nstop = '60us'\n\
         |start_at_loss = 0.01\nsample_frames = 200\n>",
    )
}

/// Draws lossless switches. The headroom fits the longest links of the swarm.
fn draw_lossless(draws: &mut Draws) -> String {
    if draws.below(3) > 0 {
        return String::new();
    }
    draws.write(
        "[switch.lossless]\n<classes = [0]\nbuffer = '1200kB'\n\
         |classes = [0]\nbuffer = '1300kB'\nresume_offset = '0B'\nreserve = '0B'\n|classes = [3]\nbuffer = '1500kB'\n\
         |classes = [0, 3]\nbuffer = '2500kB'\n|classes = [7, 6, 5, 4, 3, 2, 0]\nbuffer = '12MB'\n\
         |classes = [0, 3]\nbuffer = '200kB'\nheadroom = '9kB'\n\
         |classes = [0]\nbuffer = '60kB'\nheadroom = '3kB'\nreserve = '1kB'\n>\
         <|alpha = 1\n|alpha = 8\n|alpha = '1/4'\n><|copies = 2\n|quanta = 2000\n|reaction = '400ns'\n>\
         <|[switch.watchdog]\naction = 'drop'\npoll = '5us'\ndetection = '10us'\nrestoration = '7us'\n\
         |[switch.watchdog]\naction = 'forward'\npoll = '4us'\ndetection = '9us'\nrestoration = '20us'\n\
         |[switch.demotion]\nbounces = 0\nttl_below = 63\nclass = 1\n>",
    )
}

/// Draws schemes that accept packets in any order, and outages of links.
fn draw_recovery(draws: &mut Draws, text: &str) -> String {
    if draws.below(2) == 0 {
        return text.to_owned();
    }
    let scheme = draws.pick(&["selective-repeat", "timeout-only", "rack-tlp", "mp-rdma"]);
    let mut text = text.replace("\"go-back-n\"", "\"go-back-0\"").replace("go-back-0", scheme);
    text = text.replace("operation = \"read\"", "operation = \"write\"");
    for every in [4, 64] {
        text = text.replace(&format!("ack_every = {every}\n"), "ack_every = 1\n");
    }
    if scheme == "mp-rdma" {
        text = text.replace("ack_coalescing = true", "ack_coalescing = false");
    }
    text += &draws.write(
        "<|[transport.selective-repeat]\n|[transport.selective-repeat]\nrto_low = '20us'\nrto_high = '60us'\n\
         |[transport.selective-repeat]\ntracked = 5\nbackoff = true\n\
         |[transport.selective-repeat]\ntracking = 'linked-chunks'\nbackoff = false\n>",
    );
    if scheme == "mp-rdma" && text.contains("backoff = false") {
        text += "paths = 3\nlag = 2\n";
    }
    let cut = "[[impair]]\nlinks = \"hosts\"\nkind = \"frames\"\nrate = 1.0\n";
    let (start, stop) = draws.pick(&[("", ""), ("", ""), ("9us", "40us"), ("30us", "300us")]);
    if start.is_empty() { text } else { format!("{text}{cut}start = \"{start}\"\nstop = \"{stop}\"\n") }
}

/// Draws ECN marks, congestion control where possible, and workloads in their own classes.
fn draw_congestion(draws: &mut Draws, text: &str) -> String {
    let mut text = text.to_owned();
    if draws.below(4) == 0 {
        for start in ["0s", "1us", "33us"] {
            let class = draws.pick(&["", "class = 3\n", "class = 5\n"]);
            let of = format!("start = \"{start}\"\nkind");
            text = text.replacen(&of, &format!("start = \"{start}\"\n{class}kind"), 1);
        }
        text = text.replace("class = 3\nkind = \"cbr\"", "kind = \"cbr\"");
        text = text.replace("class = 5\nkind = \"cbr\"", "kind = \"cbr\"");
    }
    if draws.below(2) == 0 {
        return text;
    }
    let can_be = !text.contains("\"read\"") && !text.contains("9Gbps");
    let congestion =
        if can_be { draws.pick(&["none", "dcqcn-paper", "hpcc-lineage", "swift"]) } else { "none" };
    let class = draws.pick(&["", "", "cnp_class = 6\n"]);
    text = text.replacen("[transport]\n", &format!("[transport]\ncongestion = \"{congestion}\"\n{class}"), 1);
    text + &draws.write(
        "[switch.ecn]\n<kmin = '5kB'\nkmax = '200kB'\npmax = 0.01\n|kmin = '0B'\nkmax = '20kB'\npmax = 0.9\n\
         |kmin = '40kB'\nkmax = '40kB'\npmax = 1\n>",
    )
}

/// Draws load balancing, collectives, and trimming switches.
fn draw_lossy(draws: &mut Draws, text: &str) -> String {
    let mut text = text.to_owned();
    let balance = draws.pick(&["ecmp", "ecmp", "spray", "adaptive", "flowlet"]);
    if balance != "ecmp" {
        text = text.replacen("[switch]\n", &format!("[switch]\nbalance = \"{balance}\"\n"), 1);
    }
    if draws.below(3) == 0 && !text.contains("\"read\"") {
        text += &draws.write(
            "[[workload]]\nkind = '<allreduce|alltoall>'\nbytes = '<1B|9kB|100kB>'\niterations = <1|3>\nstart = '<0s|7us>'\n",
        );
    }
    if draws.below(4) > 0 || text.contains("[switch.lossless]") {
        return text;
    }
    if draws.below(2) == 0 {
        text = text.replace("kind = \"cbr\"\n", "kind = \"cbr\"\ntrimmable = true\n");
    }
    text + &draws.write(
        "[switch.trim]\nclass = 1\nthreshold = '<1B|9kB|20kB>'\nweight = <'fan-in'|'ratio'|0.25|20>\nheaders = '<100B|5kB|1MB>'\n\
         acks = '<drop|keep|control>'\n",
    )
}

/// Draws TCP for all connections, or for those of one workload.
fn draw_tcp(draws: &mut Draws, text: &str) -> String {
    if draws.below(3) > 0 {
        return text.to_owned();
    }
    let mut tcp = text.to_owned();
    if draws.below(2) == 0 {
        for congestion in ["dcqcn-paper", "hpcc-lineage", "swift"] {
            tcp = tcp.replace(&format!("congestion = \"{congestion}\"\n"), "");
        }
        tcp = tcp.replacen("[transport]\n", "[transport]\nprotocol = \"tcp\"\n", 1);
    } else {
        tcp = tcp.replacen("[[workload]]\n", "[[workload]]\nprotocol = \"tcp\"\n", 1);
    }
    let marks = tcp.contains("[switch.ecn]");
    let marked = if marks { "dctcp" } else { "cubic" };
    tcp += &draws.write(&format!(
        "[transport.tcp]\ncongestion = '<cubic|reno|bbr|swift|timely|{marked}>'\nrto_min = '<20us|300us>'\ndelayed_ack = '<0s|40us|40ms>'\n\
         mtu = <1500|1500|9000|300>\n\
         <||sack = false\n|tail_probe = false\n|reordering = 'time'\n|reordering = 'segments'\n>\
         <||stack_latency = '7us'\n|handshake = true\nrto_first = '100us'\n>\
         <||pacing = true\n|receive_window = '20kB'\n|retries = 2\n>"
    ));
    if draws.below(3) == 0 {
        let linked = tcp.replace("congestion = \"reno\"", "congestion = \"lia\"");
        tcp = format!("{linked}subflows = {}\n", draws.pick(&[2, 3, 8]));
    }
    // An open-loop load has no connections, and RDMA congestion control does not apply to TCP.
    match wiremend_scenario::load("test.toml", &tcp, &[]) {
        Err(error) if error.to_string().contains("TCP") => text.to_owned(),
        _ => tcp,
    }
}

fn draw_workload(draws: &mut Draws) -> String {
    let bytes = draws.pick(&["0B", "1B", "1024B", "5000B", "70kB", "500kB"]);
    let start = draws.pick(&["0s", "1us", "33us"]);
    let body = match draws.below(8) {
        0 => "kind = 'flows'\nbytes = '{bytes}'\npattern = 'permutation'\ncount = <1|3>",
        1 => "kind = 'flows'\nbytes = '{bytes}'\npattern = 'full-mesh'",
        2 => "kind = 'flows'\nbytes = '{bytes}'\npattern = 'incast'",
        3 => "kind = 'ping-pong'\nbytes = '{bytes}'\niterations = <1|40>",
        4 => "kind = 'stream'\nmessage = '<1B|9000B|100kB>'\ndepth = 3\ncount = 9",
        5 => {
            "kind = 'cbr'\nrate = '<1Gbps|40Gbps|150Gbps>'\nframe = <64|1000|9216>\nclass = <0|0|3>\nttl = <64|1>\n\
             stop = '<50us|200us>'"
        }
        _ => {
            "kind = 'poisson'\nsizes = '<google-rpc|20kB|alibaba-storage>'\nload = <0.1|0.6>\nflows = <20|60>\n\
             pattern = '<uniform|point-to-point|permutation|incast|uniform'\nsrc = [0, 1]\ndst = '0\
             |point-to-point'\nsrc = [0, 0]\ndst = [1, 'last']\nduration = '1s>'"
        }
    };
    let body = draws.write(&body.replace("{bytes}", bytes));
    format!("[[workload]]\nstart = \"{start}\"\n{body}\n")
}

fn draw_impairment(draws: &mut Draws) -> String {
    let links = draws.pick(&["all", "hosts", "switches"]);
    let fault = draws.write(
        "<kind = 'frames'\nrate = '1e-3'|kind = 'frames'\nrate = '0.05'|kind = 'bit-errors'\nrate = '1e-6'\
         |kind = 'bursts'\nloss = '0.01'\nlength = 4.0|kind = 'every'\nn = 37|kind = 'ip-id'\nmask = 255\nvalue = 255\
         |kind = 'script'\nrules = [{ packet = 'nak' }, { packet = 'ack', nth = 3, count = 5 }]|kind = 'frames'\nrate = '0.6'>",
    );
    draws.write(&format!(
        "[[impair]]\nlinks = '{links}'\ndirection = '<both|forward|backward>'\n{fault}\n<|stop = '100us'\n>"
    ))
}
