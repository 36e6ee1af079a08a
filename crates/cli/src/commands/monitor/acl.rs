//! `wiremend monitor acl`: the Redis user of a node, a planner or a viewer.

use wiremend_monitor::redis::{acl_rules, password_rule, planner_acl_rules, viewer_acl_rules};

use super::config::password;
use crate::args::monitor::MonitorAcl;
use crate::failure::{Answer, Failure};
use crate::terminal;

pub(super) fn run(args: &MonitorAcl) -> Result<Answer, Failure> {
    if args.node.as_str() == "default" {
        let why = "`default` is the user of clients that do not log in; use the name of the node in its configuration";
        return Err(Failure::Input(why.to_owned()));
    }
    let secret = password(&args.password_file)?;
    let rules = match (args.planner, args.viewer) {
        (true, _) => planner_acl_rules(),
        (_, true) => viewer_acl_rules(),
        _ => acl_rules(&args.node),
    };
    let rules = rules.join(" ");
    // Without ACL SAVE the user is gone after a restart of Redis. The server refuses it without `aclfile`.
    terminal::print(&format!("ACL SETUSER {} {rules} {}\nACL SAVE\n", args.node, password_rule(&secret)))?;
    Ok(Answer::Yes)
}
