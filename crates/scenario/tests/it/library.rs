//! Built-in scenarios and the reference page.

use wiremend_scenario::{App, ImpairmentKind, Shape, builtin, load, reference};

#[test]
fn every_built_in_scenario_is_valid_and_described() {
    let all = builtin::list();
    assert!(all.len() >= 16, "{all:?}");
    for (name, title) in all {
        let file = load(name, builtin::get(name).unwrap(), &[]).unwrap();
        assert!((20..80).contains(&title.chars().count()), "{name}: {title}");
        let sentences = file.scenario.about.matches(['.', ':']).count();
        assert!(sentences >= 2, "{name}: {}", file.scenario.about);
        for variant in &file.variants {
            for workload in &variant.scenario.workloads {
                if let App::List(list) = &workload.app {
                    let named = builtin::locate(None, &list.file);
                    assert!(matches!(named, builtin::FileSource::BuiltIn(_)), "{name}: {named:?}");
                }
            }
        }
    }
}

/// The effective text is the scenario: nothing is lost, and it is its own effective text.
#[test]
fn the_effective_text_of_every_variant_loads_to_the_same_scenario() {
    for name in builtin::names() {
        let file = load(name, builtin::get(name).unwrap(), &[]).unwrap();
        for variant in &file.variants {
            let text = variant.scenario.to_toml();
            let again = load(name, &text, &[]).unwrap_or_else(|error| panic!("{name}: {error}\n{text}"));
            assert_eq!(again.variants[0].scenario, variant.scenario, "{name}, {}\n{text}", variant.name);
            assert_eq!(again.variants[0].scenario.sha256(), variant.scenario.sha256());
        }
    }
}

#[test]
fn the_hash_is_that_of_the_values_and_not_of_their_spelling() {
    let hash = |text: &str, sets: &[&str]| {
        let sets: Vec<_> = sets.iter().map(|set| set.parse().unwrap()).collect();
        load("x", text, &sets).unwrap().scenario.sha256()
    };
    let text =
        "title = \"x\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\n";
    let spelled = text.replace("1MB", "1000kB").replace("\"pair\"", "\"pair\"\ndelay = \"1us\" # as always");
    assert_eq!(hash(text, &[]), hash(&spelled, &["transport.timeout=14"]));
    assert_ne!(hash(text, &[]), hash(text, &["transport.timeout=15"]));
    assert_ne!(hash(text, &[]), hash(text, &["seed=2"]));
}

#[test]
fn a_measurement_window_lies_within_the_run() {
    let load = |window: &str| {
        let text = "title = \"x\"\n[topology]\nkind = \"pair\"\n[[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\n[stop]\nafter = \"9ms\"\n";
        load("x", &format!("{text}[measure]\n{window}\n"), &[])
            .map(|file| file.scenario.measure.unwrap().until)
    };
    assert_eq!(load("from = \"1ms\"\nuntil = \"9ms\"").unwrap().as_ps(), 9_000_000_000);
    for (window, why) in [
        ("from = \"2ms\"\nuntil = \"2ms\"", "`until` is not later than `from`; set a later time"),
        ("until = \"10ms\"", "`until` is after the end of the run, 9ms (stop.after); set an earlier time"),
        ("from = \"2ms\"", "missing field `until`; it has no default"),
    ] {
        let error = load(window).unwrap_err().to_string();
        assert!(error.starts_with("x:9:1: ") && error.ends_with(why), "{error}");
    }
}

#[test]
fn the_tour_compares_a_clean_network_with_losses_and_with_two_ways_to_mend_them() {
    let tour = load("tour", builtin::get("tour").unwrap(), &[]).unwrap();
    let names: Vec<_> = tour.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["clean", "go-back-n", "go-back-0", "go-back-n, mended", "links protected"]);
    let impaired: Vec<_> = tour.variants.iter().map(|variant| variant.scenario.impairs.len()).collect();
    assert_eq!(impaired, [0, 1, 1, 1, 1]);
    let protected: Vec<_> = tour.variants.iter().map(|variant| variant.scenario.protects.len()).collect();
    assert_eq!(protected, [0, 0, 0, 0, 1]);
}

#[test]
fn a_benchmark_is_what_its_description_says() {
    let file = load("bench", builtin::get("bench/perm-k8").unwrap(), &[]).unwrap();
    let Shape::FatTree(tree) = &file.scenario.topology.shape else { panic!("a fat-tree") };
    assert_eq!(tree.k.get(), 8);
    let App::Flows(flows) = &file.scenario.workloads[0].app else { panic!("flows") };
    assert_eq!(flows.bytes.get(), 4_096_000);
    let pairs = flows.endpoints().pairs(&file.scenario.topology).unwrap();
    let pairs: Vec<_> = pairs.iter().map(|(src, dst)| (src.0, dst.0)).collect();
    assert_eq!((pairs.len(), pairs[0], pairs[64], pairs[127]), (128, (0, 64), (64, 0), (127, 63)));

    let file = load("bench", builtin::get("bench/incast-k8").unwrap(), &[]).unwrap();
    let App::Flows(flows) = &file.scenario.workloads[0].app else { panic!("flows") };
    let pairs = flows.endpoints().pairs(&file.scenario.topology).unwrap();
    let pairs: Vec<_> = pairs.iter().map(|(src, dst)| (src.0, dst.0)).collect();
    assert_eq!((pairs.len(), pairs[0], pairs[63]), (64, (64, 0), (127, 0)));
}

#[test]
fn the_ping_pong_rates_are_those_in_the_names() {
    let file = load("ping-pong", builtin::get("ping-pong").unwrap(), &[]).unwrap();
    for variant in &file.variants[1..] {
        let ImpairmentKind::BitErrors(errors) = &variant.scenario.impairs[0].kind else {
            panic!("bit errors")
        };
        let one_in = variant.name.strip_prefix("1/").unwrap().parse::<f64>().unwrap();
        let corrupted = -(8.0 * 1102.0 * (-errors.rate.get()).ln_1p()).exp_m1();
        assert!((corrupted * one_in - 1.0).abs() < 1e-5, "{}: {corrupted}", variant.name);
    }
}

#[test]
fn every_example_of_the_reference_page_is_valid() {
    let page = reference_text();
    let examples: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(examples.len() >= 22, "{}", examples.len());
    for example in examples {
        let mut text = example.to_owned();
        if !text.contains("title =") {
            text.insert_str(0, "title = \"example\"\n");
        }
        if !text.contains("[topology]") {
            text.push_str("\n[topology]\nkind = \"pair\"\n");
        }
        if !text.contains("[[workload]]") {
            text.push_str("\n[[workload]]\nkind = \"stream\"\nmessage = \"1MB\"\n");
        }
        if let Err(error) = load("example", &text, &[]) {
            panic!("{error}\n{text}");
        }
    }
}

#[test]
fn the_page_describes_every_kind_and_field() {
    let page = reference_text();
    for kind in ["pair", "graph", "poisson", "ping-pong", "cbr", "bit-errors", "gilbert-elliott", "script"] {
        assert!(page.contains(&format!("### kind = \"{kind}\"\n\n")), "{kind}");
    }
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        assert!(cells.len() == 4 && cells.iter().all(|cell| !cell.is_empty()), "{row}");
    }
}

/// All pages, one behind the other.
fn reference_text() -> String {
    reference().into_iter().map(|page| page.text).collect()
}
