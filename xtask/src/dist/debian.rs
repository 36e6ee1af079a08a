//! The Debian package: files in Debian's directories, and a control file.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::{Contents, DOCUMENTS, file_name, place};
use crate::shell::{self, command};

/// Builds `wiremend_VERSION_ARCHITECTURE.deb` and checks it.
pub(super) fn pack(dist: &Path, contents: &Contents) -> Result<PathBuf> {
    let architecture = architecture(&contents.binary.target)?;
    let top = dist.join("debian");
    lay_out(&top, contents)?;
    let text = control(contents, architecture, kib_below(&top)?);
    fs::create_dir_all(top.join("DEBIAN"))?;
    fs::write(top.join("DEBIAN/control"), text)?;
    shell::run(command("chmod --recursive u=rwX,go=rX").arg(&top))?;

    let package = dist.join(format!("wiremend_{}_{architecture}.deb", contents.version));
    let mut build = command("dpkg-deb --root-owner-group --threads-max=1 -Zxz --build");
    shell::output(build.env("SOURCE_DATE_EPOCH", &contents.epoch).arg(&top).arg(&package))?;
    fs::remove_dir_all(&top).with_context(|| format!("cannot remove `{}`", top.display()))?;

    let fields = shell::output(command("dpkg-deb --field").arg(&package))?;
    let files = shell::output(command("dpkg-deb --contents").arg(&package))?;
    ensure!(fields.contains(&format!("Version: {}\n", contents.version)), "fields of the package: {fields}");
    ensure!(files.contains("./usr/bin/wiremend\n"), "files of the package: {files}");
    Ok(package)
}

fn lay_out(top: &Path, contents: &Contents) -> Result<()> {
    let share = top.join("usr/share");
    place(&contents.binary.path, &top.join("usr/bin/wiremend"))?;
    for page in contents.man_pages()? {
        let packed = share.join("man/man1").join(file_name(&page));
        place(&page, &packed)?;
        shell::run(command("gzip -9 --no-name").arg(&packed))?;
    }
    place(&contents.completions("bash"), &share.join("bash-completion/completions/wiremend"))?;
    place(&contents.completions("zsh"), &share.join("zsh/vendor-completions/_wiremend"))?;
    place(&contents.completions("fish"), &share.join("fish/vendor_completions.d/wiremend.fish"))?;
    for document in DOCUMENTS {
        place(&shell::root().join(document), &share.join("doc/wiremend").join(document))?;
    }
    for unit in UNITS {
        place(&shell::root().join("deploy").join(unit), &top.join("usr/lib/systemd/system").join(unit))?;
    }
    for sample in SAMPLES {
        place(&shell::root().join("deploy").join(sample), &share.join("doc/wiremend/examples").join(sample))?;
    }
    fs::write(share.join("doc/wiremend/copyright"), COPYRIGHT).context("cannot write the copyright")
}

fn control(contents: &Contents, architecture: &str, size_kib: u64) -> String {
    let Contents { version, description, .. } = contents;
    format!(
        "Package: wiremend\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The wiremend authors <wiremend@example.invalid>\n\
         Installed-Size: {size_kib}\n\
         Section: net\n\
         Priority: optional\n\
         Description: {description}\n \
         A simulator of RDMA fabrics whose links corrupt packets, which compares ways\n \
         to recover, names the cause of every timeout, and writes captures of what it ran.\n"
    )
}

/// Systemd units; installing does not enable them.
const UNITS: [&str; 3] = ["wiremend-relay@.service", "wiremend-monitor.service", "wiremend-planner.service"];
/// Sample configurations.
const SAMPLES: [&str; 4] =
    ["monitor.toml", "planner.toml", "prometheus/wiremend.rules.yml", "grafana/wiremend-links.json"];

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: wiremend

Files: *
Copyright: 2026 The wiremend authors
License: MIT or Apache-2.0
 The texts are in LICENSE-MIT and LICENSE-APACHE beside this file.
";

/// Debian architecture of a target.
fn architecture(target: &str) -> Result<&'static str> {
    match target.split('-').next() {
        Some("x86_64") => Ok("amd64"),
        Some("aarch64") => Ok("arm64"),
        _ => anyhow::bail!("no Debian architecture is known for {target}"),
    }
}

/// Size of all files below a directory, each rounded up to KiB, for `Installed-Size`.
fn kib_below(folder: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        sum += if about.is_dir() { kib_below(&entry.path())? } else { about.len().div_ceil(1024) };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::Binary;

    #[test]
    fn the_control_file_has_the_mandatory_fields() {
        let binary = Binary { path: PathBuf::new(), target: "x86_64-unknown-linux-musl".to_owned() };
        let contents = Contents {
            binary,
            version: "1.2.3".to_owned(),
            description: "Mends wires".to_owned(),
            pages: PathBuf::new(),
            epoch: "0".to_owned(),
        };
        let text = control(&contents, architecture(&contents.binary.target).unwrap(), 7);
        for field in
            ["Package: wiremend\n", "Version: 1.2.3\n", "Architecture: amd64\n", "Installed-Size: 7\n"]
        {
            assert!(text.contains(field), "{text}");
        }
        let (_, description) = text.split_once("Description: Mends wires\n").unwrap();
        assert!(description.lines().all(|line| line.starts_with(' ')), "{text}");
    }

    #[test]
    fn packed_units_and_samples_exist() {
        for file in UNITS.iter().chain(&SAMPLES) {
            assert!(shell::root().join("deploy").join(file).is_file(), "{file}");
        }
    }

    #[test]
    fn an_architecture_unknown_to_debian_is_refused() {
        assert!(architecture("sparc64-unknown-linux-gnu").is_err());
    }
}
