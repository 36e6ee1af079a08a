//! Clients that the connection manager sets up: `rping`, `ucmatose`, and perftest with `-R`.

use wiremend_proto::engine::Op;
use wiremend_units::{Psn, QpNum};
use wiremend_wire::{CmAddresses, CmIds, CmReject, CmReply, CmRequest};

use super::client::Client;
use super::{CLIENTS_MAX, Role, Server};
use crate::connection_manager::{CmEvent, ConnectionId};
use crate::endpoint::PairSettings;
use crate::host::Host;
use crate::path::Path;
use crate::perftest::{Keys, Tool};
use crate::queue_pair::{PairId, Remote};
use crate::region::Access;
use crate::session::READS_MAX;
use crate::session::control_pair::ControlPair;
use crate::session::exchange::Exchange;
use crate::session::rping::Advertisement;

impl Server {
    /// Handles the events of the connection manager.
    pub(super) fn on_manager(&mut self) {
        while let Some(event) = self.host.as_mut().and_then(|host| host.endpoint.manager_mut().poll_event()) {
            match event {
                CmEvent::Requested { id, request, path } => {
                    if let Err(reason) = self.on_request(id, &request, path)
                        && let Some(host) = &mut self.host
                    {
                        host.endpoint.manager_mut().reject(id, reason);
                    }
                }
                CmEvent::Ready { id } => {
                    let client = self.clients.values_mut().find(|client| client.managed.contains(&id));
                    if let (Some(client), Some(host)) = (client, &mut self.host)
                        && client.role == Role::Ucmatose
                    {
                        client.send_all(host);
                    }
                }
                CmEvent::Ended { id } | CmEvent::Rejected { id, .. } | CmEvent::Unreachable { id } => {
                    self.on_end(id, matches!(event, CmEvent::Ended { .. }));
                }
                // This end asks for no connection.
                CmEvent::Replied { .. } => {}
            }
        }
    }

    /// Accepts a request, or returns the reason why not.
    fn on_request(&mut self, id: ConnectionId, request: &CmRequest, path: Path) -> Result<(), u16> {
        if request.transport != 0 {
            return Err(CmReject::INVALID_TRANSPORT);
        }
        let port = CmAddresses::port_of(request.service).ok_or(CmReject::INVALID_SERVICE)?;
        let role = self.role_of(port).ok_or(CmReject::INVALID_SERVICE)?;
        let mtu = match request.mtu {
            code @ 1..=5 => 128_u16 << code,
            _ => return Err(CmReject::INVALID_MTU),
        };
        let Some(host) = &mut self.host else { return Err(CmReject::NO_RESOURCES) };
        if mtu > self.settings.connection.mtu.min(host.interface().path_mtu()) {
            return Err(CmReject::INVALID_MTU);
        }
        let is_new = matches!(role, Role::Rping | Role::Ucmatose);
        // Two clients of one machine: the request belongs to the one that has no queue pair yet.
        let awaiting = |is_new: bool| {
            let mut clients = self.clients.iter();
            clients.find(|(_, client)| client.awaits(path) && (!is_new || client.pairs.is_empty()))
        };
        let known = awaiting(true).or_else(|| awaiting(false)).map(|(number, _)| *number);
        let number = match known {
            _ if is_new && self.clients.len() < CLIENTS_MAX => {
                let client = Client::new(host, &self.settings, role, None);
                self.clients.insert(self.next_client, client);
                self.next_client += 1;
                self.next_client - 1
            }
            Some(number) if !is_new => number,
            None if !is_new => return self.add_control(id, request, (path, mtu)),
            _ => return Err(CmReject::NO_RESOURCES),
        };
        let Some(client) = self.clients.get_mut(&number) else { return Err(CmReject::NO_RESOURCES) };
        client.mtu = mtu;
        let Ok(own) = client.offer(host) else {
            if is_new {
                self.end(number, true);
            }
            return Err(CmReject::NO_RESOURCES);
        };
        // Each end tells at which PSN the other one begins.
        let begins_at = own.psn;
        let own = Keys { psn: request.psn, ..own };
        let depth = request.responder_resources.min(READS_MAX as u8);
        let peer = Keys {
            out_reads: u16::from(depth),
            pair: request.pair,
            psn: begins_at,
            rkey: 0,
            address: 0,
            ip: path.remote_ip,
        };
        let path = own_path(host, own.pair, path);
        if client.connect(host, &self.settings, own, peer, path).is_err() {
            if is_new {
                self.end(number, true);
            }
            return Err(CmReject::NO_RESOURCES);
        }
        client.managed.push(id);
        accept(host, id, request, (own.pair, begins_at));
        Ok(())
    }

    /// A client of perftest with `-R` begins: its first queue pair carries its messages.
    fn add_control(
        &mut self,
        id: ConnectionId,
        request: &CmRequest,
        (path, mtu): (Path, u16),
    ) -> Result<(), u16> {
        let Some(host) = self.host.as_mut().filter(|_| self.clients.len() < CLIENTS_MAX) else {
            return Err(CmReject::NO_RESOURCES);
        };
        let number = host.endpoint.next_pair().ok_or(CmReject::NO_RESOURCES)?.number();
        let begins_at = host.draw_psn();
        let settings = PairSettings {
            config: self.settings.connection.config(mtu, 1, false),
            merges_acks: self.settings.connection.merges_acks,
            first_psn: request.psn,
            access: Access::NONE,
        };
        let remote = Remote { path: own_path(host, number, path), pair: request.pair, first_psn: begins_at };
        let pair = host.endpoint.connect(settings, remote).ok_or(CmReject::NO_RESOURCES)?;
        let memory = ControlPair::memory(host);
        let control = ControlPair::new(host, pair, id, memory);
        let exchange = Exchange::over(control, (path.remote_ip, self.settings.listen.port()).into());
        let client = Client::new(host, &self.settings, self.settings.tcp_role(), Some(exchange));
        self.clients.insert(self.next_client, client);
        self.next_client += 1;
        accept(host, id, request, (number, begins_at));
        Ok(())
    }

    /// What the server does for clients that ask for this port.
    fn role_of(&self, port: u16) -> Option<Role> {
        let settings = &self.settings;
        if port == settings.listen.port() {
            return Some(settings.role);
        }
        match port {
            _ if port == Tool::Rping.port() => Some(Role::Rping),
            _ if port == Tool::Ucmatose.port() => Some(Role::Ucmatose),
            _ => None,
        }
    }

    /// A connection has ended, orderly if the peer says so.
    fn on_end(&mut self, id: ConnectionId, is_orderly: bool) {
        for client in self.clients.values_mut() {
            if let Some(control) = client.exchange.as_mut().and_then(Exchange::control)
                && control.id == id
            {
                control.is_ended = true;
            }
        }
        let found = self.clients.iter_mut().find(|(_, client)| client.managed.contains(&id));
        let Some((number, client)) = found else { return };
        client.managed.retain(|managed| *managed != id);
        // The exchange over TCP tells when perftest ends.
        if client.exchange.is_none() {
            let is_complete = match client.role {
                Role::Rping => client.rping.is_between(),
                _ => client.has_all(),
            };
            let number = *number;
            self.end(number, !(is_orderly && is_complete));
        }
    }
}

/// The way to a client, with this end's class of service.
fn own_path(host: &Host, pair: QpNum, path: Path) -> Path {
    Path { source_port: Path::source_port_of(pair), class: host.class(), ..path }
}

fn accept(host: &mut Host, id: ConnectionId, request: &CmRequest, (pair, psn): (QpNum, Psn)) {
    let reply = CmReply {
        ids: CmIds { local: 0, remote: 0 },
        pair,
        psn,
        responder_resources: request.initiator_depth.min(READS_MAX as u8),
        initiator_depth: request.responder_resources.min(READS_MAX as u8),
        rnr_retries: request.rnr_retries,
    };
    let now = host.now();
    host.endpoint.manager_mut().accept(now, id, reply);
}

impl Client {
    /// Whether this client of perftest may ask for a queue pair from there.
    fn awaits(&self, path: Path) -> bool {
        let from = self.exchange.as_ref().map(|exchange| exchange.peer.ip().to_canonical());
        self.uses_manager && from == Some(path.remote_ip)
    }

    /// Handles a message of `rping`. Returns false if it makes no sense.
    pub(super) fn rping_received(&mut self, host: &mut Host, pair: PairId, len: u32) -> bool {
        let bytes = &host.endpoint.memory(self.region)[..len as usize];
        let Some(advertisement) = Advertisement::parse(bytes) else { return false };
        let Some((op, len)) = self.rping.on_message(&advertisement, self.inbound().len) else { return false };
        let post = advertisement.post(op, self.outbound(len));
        // A failed connection shows in its events.
        let _ = host.endpoint.post(host.now(), pair, post);
        true
    }

    /// Tells the client of `rping` that its READ or WRITE is over.
    pub(super) fn rping_completed(&mut self, host: &mut Host, pair: PairId, op: Op) {
        if self.rping.on_completion(op) {
            let local = crate::region::Slice { len: Advertisement::BYTES as u32, ..self.inbound() };
            let _ = host.endpoint.post(host.now(), pair, Advertisement::default().post(Op::Send, local));
        }
    }
}
