//! What a relay refuses to start with.

use wiremend_dataplane::relay::{InterfaceLease, Settings};
use wiremend_units::{Bytes, Rate, Span};
use wiremend_wire::link::LinkCodec;

use super::{Relay, await_ports, in_own_network, new_chain, settings};

#[test]
fn interface_belongs_to_one_relay_whatever_the_run_directory() {
    in_own_network(|| {
        new_chain();
        let relay = Relay::start(0, false);
        let other = settings(0);
        assert_ne!(relay.settings.run_dir, other.run_dir);
        let refused = InterfaceLease::take(&other, &|| false).unwrap_err().to_string();
        let holder = format!("`l0` is in use by another relay (process {})", std::process::id());
        assert!(refused.contains(&holder), "{refused}");
        relay.stop();
        InterfaceLease::take(&other, &|| false).unwrap();
        let _ = std::fs::remove_dir_all(other.run_dir);
    });
}

#[test]
fn senseless_settings_are_refused() {
    let refused = |change: fn(&mut Settings)| {
        let mut settings = Settings::new("l0", "w0");
        change(&mut settings);
        settings.check().unwrap_err().to_string()
    };
    assert!(refused(|settings| settings.codec = LinkCodec { ethertype: 0x0800 }).contains("belongs to IPv4"));
    assert!(refused(|settings| settings.codec = LinkCodec { ethertype: 0x05FF }).contains("is a length"));
    assert!(
        refused(|settings| settings.rate = Some(Rate::from_bits_per_s(1))).contains("--rate 1bps is too low")
    );
    assert!(refused(|settings| settings.give_up = Span::ZERO).contains("--give-up"));
    assert!(refused(|settings| settings.queue = Bytes::ZERO).contains("--queue"));
    Settings::new("l0", "w0").check().unwrap();
}

#[test]
fn different_ethertypes_are_reported() {
    in_own_network(|| {
        new_chain();
        let relays = [0, 1].map(|end| {
            await_ports(end);
            let codec = LinkCodec { ethertype: 0x88B5 + end as u16 };
            Relay::run(Settings { active: true, codec, ..settings(end) })
        });
        for (relay, other) in relays.iter().zip([0x88B6, 0x88B5]) {
            relay.await_status("the other EtherType is known", |status| status.peer_ethertype == Some(other));
            assert!(!relay.ask(&wiremend_dataplane::relay::Request::Status).sending);
        }
        relays[0].await_notice("uses --ethertype 88b6, this end 88b5");
    });
}
