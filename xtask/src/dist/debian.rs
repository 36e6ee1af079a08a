//! The Debian package: files in Debian's directories, a control file, maintainer scripts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use super::{Contents, file_name, place};
use crate::shell::{self, command};

/// Builds `wiremend_VERSION_ARCHITECTURE.deb` and checks it.
pub(super) fn pack(dist: &Path, contents: &Contents) -> Result<PathBuf> {
    let architecture = architecture(&contents.binary.target)?;
    let top = dist.join("debian");
    lay_out(&top, contents)?;
    let control = top.join("DEBIAN");
    fs::create_dir_all(&control)?;
    fs::write(control.join("control"), control_file(contents, architecture, kib_below(&top)?))?;
    fs::write(
        control.join("conffiles"),
        CONFIGURATION.map(|file| format!("/etc/wiremend/{file}\n")).concat(),
    )?;
    shell::run(command("chmod --recursive u=rwX,go=rX").arg(&top))?;
    for script in SCRIPTS {
        place(&shell::root().join("deploy/debian").join(script), &control.join(script))?;
        shell::run(command("chmod 755").arg(control.join(script)))?;
    }
    fs::write(control.join("md5sums"), md5sums(&top)?)?;

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

/// Runs Debian's checks of packages. Anything it reports is an error, except for words in compiled code.
pub(super) fn lint(package: &Path) -> Result<()> {
    if !shell::succeeds(&mut command("lintian --version")) {
        println!("skipped: lintian is not installed (apt-get install lintian)");
        return Ok(());
    }
    let options = "--allow-root --tag-display-limit 0 --fail-on error,warning --display-info --suppress-tags \
                   spelling-error-in-binary";
    let output =
        command(&format!("lintian {options}")).arg(package).output().context("cannot start lintian")?;
    let report = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() || report.lines().any(|line| line.starts_with("I: ")) {
        bail!("lintian on {}:\n{report}{}", package.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

fn lay_out(top: &Path, contents: &Contents) -> Result<()> {
    let share = top.join("usr/share");
    let (root, doc) = (shell::root(), share.join("doc/wiremend"));
    place(&contents.binary.path, &top.join("usr/bin/wiremend"))?;
    for page in contents.man_pages()? {
        let packed = share.join("man/man1").join(file_name(&page));
        place(&page, &packed)?;
        shell::run(command("gzip -9 --no-name").arg(&packed))?;
    }
    place(&contents.completions("bash"), &share.join("bash-completion/completions/wiremend"))?;
    place(&contents.completions("zsh"), &share.join("zsh/vendor-completions/_wiremend"))?;
    place(&contents.completions("fish"), &share.join("fish/vendor_completions.d/wiremend.fish"))?;
    for unit in UNITS {
        place(&root.join("deploy").join(unit), &top.join("usr/lib/systemd/system").join(unit))?;
    }
    for file in CONFIGURATION {
        place(&root.join("deploy").join(file), &top.join("etc/wiremend").join(file))?;
    }
    for sample in SAMPLES {
        place(&root.join("deploy").join(sample), &doc.join("examples").join(sample))?;
    }
    place(&root.join("README.md"), &doc.join("README.md"))?;
    place(&contents.bill, &doc.join("sbom.cdx.json"))?;
    place(&root.join("CHANGELOG.md"), &doc.join("NEWS.md"))?;
    fs::write(doc.join("changelog"), changelog(contents)?)?;
    for file in ["sbom.cdx.json", "NEWS.md", "changelog"] {
        shell::run(command("gzip -9 --no-name").arg(doc.join(file)))?;
    }
    fs::write(doc.join("copyright"), copyright()?).context("cannot write the copyright")?;
    let overrides = share.join("lintian/overrides");
    fs::create_dir_all(&overrides)?;
    fs::write(overrides.join("wiremend"), OVERRIDES).context("cannot write the overrides")
}

fn control_file(contents: &Contents, architecture: &str, size_kib: u64) -> String {
    let version = &contents.version;
    format!(
        "Package: wiremend\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {size_kib}\n\
         Depends: adduser\n\
         Suggests: prometheus, redis-server\n\
         Section: net\n\
         Priority: optional\n\
         Description: {DESCRIPTION}"
    )
}

const MAINTAINER: &str = "The wiremend authors <wiremend@example.invalid>";

const DESCRIPTION: &str = "\
keeps RDMA fast over Ethernet links that corrupt packets
 Optical links that decay corrupt packets, and RDMA answers a lost packet
 with retransmissions or a timeout. This package has, in one program:
 .
  * a relay for each end of a link, which retransmits frames that the link
    corrupts, so that the hosts see no loss;
  * a daemon that finds corrupting links by the counters of their ports and
    switches relays on, and a planner that says which links to drain;
  * a deterministic simulator of RDMA fabrics with such links, a model and a
    tuner in closed form, and a lab of network namespaces.
 .
 The services are installed but not enabled.
";

/// A changelog in Debian's format; the changes themselves are in NEWS.md.
fn changelog(contents: &Contents) -> Result<String> {
    let Contents { version, epoch, .. } = contents;
    let date = shell::output(command("date --utc --rfc-email").arg(format!("--date=@{epoch}")))?;
    Ok(format!(
        "wiremend ({version}) unstable; urgency=medium\n\n  * Release {version}: see NEWS.md.gz.\n\n \
         -- {MAINTAINER}  {date}"
    ))
}

/// The licence texts in the machine-readable format.
fn copyright() -> Result<String> {
    let mit = fs::read_to_string(shell::root().join("LICENSE-MIT")).context("cannot read LICENSE-MIT")?;
    let (_, mit) = mit.split_once("\n\nPermission").context("LICENSE-MIT has no permission notice")?;
    let paragraph = format!("Permission{mit}");
    let lines: Vec<String> = paragraph
        .lines()
        .map(|line| if line.is_empty() { " .".into() } else { format!(" {line}") })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: wiremend\n\
         Comment: The program contains libraries under permissive licences, which sbom.cdx.json.gz lists.\n\n\
         Files: *\n\
         Copyright: 2026 The wiremend authors\n\
         License: Expat or Apache-2.0\n\n\
         License: Expat\n{}\n\n\
         License: Apache-2.0\n On Debian systems, the text is in /usr/share/common-licenses/Apache-2.0.\n",
        lines.join("\n")
    ))
}

/// Systemd units; installing does not enable them.
const UNITS: [&str; 3] = ["wiremend-relay@.service", "wiremend-monitor.service", "wiremend-planner.service"];
/// Configuration files, which dpkg never replaces without a question.
const CONFIGURATION: [&str; 2] = ["monitor.toml", "planner.toml"];
/// Samples.
const SAMPLES: [&str; 4] = [
    "relay.toml",
    "prometheus/wiremend.rules.yml",
    "grafana/wiremend-links.json",
    "grafana/wiremend-relays.json",
];
/// Maintainer scripts in `deploy/debian`.
const SCRIPTS: [&str; 3] = ["postinst", "prerm", "postrm"];

const OVERRIDES: &str = "\
# A static program that is position independent: it runs on any kernel and without a C library.
wiremend: shared-library-lacks-prerequisites [usr/bin/wiremend]
# Names of functions make a reported backtrace readable.
wiremend: unstripped-binary-or-object [usr/bin/wiremend]
# Their sandbox is that of systemd. Without it, the commands run in any other supervisor.
wiremend: package-supports-alternative-init-but-no-init.d-script [usr/lib/systemd/system/*]
";

fn md5sums(top: &Path) -> Result<String> {
    let find = "find . -path ./DEBIAN -prune -o -type f -print0";
    shell::output(
        command("sh -c")
            .arg(format!("{find} | sort -z | xargs -0 md5sum | sed 's| \\./| |'"))
            .current_dir(top),
    )
}

/// Debian architecture of a target.
fn architecture(target: &str) -> Result<&'static str> {
    match target.split('-').next() {
        Some("x86_64") => Ok("amd64"),
        Some("aarch64") => Ok("arm64"),
        _ => bail!("no Debian architecture is known for {target}"),
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
mod tests;
