use super::*;
use crate::dist::binary::{self, Binary};

/// A package with a static program of another name, which needs no build.
struct Trial {
    dist: PathBuf,
    package: PathBuf,
}

impl Trial {
    fn pack(name: &str) -> Self {
        let dist = shell::target_dir().unwrap().join(format!("debian-{name}-{}", std::process::id()));
        let pages = dist.join("pages");
        fs::create_dir_all(pages.join("man1")).unwrap();
        let page = ".TH wiremend 1\n.SH NAME\nwiremend \\- keeps RDMA fast over links that corrupt packets\n";
        fs::write(pages.join("man1/wiremend.1"), page).unwrap();
        fs::create_dir_all(pages.join("completions")).unwrap();
        for shell in crate::docs::SHELLS {
            fs::write(pages.join(format!("completions/wiremend.{shell}")), "# none\n").unwrap();
        }
        let bill = dist.join("bill.json");
        fs::write(&bill, "{}\n").unwrap();
        let path = dist.join("trial");
        binary::trial(&path);
        let contents = Contents {
            binary: Binary { path, target: "x86_64-unknown-linux-musl".to_owned() },
            version: "1.2.3".to_owned(),
            bill,
            pages,
            epoch: "1700000000".to_owned(),
        };
        let package = pack(&dist, &contents).unwrap();
        Self { dist, package }
    }
}

impl Drop for Trial {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dist);
    }
}

#[test]
fn lintian_finds_nothing_in_the_package() {
    let trial = Trial::pack("lint");
    lint(&trial.package).unwrap();
}

/// Installs, reconfigures, upgrades, removes and purges the package in a copy of this system that is thrown away.
#[test]
fn the_package_installs_upgrades_and_leaves_nothing_behind() {
    let trial = Trial::pack("install");
    let script = include_str!("install_trial.sh");
    let mut command = command("unshare --mount --pid --fork sh -eu -c");
    let output = command.arg(script).arg("trial").arg(&trial.dist).arg(&trial.package).output().unwrap();
    let (text, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if errors.contains("unshare failed") || errors.contains("cannot mount") {
        assert!(std::env::var_os("CI").is_none(), "must run where CI is set: {errors}");
        return eprintln!("skipped: {errors}");
    }
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.ends_with("done\n"), "{text}{errors}");
}

#[test]
fn the_control_file_says_what_the_package_is() {
    let binary = Binary { path: PathBuf::new(), target: "x86_64-unknown-linux-musl".to_owned() };
    let contents = Contents {
        binary,
        version: "1.2.3".to_owned(),
        bill: PathBuf::new(),
        pages: PathBuf::new(),
        epoch: "0".to_owned(),
    };
    let text = control_file(&contents, architecture(&contents.binary.target).unwrap(), 7);
    for field in ["Package: wiremend\n", "Version: 1.2.3\n", "Architecture: amd64\n", "Installed-Size: 7\n"] {
        assert!(text.contains(field), "{text}");
    }
    let (_, description) = text.split_once("Description: ").unwrap();
    assert!(description.lines().skip(1).all(|line| line.starts_with(' ')), "{text}");
    for part in ["relay", "daemon", "planner", "simulator"] {
        assert!(description.contains(part), "{part}");
    }
}

#[test]
fn packed_units_and_samples_exist() {
    let scripts = SCRIPTS.map(|script| format!("debian/{script}"));
    let scripts = scripts.iter().map(String::as_str);
    for file in UNITS.into_iter().chain(CONFIGURATION).chain(SAMPLES).chain(scripts) {
        assert!(shell::root().join("deploy").join(file).is_file(), "{file}");
    }
}

#[test]
fn an_architecture_unknown_to_debian_is_refused() {
    assert!(architecture("sparc64-unknown-linux-gnu").is_err());
}
