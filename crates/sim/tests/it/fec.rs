//! Links with forward error correction: residual loss, order, cost, and the effect on RDMA.

use crate::common::{run, scenario};
use wiremend_measure::FlowOutcome;
use wiremend_sim::{LinkEndCounters, Options, Results, Simulation};

/// A frame stays lost if at least as many others of its block were lost as there are parities.
#[test]
fn residual_loss_is_that_of_the_code() {
    for (data, parities, loss) in [(5, 1, 1e-2), (25, 1, 1e-2), (5, 2, 5e-2)] {
        let (results, _) = run(&load(&format!("fec({data},{parities})"), "600ms", loss));
        let (tx, rx) = ends(&results);
        let sent = tx.fec.unwrap().protected as f64;
        let lost = rx.fec.unwrap().lost as f64;
        let expected = residual_loss(loss, data, parities);
        let off = (lost / sent - expected) / expected;
        println!(
            "({data},{parities}): {sent} frames, {lost} lost, {:.3e} instead of {expected:.3e}",
            lost / sent
        );
        // Residual losses come at least two in a block.
        let sigma = (2.0 / lost).sqrt();
        assert!(off.abs() < 4.0 * sigma, "({data},{parities}): {off:+.3}, {sigma:.3}");
        assert!(off.abs() < 0.25 && lost > 150.0);
        let fec = rx.fec.unwrap();
        assert_eq!(fec.arrived + fec.recovered + fec.lost, tx.fec.unwrap().protected - open(&results));
        assert_eq!((fec.restarts, fec.malformed, fec.late), (0, 0, 0));
        assert_eq!(rx.restored, fec.recovered);
        assert_eq!(rx.sum.delivered, fec.arrived + fec.recovered);
    }
}

/// L14: of a saturated link, Wharf's (25,1) leaves 25/26 and (5,1) 5/6, with or without losses; the header
/// format is ours.
#[test]
fn parities_reduce_goodput_by_the_code_rate() {
    let full = goodput_gbps(&run(&load("linkguardian", "20ms", 0.0).replace(PROTECT, "")).0);
    for (by, share) in [("fec(25,1)", 25.0 / 26.0), ("fec(5,1)", 5.0 / 6.0)] {
        for loss in [0.0, 1e-3] {
            let (results, _) = run(&load(by, "20ms", loss));
            let (found, expected) = (goodput_gbps(&results), full * share);
            println!("{by} at {loss}: {found:.2} of {full:.2} Gb/s, {expected:.2} by k/(k+h)");
            // 8 bytes of header, and 22 more in a parity, in frames of 1518 bytes.
            assert!(found < expected && found > expected * 0.99, "{by}: {found} Gb/s, not {expected}");
        }
    }
}

/// Go-back-N takes a gap for a loss: a frame restored out of order costs as much as a lost one.
#[test]
fn rdma_sees_no_loss_if_order_is_kept() {
    let write = |by: &str| {
        let (results, rows) = run(&write(by, 5e-3));
        assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished), "{by}");
        let (timeouts, resent) = rows.iter().fold((0, 0), |(timeouts, resent), row| {
            (timeouts + row.timeouts, resent + row.retransmitted_packets)
        });
        let (_, rx) = ends(&results);
        (timeouts, resent, rx.fec.unwrap())
    };
    let (timeouts, resent, fec) = write("fec(5,2)");
    println!("in order: {timeouts} timeouts, {resent} packets sent again, {fec:?}");
    assert!(fec.recovered > 50 && fec.lost == 0, "{fec:?}");
    assert_eq!((timeouts, resent), (0, 0));
    assert!(fec.held_max > 0 && fec.held_max < 5);
    let (_, resent, fec) = write("fec-nb(5,2)");
    println!("as they come: {resent} packets sent again, {fec:?}");
    assert!(fec.recovered > 50 && fec.held_max == 0);
    assert!(
        u64::from(resent) > fec.recovered / 2,
        "{resent} sent again for {} that came late",
        fec.recovered
    );
}

/// A message of one packet: no frame follows, so its block is flushed by the timer, and the parity restores
/// it.
#[test]
fn a_lone_frame_is_restored_when_the_block_is_flushed() {
    let only = "[[workload]]\nkind = \"flows\"\nbytes = \"1000B\"\npattern = \"point-to-point\"\n";
    // The first numbered frame that is no parity: 1000 bytes and headers are 1070, 1078 with the link header.
    let lost = "[[impair]]\nlinks = \"s0-s1\"\ndirection = \"forward\"\nkind = \"script\"\nrules = [{ packet = \"data\", nth = 1 }]\n";
    let text = |impair: &str| format!("{}{only}{impair}", chain("fec(25,1)\"\nflush = \"7us"));
    let fct = |text: &str| {
        let (results, rows) = run(text);
        let [row] = rows[..] else { panic!("one flow") };
        assert_eq!((row.outcome, row.timeouts), (FlowOutcome::Finished, 0));
        (row.fct().as_ns(), ends(&results).1.fec.unwrap())
    };
    let (clean, _) = fct(&text(""));
    let (mended, fec) = fct(&text(lost));
    assert_eq!((fec.arrived, fec.recovered, fec.lost), (0, 1, 0));
    // The flush timer starts at the frame's departure; the parity is a little longer than the frame.
    let late = mended - clean;
    assert!((7_000..7_100).contains(&late), "{late} ns later");
}

/// After protection ends no frame waits, and later frames without a header do not overtake.
#[test]
fn order_survives_the_end_of_protection() {
    let text = write("fec(25,1)\"\nstop = \"3ms", 0.0)
        + "[[impair]]\nlinks = \"s0-s1\"\ndirection = \"forward\"\nkind = \"every\"\nn = 40\nstop = \"2990us\"\n";
    let (results, rows) = run(&text);
    let (tx, rx) = ends(&results);
    let (tx, rx) = (tx.fec.unwrap(), rx.fec.unwrap());
    println!("{tx:?} {rx:?}");
    assert!(tx.protected > 1000 && rx.recovered > 10);
    assert_eq!((rx.held, rx.arrived + rx.recovered + rx.lost), (0, tx.protected));
    assert!(rows.iter().all(|row| row.outcome == FlowOutcome::Finished));
    assert_eq!((rx.lost, rx.given_up), (0, 0));
    assert!(rows.iter().all(|row| row.retransmitted_packets == 0));
}

/// Invalid shapes and fields are rejected when the scenario is read; times that cannot work, when it is
/// built.
#[test]
fn a_too_short_give_up_time_is_rejected() {
    let text = load("fec(25,1)\"\nflush = \"10us\"\ngive_up = \"10us", "1ms", 0.0);
    let error = Simulation::build(&scenario(&text), &crate::common::NoFiles, &Options::new(1)).err().unwrap();
    assert!(error.what.contains("must be longer"), "{error:?}");
}

/// Returns the sending and the receiving end of the middle link.
fn ends(results: &Results) -> (LinkEndCounters, LinkEndCounters) {
    let [tx, rx] = results.link_ends[..] else { panic!("one link is protected") };
    assert!(tx.lane.reverse() == rx.lane && tx.link.protected >= rx.link.protected);
    (tx, rx)
}

/// Returns the frames whose fate the receiver does not know yet.
fn open(results: &Results) -> u64 {
    let (tx, rx) = ends(results);
    let (tx, rx) = (tx.fec.unwrap(), rx.fec.unwrap());
    let open = tx.protected - rx.arrived - rx.recovered - rx.lost;
    assert!(open <= 60, "{open} frames of open blocks");
    open
}

/// Returns the share of frames that a block of `data` frames and `parities` cannot restore, with independent
/// losses.
fn residual_loss(loss: f64, data: u32, parities: u32) -> f64 {
    let others = data + parities - 1;
    let exactly = |lost: u32| {
        let combinations =
            (0..lost).fold(1.0, |combinations, i| combinations * f64::from(others - i) / f64::from(i + 1));
        combinations * loss.powi(lost as i32) * (1.0 - loss).powi((others - lost) as i32)
    };
    loss * (parities..=others).map(exactly).sum::<f64>()
}

/// Returns the payload rate of the frames of 1518 bytes over the middle link, without headers of Ethernet,
/// IPv4 and TCP with timestamps.
fn goodput_gbps(results: &Results) -> f64 {
    let host = results.hosts.last().expect("the receiver");
    host.rx_frames as f64 * (1518.0 - 18.0 - 20.0 - 32.0) * 8.0 / results.end.as_ps() as f64 * 1e3
}

const PROTECT: &str = "[[protect]]\nlinks = \"s0-s1\"\nby = \"linkguardian\"\n";

fn chain(by: &str) -> String {
    format!(
        "title = \"fec\"\n[topology]\nkind = \"chain\"\nswitches = 2\nhosts_per_end = 1\nrate = \"10Gbps\"\ndelay = \"500ns\"\n\
         [[protect]]\nlinks = \"s0-s1\"\nby = \"{by}\"\n"
    )
}

/// Frames of 1518 bytes back to back, for a time span.
fn load(by: &str, span: &str, loss: f64) -> String {
    let impair = if loss > 0.0 { impair(loss) } else { String::new() };
    format!(
        "{}[[workload]]\nkind = \"cbr\"\nrate = \"10Gbps\"\nframe = 1518\nstop = \"{span}\"\n[stop]\nafter = \"{span}\"\n{impair}",
        chain(by)
    )
}

/// WRITEs of 1 MB, with loss in the forward direction.
fn write(by: &str, loss: f64) -> String {
    let impair = if loss > 0.0 { impair(loss) } else { String::new() };
    format!(
        "{}[transport]\nmtu = 1024\nwindow = 60\n[[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\ncount = 20\n{impair}",
        chain(by)
    )
}

fn impair(loss: f64) -> String {
    format!("[[impair]]\nlinks = \"s0-s1\"\ndirection = \"forward\"\nkind = \"frames\"\nrate = {loss}\n")
}
